import type {Clock} from '../../src/proxy/clock.ts'

/** A clock that stands still until a test moves it. */
export class ManualClock implements Clock {
  #now = 0
  #actions: {at: number; action: () => void}[] = []

  now(): number {
    return this.#now
  }

  after(milliseconds: number, action: () => void): () => void {
    const entry = {at: this.#now + milliseconds, action}
    this.#actions.push(entry)
    return () => {
      this.#actions = this.#actions.filter((each) => each !== entry)
    }
  }

  /** Actions that wait. */
  get pending(): number {
    return this.#actions.length
  }

  /** Moves the clock, running what falls due in order; promises settle between the actions. */
  async advance(milliseconds: number): Promise<void> {
    const end = this.#now + milliseconds
    for (;;) {
      await settle()
      const next = this.#actions.toSorted((one, other) => one.at - other.at)[0]
      if (!next || next.at > end) break
      this.#now = next.at
      this.#actions = this.#actions.filter((each) => each !== next)
      next.action()
    }
    this.#now = end
    await settle()
  }
}

function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
