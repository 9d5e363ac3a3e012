import {sleep} from '../clock.ts'
import type {Clock} from '../clock.ts'

/** A token bucket: at most `burst` at once and `perSecond` in the long run. A seat belt against our own mistakes. */
export class Bucket {
  readonly #perSecond: number
  readonly #burst: number
  readonly #clock: Clock
  #tokens: number
  #at: number

  constructor(perSecond: number, burst: number, clock: Clock) {
    this.#perSecond = perSecond
    this.#burst = burst
    this.#clock = clock
    this.#tokens = burst
    this.#at = clock.now()
  }

  /** Resolves when one more request may go out. Those who wait are served in order. */
  async take(signal: AbortSignal): Promise<void> {
    const now = this.#clock.now()
    this.#tokens = Math.min(this.#burst, this.#tokens + ((now - this.#at) / 1000) * this.#perSecond)
    this.#at = now
    // Going below zero reserves the place of whoever waits.
    this.#tokens -= 1
    if (this.#tokens >= 0) return
    await sleep(this.#clock, (-this.#tokens / this.#perSecond) * 1000, signal)
  }
}
