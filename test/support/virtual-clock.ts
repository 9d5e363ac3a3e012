import type {Clock} from '../../src/kube/clock.ts'

interface Timer {
  readonly at: number
  readonly order: number
  readonly run: () => void
}

/** A clock that stands still until the test moves it. Wall and monotonic time can be moved apart. */
export class VirtualClock implements Clock {
  #now = 0
  #wall: number
  #order = 0
  readonly #timers = new Set<Timer>()

  constructor(wall = Date.UTC(2026, 0, 1)) {
    this.#wall = wall
  }

  now(): number {
    return this.#now
  }

  wall(): number {
    return this.#wall
  }

  after(ms: number, run: () => void): () => void {
    const timer: Timer = {at: this.#now + Math.max(0, ms), order: this.#order++, run}
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  /** Timers that wait; a test ends with none. */
  get pending(): number {
    return this.#timers.size
  }

  /** Sets the wall clock without any time passing. */
  setWall(ms: number): void {
    this.#wall = ms
  }

  /** Time passes at once, as for a process whose event loop was blocked: no timer runs in between. */
  block(ms: number): void {
    this.#now += ms
    this.#wall += ms
  }

  /** Lets `ms` milliseconds pass; every timer runs at its time, and what it sets off has settled before the next. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms
    await settle()
    for (;;) {
      const next = [...this.#timers]
        .filter((timer) => timer.at <= end)
        .toSorted((a, b) => a.at - b.at || a.order - b.order)[0]
      if (next === undefined) break
      this.#timers.delete(next)
      this.#move(next.at)
      next.run()
      await settle()
    }
    this.#move(end)
    await settle()
  }

  #move(to: number): void {
    if (to <= this.#now) return
    this.#wall += to - this.#now
    this.#now = to
  }
}

/** Lets everything that is ready run. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 4; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}
