import {spawn, type ChildProcess} from 'node:child_process'
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
 * Starts a CoreDNS binary and waits until it serves or ends. In: binary, a folder for its Corefile, the text, a name
 * that is unique in the folder, and what guards the process against being left behind.
 */
export async function startCoredns(options: {
  readonly binary: string
  readonly folder: string
  readonly name: string
  readonly corefile: string | Uint8Array
  readonly guard: (child: ChildProcess) => void
  readonly env?: Readonly<Record<string, string>>
  /** Port of plain DNS where the Corefile names none. */
  readonly port?: number
}): Promise<CorednsProcess> {
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

/** Out: that many ports of the loopback that nothing listens on, all held at the same time while they are chosen. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({length: count}, () => createServer())
  const ports: number[] = []
  for (const server of servers) {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    if (typeof address === 'object' && address !== null) ports.push(address.port)
  }
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}
