import type {Clock} from '../clock.ts'

/** Calls back once when nothing has re-armed it for its limit. */
export class IdleTimer {
  readonly #clock: Clock
  readonly #expire: () => void
  #deadline = 0
  #cancel: (() => void) | undefined

  constructor(clock: Clock, expire: () => void) {
    this.#clock = clock
    this.#expire = expire
  }

  /** Starts the silence anew, with this limit in milliseconds. */
  arm(limitMs: number): void {
    const earlier = this.#deadline
    this.#deadline = this.#clock.now() + limitMs
    // Every chunk of bytes comes here: a timer that is due earlier is left to find out by itself.
    if (this.#cancel !== undefined && this.#deadline >= earlier) return
    this.#cancel?.()
    this.#wait()
  }

  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
  }

  #wait(): void {
    this.#cancel = this.#clock.after(this.#deadline - this.#clock.now(), () => {
      this.#cancel = undefined
      if (this.#clock.now() < this.#deadline) this.#wait()
      else this.#expire()
    })
  }
}
