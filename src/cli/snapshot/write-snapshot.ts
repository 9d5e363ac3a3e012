import {randomBytes} from 'node:crypto'
import {open, realpath, rename, stat, unlink} from 'node:fs/promises'
import {basename, dirname, join} from 'node:path'
import {SrcipError} from '../../model/errors.ts'

/**
 * Writes a file that only its owner may read, in one step: whoever reads finds the old text or the new one. A symbolic
 * link is followed. Throws Precondition (32) with the reason.
 */
export async function writePrivately(path: string, pieces: Iterable<string>): Promise<void> {
  try {
    const target = await realpath(path).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return path
      throw error
    })
    const existing = await stat(target).catch(() => undefined)
    // A device or a pipe is written to; a file in its place would be a surprise.
    if (existing !== undefined && !existing.isFile() && !existing.isDirectory())
      return await writeInto(target, 'w', pieces)
    const temporary = join(dirname(target), `.${basename(target)}.srcip-${randomBytes(6).toString('hex')}`)
    try {
      await writeInto(temporary, 'wx', pieces)
      await rename(temporary, target)
    } catch (error) {
      await unlink(temporary).catch(() => undefined)
      throw error
    }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown'
    const words: Readonly<Record<string, string>> = {
      ENOENT: 'its folder does not exist',
      EACCES: 'permission denied',
      EISDIR: 'it is a folder',
      ENOTDIR: 'a part of the path is no folder',
      ENOSPC: 'the disk is full',
      EROFS: 'the file system is read-only',
    }
    throw new SrcipError('Precondition', `${path} cannot be written: ${words[code] ?? code}`, {
      object: path,
      hints: ['name another file with --output-file, or leave it out: the snapshot then goes to stdout'],
      cause: error,
    })
  }
}

async function writeInto(path: string, flags: 'w' | 'wx', pieces: Iterable<string>): Promise<void> {
  const file = await open(path, flags, 0o600)
  try {
    for (const piece of pieces) await file.writeFile(piece)
    if (flags === 'wx') await file.sync()
  } finally {
    await file.close()
  }
}
