import type {Clock} from '../../../src/kube/index.ts'

/** A clock that only moves when the test says so; timers fire in their order, with promises settled in between. */
export class VirtualClock implements Clock {
  #now = 1000
  #wallOffset = Date.UTC(2026, 0, 1)
  #timers: {at: number; serial: number; run: () => void}[] = []
  #serial = 0

  now(): number {
    return this.#now
  }

  wall(): number {
    return this.#wallOffset + this.#now
  }

  after(ms: number, run: () => void): () => void {
    const timer = {at: this.#now + Math.max(0, ms), serial: this.#serial++, run}
    this.#timers.push(timer)
    return () => {
      this.#timers = this.#timers.filter((entry) => entry !== timer)
    }
  }

  /** Timers that wait. */
  get pending(): number {
    return this.#timers.length
  }

  /** Moves on by `ms`, firing what falls due on the way. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms
    await settle()
    for (;;) {
      const next = this.#timers.filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at || a.serial - b.serial)[0]
      if (next === undefined) break
      this.#timers = this.#timers.filter((timer) => timer !== next)
      this.#now = Math.max(this.#now, next.at)
      next.run()
      await settle()
    }
    this.#now = end
  }
}

/** Lets every promise that can settle do so. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve()
  await new Promise<void>((resolve) => setImmediate(resolve))
}
