import {randomBytes} from 'node:crypto'
import {open, realpath, rename, stat, unlink} from 'node:fs/promises'
import {basename, dirname, join} from 'node:path'
import {SrcipError} from '../model/errors.ts'

/** Bytes of a Corefile that are read at most: four times what a ConfigMap can hold. */
const readLimit = 4 << 20

/** Reads a Corefile of the caller; `-` is stdin. A file that cannot be read is a usage error (2) that names it. */
export async function readCorefileFile(
  path: string,
  stdin: AsyncIterable<Uint8Array> = process.stdin,
): Promise<Uint8Array> {
  if (path === '-') return await readAll(stdin, 'stdin')
  try {
    const file = await open(path, 'r')
    try {
      if ((await file.stat()).isDirectory())
        throw new SrcipError('Usage', `${path} is a directory, not a Corefile`, {object: path})
      return await readAll(file.createReadStream({autoClose: false}), path)
    } finally {
      await file.close()
    }
  } catch (error) {
    if (error instanceof SrcipError) throw error
    throw new SrcipError('Usage', `cannot read ${path}: ${reasonOf(error)}`, {
      object: path,
      hints: ['give a Corefile with -f FILE, or - for stdin'],
      cause: error,
    })
  }
}

async function readAll(stream: AsyncIterable<Uint8Array>, name: string): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of stream) {
    size += chunk.length
    if (size > readLimit)
      throw new SrcipError('Precondition', `${name} has over ${readLimit} bytes: that is no Corefile`, {object: name})
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** @throws SrcipError 2 for `-`: what came from stdin cannot be written back. Asked before anything is read. */
export function requireFile(path: string): void {
  if (path !== '-') return
  throw new SrcipError('Usage', '--in-place needs a file: what came from stdin cannot be written back', {
    hints: ['without --in-place the new text goes to stdout'],
  })
}

/**
 * Replaces a file's content in one step: written beside it, fsynced, renamed over it, the directory fsynced. Whoever reads (or a
 * kill at any moment) finds the old bytes or the new ones. A symlink is followed, mode and owner stay.
 */
export async function replaceFile(path: string, bytes: Uint8Array): Promise<void> {
  requireFile(path)
  try {
    const target = await realpath(path)
    const {mode, uid, gid} = await stat(target)
    const temporary = join(dirname(target), `.${basename(target)}.srcip-${randomBytes(6).toString('hex')}`)
    try {
      const file = await open(temporary, 'wx', 0o600)
      try {
        await file.writeFile(bytes)
        await file.chown(uid, gid).catch(ignoreForbidden)
        await file.chmod(mode & 0o7777)
        await file.sync()
      } finally {
        await file.close()
      }
      await rename(temporary, target)
    } catch (error) {
      await unlink(temporary).catch(() => undefined)
      throw error
    }
    const directory = await open(dirname(target), 'r')
    await directory.sync().finally(() => directory.close())
  } catch (error) {
    throw new SrcipError('Precondition', `cannot write ${path}: ${reasonOf(error)}`, {
      object: path,
      hints: ['without --in-place the new text goes to stdout'],
      cause: error,
    })
  }
}

/** Only root may give a file away; the file then belongs to who runs this. */
function ignoreForbidden(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPERM') throw error
}

function reasonOf(error: unknown): string {
  const code = (error as NodeJS.ErrnoException).code
  const words: Readonly<Record<string, string>> = {
    ENOENT: 'there is no such file',
    EACCES: 'permission denied',
    EISDIR: 'it is a directory',
    ENOSPC: 'the disk is full',
    EROFS: 'the file system is read-only',
  }
  return (code === undefined ? undefined : words[code]) ?? (error instanceof Error ? error.message : String(error))
}
