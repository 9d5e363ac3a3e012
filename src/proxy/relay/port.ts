import {createServer, type AddressInfo, type Server, type Socket} from 'node:net'
import {Deadlines, type Clock} from '../clock.ts'
import {plainAddress} from '../../model/address.ts'
import type {Endpoint, ProxyVersion} from '../header/types.ts'
import type {PortCounters} from '../metrics.ts'
import type {PortSpec} from '../options.ts'
import type {Occupancy} from '../engines/occupancy.ts'
import {isTrusted, type Cidr} from '../trust.ts'
import type {BufferPool} from './buffers.ts'
import {Connection} from './connection.ts'
import {setForAccepted} from './handle.ts'

/** One address to try for a connection. */
export interface Candidate {
  readonly address: string
  readonly port: number
  readonly sendsHeader: boolean
  /** The last probes were good; the others are tried when no fit one takes the connection. */
  readonly isFit: boolean
}

/** What all ports of a process share. */
export interface RelayShared {
  readonly clock: Clock
  readonly pool: BufferPool
  readonly version: ProxyVersion
  readonly acceptsHeaders: boolean
  readonly trusted: readonly Cidr[]
  readonly occupancy: Occupancy
  readonly idleTimeout: number
  readonly firstByteTimeout: number
  readonly connectTimeout: number
  readonly headerTimeout: number
  readonly keepAlive: number
  /** Connections open over all ports of this process. */
  readonly open: Set<Connection>
  /** Addresses for a new connection to this port, best first; empty while none is known. */
  candidates(spec: PortSpec): readonly Candidate[]
  /** The bytes are those of a probe that this very process sent: its target leads back to it. */
  isOwnProbe(spec: PortSpec, bytes: Buffer): boolean
  /** No address answered. */
  exhausted(): void
  /** One line for the log; `kind` groups lines for rate limiting. */
  log(kind: string, message: string): void
}

/** Milliseconds that one address gets while another one is left to try. */
const attemptTimeout = 1000

/** One listening port: accepts, counts, and knows what holds for each of its connections. */
export class RelayPort {
  readonly spec: PortSpec
  readonly counters: PortCounters
  readonly connect: Deadlines<Connection>
  readonly attempt: Deadlines<Connection>
  readonly header: Deadlines<Connection>
  readonly firstByte: Deadlines<Connection>
  readonly idle: Deadlines<Connection>
  readonly #shared: RelayShared
  #server: Server | undefined
  #fixedAddress: string | undefined

  constructor(spec: PortSpec, counters: PortCounters, shared: RelayShared) {
    this.spec = spec
    this.counters = counters
    this.#shared = shared
    const {clock} = shared
    this.connect = new Deadlines(clock, shared.connectTimeout, (it) => it.expired('connect'))
    this.attempt = new Deadlines(clock, attemptTimeout, (it) => it.expired('attempt'))
    this.header = new Deadlines(clock, shared.headerTimeout, (it) => it.expired('header'))
    this.firstByte = new Deadlines(clock, spec.hasFirstByteLimit ? shared.firstByteTimeout : 0, (it) =>
      it.expired('first-byte'),
    )
    this.idle = new Deadlines(clock, shared.idleTimeout, (it) => it.expired('idle'))
  }

  /** The address that a client of this port has reached; asked of the system only where it may be one of several. */
  reached(socket: Socket): string | undefined {
    return this.#fixedAddress ?? plainAddress(socket.localAddress)
  }

  get clock(): Clock {
    return this.#shared.clock
  }

  get pool(): BufferPool {
    return this.#shared.pool
  }

  get version(): ProxyVersion {
    return this.#shared.version
  }

  get acceptsHeaders(): boolean {
    return this.#shared.acceptsHeaders
  }

  get keepAliveDelay(): number {
    return this.#shared.keepAlive
  }

  /**
   * Starts to listen. `isShared` lets several processes listen on the same port (SO_REUSEPORT).
   * Resolves with the port that was given (of use where `spec.listen` is 0), rejects with the system's error.
   */
  async listen(address: string, isShared: boolean): Promise<number> {
    const server = createServer({allowHalfOpen: true, pauseOnConnect: true})
    this.#server = server
    this.#fixedAddress = isWildcard(address) ? undefined : plainAddress(address)
    let isSet = false
    server.on('listening', () => (isSet = setForAccepted(server, this.keepAliveDelay)))
    server.on('connection', (socket) => {
      if (!isSet) socket.setNoDelay(true).setKeepAlive(true, this.keepAliveDelay)
      this.#accept(socket)
    })
    return new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen(
        {host: address, port: this.spec.listen, backlog: 4096, ...(isShared ? {reusePort: true} : {})},
        () => {
          server.off('error', reject)
          server.on('error', (error) =>
            this.#shared.log('accept', `port ${this.spec.listen}: cannot accept: ${error.message}`),
          )
          resolve((server.address() as AddressInfo).port)
        },
      )
    })
  }

  /** Stops accepting; open connections go on. */
  close(): void {
    this.#server?.close()
    this.#server = undefined
  }

  /** A copy of the counters with the bytes of the connections that are still open. */
  read(open: ReadonlySet<Connection>): PortCounters {
    const copy = structuredClone(this.counters)
    for (const connection of open) {
      if (connection.port !== this) continue
      copy.bytesUp += connection.bytes.up
      copy.bytesDown += connection.bytes.down
    }
    return copy
  }

  trusts(address: string): boolean {
    return isTrusted(this.#shared.trusted, address)
  }

  candidates(): readonly Candidate[] {
    return this.#shared.candidates(this.spec)
  }

  isOwnProbe(bytes: Buffer): boolean {
    return this.#shared.isOwnProbe(this.spec, bytes)
  }

  count(reason: string): void {
    this.counters.errors[reason] = (this.counters.errors[reason] ?? 0) + 1
  }

  opened(milliseconds: number, candidate: Candidate): void {
    this.counters.connected++
    this.counters.connectSeconds += milliseconds / 1000
    if (candidate.sendsHeader) this.counters.headersSent++
  }

  attemptFailed(candidate: Candidate | undefined, error: NodeJS.ErrnoException): void {
    this.count('connect-failed')
    if (candidate)
      this.#shared.log(
        `connect-failed`,
        `port ${this.spec.service}: ${candidate.address}:${candidate.port} does not take a connection: ${error.code ?? error.message}`,
      )
  }

  exhausted(): void {
    this.#shared.exhausted()
  }

  failed(side: 'client' | 'target', error: NodeJS.ErrnoException): void {
    this.count(
      `${side}-${error.code === 'ECONNRESET' || error.code === 'EPIPE' ? 'reset' : error.code === 'ETIMEDOUT' ? 'lost' : 'error'}`,
    )
  }

  headerRead(result: 'honoured' | 'ignored'): void {
    this.counters.headersRead[result]++
  }

  headerRefused(reason: string, message: string, source: Endpoint | undefined): void {
    this.counters.headersRead.refused++
    this.count(`header-${reason}`)
    const from = source
      ? `${source.address.includes(':') ? `[${source.address}]` : source.address}:${source.port}`
      : 'an unknown address'
    this.#shared.log('header-refused', `port ${this.spec.service}: connection from ${from} refused: ${message}`)
  }

  finished(connection: Connection): void {
    this.#shared.open.delete(connection)
    this.#shared.occupancy.leave()
    this.counters.active--
    const {up, down} = connection.bytes
    this.counters.bytesUp += up
    this.counters.bytesDown += down
  }

  #accept(socket: Socket): void {
    const {open, occupancy} = this.#shared
    if (!occupancy.enter()) {
      this.count('max-connections')
      this.#shared.log(
        'max-connections',
        `port ${this.spec.service}: connection refused: ${occupancy.total} are open, which is the limit of --max-connections`,
      )
      socket.on('error', () => {})
      socket.resetAndDestroy()
      return
    }
    this.counters.accepted++
    this.counters.active++
    const connection = new Connection(this, socket)
    if (!connection.isOver) open.add(connection)
  }
}

function isWildcard(address: string): boolean {
  return address === '::' || address === '0.0.0.0'
}
