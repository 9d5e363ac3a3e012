import type {Clock} from '../kube/index.ts'

/**
 * How often something may be written: `burst` at once, then one per `intervalMs` (a token bucket on monotonic time).
 * Every write of the Corefile makes all CoreDNS pods reload, and each reload costs seconds.
 */
export class Pace {
  readonly #clock: Clock
  readonly #intervalMs: number
  readonly #burst: number
  #tokens: number
  #at: number

  constructor(clock: Clock, intervalMs: number, burst: number) {
    this.#clock = clock
    this.#intervalMs = intervalMs
    this.#burst = burst
    this.#tokens = burst
    this.#at = clock.now()
  }

  /** Milliseconds until the next write is allowed; 0: now. */
  delay(): number {
    this.#refill()
    return this.#tokens >= 1 ? 0 : Math.ceil((1 - this.#tokens) * this.#intervalMs)
  }

  /** Books one write. */
  spend(): void {
    this.#refill()
    this.#tokens = Math.max(0, this.#tokens - 1)
  }

  #refill(): void {
    const now = this.#clock.now()
    this.#tokens = Math.min(this.#burst, this.#tokens + (now - this.#at) / this.#intervalMs)
    this.#at = now
  }
}
