/** Time as the proxy sees it, so that tests can move it by hand. */
export interface Clock {
  /** Monotonic milliseconds. */
  now(): number
  /** Runs `action` once after `milliseconds`; the returned function takes that back. A pending action does not keep the process alive. */
  after(milliseconds: number, action: () => void): () => void
}

export const systemClock: Clock = {
  now: () => performance.now(),
  after(milliseconds, action) {
    const timer = setTimeout(action, milliseconds)
    timer.unref()
    return () => clearTimeout(timer)
  },
}

/**
 * One time limit for many items. As all have the same length the insertion order is the order of expiry, so adding and taking out cost a Map operation
 * each, and one timer serves all.
 */
export class Deadlines<T> {
  readonly #clock: Clock
  readonly #milliseconds: number
  readonly #expired: (item: T) => void
  readonly #due = new Map<T, number>()
  #isArmed = false

  /** @param milliseconds the limit; 0 is none, and every call is then without effect. */
  constructor(clock: Clock, milliseconds: number, expired: (item: T) => void) {
    this.#clock = clock
    this.#milliseconds = milliseconds
    this.#expired = expired
  }

  get size(): number {
    return this.#due.size
  }

  /** Starts (or starts anew) the limit for an item. */
  start(item: T): void {
    if (this.#milliseconds === 0) return
    this.#due.delete(item)
    this.#due.set(item, this.#clock.now() + this.#milliseconds)
    this.#arm(this.#milliseconds)
  }

  stop(item: T): void {
    this.#due.delete(item)
  }

  #arm(milliseconds: number): void {
    if (this.#isArmed) return
    this.#isArmed = true
    this.#clock.after(Math.max(1, Math.ceil(milliseconds)), () => this.#sweep())
  }

  #sweep(): void {
    this.#isArmed = false
    const now = this.#clock.now()
    for (const [item, due] of this.#due) {
      if (due > now) return this.#arm(due - now)
      this.#due.delete(item)
      this.#expired(item)
    }
  }
}
