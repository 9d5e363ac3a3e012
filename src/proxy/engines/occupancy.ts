/** Bytes of the shared memory for this many threads. */
export function occupancyBytes(threads: number): number {
  return (threads + 1) * Int32Array.BYTES_PER_ELEMENT
}

/**
 * How many connections are open over all threads, so that `--max-connections` is one limit and not one for each thread.
 * Cell 0 is the sum, the cell after a thread's number is its own part.
 */
export class Occupancy {
  readonly #cells: Int32Array
  readonly #own: number
  readonly #limit: number

  constructor(memory: ArrayBufferLike, thread: number, limit: number) {
    this.#cells = new Int32Array(memory)
    this.#own = thread + 1
    this.#limit = limit
  }

  /** Connections open over all threads. */
  get total(): number {
    return Atomics.load(this.#cells, 0)
  }

  /** Takes a place; false when there is none. */
  enter(): boolean {
    if (Atomics.add(this.#cells, 0, 1) >= this.#limit) {
      Atomics.sub(this.#cells, 0, 1)
      return false
    }
    Atomics.add(this.#cells, this.#own, 1)
    return true
  }

  leave(): void {
    Atomics.sub(this.#cells, 0, 1)
    Atomics.sub(this.#cells, this.#own, 1)
  }

  /** Frees all places of a thread that has ended. */
  clear(): void {
    Atomics.sub(this.#cells, 0, Atomics.exchange(this.#cells, this.#own, 0))
  }
}
