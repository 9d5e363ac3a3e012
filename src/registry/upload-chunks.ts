import {ContentMismatch} from './digest.ts'
import type {Sink} from './download.ts'
import {header} from './client.ts'
import {refusedBy} from './errors.ts'
import {limits} from './limits.ts'
import type {Descriptor} from './manifest.ts'
import {priorities, type Repository} from './repository.ts'
import {commitTimeout, type Session, uploadLocation} from './upload-session.ts'

/** Chunk size where the registry names none: ghcr.io takes at most 4 MiB in a ranged PATCH. */
const usualChunk = 4 * 1024 * 1024

/** Sends a blob in ranged PATCH requests; the caller commits. */
export async function sendChunks(
  target: Repository,
  descriptor: Descriptor,
  session: Session,
  produce: (sink: Sink) => Promise<void>,
): Promise<void> {
  const size = Math.max(session.chunkMin, usualChunk)
  const sender = new ChunkSender(target, descriptor, session, size)
  let waiting: Buffer[] = []
  let length = 0
  // Whole chunks only, the last one excepted: a registry that names a smallest chunk refuses shorter ones.
  const sendWhole = async (): Promise<void> => {
    let rest = Buffer.concat(waiting, length)
    while (rest.length >= size) {
      await sender.send(rest.subarray(0, size))
      rest = rest.subarray(size)
    }
    waiting = [rest]
    length = rest.length
  }
  await produce((chunk) => {
    waiting.push(Buffer.from(chunk))
    length += chunk.length
    return length < size ? undefined : sendWhole()
  })
  if (length > 0) await sender.send(Buffer.concat(waiting, length))
}

/**
 * Sends ranged PATCH requests and compares what the registry says it holds after each: some accept a wrong offset silently,
 * some keep only the first chunk.
 */
class ChunkSender {
  readonly #target: Repository
  readonly #descriptor: Descriptor
  readonly #session: Session
  #size: number
  #halved = false
  #sent = 0

  constructor(target: Repository, descriptor: Descriptor, session: Session, size: number) {
    this.#target = target
    this.#descriptor = descriptor
    this.#session = session
    this.#size = size
  }

  async send(bytes: Buffer): Promise<void> {
    for (let at = 0; at < bytes.length;) {
      const piece = bytes.subarray(at, at + this.#size)
      if (await this.#one(piece)) at += piece.length
    }
  }

  async #one(piece: Buffer): Promise<boolean> {
    const target = this.#target
    const what = `chunk ${target.nameOf(this.#descriptor.digest)}`
    const end = this.#sent + piece.length - 1
    const answer = await target.call({
      method: 'PATCH',
      address: this.#session.location,
      headers: {'content-type': 'application/octet-stream', 'content-range': `${this.#sent}-${end}`},
      body: piece,
      expect: [201, 202, 204, 413, 416],
      read: limits.errorBody,
      what,
      priority: priorities.upload,
      retry: false,
      headerTimeout: commitTimeout,
    })
    if (answer.status === 413 || answer.status === 416) {
      if (this.#halved || piece.length < 128 * 1024 || this.#size >> 1 < this.#session.chunkMin)
        throw refusedBy(target.host, what, answer.status, answer.body.toString('utf8'))
      this.#halved = true
      this.#size >>= 1
      return false
    }
    const held = /^(?:bytes=)?0-(\d+)$/.exec(header(answer, 'range') ?? '')?.[1]
    if (held !== undefined && Number(held) !== end) {
      throw new ContentMismatch(`${what}: ${target.host} holds ${Number(held) + 1} bytes after ${end + 1} were sent`)
    }
    this.#sent = end + 1
    this.#session.location = uploadLocation(target, answer)
    return true
  }
}
