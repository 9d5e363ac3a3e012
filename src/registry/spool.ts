import {type FileHandle, mkdtemp, open, rm, statfs, unlink} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {SrcipError} from '../model/errors.ts'
import type {Sink} from './download.ts'
import {verified} from './download.ts'
import {diskError} from './layout/parted-file.ts'
import type {Descriptor} from './manifest.ts'

/** `always` puts every large blob on the disk before its upload, `never` none, `auto` those whose first try broke or whose target is slow. */
export const spoolModes = ['auto', 'always', 'never'] as const
export type SpoolMode = (typeof spoolModes)[number]

const bufferSize = 1024 * 1024
/** A target is slow when it made the source wait more than three quarters of this long a transfer (mirror.md 3.8). */
const slowAfter = 20_000
const slowShare = 0.75

/** A blob in a file of ours, verified. */
export interface SpooledBlob {
  stream(sink: Sink): Promise<void>
  close(): Promise<void>
}

/**
 * Puts blobs on the disk so that another try of an upload needs no second download, and a fast source is not held up by a slow
 * target. Files are ours alone (0600 in a folder of 0700) and lose their name as soon as they are open, so that nothing is
 * left whatever ends the process.
 */
export class Spool {
  readonly #mode: SpoolMode
  readonly #parent: string
  #folder: Promise<string> | undefined
  #count = 0
  #slowTarget = false

  constructor(mode: SpoolMode = 'auto', parent: string = tmpdir()) {
    this.#mode = mode
    this.#parent = parent
  }

  /** Should this try of a blob go over the disk? @param attempt from 1 */
  wants(attempt: number): boolean {
    return this.#mode === 'always' || (this.#mode === 'auto' && (attempt > 1 || this.#slowTarget))
  }

  /** A sink that notices when the target is the slow side. */
  watch(sink: Sink): Sink {
    if (this.#mode !== 'auto') return sink
    const started = performance.now()
    let waited = 0
    return (chunk) => {
      const pending = sink(chunk)
      if (pending === undefined) return undefined
      const from = performance.now()
      return pending.then(() => {
        const now = performance.now()
        waited += now - from
        if (now - started > slowAfter && waited / (now - started) > slowShare) this.#slowTarget = true
      })
    }
  }

  /**
   * Writes what `produce` gives into a file and checks it against the descriptor.
   * @throws ContentMismatch; SrcipError Precondition when the disk does not take it; what `produce` throws
   */
  async fill(blob: Descriptor, produce: (sink: Sink) => Promise<void>): Promise<SpooledBlob> {
    const folder = await (this.#folder ??= this.#make())
    await this.#room(blob)
    const path = join(folder, `blob-${this.#count++}`)
    const handle = await open(path, 'wx+', 0o600).catch((error: unknown) => {
      throw diskError(error, path, 'written')
    })
    // Windows keeps names of open files; there the folder goes at the end.
    await unlink(path).catch(() => {})
    try {
      let at = 0
      await verified(blob, produce, async (chunk) => {
        for (let done = 0; done < chunk.length;) {
          const {bytesWritten} = await handle.write(chunk, done, chunk.length - done, at).catch((error: unknown) => {
            throw diskError(error, path, 'written')
          })
          done += bytesWritten
          at += bytesWritten
        }
      })
    } catch (error) {
      await handle.close()
      throw error
    }
    return {stream: (sink) => streamFile(handle, blob.size, sink), close: () => handle.close()}
  }

  /** Removes the folder. */
  async close(): Promise<void> {
    const folder = await this.#folder?.catch(() => undefined)
    this.#folder = undefined
    if (folder !== undefined) await rm(folder, {recursive: true, force: true})
  }

  async #make(): Promise<string> {
    return mkdtemp(join(this.#parent, 'srcip-spool-')).catch((error: unknown) => {
      throw diskError(error, this.#parent, 'used as --spool-dir')
    })
  }

  async #room(blob: Descriptor): Promise<void> {
    const {bavail, bsize} = await statfs(this.#parent)
    if (bavail * bsize >= blob.size) return
    throw new SrcipError(
      'Precondition',
      `${this.#parent} has ${bavail * bsize} bytes left, ${blob.digest} needs ${blob.size}`,
      {object: this.#parent, hints: ['--spool-dir DIR names another place, --spool never does without']},
    )
  }
}

async function streamFile(handle: FileHandle, size: number, sink: Sink): Promise<void> {
  const buffer = Buffer.allocUnsafeSlow(Math.max(1, Math.min(bufferSize, size)))
  for (let done = 0; done < size;) {
    const {bytesRead} = await handle.read(buffer, 0, Math.min(buffer.length, size - done), done)
    if (bytesRead === 0) throw new SrcipError('Internal', 'a file of ours became shorter')
    done += bytesRead
    const pending = sink(buffer.subarray(0, bytesRead))
    if (pending !== undefined) await pending
  }
}
