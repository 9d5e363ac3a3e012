import type {KubeObject} from '../../model/kubernetes.ts'
import type {Clock} from '../clock.ts'
import type {KubeFailure} from '../failures/failure.ts'
import type {KubeClient, Log, Resource} from '../types.ts'

/**
 * What is known of a source (controller.md 3.2).
 * - `syncing`: nothing complete has been seen in this process yet
 * - `synced`: complete, and the watch is alive
 * - `stale`: was complete, but lists or watches fail now; the store keeps what it had
 * - `forbidden`: the API server answers 403; the store keeps what it had
 * - `absent`: the kind is not served, confirmed by discovery; the store is empty
 */
export type SourceState = 'syncing' | 'synced' | 'stale' | 'forbidden' | 'absent'

/** A state with what led to it. */
export interface SourceStatus {
  readonly state: SourceState
  /** True once a complete list has been seen in this process; stays true. */
  readonly everSynced: boolean
  /** Why the state is not `synced`. */
  readonly failure?: KubeFailure
  /** Monotonic milliseconds of the last change of `state`. */
  readonly since: number
  /** Monotonic milliseconds of the last sign of life: a list, an event, a bookmark or a byte of the watch. */
  readonly lastSeen: number
  /**
   * Monotonic milliseconds by which the loop moves by its own timers at the latest (the end of a wait, the idle limit of
   * a watch, now for a request under way); absent while no loop runs. Whatever the API server does, it is never passed
   * by more than the time limit of one request, unless the loop is stuck.
   */
  readonly dueBy?: number
  /** Monotonic milliseconds of the last complete list. */
  readonly lastList?: number
  /** Why lists fail now, and since when (monotonic milliseconds), whatever the watch does meanwhile. */
  readonly listFailure?: KubeFailure
  readonly listFailingSince?: number
}

/** One object as the store keeps it. */
export interface StoredObject<T> {
  /** `namespace/name`, or `name` for cluster-scoped kinds. */
  readonly key: string
  readonly uid: string
  readonly resourceVersion: string
  readonly value: T
}

/** What changed, told after the store has changed. The handler only marks keys dirty; it must not do the work itself. */
export interface StoreChange<T> {
  readonly type: 'add' | 'update' | 'delete'
  readonly key: string
  /** The object now; for a delete, as last seen. */
  readonly object: StoredObject<T>
  readonly previous?: StoredObject<T>
  /** A delete that was not observed but found by a list: the object may have lived on for a while after `object`. */
  readonly tombstone: boolean
}

export interface ReflectorOptions<T> {
  readonly client: KubeClient
  readonly resource: Resource
  /** Versions to fall back to by discovery, best first (`v1`, `v1beta1`). Default: only the resource's own. */
  readonly versions?: readonly string[]
  readonly namespace?: string
  readonly labelSelector?: string
  readonly fieldSelector?: string
  /** Reduces an object to what is needed, while it is read. Return undefined to leave it out. Must not throw. */
  readonly project: (object: KubeObject) => T | undefined
  readonly clock?: Clock
  /** 0 <= x < 1. */
  readonly random?: () => number
  readonly onChange?: (change: StoreChange<T>) => void
  readonly onState?: (status: SourceStatus) => void
  readonly observer?: ReflectorObserver
  readonly log?: Log
  /** For one pass: a kind that a ready API server does not serve is absent at once, without a second look 30 s later. */
  readonly once?: boolean
  /** Milliseconds between relists that check for drift; default 1 h, +-20 %. */
  readonly relistMs?: number
  /** Milliseconds of silence on a watch before it is replaced; default 90 s. */
  readonly idleMs?: number
  /** The same while the initial objects are awaited (WatchList), then lists are used instead; default 10 s. */
  readonly initialIdleMs?: number
}

/** Why a source is listed. */
export type ListReason = 'first' | 'expired' | 'damaged' | 'unavailable'

/** Counters for metrics. */
export interface ReflectorObserver {
  onList?(reason: ListReason | 'periodic' | 'requested'): void
  onWatchEnd?(reason: string): void
  /** Keys that a periodic relist found different from the store: events were lost. */
  onDrift?(keys: readonly string[]): void
}

/** A local, always current copy of one kind. */
export interface Reflector<T> {
  readonly resource: Resource
  readonly store: ReadonlyMap<string, StoredObject<T>>
  readonly status: SourceStatus
  readonly state: SourceState
  start(): void
  /** Ends the watch and every timer; resolves when nothing of it runs any more. The store stays readable. */
  stop(): Promise<void>
  /** One consistent list now (resourceVersion unset); resolves when the store has it, rejects when it fails. */
  relist(signal?: AbortSignal): Promise<void>
  /** Resolves at the first complete list, or when the kind is confirmed absent. */
  waitForSync(signal?: AbortSignal): Promise<void>
}
