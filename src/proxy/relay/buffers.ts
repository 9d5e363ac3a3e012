/**
 * Read buffers of one process.
 *
 * A read is handled completely before the next one begins, so every connection that moves little can read into one and the same buffer and its bytes are
 * copied out: an idle connection then holds no buffer at all. Only a direction whose reads fill their buffer gets one of its own, 64 KiB, then 256 KiB,
 * then 1 MiB, which is passed on without a copy (design.md 9: 64 KiB 1.4, 256 KiB 1.0, 1 MiB 0.6 CPU seconds a GB).
 */
export const sharedBytes = 16 * 1024
export const ownBytes = [64 * 1024, 256 * 1024, 1024 * 1024] as const

export class BufferPool {
  /** The buffer of everyone who has none. Its content is only valid inside the read that filled it. */
  readonly shared = Buffer.allocUnsafeSlow(sharedBytes)
  readonly #free: Buffer[][] = ownBytes.map(() => [])
  readonly #budget: number
  #inUse = 0

  /** @param budget bytes that all own buffers together may take; beyond it directions stay with what they have. */
  constructor(budget: number) {
    this.#budget = budget
  }

  /** Bytes handed out and not given back. */
  get inUse(): number {
    return this.#inUse
  }

  /** Bytes kept for the next taker. */
  get kept(): number {
    return this.#free.reduce((sum, list, step) => sum + list.length * (ownBytes[step] ?? 0), 0)
  }

  /** The buffer one step larger than `current`; `current` itself at the top or when the budget is used up. */
  grow(current: Buffer): Buffer {
    const step = ownBytes.findIndex((bytes) => bytes > current.length)
    const bytes = ownBytes[step]
    if (bytes === undefined) return current
    const returned = current === this.shared ? 0 : current.length
    if (this.#inUse - returned + bytes > this.#budget) return current
    this.giveBack(current)
    this.#inUse += bytes
    return this.#free[step]?.pop() ?? Buffer.allocUnsafeSlow(bytes)
  }

  /** Ends the use of a buffer; the shared one is never anybody's and is ignored. */
  giveBack(buffer: Buffer): void {
    if (buffer === this.shared) return
    this.#inUse -= buffer.length
    const list = this.#free[ownBytes.findIndex((bytes) => bytes === buffer.length)]
    // A few are kept so that a transfer that comes and goes does not allocate; the rest is left to the garbage collector.
    if (list && list.length < 4) list.push(buffer)
  }

  /** Drops what is kept; called when nothing grew for a while. */
  trim(): void {
    for (const list of this.#free) list.length = 0
  }
}
