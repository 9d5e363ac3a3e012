import type {Clock} from '../kube/index.ts'

/** More rewrites by others than this within the window, and we stop fighting for one window. */
const limit = 3
const windowMs = 10 * 60_000

/**
 * Counts how often somebody else took our names out (design.md 5: a foreign writer is named and never fought for ever).
 * Pure but for the clock.
 */
export class ForeignWrites {
  readonly #clock: Clock
  #times: number[] = []
  #pausedUntil = -Infinity

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Notes one rewrite; true if that was one too many. */
  note(): boolean {
    const now = this.#clock.now()
    this.#times = [...this.#times.filter((time) => now - time < windowMs), now]
    if (this.#times.length <= limit) return false
    this.#pausedUntil = now + windowMs
    this.#times = []
    return true
  }

  /** Milliseconds that the pause still lasts; 0: none. */
  get pauseMs(): number {
    return Math.max(0, this.#pausedUntil - this.#clock.now())
  }
}
