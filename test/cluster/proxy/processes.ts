import {spawn, type ChildProcess} from 'node:child_process'
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs'
import {createServer, type AddressInfo} from 'node:net'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'

/** The proxy command from the sources. */
export const program = fileURLToPath(new URL('../../support/proxy-main.ts', import.meta.url))

/** Ports on loopback that nobody listens on. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({length: count}, () => createServer())
  await Promise.all(servers.map((server) => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))))
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}

/** Waits until `holds` gives something else than undefined or false; fails with `what` after 20 seconds. */
export async function until<T>(
  what: string,
  holds: () => Promise<T | undefined | false> | T | undefined | false,
): Promise<T> {
  const end = performance.now() + 20_000
  for (;;) {
    const value = await holds()
    if (value !== undefined && value !== false) return value
    if (performance.now() > end) throw new Error(`waited too long: ${what}`)
    await sleep(20)
  }
}

export function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}

/** A child that is gone after the test whatever happens. */
export interface Running {
  readonly pid: number
  /** Lines of standard error so far. */
  readonly lines: string[]
  signal(name: NodeJS.Signals): void
  /** Exit code, or the signal that ended it. */
  readonly ended: Promise<number | string>
  stop(): Promise<void>
}

export function run(command: string, words: readonly string[], env: NodeJS.ProcessEnv = process.env): Running {
  const child: ChildProcess = spawn(command, words, {env, stdio: ['ignore', 'ignore', 'pipe']})
  const lines: string[] = []
  child.stderr?.on('data', (chunk: Buffer) => lines.push(...chunk.toString().split('\n').filter(Boolean)))
  const ended = new Promise<number | string>((resolve) => {
    child.once('exit', (code, signal) => resolve(signal ?? code ?? 0))
    child.once('error', (error) => {
      lines.push(String(error))
      resolve(-1)
    })
  })
  return {
    pid: child.pid ?? 0,
    lines,
    signal: (name) => void child.kill(name),
    ended,
    stop: async () => {
      child.kill('SIGTERM')
      const kill = setTimeout(() => child.kill('SIGKILL'), 5000)
      await ended
      clearTimeout(kill)
    },
  }
}

export interface RunningProxy extends Running {
  /** Listening port of each Service port. */
  readonly ports: ReadonlyMap<number, number>
  readonly health: number
  /** Status and body of a path of the health server. */
  ask(path: string): Promise<{status: number; body: string}>
  /** Value of one metric with these labels (`port="80"`); undefined if there is none. */
  metric(name: string, labels?: string): Promise<number | undefined>
}

/** One served port: Service port, target port and further options of `--port`. */
export type Served = readonly [service: number, to: number, options?: string]

/** `kubectl srcip proxy` as a process, listening on loopback; resolves when its health server answers and its ports are open. */
export async function startProxy(
  served: readonly Served[],
  flags: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
  limits: {readonly openFiles?: number} = {},
): Promise<RunningProxy> {
  const [health = 0, ...listen] = await freePorts(served.length + 1)
  const ports = new Map(served.map(([service], index) => [service, listen[index] ?? 0]))
  const words = served.flatMap(([service, to, options]) => [
    '--port',
    `${service}=${ports.get(service)},to=${to}${options ? `,${options}` : ''}`,
  ])
  const defaults = [
    '--health-address',
    `127.0.0.1:${health}`,
    '--drain-delay',
    '100ms',
    '--drain-timeout',
    '1s',
    '--workers',
    '1',
    '--listen',
    '127.0.0.1',
    '--max-connections',
    '4000',
  ]
  const given = new Set(flags.filter((word) => word.startsWith('--')))
  const rest = defaults.filter((_, index) => !given.has(defaults[index - (index % 2)] ?? ''))
  const to = given.has('--to') ? [] : ['--to', '127.0.0.1']
  const argv = [process.execPath, program, ...to, ...words, ...rest, ...flags]
  const {openFiles} = limits
  const [command = '', ...after] =
    openFiles === undefined ? argv : ['sh', '-c', `ulimit -n ${openFiles}; exec "$@"`, 'sh', ...argv]
  const running = run(command, after, {...process.env, ...env})
  const ask = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${health}${path}`, {headers: {connection: 'close'}})
    return {status: response.status, body: await response.text()}
  }
  await until(`the proxy listens: ${running.lines.join(' ')}`, () =>
    running.lines.some((line) => line.includes('"listening"')),
  )
  return {
    ...running,
    ports,
    health,
    ask,
    metric: async (name, labels) => {
      const {body} = await ask('/metrics')
      const start = labels === undefined ? `${name} ` : `${name}{${labels}} `
      const line = body.split('\n').find((each) => each.startsWith(start))
      return line === undefined ? undefined : Number(line.slice(start.length))
    },
  }
}

/** Waits until `/readyz` says yes. */
export function ready(proxy: RunningProxy): Promise<true> {
  return until('the proxy is ready', async () => (await proxy.ask('/readyz')).status === 200)
}

/** A folder for configuration and sockets of one test file. */
export function workFolder(): {path: string; remove(): void} {
  const path = mkdtempSync(join(tmpdir(), 'srcip-proxy-test-'))
  return {path, remove: () => rmSync(path, {recursive: true, force: true})}
}

/** Starts nginx on a configuration for its `http` or `stream` block; reads it again on SIGHUP after `write`. */
export function startNginx(
  nginx: string,
  folder: string,
  name: string,
  blocks: string,
  modules = '',
): Running & {write(blocks: string): void} {
  const file = join(folder, `${name}.conf`)
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((kind) => `${kind}_temp_path ${folder}/${name}-${kind};`)
    .join(' ')
  const write = (content: string) =>
    writeFileSync(
      file,
      `${modules}daemon off; worker_processes 1; pid ${folder}/${name}.pid; error_log stderr info; events {worker_connections 4096;}\n${content.replace('http {', `http { access_log off; ${temp}`)}\n`,
    )
  write(blocks)
  return {...run(nginx, ['-c', file, '-e', 'stderr']), write}
}

/** Starts HAProxy on a configuration. */
export function startHaproxy(haproxy: string, folder: string, name: string, config: string): Running {
  const file = join(folder, `${name}.cfg`)
  writeFileSync(
    file,
    `defaults\n  mode tcp\n  timeout connect 5s\n  timeout client 60s\n  timeout server 60s\n${config}\n`,
  )
  return run(haproxy, ['-db', '-f', file])
}
