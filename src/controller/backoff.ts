/**
 * Delays between tries: `first` milliseconds, doubled to `limit`, each times 1 + random() so that several processes do
 * not keep step. `reset` after a success.
 */
export class Backoff {
  readonly #first: number
  readonly #limit: number
  readonly #random: () => number
  #next: number

  constructor(first: number, limit: number, random: () => number) {
    this.#first = first
    this.#limit = limit
    this.#random = random
    this.#next = first
  }

  /** The next delay in milliseconds, at most `limit`. */
  step(): number {
    const base = this.#next
    this.#next = Math.min(base * 2, this.#limit)
    return Math.min(base * (1 + this.#random()), this.#limit)
  }

  reset(): void {
    this.#next = this.#first
  }
}
