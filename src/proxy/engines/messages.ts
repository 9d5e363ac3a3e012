import type {PortCounters} from '../metrics.ts'
import type {Route} from '../target/target.ts'

/** What a relaying thread is started with (its `workerData`). */
export interface ThreadStart {
  readonly srcipProxyThread: number
  readonly instance: string
  readonly occupancy: SharedArrayBuffer
}

/** From the supervising thread to one that relays. */
export type ToThread =
  | {readonly type: 'route'; readonly routes: readonly Route[]}
  | {readonly type: 'report'; readonly id: number}
  | {readonly type: 'stop-accepting'}
  | {readonly type: 'cut'}

export interface Report {
  readonly counters: readonly PortCounters[]
  /** Largest delay of the thread's event loop since its last report, in seconds. */
  readonly lag: number
}

/** From a thread that relays to the supervising one. */
export type FromThread =
  | {readonly type: 'listening'}
  | {readonly type: 'failed'; readonly code: string | undefined; readonly message: string}
  | {readonly type: 'report'; readonly id: number; readonly report: Report}
  | {readonly type: 'log'; readonly kind: string; readonly message: string}
  | {readonly type: 'loop'; readonly service: number}
  | {readonly type: 'exhausted'}
