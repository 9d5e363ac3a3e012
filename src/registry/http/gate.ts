interface Waiter {
  readonly priority: number
  readonly order: number
  readonly start: () => void
}

/**
 * Limits the requests in flight towards one host, and holds new ones back while the host has asked for a pause.
 * The limit halves when the host is overloaded and grows by one after twenty good answers.
 */
export class Gate {
  readonly #most: number
  #limit: number
  #running = 0
  #good = 0
  #order = 0
  #pausedUntil = 0
  #stopped = false
  #timer: NodeJS.Timeout | undefined
  readonly #waiting: Waiter[] = []

  constructor(most: number) {
    this.#most = most
    this.#limit = most
  }

  get limit(): number {
    return this.#limit
  }

  /** Waits for a place; lower priority values go first, then the order of asking. `leave` must follow. */
  enter(priority = 0): Promise<void> | undefined {
    if (this.#running < this.#limit && this.#pausedUntil === 0) {
      this.#running++
      return undefined
    }
    return new Promise((start) => {
      const waiter = {priority, order: this.#order++, start}
      let low = 0
      let high = this.#waiting.length
      while (low < high) {
        const middle = (low + high) >>> 1
        const other = this.#waiting[middle] as Waiter
        if (other.priority < priority || (other.priority === priority && other.order < waiter.order)) low = middle + 1
        else high = middle
      }
      this.#waiting.splice(low, 0, waiter)
    })
  }

  leave(): void {
    this.#running--
    this.#drain()
  }

  /** An answer without complaint. */
  good(): void {
    if (this.#limit < this.#most && ++this.#good >= 20) {
      this.#good = 0
      this.#limit++
    }
  }

  /** The host is overloaded: half the requests, none before the pause is over. */
  pause(ms: number, now: number): void {
    this.#good = 0
    this.#limit = Math.max(1, this.#limit >> 1)
    const until = now + ms
    if (this.#stopped || until <= this.#pausedUntil) return
    this.#pausedUntil = until
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#pausedUntil = 0
      this.#drain()
    }, ms)
  }

  /** Lets everybody through: what they find then is that the work has been stopped. */
  stop(): void {
    clearTimeout(this.#timer)
    this.#pausedUntil = 0
    this.#stopped = true
    this.#drain()
  }

  #drain(): void {
    while (this.#pausedUntil === 0 && (this.#stopped || this.#running < this.#limit) && this.#waiting.length > 0) {
      this.#running++
      this.#waiting.shift()?.start()
    }
  }
}
