import {spawn, type ChildProcess} from 'node:child_process'
import {randomInt} from 'node:crypto'
import {createSocket} from 'node:dgram'
import {once} from 'node:events'
import {writeFileSync} from 'node:fs'
import {createServer} from 'node:net'
import {join} from 'node:path'
import {setTimeout as sleep} from 'node:timers/promises'

/** A started CoreDNS, or how its start failed. */
export interface CorednsProcess {
  /** False: it ended by itself before it served. */
  readonly serving: boolean
  readonly output: () => string
  readonly running: () => boolean
  readonly stop: () => Promise<void>
}

/**
 * Starts a CoreDNS binary and waits until it serves or ends; again when a port is taken for a moment. In: binary, a folder for its Corefile, the text, a name
 * that is unique in the folder, and what guards the process against being left behind.
 */
export async function startCoredns(options: StartOptions): Promise<CorednsProcess> {
  for (let tries = 1; ; tries++) {
    const started = await startOnce(options)
    if (started.serving || tries === 5 || !started.output().includes('address already in use')) return started
    await started.stop()
    await sleep(1000)
  }
}

interface StartOptions {
  readonly binary: string
  readonly folder: string
  readonly name: string
  readonly corefile: string | Uint8Array
  readonly guard: (child: ChildProcess) => void
  readonly env?: Readonly<Record<string, string>>
  /** Port of plain DNS where the Corefile names none. */
  readonly port?: number
}

async function startOnce(options: StartOptions): Promise<CorednsProcess> {
  const path = join(options.folder, `Corefile.${options.name}`)
  writeFileSync(path, options.corefile)
  const child = spawn(
    options.binary,
    ['-conf', path, ...(options.port === undefined ? [] : ['-dns.port', String(options.port)])],
    {
      cwd: options.folder,
      env: {...options.env, GOMAXPROCS: '1'},
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  options.guard(child)
  let output = ''
  const collect = (chunk: unknown): void => {
    if (output.length < 400_000) output += String(chunk)
  }
  child.stdout.on('data', collect)
  child.stderr.on('data', collect)
  const running = (): boolean => child.exitCode === null && child.signalCode === null
  const ended = once(child, 'exit')
  for (let waited = 0; running() && waited < 30_000 && !/^CoreDNS-/m.test(output); waited += 20) await sleep(20)
  return {
    serving: running() && /^CoreDNS-/m.test(output),
    output: () => output,
    running,
    stop: async () => {
      if (!running()) return
      child.kill('SIGKILL')
      await ended
    },
  }
}

/** Below what the kernel gives to outgoing sockets: a forwarded question of somebody else takes none of these. */
const portRange = {from: 12_000, to: 32_000} as const

/** Out: that many ports of the loopback that are free for TCP and UDP, all held at the same time while they are chosen. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = []
  const held: (() => Promise<void>)[] = []
  const size = portRange.to - portRange.from
  const first = randomInt(size)
  for (let step = 0; ports.length < count && step < size; step++) {
    const port = portRange.from + ((first + step) % size)
    const release = await hold(port)
    if (release === undefined) continue
    ports.push(port)
    held.push(release)
  }
  await Promise.all(held.map((release) => release()))
  return ports
}

/** Out: what lets go of the port again; undefined when somebody has it. */
async function hold(port: number): Promise<(() => Promise<void>) | undefined> {
  const server = createServer()
  const socket = createSocket('udp4')
  const release = async (): Promise<void> => {
    await new Promise((resolve) => server.close(resolve))
    await new Promise<void>((resolve) => {
      try {
        socket.close(resolve)
      } catch {
        resolve()
      }
    })
  }
  try {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    socket.bind(port, '127.0.0.1')
    await once(socket, 'listening')
    return release
  } catch {
    await release()
    return undefined
  }
}
