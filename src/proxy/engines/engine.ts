import type {PortCounters, ProcessUsage} from '../metrics.ts'
import type {Route} from '../target/target.ts'

/** What an engine tells the process that supervises it. */
export interface EngineEvents {
  log(kind: string, message: string): void
  /** A probe of this proxy came in through its own port. */
  loopSeen(service: number): void
  /** No address of the target took a connection: it may have moved. */
  exhausted(): void
}

/** The part that moves bytes. `node`, several `node` processes, and `haproxy` look alike from here. */
export interface RelayEngine {
  readonly name: string
  /** Listens on every port; rejects when one cannot be had. Connections wait until the first `route`. */
  start(): Promise<void>
  /** Where new connections go from now on. Open ones stay where they are. */
  route(routes: readonly Route[]): Promise<void>
  counters(): Promise<readonly PortCounters[]>
  usage(): Promise<readonly ProcessUsage[]>
  /** Takes no new connections. */
  stopAccepting(): Promise<void>
  /** Connections open now. */
  active(): Promise<number>
  /** Ends every connection that is left, and the engine with them. */
  cut(): Promise<void>
  /** Why the process should be restarted; undefined while all is well. */
  dead(): string | undefined
}
