import type {Clock, Log} from '../kube/index.ts'
import type {ControllerMetrics} from './controller-metrics.ts'
import {createHeapTrim} from './heap-trim.ts'
import {Pace} from './pace.ts'
import {WorkQueue} from './queue.ts'
import type {Reconciler} from './reconciler.ts'

/** Milliseconds between writes, and how many may come at once (design.md 5, "Pace"). */
const writeIntervalMs = 5000
const writeBurst = 3
/** Level trigger: compare with the live object this often, +-10 %. */
const resyncMs = 600_000
/** A pass under way when the process is told to end may take this long. */
const graceMs = 10_000

export interface LaneOptions {
  readonly name: string
  readonly reconciler: Reconciler
  readonly clock: Clock
  readonly random: () => number
  readonly log: Log
  readonly metrics: ControllerMetrics
  /** How often the live object is compared though nothing was heard; default every 10 minutes. */
  readonly resyncMs?: number
}

/** One output with its queue and pace: outputs neither wait for each other nor fail together. */
export class Lane {
  readonly name: string
  readonly reconciler: Reconciler
  readonly #options: LaneOptions
  readonly #pace: Pace
  #lastWrite = -Infinity
  #queue: WorkQueue | undefined

  constructor(options: LaneOptions) {
    this.#options = options
    this.name = options.name
    this.reconciler = options.reconciler
    this.#pace = new Pace(options.clock, writeIntervalMs, writeBurst)
  }

  /** Something has changed. Without effect while nothing may be written. */
  mark(): void {
    this.#queue?.mark()
  }

  /** Books a write that was made. */
  wrote(): void {
    this.#pace.spend()
    this.#lastWrite = this.#options.clock.now()
  }

  /** Milliseconds that the present pass has been running. */
  get runningMs(): number | undefined {
    return this.#queue?.runningMs
  }

  /**
   * Works until `lost` or `shutdown` aborts. Each time has a queue of its own, so that a lost Lease leaves nothing
   * behind that could still write.
   */
  async work(lost: AbortSignal, shutdown: AbortSignal): Promise<void> {
    const {clock, random, log, metrics, reconciler} = this.#options
    const scope = new AbortController()
    const trim = createHeapTrim()
    const queue = new WorkQueue({
      clock,
      random,
      work: () => reconciler.reconcile(scope.signal).finally(trim),
      paceDelay: () => this.#delay(),
      onError: (error) => {
        if (!scope.signal.aborted) log.error('a pass failed', {output: this.name, error})
      },
      observer: metrics.queue(this.name),
    })
    this.#queue = queue
    queue.mark()
    const cancelResync = repeat(
      clock,
      () => (this.#options.resyncMs ?? resyncMs) * (0.9 + 0.2 * random()),
      () => queue.mark(),
    )
    try {
      await aborted(AbortSignal.any([lost, shutdown]))
      // Told to end: the pass under way may finish. The Lease lost: nothing may be written any more.
      if (!shutdown.aborted) scope.abort(new Error('the Lease is lost'))
      const cancel = clock.after(graceMs, () => scope.abort(new Error('shutting down')))
      await queue.close()
      cancel()
    } finally {
      cancelResync()
      scope.abort(new Error('the work has ended'))
      this.#queue = undefined
      await reconciler.proofs.close()
    }
  }

  /** A newer set may replace one that is not confirmed yet, but not sooner than an interval after it. */
  #delay(): number {
    const bucket = this.#pace.delay()
    if (this.#options.reconciler.proofs.verdict !== 'pending') return bucket
    return Math.max(bucket, this.#lastWrite + writeIntervalMs - this.#options.clock.now())
  }
}

function repeat(clock: Clock, interval: () => number, run: () => void): () => void {
  let cancel = (): void => undefined
  const next = (): void => {
    cancel = clock.after(interval(), () => {
      run()
      next()
    })
  }
  next()
  return () => cancel()
}

/** Resolves when the signal aborts. */
export async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), {once: true}))
}
