import type {Clock} from '../clock.ts'

export interface BackoffShape {
  readonly baseMs: number
  readonly capMs: number
  /** A step is at most this much longer, by chance, so that many sources do not come back in lock-step. */
  readonly jitter: number
  /** After this long without a step it starts from the base again. */
  readonly resetMs: number
}

/** Watches and lists that fail: 0.8 s, doubled up to 30 s, each times 1 to 2 (client-go's figures). */
export const watchBackoff: BackoffShape = {baseMs: 800, capMs: 30_000, jitter: 1, resetMs: 120_000}

/** Missing rights and absent kinds: a person has to act, so there is no hurry. 30 s up to 5 min. */
export const patientBackoff: BackoffShape = {baseMs: 30_000, capMs: 300_000, jitter: 0.2, resetMs: 900_000}

/** Growing waits, measured on the monotonic clock. */
export class Backoff {
  readonly #shape: BackoffShape
  readonly #clock: Clock
  readonly #random: () => number
  #steps = 0
  #until = Number.NEGATIVE_INFINITY

  constructor(shape: BackoffShape, clock: Clock, random: () => number) {
    this.#shape = shape
    this.#clock = clock
    this.#random = random
  }

  /** Milliseconds to wait now. */
  next(): number {
    const {baseMs, capMs, jitter, resetMs} = this.#shape
    const now = this.#clock.now()
    if (now - this.#until > resetMs) this.#steps = 0
    const base = Math.min(capMs, baseMs * 2 ** this.#steps)
    this.#steps += 1
    const wait = base * (1 + jitter * this.#random())
    this.#until = now + wait
    return wait
  }

  reset(): void {
    this.#steps = 0
  }
}
