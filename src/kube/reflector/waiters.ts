/** Those who wait for something to change; each checks for itself what it waited for. */
export class Waiters {
  readonly #wakes = new Set<() => void>()

  /** Resolves at the next `wake`, or when one of the signals aborts. */
  async next(...signals: readonly (AbortSignal | undefined)[]): Promise<void> {
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        this.#wakes.delete(wake)
        for (const signal of signals) signal?.removeEventListener('abort', wake)
        resolve()
      }
      this.#wakes.add(wake)
      for (const signal of signals) signal?.addEventListener('abort', wake, {once: true})
    })
  }

  wake(): void {
    for (const wake of [...this.#wakes]) wake()
  }
}
