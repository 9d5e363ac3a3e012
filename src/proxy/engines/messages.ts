import type {PortCounters, ProcessUsage} from '../metrics.ts'
import type {Route} from '../target/target.ts'

/** Set in the environment of a worker; the value is its number. */
export const workerVariable = 'SRCIP_PROXY_WORKER'

/** From the supervising process to a worker. */
export type ToWorker =
  | {readonly type: 'start'; readonly instance: string; readonly maxConnections: number}
  | {readonly type: 'route'; readonly routes: readonly Route[]}
  | {readonly type: 'report'; readonly id: number}
  | {readonly type: 'stop-accepting'}
  | {readonly type: 'cut'}

export interface Report {
  readonly counters: readonly PortCounters[]
  readonly usage: readonly ProcessUsage[]
  readonly active: number
  readonly dead: string | undefined
}

/** From a worker to the supervising process. */
export type FromWorker =
  | {readonly type: 'listening'}
  | {readonly type: 'failed'; readonly code: string | undefined; readonly message: string}
  | {readonly type: 'report'; readonly id: number; readonly report: Report}
  | {readonly type: 'log'; readonly kind: string; readonly message: string}
  | {readonly type: 'loop'; readonly service: number}
  | {readonly type: 'exhausted'}
