import type {Socket} from 'node:net'
import type {BufferPool} from './buffers.ts'
import {rebuffer, type Reader} from './handle.ts'

/** What a leg tells the connection that it belongs to. */
export interface LegOwner {
  /** Bytes came in on this leg; the connection passes them on with `send`, or keeps them. Return false to stop reading this leg for now. */
  received(leg: Leg, bytes: Buffer): boolean
  ended(leg: Leg): void
  failed(leg: Leg, error: NodeJS.ErrnoException): void
  closed(leg: Leg): void
}

/**
 * One side of a relayed connection: reads into the shared or an own buffer, tells its owner, and is written to by the other side.
 * Back-pressure: at most one read is under way to the other side; while the kernel has not taken all of it, this leg is not read.
 */
export class Leg implements Reader {
  socket!: Socket
  /** Bytes read from this leg since it was opened. */
  bytesRead = 0
  /** True once the peer's FIN has been read. */
  hasEnded = false
  isClosed = false
  /** A read happened since the last sweep. */
  wasRead = false
  readonly buffer: () => Buffer
  readonly callback: (bytes: number) => boolean
  readonly #pool: BufferPool
  readonly #owner: LegOwner
  #current: Buffer
  #source: Leg | undefined
  #isStopped = false
  readonly #flushed = () => {
    const source = this.#source
    if (source && this.socket.writableLength === 0) {
      this.#source = undefined
      source.resume()
    }
  }

  constructor(owner: LegOwner, pool: BufferPool) {
    this.#owner = owner
    this.#pool = pool
    this.#current = pool.shared
    this.buffer = () => this.#current
    this.callback = (bytes) => {
      const goOn = this.#read(bytes)
      this.#isStopped = !goOn
      return goOn
    }
  }

  /** True while the leg holds a buffer of its own. */
  get isHot(): boolean {
    return this.#current !== this.#pool.shared
  }

  /** Takes the socket over: created with this leg as its reader. */
  attach(socket: Socket): void {
    this.socket = socket
    socket.on('end', () => {
      this.hasEnded = true
      this.#owner.ended(this)
    })
    socket.on('error', (error) => this.#owner.failed(this, error))
    socket.on('close', () => {
      this.isClosed = true
      this.#owner.closed(this)
    })
  }

  /** For sockets without a reader: 'data' events carry buffers of Node's own, which are passed on as they are. */
  readData(): void {
    this.socket.on('data', (chunk: Buffer) => {
      this.bytesRead += chunk.length
      if (this.#owner.received(this, chunk)) return
      this.#isStopped = true
      this.socket.pause()
    })
  }

  /**
   * Writes bytes that `source` has read. Returns false when the kernel did not take all of them: the source then stops, and is resumed from here.
   */
  send(bytes: Buffer, source: Leg): boolean {
    this.socket.write(bytes, this.#flushed)
    if (this.socket.writableLength === 0) return true
    this.#source = source
    return false
  }

  /** Reads on, if the leg was stopped by its owner's answer. */
  resume(): void {
    if (!this.#isStopped || this.isClosed) return
    this.#isStopped = false
    this.socket.resume()
  }

  /** Gives an own buffer back if nothing came since the last sweep and nothing of it is still under way. */
  sweep(other: Leg): void {
    if (!this.wasRead && this.isHot && other.#source !== this && rebuffer(this.socket, this.#pool.shared)) this.#cool()
    this.wasRead = false
  }

  /** The last use of the buffer is over: both directions are closed. */
  release(): void {
    this.#cool()
  }

  #cool(): void {
    this.#pool.giveBack(this.#current)
    this.#current = this.#pool.shared
  }

  #read(bytes: number): boolean {
    this.bytesRead += bytes
    this.wasRead = true
    const current = this.#current
    if (current === this.#pool.shared) {
      const copy = Buffer.allocUnsafe(bytes)
      current.copy(copy, 0, 0, bytes)
      const goOn = this.#owner.received(this, copy)
      if (bytes === current.length) this.#current = this.#pool.grow(current)
      return goOn
    }
    const goOn = this.#owner.received(this, bytes === current.length ? current : current.subarray(0, bytes))
    // While the write is under way its bytes live in this buffer, and nothing is read until it is done, so it is used again.
    if (!goOn) return false
    if (bytes === current.length) this.#current = this.#pool.grow(current)
    else if (bytes < current.length / 4) this.#cool()
    return true
  }
}
