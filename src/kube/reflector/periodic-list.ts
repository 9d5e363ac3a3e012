import type {KubeObject} from '../../model/kubernetes.ts'
import {sleep} from '../clock.ts'
import type {Clock} from '../clock.ts'
import {KubeFailure} from '../failures/failure.ts'
import {Backoff, patientBackoff} from './backoff.ts'
import type {FullList} from './full-list.ts'
import {objectKey} from './store.ts'
import type {StoreChange} from './types.ts'

/** After the list the watch gets this long to deliver what is on its way, before a difference counts as drift. */
const graceMs = 1000
/** A source that has drifted is checked more often for a while. */
const suspiciousMs = 5 * 60_000
const suspicionLastsMs = 6 * 3_600_000

export interface PeriodicListOptions<T> {
  readonly clock: Clock
  readonly random: () => number
  readonly relistMs: number
  readonly list: (signal: AbortSignal) => Promise<FullList<T>>
  readonly apply: (list: FullList<T>, except: ReadonlySet<string>) => readonly StoreChange<T>[]
  /** The main loop is about to list, or does. */
  readonly busy: () => boolean
  readonly onListed: () => void
  readonly onFailed: (failure: KubeFailure) => void
  readonly onDrift: (keys: readonly string[], resourceVersion: string) => void
  readonly onList: (reason: 'periodic' | 'requested') => void
}

/** Lists beside the watch from time to time: a watch that tells nothing is found out by what it did not tell. */
export class PeriodicList<T> {
  readonly #options: PeriodicListOptions<T>
  readonly #retry: Backoff
  readonly #stop = new AbortController()
  #cancel: (() => void) | undefined
  #running: Promise<void> | undefined
  #touched: Set<string> | undefined
  #suspiciousUntil = Number.NEGATIVE_INFINITY

  constructor(options: PeriodicListOptions<T>) {
    this.#options = options
    this.#retry = new Backoff(patientBackoff, options.clock, options.random)
  }

  /** Plans the next list, counted from now. */
  schedule(): void {
    const {clock, relistMs, random} = this.#options
    const period = clock.now() < this.#suspiciousUntil ? Math.min(relistMs, suspiciousMs) : relistMs
    this.#after(period * (0.8 + 0.4 * random()))
  }

  /** A watch has spoken for this object. */
  touched(object: KubeObject): void {
    this.#touched?.add(objectKey(object))
  }

  /** One list now; joins the one under way. */
  async now(signal: AbortSignal): Promise<void> {
    if (this.#running !== undefined) await this.#running
    const run = this.#run('requested', signal)
    this.#running = run.catch(() => undefined)
    try {
      await run
    } finally {
      this.#running = undefined
    }
  }

  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
    this.#stop.abort(new Error('stopped'))
  }

  async stopped(): Promise<void> {
    await this.#running
  }

  #after(ms: number): void {
    if (this.#stop.signal.aborted) return
    this.#cancel?.()
    this.#cancel = this.#options.clock.after(ms, () => {
      if (this.#options.busy() || this.#running !== undefined) {
        this.schedule()
        return
      }
      this.#running = this.#run('periodic', this.#stop.signal)
        .catch((error: unknown) => this.#failed(error))
        .finally(() => (this.#running = undefined))
    })
  }

  #failed(error: unknown): void {
    if (this.#stop.signal.aborted) return
    const wait = Math.min(this.#options.relistMs, this.#retry.next())
    this.#after(Math.max(wait, error instanceof KubeFailure ? (error.retryAfterMs ?? 0) : 0))
  }

  async #run(reason: 'periodic' | 'requested', signal: AbortSignal): Promise<void> {
    this.#options.onList(reason)
    this.#touched = new Set()
    try {
      const list = await this.#options.list(signal)
      if (reason === 'periodic') await sleep(this.#options.clock, graceMs, signal)
      // The main loop has begun to list anew meanwhile; what we have is older.
      if (this.#options.busy()) return
      const changes = this.#options.apply(list, this.#touched)
      this.#retry.reset()
      this.#options.onListed()
      if (reason === 'periodic' && changes.length > 0) {
        this.#suspiciousUntil = this.#options.clock.now() + suspicionLastsMs
        this.#options.onDrift([...new Set(changes.map((change) => change.key))], list.resourceVersion)
      }
      this.schedule()
    } catch (error) {
      if (error instanceof KubeFailure && error.kind !== 'aborted') this.#options.onFailed(error)
      throw error
    } finally {
      this.#touched = undefined
    }
  }
}
