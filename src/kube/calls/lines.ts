/** Longest line of a watch that is taken: an object is 1.5 MiB at most in etcd, JSON and managedFields make it grow. */
export const maxLineBytes = 8 * 1024 * 1024

/** Thrown for a line without end. */
export class LineTooLongError extends Error {}

/**
 * Cuts a byte stream at line feeds. Works on bytes, so a character that is split between two chunks stays whole;
 * a carriage return before the line feed is left to JSON, to which it is blank.
 */
export class LineSplitter {
  readonly #limit: number
  #parts: Buffer[] = []
  #size = 0

  constructor(limit: number = maxLineBytes) {
    this.#limit = limit
  }

  /** @returns the lines that are complete now, without their line feed */
  push(chunk: Buffer): Buffer[] {
    const lines: Buffer[] = []
    let from = 0
    for (let at = chunk.indexOf(0x0a); at >= 0; at = chunk.indexOf(0x0a, from)) {
      this.#keep(chunk.subarray(from, at))
      lines.push(this.#parts.length === 1 ? (this.#parts[0] as Buffer) : Buffer.concat(this.#parts, this.#size))
      this.#parts = []
      this.#size = 0
      from = at + 1
    }
    this.#keep(chunk.subarray(from))
    return lines
  }

  /** Bytes of a line that has not ended. */
  get pending(): number {
    return this.#size
  }

  #keep(part: Buffer): void {
    this.#size += part.length
    if (this.#size > this.#limit) throw new LineTooLongError(`a line of more than ${this.#limit} bytes`)
    if (part.length > 0 || this.#parts.length === 0) this.#parts.push(part)
  }
}
