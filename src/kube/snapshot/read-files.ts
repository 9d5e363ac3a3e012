import {open, readdir, stat} from 'node:fs/promises'
import {join} from 'node:path'
import {SrcipError} from '../../model/errors.ts'
import type {Snapshot} from '../../model/snapshot.ts'
import {Merge} from './merge.ts'
import {unreadable} from './unreadable.ts'

export interface ReadFilesOptions {
  readonly stdin?: AsyncIterable<Uint8Array> | undefined
  readonly signal?: AbortSignal | undefined
}

const mostBytes = 256 * 1024 * 1024
/** A folder of manifests has fewer; a whole disk has more. */
const mostFiles = 10_000
const deepestFolder = 16

/**
 * Reads what `-f` gives: files, folders (every .yaml, .yml and .json below them, in the order of their names) and `-` for stdin, each a
 * Snapshot, manifests, or a List of either. They are put together to one Snapshot of source `files`, projected again, so that
 * nothing secret in them goes on; what no source mentions is unknown. Where two give the same object differently, the
 * later counts and a warning names both. A file that cannot be read is a usage error (2), a Snapshot of a higher format 32.
 */
export async function readSnapshotFiles(paths: readonly string[], options: ReadFilesOptions = {}): Promise<Snapshot> {
  const merge = new Merge()
  const {parseDocuments} = await import('./documents.ts')
  for (const path of paths) {
    for (const {file, inFolder} of await filesOf(path)) {
      options.signal?.throwIfAborted()
      const bytes = await readBytes(file, options.stdin ?? process.stdin)
      merge.addFile(file === '-' ? 'stdin' : file, parseDocuments(bytes, file === '-' ? 'stdin' : file), inFolder)
    }
  }
  return merge.result()
}

async function filesOf(path: string): Promise<{file: string; inFolder: boolean}[]> {
  if (path === '-') return [{file: path, inFolder: false}]
  const found = await stat(path).catch((error: unknown) => {
    throw cannotRead(path, error)
  })
  if (!found.isDirectory()) return [{file: path, inFolder: false}]
  const files = await walk(path, 0)
  if (files.length === 0)
    throw unreadable(path, 'is a folder without .yaml, .yml or .json files', [
      'give the folder that holds the manifests',
    ])
  return files.map((file) => ({file, inFolder: true}))
}

async function walk(folder: string, depth: number): Promise<string[]> {
  if (depth > deepestFolder) return []
  const entries = await readdir(folder, {withFileTypes: true}).catch((error: unknown) => {
    throw cannotRead(folder, error)
  })
  const files: string[] = []
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name)
    if (entry.isDirectory() && !entry.name.startsWith('.')) files.push(...(await walk(path, depth + 1)))
    else if (!entry.isDirectory() && /\.(?:ya?ml|json)$/i.test(entry.name)) files.push(path)
    if (files.length > mostFiles)
      throw unreadable(folder, `holds more than ${mostFiles} files`, ['name the folder that is meant'])
  }
  return files
}

async function readBytes(path: string, stdin: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  if (path === '-') return await collect(stdin, 'stdin')
  try {
    const file = await open(path, 'r')
    try {
      if ((await file.stat()).size > mostBytes) throw tooLarge(path)
      return await collect(file.createReadStream({autoClose: false}), path)
    } finally {
      await file.close()
    }
  } catch (error) {
    throw cannotRead(path, error)
  }
}

/** Pipes and devices have no size to be asked for: counted while it comes. */
async function collect(stream: AsyncIterable<Uint8Array>, name: string): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of stream) {
    size += chunk.length
    if (size > mostBytes) throw tooLarge(name)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function tooLarge(name: string): unknown {
  return unreadable(name, `has more than the ${mostBytes} bytes that are read`, [
    'take a Snapshot instead: kubectl srcip snapshot --output-file FILE',
  ])
}

function cannotRead(path: string, error: unknown): unknown {
  if (error instanceof SrcipError) return error
  const code = (error as NodeJS.ErrnoException | undefined)?.code
  if (code === undefined) return error
  const words: Readonly<Record<string, string>> = {
    ENOENT: 'does not exist',
    EACCES: 'may not be read (permission denied)',
    EISDIR: 'is a folder',
    ELOOP: 'is a symbolic link in a circle',
  }
  return unreadable(path, words[code] ?? `cannot be read (${code})`, ['give files or folders with -f, or - for stdin'])
}
