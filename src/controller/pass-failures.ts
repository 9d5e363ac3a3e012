import {AlteredWrite} from '../cluster-dns/altered-write.ts'
import {hasStatus} from '../kube/index.ts'
import type {Clock, Log} from '../kube/index.ts'
import {SrcipError} from '../model/errors.ts'
import type {ObjectRef} from '../model/kubernetes.ts'
import type {Outcome} from './queue.ts'
import type {Conditions} from './reports.ts'

/** Denials that come back with the queue's own waits; then somebody has to act first, and every ten minutes will do. */
const quickDenials = 8
const patienceMs = 600_000

interface PassFailuresOptions {
  readonly output: string
  readonly clock: Clock
  readonly random: () => number
  readonly log: Log
  readonly conditions: Conditions
  readonly observer?: {onWrite?(result: 'denied' | 'error'): void}
}

/** What failed passes of one output lead to: how it is said, and when the next one comes. */
export class PassFailures {
  readonly #options: PassFailuresOptions
  #denials = 0
  /** The set that the API server stored as something else, and until when it is left alone. */
  #altered: {readonly fingerprint: string; readonly until: number} | undefined

  constructor(options: PassFailuresOptions) {
    this.#options = options
  }

  /** Milliseconds for which this set is not written, since it came out altered; 0: it may be. */
  pauseMs(fingerprint: string): number {
    if (this.#altered?.fingerprint !== fingerprint) return 0
    return Math.max(0, this.#altered.until - this.#options.clock.now())
  }

  /** Remembers a set that was stored as something else. Trying it again at once would make CoreDNS reload twice each time. */
  wasAltered(error: unknown, fingerprint: string, regarding: ObjectRef | undefined): boolean {
    if (!(error instanceof AlteredWrite)) return false
    const {clock, conditions} = this.#options
    this.#altered = {fingerprint, until: clock.now() + this.#patience()}
    conditions.raise('write-altered', {reason: 'WriteAltered', note: error.message, regarding})
    return true
  }

  /** A write has gone through. */
  written(): void {
    const {conditions} = this.#options
    this.#denials = 0
    this.#altered = undefined
    conditions.clear('write-denied', 'the write is allowed again')
    conditions.clear('write-altered', 'the text is stored as it was sent again')
  }

  /** When the next pass comes after this one has failed. */
  outcome(error: unknown): Outcome {
    const {conditions, observer, log, output} = this.#options
    const message = error instanceof Error ? error.message : String(error)
    if (error instanceof SrcipError && error.code === 'Denied') {
      this.#denials++
      observer?.onWrite?.('denied')
      conditions.raise('write-denied', {reason: 'WriteDenied', note: message})
      return this.#denials > quickDenials ? {result: 'again', afterMs: this.#patience()} : {result: 'again'}
    }
    observer?.onWrite?.('error')
    if (error instanceof AlteredWrite) return {result: 'again', afterMs: this.#patience()}
    if (hasStatus(error, 429) && error.retryAfterMs !== undefined) return {result: 'wait', afterMs: error.retryAfterMs}
    log.error(message, {output})
    return {result: 'again'}
  }

  #patience(): number {
    return patienceMs * (0.9 + 0.2 * this.#options.random())
  }
}
