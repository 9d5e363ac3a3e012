import {monitorEventLoopDelay} from 'node:perf_hooks'
import type {Clock} from '../clock.ts'
import type {EngineEvents, RelayEngine} from './engine.ts'
import type {Report} from './messages.ts'
import type {Occupancy} from './occupancy.ts'
import {usageOfProcess} from './usage.ts'
import {newCounters, type PortCounters, type ProcessUsage} from '../metrics.ts'
import type {PortSpec, ProxyOptions} from '../options.ts'
import {BufferPool} from '../relay/buffers.ts'
import type {Connection} from '../relay/connection.ts'
import {RelayPort, type Candidate, type RelayShared} from '../relay/port.ts'
import {probeSender} from '../target/probe-bytes.ts'
import type {Route} from '../target/target.ts'

/** Bytes that all large read buffers of one process may take. */
const bufferBudget = 128 * 1024 * 1024
/** Milliseconds after which a connection without traffic gives its own buffers back. */
const sweepInterval = 1000
/** Event loop delay, in seconds, beyond which the process counts as stuck. */
const stuckAfter = 10

export interface NodeRelayOptions {
  readonly options: ProxyOptions
  /** Name of the proxy that probes, to recognise its probes. */
  readonly instance: string
  /** Other threads listen on the same ports. */
  readonly isShared: boolean
  readonly occupancy: Occupancy
}

/** The embedded engine: relays in this very process. */
export class NodeRelay implements RelayEngine {
  readonly name = 'node'
  readonly open = new Set<Connection>()
  readonly #ports: readonly RelayPort[]
  readonly #pool = new BufferPool(bufferBudget)
  readonly #candidates = new Map<number, readonly Candidate[]>()
  readonly #turns = new Map<number, number>()
  readonly #delay = monitorEventLoopDelay({resolution: 20})
  readonly #settings: NodeRelayOptions
  readonly #clock: Clock
  #cancelSweep = () => {}
  #lastSweep = 0

  constructor(settings: NodeRelayOptions, clock: Clock, events: EngineEvents) {
    this.#settings = settings
    this.#clock = clock
    const {options, instance, occupancy} = settings
    const shared: RelayShared = {
      clock,
      pool: this.#pool,
      version: options.version,
      acceptsHeaders: options.acceptProxy,
      trusted: options.trusted,
      occupancy,
      idleTimeout: options.idleTimeout,
      firstByteTimeout: options.firstByteTimeout,
      connectTimeout: options.connectTimeout,
      headerTimeout: options.headerTimeout,
      keepAlive: options.keepAlive,
      open: this.open,
      candidates: (spec) => this.#turn(spec),
      isOwnProbe: (spec, bytes) => {
        const sender = probeSender(bytes)
        if (sender === instance) events.loopSeen(spec.service)
        // Another proxy's probe is passed on in a chain. Without --accept-proxy this proxy would put a second header in front, so its
        // target leads back to a replica: nothing that goes round may grow.
        return sender !== undefined && (sender === instance || !options.acceptProxy)
      },
      exhausted: () => events.exhausted(),
      log: (kind, message) => events.log(kind, message),
    }
    this.#ports = options.ports.map((spec) => new RelayPort(spec, newCounters(spec.service), shared))
  }

  async start(): Promise<void> {
    const {options, isShared} = this.#settings
    for (const port of this.#ports) await port.listen(options.listenAddress, isShared)
    this.#delay.enable()
    this.#sweep()
  }

  async route(routes: readonly Route[]): Promise<void> {
    for (const {service, candidates} of routes) this.#candidates.set(service, candidates)
  }

  async counters(): Promise<readonly PortCounters[]> {
    return this.#ports.map((port) => port.read(this.open))
  }

  async usage(): Promise<readonly ProcessUsage[]> {
    return [usageOfProcess(this.#lag())]
  }

  /** What a thread tells the one that supervises it. */
  async report(): Promise<Report> {
    return {counters: await this.counters(), lag: this.#lag()}
  }

  /** Largest delay of the event loop since the last call, in seconds. */
  #lag(): number {
    const lag = this.#delay.max / 1e9
    this.#delay.reset()
    return lag
  }

  async stopAccepting(): Promise<void> {
    for (const port of this.#ports) port.close()
  }

  async active(): Promise<number> {
    return this.open.size
  }

  async cut(): Promise<void> {
    for (const connection of this.open) connection.cut()
    this.#cancelSweep()
    this.#delay.disable()
  }

  dead(): string | undefined {
    const late = (this.#clock.now() - this.#lastSweep) / 1000
    return late > stuckAfter ? `event-loop stood still for ${late.toFixed(0)}s` : undefined
  }

  /** Candidates of a port, beginning with another fit one each time. */
  #turn(spec: PortSpec): readonly Candidate[] {
    const all = this.#candidates.get(spec.service) ?? []
    if (all.length < 2) return all
    const fit = all.filter((each) => each.isFit)
    const turn = (this.#turns.get(spec.service) ?? 0) + 1
    this.#turns.set(spec.service, turn)
    const first = fit.length > 0 ? fit : all
    const rest = fit.length > 0 ? all.filter((each) => !each.isFit) : []
    const start = turn % first.length
    return [...first.slice(start), ...first.slice(0, start), ...rest]
  }

  #sweep(): void {
    this.#lastSweep = this.#clock.now()
    for (const connection of this.open) connection.sweep()
    this.#pool.trim()
    this.#cancelSweep = this.#clock.after(sweepInterval, () => this.#sweep())
  }
}
