import type {Clock} from '../kube/index.ts'
import {Backoff} from './backoff.ts'

/** How a pass over the work ended. */
export type Outcome =
  | {readonly result: 'done'}
  /** Run again after this long (or, without a time, after the backoff), or earlier when something changes. */
  | {readonly result: 'again'; readonly afterMs?: number}
  /** As `again`, but nothing may hasten it: the server has asked for this pause. */
  | {readonly result: 'wait'; readonly afterMs: number}

export interface QueueOptions {
  readonly clock: Clock
  readonly random: () => number
  /** The work; never two at once. A rejection counts as `again`. */
  readonly work: () => Promise<Outcome>
  /** Milliseconds that a write must still wait for its turn. */
  readonly paceDelay: () => number
  readonly onError?: (error: unknown) => void
  /** Milliseconds after the last mark. Default 250. */
  readonly quietMs?: number
  /** Milliseconds after the first mark, at the latest. Default 2000. */
  readonly latestMs?: number
  readonly observer?: QueueObserver
}

export interface QueueObserver {
  onMark?(): void
  onStart?(waitedMs: number): void
  onEnd?(tookMs: number, outcome: Outcome['result'] | 'error'): void
}

/**
 * The work queue of one output: marks are gathered (250 ms after the last, 2 s after the first), a mark while the work
 * runs makes it run once more, a failure comes again with backoff (200 ms doubled to 60 s).
 */
export class WorkQueue {
  readonly #options: QueueOptions
  readonly #backoff: Backoff
  #first: number | undefined
  #last = 0
  #retryAt: number | undefined
  #notBefore = 0
  #running: Promise<void> | undefined
  #startedAt: number | undefined
  #cancel: (() => void) | undefined
  #closed = false

  constructor(options: QueueOptions) {
    this.#options = options
    this.#backoff = new Backoff(200, 60_000, options.random)
  }

  /** Something has changed. */
  mark(): void {
    if (this.#closed) return
    const now = this.#options.clock.now()
    this.#first ??= now
    this.#last = now
    this.#options.observer?.onMark?.()
    this.#plan()
  }

  /** Work at once, without waiting for quiet. */
  markNow(): void {
    this.mark()
    this.#last = -Infinity
    this.#plan()
  }

  /** Milliseconds that the present pass has been running; undefined: none is. */
  get runningMs(): number | undefined {
    return this.#startedAt === undefined ? undefined : this.#options.clock.now() - this.#startedAt
  }

  /** True if there is work to come. */
  get dirty(): boolean {
    return this.#first !== undefined || this.#retryAt !== undefined
  }

  /** No pass begins any more; resolves when the running one has ended. */
  async close(): Promise<void> {
    this.#closed = true
    this.#cancel?.()
    await this.#running
  }

  #plan(): void {
    this.#cancel?.()
    this.#cancel = undefined
    if (this.#closed || this.#running !== undefined) return
    const due = this.#due()
    if (due === undefined) return
    const now = this.#options.clock.now()
    const at = Math.max(due, this.#notBefore, now + this.#options.paceDelay())
    this.#cancel = this.#options.clock.after(Math.max(0, at - now), () => {
      this.#cancel = undefined
      this.#start()
    })
  }

  #due(): number | undefined {
    const marked =
      this.#first === undefined
        ? undefined
        : Math.min(this.#last + (this.#options.quietMs ?? 250), this.#first + (this.#options.latestMs ?? 2000))
    if (marked === undefined) return this.#retryAt
    return this.#retryAt === undefined ? marked : Math.min(marked, this.#retryAt)
  }

  #start(): void {
    const {clock, observer} = this.#options
    const began = clock.now()
    observer?.onStart?.(this.#first === undefined ? 0 : began - this.#first)
    this.#first = undefined
    this.#retryAt = undefined
    this.#startedAt = began
    this.#running = this.#run(began)
  }

  async #run(began: number): Promise<void> {
    const {clock, observer} = this.#options
    let result: Outcome['result'] | 'error'
    try {
      const outcome = await this.#options.work()
      result = outcome.result
      this.#settle(outcome)
    } catch (error) {
      result = 'error'
      this.#options.onError?.(error)
      this.#settle({result: 'again'})
    }
    this.#startedAt = undefined
    this.#running = undefined
    observer?.onEnd?.(clock.now() - began, result)
    this.#plan()
  }

  #settle(outcome: Outcome): void {
    const now = this.#options.clock.now()
    if (outcome.result === 'done') {
      this.#backoff.reset()
    } else if (outcome.result === 'wait') {
      this.#notBefore = now + outcome.afterMs
      this.#retryAt = this.#notBefore
    } else {
      this.#retryAt = now + (outcome.afterMs ?? this.#backoff.step())
    }
  }
}
