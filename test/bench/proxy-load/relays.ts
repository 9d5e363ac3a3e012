import {execFile, spawn, type ChildProcess} from 'node:child_process'
import {readFileSync, readdirSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {promisify} from 'node:util'
import {
  freePorts,
  ready,
  startHaproxy,
  startNginx,
  startProxy,
  until,
  type Running,
} from '../../cluster/proxy/processes.ts'
import {dial} from '../../cluster/proxy/wire.ts'

const execute = promisify(execFile)
/** One worker each: the Go relays get one core, as the others have one thread. */
const oneCore = {...process.env, GOMAXPROCS: '1'}
/** Clock ticks a second in /proc/PID/stat. */
const ticks = 100

/** The Go program of this folder, built into `folder`; it is backend, load and the plain relay. */
export async function buildLoad(folder: string): Promise<string> {
  const file = join(folder, 'proxy-load')
  await execute('go', ['build', '-o', file, '.'], {
    cwd: fileURLToPath(new URL('.', import.meta.url)),
    env: {...process.env, CGO_ENABLED: '0'},
  })
  return file
}

/** A relay under test: where it listens, and which processes work for it. */
export interface Relay {
  readonly name: string
  readonly port: number
  readonly pid: number
  /** Open files that each idle connection costs it: two sockets, and for some the pipes of a splice that waits. */
  readonly files: number
  stop(): Promise<void>
}

export interface RelayPlaces {
  readonly folder: string
  readonly load: string
  readonly backend: number
}

export async function ours(engine: 'node' | 'haproxy', {backend}: RelayPlaces): Promise<Relay> {
  const proxy = await startProxy(
    [[5000, backend]],
    ['--engine', engine, '--probe-interval', '1h', '--max-connections', '12000'],
  )
  await ready(proxy)
  const port = proxy.ports.get(5000) ?? 0
  const files = engine === 'node' ? 2 : 2.6
  return {name: `srcip, ${engine} engine`, port, pid: proxy.pid, files, stop: () => proxy.stop()}
}

/** The proxy of ouroboros 0.8 in its own words. */
export async function ouroborosRelay(program: string, {backend}: RelayPlaces): Promise<Relay> {
  const [port = 0] = await freePorts(1)
  const words = [
    'proxy',
    `-listen-http=127.0.0.1:${port}`,
    '-listen-https=',
    '-listen-health=',
    '-target-host=127.0.0.1',
    `-target-http-port=${backend}`,
  ]
  return running('ouroboros', port, 6, spawned(spawn(program, words, {stdio: 'ignore', env: oneCore})))
}

export async function goRelay({load, backend}: RelayPlaces): Promise<Relay> {
  const [port = 0] = await freePorts(1)
  return running(
    'Go io.Copy',
    port,
    6,
    spawned(spawn(load, ['relay', `127.0.0.1:${port}`, `127.0.0.1:${backend}`], {stdio: 'ignore', env: oneCore})),
  )
}

export async function haproxyRelay(haproxy: string, {folder, backend}: RelayPlaces): Promise<Relay> {
  const [port = 0] = await freePorts(1)
  const config = `  maxconn 7600\n  option splice-auto\nlisten l\n  bind 127.0.0.1:${port}\n  server s 127.0.0.1:${backend} send-proxy\nglobal\n  nbthread 1\n  maxconn 7600`
  return running('HAProxy, splice-auto', port, 2.6, startHaproxy(haproxy, folder, 'peer', config))
}

export async function nginxRelay(nginx: string, {folder, backend}: RelayPlaces): Promise<Relay> {
  const [port = 0] = await freePorts(1)
  const blocks = `stream { server {listen 127.0.0.1:${port}; proxy_pass 127.0.0.1:${backend}; proxy_protocol on;} }`
  const modules = 'load_module /usr/lib/nginx/modules/ngx_stream_module.so;\n'
  const server = startNginx(nginx, folder, 'peer', blocks, modules)
  const file = join(folder, 'peer.conf')
  writeFileSync(file, readFileSync(file, 'utf8').replace('worker_connections 4096', 'worker_connections 20000'))
  await until('nginx listens', () => answers(port))
  server.signal('SIGHUP')
  return running('nginx stream', port, 2, server)
}

async function running(
  name: string,
  port: number,
  files: number,
  {pid, stop}: Pick<Running, 'pid' | 'stop'>,
): Promise<Relay> {
  await until(`${name} listens`, () => answers(port))
  return {name, port, pid, files, stop}
}

function answers(port: number): Promise<boolean> {
  return dial(port).then(
    (socket) => Boolean(socket.destroy()),
    () => false,
  )
}

function spawned(child: ChildProcess): Pick<Running, 'pid' | 'stop'> {
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  return {
    pid: child.pid ?? 0,
    stop: () => {
      child.kill('SIGKILL')
      return ended
    },
  }
}

/** The process and everything below it. */
function family(pid: number): number[] {
  const all = readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name))
  const below = all.filter((each) => statOf(Number(each))?.[1] === String(pid)).map(Number)
  return [pid, ...below.flatMap(family)]
}

/** Fields of /proc/PID/stat from the third on; undefined when the process is gone. */
function statOf(pid: number): string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return text.slice(text.lastIndexOf(')') + 2).split(' ')
  } catch {
    return undefined
  }
}

/** CPU seconds that a relay has used, all its processes together. */
export function cpuSeconds({pid}: Relay): number {
  return family(pid).reduce((sum, each) => {
    const fields = statOf(each)
    return fields ? sum + (Number(fields[11]) + Number(fields[12])) / ticks : sum
  }, 0)
}

/** Resident bytes of a relay, shared pages of its processes counted for each. */
export function residentBytes({pid}: Relay): number {
  return family(pid).reduce((sum, each) => sum + Number(statOf(each)?.[21] ?? 0) * 4096, 0)
}

/** Runs the load program and gives what it prints. */
export async function ask(
  load: string,
  words: readonly (string | number)[],
): Promise<{p50: number; p99: number; seconds: number}> {
  const {stdout} = await execute(load, words.map(String))
  return JSON.parse(stdout) as {p50: number; p99: number; seconds: number}
}

/** Holds idle connections, each after one request, while `measure` runs. */
export async function withIdle(
  load: string,
  port: number,
  count: number,
  measure: () => Promise<number>,
): Promise<number> {
  const child = spawn(load, ['idle', `127.0.0.1:${port}`, String(count)], {stdio: ['pipe', 'pipe', 'inherit']})
  try {
    await new Promise<void>((resolve, reject) => {
      child.stdout.once('data', () => resolve())
      child.once('exit', (code) => reject(new Error(`the load ended with ${code}`)))
    })
    return await measure()
  } finally {
    child.stdin.end()
    child.kill('SIGKILL')
  }
}
