import {spawn, type ChildProcess} from 'node:child_process'
import {mkdtempSync, readFileSync, rmSync} from 'node:fs'
import {connect, createServer, type AddressInfo, type Socket} from 'node:net'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {setTimeout as sleep} from 'node:timers/promises'
import {fileURLToPath} from 'node:url'
import {onPath} from './parts.ts'

/** Address of the bed's one node. */
export const NODE_ADDRESS = '172.18.0.2'

/** How a program is started inside. */
export type InsideOptions = {
  /** Whole environment; absent means PATH alone. */
  env?: Record<string, string>
  cwd?: string
  /** File descriptor that takes what the program prints, instead of pipes to this process. */
  output?: number
  /** Also enter the mount namespace of the target; default true. */
  mounts?: boolean
}

/** A program that runs inside: `pid` as this machine sees it, `innerPid` as the bed's processes see it. */
export type Inside = {child: ChildProcess; pid: number; innerPid: number; exited: Promise<number>}

/** The bed's own namespaces for network, mounts and processes, with the node's network as their middle. */
export type Namespaces = {
  folder: string
  /** Process id of the first process inside, as this machine sees it. */
  pid: number
  /** Starts a program in the namespaces of a process (default: the node's). */
  start(argv: string[], options?: InsideOptions & {target?: number}): Promise<Inside>
  /** Runs a program to its end; throws when its exit code is not 0. */
  run(argv: string[], options?: InsideOptions & {target?: number; input?: string}): Promise<string>
  /** The argument vector that runs `argv` inside, for callers that spawn by themselves. */
  enter(argv: string[], options?: InsideOptions & {target?: number}): string[]
  /** A TCP connection from the node to an address inside; half-open streams stay half-open. */
  connect(host: string, port: number): Promise<Socket>
  /** A port of this machine's loopback address that leads to an address inside. */
  tunnel(host: string, port: number): Promise<number>
  stop(options?: {keep?: boolean}): Promise<void>
}

const root = process.getuid?.() === 0

/** Starts the namespaces, as root or as anyone (then with a user namespace of our own). */
export async function startNamespaces(): Promise<Namespaces> {
  const folder = mkdtempSync(join(tmpdir(), 'srcip-bed-'))
  const flags = [...(root ? [] : ['--user', '--map-root-user']), '--net', '--mount', '--pid', '--fork', '--kill-child']
  const agent = fileURLToPath(new URL('agent.ts', import.meta.url))
  const argv = [...flags, '--mount-proc', '--', process.execPath, agent, folder, NODE_ADDRESS]
  const holder = spawn('unshare', argv, {stdio: ['pipe', 'pipe', 'pipe'], env: insideEnvironment()})
  let complaint = ''
  holder.stderr.on('data', (data) => (complaint += String(data)))
  holder.stdin.on('error', () => {})
  const exited = new Promise<void>((resolve) => holder.once('exit', () => resolve()))
  await Promise.race([new Promise((resolve) => holder.stdout.once('data', resolve)), exited])
  if (holder.exitCode !== null) {
    rmSync(folder, {recursive: true, force: true})
    throw new Error(`the bed could not make its namespaces: ${complaint.trim()}`)
  }
  const pid = await childOf(holder.pid!)
  const servers: ReturnType<typeof createServer>[] = []
  const running = new Set<ChildProcess>()

  const enter: Namespaces['enter'] = (argv, {target = pid, mounts = true, cwd} = {}) => [
    'nsenter',
    '--target',
    String(target),
    ...(root ? [] : ['--user', '--preserve-credentials']),
    '--net',
    '--pid',
    ...(mounts ? ['--mount'] : []),
    ...(cwd === undefined ? [] : [`--wdns=${cwd}`]),
    '--',
    ...argv,
  ]
  const start: Namespaces['start'] = async (argv, options = {}) => {
    const [program = '', ...args] = enter(argv, options)
    const to = options.output ?? 'pipe'
    const child = spawn(program, args, {env: options.env ?? insideEnvironment(), stdio: ['pipe', to, to]})
    running.add(child)
    const ended = new Promise<number>((resolve) => {
      child.once('error', () => resolve(127))
      child.once('close', (code, signal) => {
        running.delete(child)
        resolve(code ?? 128 + (signal === 'SIGKILL' ? 9 : 15))
      })
    })
    const found = await childOf(child.pid!)
    return {child, pid: found, innerPid: found === 0 ? 0 : innerPid(found), exited: ended}
  }
  const relay = (host: string, port: number) => openRelay(join(folder, 'relay'), host, port)

  return {
    folder,
    pid,
    enter,
    start,
    async run(argv, options = {}) {
      const [program = '', ...args] = enter(argv, options)
      const child = spawn(program, args, {env: options.env ?? insideEnvironment(), stdio: ['pipe', 'pipe', 'pipe']})
      let output = ''
      let errors = ''
      child.stdout.on('data', (data) => (output += String(data)))
      child.stderr.on('data', (data) => (errors += String(data)))
      child.stdin.on('error', () => {})
      child.stdin.end(options.input ?? '')
      const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
      if (code !== 0)
        throw new Error(
          `${argv.join(' ').slice(0, 200)} ended with ${code ?? 'a signal'}: ${(errors || output).trim()}`,
        )
      return output
    },
    connect: relay,
    async tunnel(host, port) {
      const server = createServer({allowHalfOpen: true}, (client) => {
        client.on('error', () => client.destroy())
        relay(host, port).then(
          (inside) => {
            inside.on('error', () => client.destroy())
            client.on('close', () => inside.destroy())
            client.pipe(inside).pipe(client)
          },
          () => client.destroy(),
        )
      })
      servers.push(server)
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      server.unref()
      return (server.address() as AddressInfo).port
    },
    async stop({keep = false} = {}) {
      for (const server of servers) server.close()
      if (keep) holder.stdin.write('keep\n')
      holder.stdin.end()
      await Promise.race([exited, sleep(5000)])
      holder.kill('SIGKILL')
      for (const child of running) child.kill('SIGKILL')
      if (!keep) rmSync(folder, {recursive: true, force: true, maxRetries: 5})
    },
  }
}

function openRelay(path: string, host: string, port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({path, allowHalfOpen: true})
    socket.once('error', reject)
    socket.write(`${JSON.stringify({host, port})}\n`)
    let head = Buffer.alloc(0)
    socket.on('data', function take(chunk: Buffer) {
      head = Buffer.concat([head, chunk])
      const end = head.indexOf(10)
      if (end < 0) return
      socket.off('data', take)
      socket.off('error', reject)
      socket.pause()
      const answer = head.subarray(0, end).toString()
      if (answer === 'ok') {
        if (end + 1 < head.length) socket.unshift(head.subarray(end + 1))
        resolve(socket)
        return
      }
      socket.destroy()
      reject(Object.assign(new Error(`connect ${answer.slice(6)} ${host}:${port}`), {code: answer.slice(6)}))
    })
    socket.once('close', () => reject(new Error(`connect to ${host}:${port}: the bed is gone`)))
  })
}

/** The environment of a program inside: nothing of the caller's but a search path with the sbin folders. */
export function insideEnvironment(extra: Record<string, string> = {}): Record<string, string> {
  return {PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LANG: 'C.UTF-8', ...extra}
}

/** The one child of a process, as soon as it has one; 0 when the process ended before. */
async function childOf(pid: number): Promise<number> {
  for (;;) {
    try {
      const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
      if (children !== '') return Number(children.split(' ')[0])
    } catch {
      return 0
    }
    await sleep(1)
  }
}

/** Whether a process has a child. */
export function hasChild(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim() !== ''
  } catch {
    return false
  }
}

/** The process id that a process has in its own process namespace. */
function innerPid(pid: number): number {
  try {
    const line = /^NSpid:\s+(.*)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
    return Number(line?.[1]?.split(/\s+/).at(-1) ?? 0)
  } catch {
    return 0
  }
}

/** Whether the bed's tools are all there; the reason when not. */
export function namespacesMissing(): string | undefined {
  if (process.platform !== 'linux') return 'network namespaces need Linux'
  const missing = ['unshare', 'nsenter', 'ip', 'iptables'].find((tool) => onPath(tool) === undefined)
  return missing === undefined ? undefined : `${missing} is not installed`
}
