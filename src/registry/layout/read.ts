import {constants} from 'node:fs'
import {lstat, open, readdir, realpath} from 'node:fs/promises'
import {join, sep} from 'node:path'
import {SrcipError} from '../../model/errors.ts'
import {isDigest} from '../digest.ts'
import {limits} from '../limits.ts'
import {blobPath} from './content.ts'
import {findParts, PartedReader} from './parted-file.ts'
import {scanTar} from './tar-format.ts'

/** An OCI layout, in a folder or in a tar, read by name. Nothing is unpacked. */
export interface LayoutReader {
  readonly path: string
  /** Sizes of blobs by digest. */
  readonly blobs: ReadonlyMap<string, number>
  /** A small file of the layout (`index.json`), or undefined. */
  file(name: string, limit: number): Promise<Buffer | undefined>
  /** Bytes of a blob. */
  read(digest: string, offset: number, length: number, into?: Buffer): Promise<Buffer>
  close(): Promise<void>
}

const plainFiles = new Set(['oci-layout', 'index.json', 'srcip-mirror.json'])

/** The digest that a path of a layout stands for, if it stands for one. */
export function digestOfPath(name: string): string | undefined {
  const match = /^blobs\/([a-z0-9]+)\/([0-9a-f]+)$/.exec(name)
  if (match === null) return undefined
  const digest = `${match[1]}:${match[2]}`
  return isDigest(digest) ? digest : undefined
}

/**
 * Opens an export or any OCI layout: a folder, a tar, or the parts of a split tar.
 * @throws SrcipError for what is neither, and for archives with links, `..` and the like (mirror.md 4)
 */
export async function openLayout(path: string): Promise<LayoutReader> {
  const found = await lstat(path).catch(() => undefined)
  if (found?.isDirectory() === true) return openFolder(path)
  return openTar(path)
}

async function openTar(path: string): Promise<LayoutReader> {
  const reader = new PartedReader(await findParts(path))
  try {
    const start = await reader.read(0, 4)
    refuseCompressed(path, start)
    const entries = new Map(
      (await scanTar(path, (offset, length) => reader.read(offset, length), reader.size)).map((entry) => [
        entry.name,
        entry,
      ]),
    )
    if (!entries.has('oci-layout')) {
      const docker = entries.has('manifest.json')
      throw new SrcipError(
        'Precondition',
        docker
          ? `${path} is a docker save archive: it has lost the digests of its images`
          : `${path} is no OCI layout: oci-layout is missing`,
        {
          object: path,
          hints: docker ? ['export from the registry instead: kubectl srcip mirror export'] : [],
        },
      )
    }
    const blobs = new Map<string, number>()
    for (const {name, size} of entries.values()) {
      const digest = digestOfPath(name)
      if (digest !== undefined) blobs.set(digest, size)
    }
    return {
      path,
      blobs,
      async file(name, limit) {
        const entry = plainFiles.has(name) ? entries.get(name) : undefined
        if (entry === undefined) return undefined
        if (entry.size > limit)
          throw new SrcipError('Precondition', `${path}: ${name} has ${entry.size} bytes, more than ${limit}`, {
            object: path,
          })
        return reader.read(entry.offset, entry.size)
      },
      read(digest, offset, length, into) {
        const entry = entries.get(blobPath(digest))
        if (entry === undefined) throw missing(path, digest)
        return reader.read(entry.offset + offset, Math.min(length, entry.size - offset), into)
      },
      close: () => reader.close(),
    }
  } catch (error) {
    await reader.close()
    throw error
  }
}

/** @param start the first bytes of an archive. @throws SrcipError Precondition for gzip and zstd */
export function refuseCompressed(path: string, start: Buffer): void {
  const zstd = Buffer.from([0x28, 0xb5, 0x2f, 0xfd])
  if ((start[0] === 0x1f && start[1] === 0x8b) || start.subarray(0, 4).equals(zstd)) {
    throw new SrcipError(
      'Precondition',
      `${path} is a compressed archive; unpack it first (layers are compressed already)`,
      {object: path},
    )
  }
}

async function openFolder(path: string): Promise<LayoutReader> {
  const root = await realpath(path)
  const openInside = async (name: string) => {
    const file = join(root, name)
    const found = await lstat(file).catch(() => undefined)
    if (found === undefined) return undefined
    // A shared disk is untrusted: a link could name any file of this machine.
    if (!found.isFile()) throw new SrcipError('Precondition', `${file} is no regular file: refused`, {object: file})
    const real = await realpath(file)
    if (!real.startsWith(root + sep))
      throw new SrcipError('Precondition', `${file} lies outside of ${path}: refused`, {object: file})
    return {handle: await open(file, constants.O_RDONLY | constants.O_NOFOLLOW), size: found.size}
  }
  const blobs = new Map<string, number>()
  for (const algorithm of await readdir(join(root, 'blobs')).catch(() => [])) {
    const folder = join(root, 'blobs', algorithm)
    if (!(await lstat(folder)).isDirectory())
      throw new SrcipError('Precondition', `${folder} is no folder: refused`, {object: folder})
    for (const encoded of await readdir(folder)) {
      const digest = digestOfPath(`blobs/${algorithm}/${encoded}`)
      if (digest !== undefined) blobs.set(digest, (await lstat(join(folder, encoded))).size)
    }
  }
  if ((await lstat(join(root, 'oci-layout')).catch(() => undefined)) === undefined) {
    throw new SrcipError('Precondition', `${path} is no OCI layout: oci-layout is missing`, {object: path})
  }
  return {
    path,
    blobs,
    async file(name, limit) {
      const opened = plainFiles.has(name) ? await openInside(name) : undefined
      if (opened === undefined) return undefined
      try {
        if (opened.size > limit)
          throw new SrcipError('Precondition', `${path}: ${name} has ${opened.size} bytes, more than ${limit}`, {
            object: path,
          })
        return await opened.handle.readFile()
      } finally {
        await opened.handle.close()
      }
    },
    async read(digest, offset, length, into = Buffer.allocUnsafe(length)) {
      const opened = await openInside(blobPath(digest))
      if (opened === undefined) throw missing(path, digest)
      try {
        const {bytesRead} = await opened.handle.read(into, 0, length, offset)
        return into.subarray(0, bytesRead)
      } finally {
        await opened.handle.close()
      }
    },
    close: async () => {},
  }
}

function missing(path: string, digest: string): SrcipError {
  return new SrcipError('Precondition', `${path} does not hold ${digest}`, {object: digest})
}

/** Reads a whole file of a layout as JSON. @throws SrcipError Precondition */
export async function readLayoutJson(reader: LayoutReader, name: string): Promise<Record<string, unknown> | undefined> {
  const bytes = await reader.file(name, limits.layoutIndex)
  if (bytes === undefined) return undefined
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'))
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  } catch {
    // Falls through.
  }
  throw new SrcipError('Precondition', `${reader.path}: ${name} is not a JSON document`, {object: reader.path})
}
