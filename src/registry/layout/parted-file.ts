import {createHash} from 'node:crypto'
import {constants} from 'node:fs'
import {type FileHandle, open, readdir, rename, stat} from 'node:fs/promises'
import {basename, dirname, join} from 'node:path'
import {SrcipError} from '../../model/errors.ts'

/** One file of an archive: `FILE`, or `FILE.000`, `FILE.001` … where it is split. */
export interface ArchivePart {
  readonly file: string
  readonly size: number
}

const diskReasons: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota is used up',
  EFBIG: 'the file may not grow any further',
}

/** An error of the file system as a person needs it. */
export function diskError(error: unknown, path: string, what: string): SrcipError {
  const {code} = error as NodeJS.ErrnoException
  const reason = code === undefined ? undefined : diskReasons[code]
  return new SrcipError('Precondition', `${path} cannot be ${what}: ${reason ?? code ?? String(error)}`, {
    object: path,
    cause: error,
    hints:
      reason === undefined
        ? []
        : [
            'make room (--split for a disk that takes small files only) and run the same command again: what is complete is kept',
          ],
  })
}

/**
 * Writes one long sequence of bytes into one file or several of a given size. Files carry the suffix `.part` until the whole
 * is complete, so that a cut export is never taken for one, and is found again by the next run.
 */
export class PartedWriter {
  readonly #path: string
  readonly #split: number | undefined
  readonly #handles: FileHandle[] = []
  #length = 0

  /** @param split largest size of one file in bytes; undefined for a single file */
  constructor(path: string, split: number | undefined) {
    this.#path = path
    this.#split = split
  }

  get length(): number {
    return this.#length
  }

  #name(part: number): string {
    return this.#split === undefined ? this.#path : `${this.#path}.${String(part).padStart(3, '0')}`
  }

  async #handle(part: number): Promise<FileHandle> {
    for (let at = this.#handles.length; at <= part; at++) {
      const path = `${this.#name(at)}.part`
      try {
        this.#handles.push(await open(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o644))
      } catch (error) {
        throw diskError(error, path, 'written')
      }
    }
    return this.#handles[part] as FileHandle
  }

  /** Bytes of an earlier, cut run that lie on the disk in one piece. */
  async existing(): Promise<number> {
    let total = 0
    for (let part = 0; ; part++) {
      const found = await stat(`${this.#name(part)}.part`).catch(() => undefined)
      if (found === undefined) return total
      await this.#handle(part)
      total += found.size
      if (this.#split === undefined || found.size < this.#split) return total
    }
  }

  /** Reads bytes of an earlier run. */
  async read(offset: number, length: number): Promise<Buffer> {
    const out = Buffer.allocUnsafe(length)
    let done = 0
    while (done < length) {
      const {part, at, room} = this.#place(offset + done)
      const handle = await this.#handle(part)
      const {bytesRead} = await handle.read(out, done, Math.min(length - done, room), at)
      if (bytesRead === 0) break
      done += bytesRead
    }
    return out.subarray(0, done)
  }

  #place(offset: number): {part: number; at: number; room: number} {
    if (this.#split === undefined) return {part: 0, at: offset, room: Number.MAX_SAFE_INTEGER}
    const part = Math.floor(offset / this.#split)
    const at = offset - part * this.#split
    return {part, at, room: this.#split - at}
  }

  /** Cuts everything behind `length` off and goes on there. */
  async startAt(length: number): Promise<void> {
    const {part, at} = this.#place(length)
    await (await this.#handle(part)).truncate(at)
    for (const handle of this.#handles.slice(part + 1)) await handle.truncate(0)
    this.#length = length
  }

  async write(bytes: Buffer): Promise<void> {
    let done = 0
    while (done < bytes.length) {
      const {part, at, room} = this.#place(this.#length)
      const handle = await this.#handle(part)
      try {
        const {bytesWritten} = await handle.write(bytes, done, Math.min(bytes.length - done, room), at)
        done += bytesWritten
        this.#length += bytesWritten
      } catch (error) {
        throw diskError(error, `${this.#name(part)}.part`, 'written')
      }
    }
  }

  /** Closes, keeping what was written for the next run. */
  async abandon(): Promise<void> {
    for (const handle of this.#handles.splice(0)) await handle.close()
  }

  /** Makes the files durable and gives them their names. */
  async finish(): Promise<ArchivePart[]> {
    const parts: ArchivePart[] = []
    for (const [at, handle] of this.#handles.entries()) {
      const {size} = await handle.stat()
      await handle.sync().catch((error: unknown) => {
        throw diskError(error, this.#name(at), 'written')
      })
      await handle.close()
      if (size === 0 && at > 0) continue
      await rename(`${this.#name(at)}.part`, this.#name(at))
      parts.push({file: this.#name(at), size})
    }
    this.#handles.splice(0)
    return parts
  }
}

/** The files of an archive given by its name, by its first part, or by the name before `.000`. */
export async function findParts(path: string): Promise<ArchivePart[]> {
  const plain = path.replace(/\.000$/, '')
  const single = await stat(path).catch(() => undefined)
  if (single?.isFile() === true && plain === path) return [{file: path, size: single.size}]
  const names = await readdir(dirname(plain)).catch(() => [])
  const wanted = names.filter((name) => name.startsWith(`${basename(plain)}.`) && /\.\d{3}$/.test(name)).sort()
  const parts: ArchivePart[] = []
  for (const [at, name] of wanted.entries()) {
    const expected = `${basename(plain)}.${String(at).padStart(3, '0')}`
    if (name !== expected)
      throw new SrcipError(
        'Precondition',
        `${join(dirname(plain), expected)} is missing: copy every part of the archive`,
        {object: plain},
      )
    const file = join(dirname(plain), name)
    parts.push({file, size: (await stat(file)).size})
  }
  if (parts.length === 0)
    throw new SrcipError('Usage', `${path} is not there`, {
      object: path,
      hints: [
        'an archive is a folder, FILE.tar or its first part FILE.tar.000; kubectl srcip mirror export writes one',
      ],
    })
  return parts
}

/** Reads an archive by offset, whatever files it lies in. */
export class PartedReader {
  readonly parts: readonly ArchivePart[]
  readonly size: number
  readonly #handles: (FileHandle | undefined)[] = []

  constructor(parts: readonly ArchivePart[]) {
    this.parts = parts
    this.size = parts.reduce((sum, part) => sum + part.size, 0)
  }

  async read(offset: number, length: number, into: Buffer = Buffer.allocUnsafe(length)): Promise<Buffer> {
    let done = 0
    let start = 0
    for (const [at, part] of this.parts.entries()) {
      const end = start + part.size
      while (done < length && offset + done >= start && offset + done < end) {
        this.#handles[at] ??= await open(part.file, constants.O_RDONLY | constants.O_NOFOLLOW)
        const {bytesRead} = await this.#handles[at].read(
          into,
          done,
          Math.min(length - done, end - offset - done),
          offset + done - start,
        )
        if (bytesRead === 0) return into.subarray(0, done)
        done += bytesRead
      }
      start = end
    }
    return into.subarray(0, done)
  }

  async close(): Promise<void> {
    for (const handle of this.#handles.splice(0)) await handle?.close()
  }
}

/** SHA-256 of a file in hex, as `sha256sum` prints it. */
export async function sha256OfFile(path: string): Promise<string> {
  const hash = createHash('sha256')
  const handle = await open(path, 'r')
  try {
    const buffer = Buffer.allocUnsafe(1024 * 1024)
    for (;;) {
      const {bytesRead} = await handle.read(buffer, 0, buffer.length)
      if (bytesRead === 0) return hash.digest('hex')
      hash.update(buffer.subarray(0, bytesRead))
    }
  } finally {
    await handle.close()
  }
}
