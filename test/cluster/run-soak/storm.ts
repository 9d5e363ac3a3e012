import {spawn} from 'node:child_process'
import type {ChildProcess} from 'node:child_process'
import {connect, createServer} from 'node:net'
import type {Server, Socket} from 'node:net'
import {fileURLToPath} from 'node:url'
import {randomFillSync} from 'node:crypto'
import {freePorts} from '../bed/api-server.ts'

/** What the header names: the port of the Service, not the one that the process listens on. */
const servicePort = 9000

/** `srcip proxy` as a process, a target that sends everything back, and storms of connections through both. */
export class Storm {
  readonly #open = new Set<Socket>()
  readonly #ports: {listen: number; target: number; health: number}
  readonly proxy: ChildProcess
  #server: Server | undefined
  stderr = ''

  constructor(ports: {listen: number; target: number; health: number}) {
    this.#ports = ports
    const main = fileURLToPath(new URL('../../support/proxy-main.ts', import.meta.url))
    const {listen, target, health} = ports
    const flags = ['--to', '127.0.0.1', '--listen', '127.0.0.1', '--port', `${servicePort}=${listen},to=${target}`]
    const more = ['--health-address', `127.0.0.1:${health}`, '--workers', '1', '--drain-delay', '0s']
    this.proxy = spawn(process.execPath, [main, ...flags, ...more], {
      env: {PATH: process.env['PATH'] ?? '', HOME: '/nonexistent'},
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    this.proxy.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
      this.stderr = (this.stderr + chunk).slice(-200_000)
    })
  }

  static async start(): Promise<Storm> {
    const [listen, target, health] = (await freePorts(3)) as [number, number, number]
    const storm = new Storm({listen, target, health})
    await storm.startTarget()
    for (const end = Date.now() + 60_000; ;) {
      if (
        await fetch(`http://127.0.0.1:${health}/readyz`).then(
          ({ok}) => ok,
          () => false,
        )
      )
        return storm
      if (Date.now() > end || storm.proxy.exitCode !== null) {
        await storm.stop()
        throw new Error(`the proxy is not ready:\n${storm.stderr}`)
      }
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }

  /** The target: what it got, header and all, goes back. */
  async startTarget(): Promise<void> {
    const server = createServer((socket) => {
      this.#open.add(socket)
      socket.on('error', () => socket.destroy()).on('close', () => this.#open.delete(socket))
      socket.pipe(socket)
    })
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(this.#ports.target, '127.0.0.1', resolve)
    })
    this.#server = server
  }

  async stopTarget(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    for (const socket of this.#open) socket.destroy()
    await new Promise<void>((resolve) => (server === undefined ? resolve() : server.close(() => resolve())))
  }

  /**
   * Opens that many connections at once and sends up to 256 KiB over each.
   * @throws when a byte comes back that was not sent, or a connection that nobody cut does not come back whole
   */
  async blow(count: number, sizes: () => number, mayBeCut: boolean): Promise<void> {
    const results = await Promise.all(Array.from({length: count}, () => this.#echo(sizes())))
    for (const {got, wanted} of results) {
      if (!wanted.subarray(0, got.length).equals(got)) {
        const [begins, should] = [got, wanted].map((bytes) => JSON.stringify(bytes.subarray(0, 60).toString('latin1')))
        throw new Error(
          `a connection through the proxy was corrupted: ${got.length} bytes that begin with ${begins}, ` +
            `not ${wanted.length} that begin with ${should}`,
        )
      }
      if (!mayBeCut && got.length !== wanted.length) {
        throw new Error(`a connection that nobody cut gave ${got.length} of ${wanted.length} bytes\n${this.stderr}`)
      }
    }
  }

  async stop(): Promise<void> {
    if (this.proxy.exitCode === null && this.proxy.signalCode === null) {
      const gone = new Promise((resolve) => this.proxy.once('exit', resolve))
      this.proxy.kill('SIGKILL')
      await gone
    }
    await this.stopTarget()
  }

  #echo(size: number): Promise<{got: Buffer; wanted: Buffer}> {
    const body = randomFillSync(Buffer.alloc(size))
    return new Promise((resolve) => {
      const chunks: Buffer[] = []
      let wanted = body
      const socket = connect({port: this.#ports.listen, host: '127.0.0.1'}, () => {
        const header = `PROXY TCP4 127.0.0.1 127.0.0.1 ${socket.localPort} ${servicePort}\r\n`
        wanted = Buffer.concat([Buffer.from(header), body])
        socket.end(body)
      })
      socket.on('data', (chunk: Buffer) => chunks.push(chunk))
      socket.on('error', () => socket.destroy())
      socket.setTimeout(60_000, () => socket.destroy())
      socket.on('close', () => resolve({got: Buffer.concat(chunks), wanted}))
    })
  }
}
