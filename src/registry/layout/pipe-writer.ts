import {createHash} from 'node:crypto'
import {write} from 'node:fs'
import {promisify} from 'node:util'
import {SrcipError} from '../../model/errors.ts'
import {diskError} from './parted-file.ts'

const writeTo = promisify(write)
/** Between two tries on a pipe that is set to never wait. */
const pause = 5

/** Writes into an open file or pipe, in order, as fast as the other side takes it. */
export class PipeWriter {
  readonly #handle: number
  readonly #hash = createHash('sha256')
  #length = 0

  /** @param handle number of an open file, such as 1 for stdout */
  constructor(handle: number) {
    this.#handle = handle
  }

  get length(): number {
    return this.#length
  }

  /** SHA-256 in hex of all that was written; can be asked for once. */
  sha256(): string {
    return this.#hash.digest('hex')
  }

  /** @throws SrcipError Precondition when the reader is gone or the disk behind it is full */
  async write(bytes: Buffer): Promise<void> {
    this.#hash.update(bytes)
    for (let done = 0; done < bytes.length;) {
      try {
        const {bytesWritten} = await writeTo(this.#handle, bytes, done, bytes.length - done, null)
        done += bytesWritten
        this.#length += bytesWritten
      } catch (error) {
        const {code} = error as NodeJS.ErrnoException
        if (code === 'EPIPE')
          throw new SrcipError('Precondition', `the reader of the archive ended after ${this.#length} bytes`, {
            cause: error,
          })
        if (code !== 'EAGAIN') throw diskError(error, 'stdout', 'written')
        await new Promise((resolve) => setTimeout(resolve, pause))
      }
    }
  }
}
