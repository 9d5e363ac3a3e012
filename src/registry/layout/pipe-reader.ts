import type {Sink} from '../download.ts'
import {Garbage} from '../garbage.ts'

/** Reads a stream forwards by offset, as the tar format wants it. Nothing that lies behind is kept. */
export class PipeReader {
  readonly #chunks: AsyncIterator<Uint8Array>
  readonly #garbage = new Garbage()
  #current: Buffer = Buffer.alloc(0)
  #offset = 0

  constructor(input: AsyncIterable<Uint8Array>) {
    this.#chunks = input[Symbol.asyncIterator]()
  }

  /** Moves bytes from `offset` on into a sink. @returns how many there were; fewer only at the end of the stream */
  async pump(offset: number, length: number, sink: Sink): Promise<number> {
    await this.#skipTo(offset)
    let done = 0
    while (done < length && (await this.#fill())) {
      const piece = this.#take(length - done)
      done += piece.length
      const pending = sink(piece)
      if (pending !== undefined) await pending
    }
    return done
  }

  /** Bytes from `offset` on; fewer only at the end of the stream. */
  async read(offset: number, length: number): Promise<Buffer> {
    const pieces: Buffer[] = []
    await this.pump(offset, length, (piece) => void pieces.push(piece))
    return pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces)
  }

  async #skipTo(offset: number): Promise<void> {
    if (offset < this.#offset) throw new Error(`a pipe cannot be read backwards: ${offset} after ${this.#offset}`)
    while (this.#offset < offset && (await this.#fill())) this.#take(offset - this.#offset)
  }

  #take(most: number): Buffer {
    const piece = this.#current.subarray(0, most)
    this.#current = this.#current.subarray(piece.length)
    this.#offset += piece.length
    return piece
  }

  async #fill(): Promise<boolean> {
    while (this.#current.length === 0) {
      const next = await this.#chunks.next()
      if (next.done === true) return false
      const {buffer, byteOffset, byteLength} = next.value
      this.#garbage.count(byteLength)
      this.#current = Buffer.from(buffer, byteOffset, byteLength)
    }
    return true
  }
}
