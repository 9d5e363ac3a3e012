import {constants} from 'node:fs'
import {type FileHandle, mkdir, open, rename, rm, stat} from 'node:fs/promises'
import {join} from 'node:path'
import {SrcipError} from '../../model/errors.ts'
import type {CopyEventSink} from '../../model/mirror-events.ts'
import type {ContentSource} from '../copy/source.ts'
import {verified} from '../download.ts'
import type {Descriptor} from '../manifest.ts'
import {forEach} from '../plan/planner.ts'
import {NetworkFault} from '../http/network-fault.ts'
import {type ArchiveContent, blobPath} from './content.ts'
import {diskError} from './parted-file.ts'

/** Faults of the file system get a name; everything else (a source that fails) passes as it is. */
function asDiskError(error: unknown, path: string): unknown {
  const {code} = error as NodeJS.ErrnoException
  const ofTheDisk = !(error instanceof SrcipError) && !(error instanceof NetworkFault) && /^E[A-Z]+$/.test(code ?? '')
  return ofTheDisk ? diskError(error, path, 'written') : error
}

/** Writes a file under a temporary name, makes it durable, renames it: no half file under a final name. */
async function writeDurably(path: string, write: (handle: FileHandle) => Promise<void>): Promise<void> {
  const unfinished = `${path}.part`
  let handle: FileHandle | undefined
  try {
    handle = await open(
      unfinished,
      constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW,
      0o644,
    )
    await write(handle)
    await handle.sync()
    await handle.close()
    handle = undefined
    await rename(unfinished, path)
  } catch (error) {
    await handle?.close().catch(() => {})
    await rm(unfinished, {force: true}).catch(() => {})
    throw asDiskError(error, path)
  }
}

/**
 * Writes an OCI layout into a folder. Blobs that lie there with the right size are kept (their names are their digests);
 * `index.json` comes last, so that a cut export is no layout yet.
 * @returns bytes that were there already
 */
export async function writeFolder(
  path: string,
  content: ArchiveContent,
  emit: CopyEventSink,
): Promise<{readonly kept: number}> {
  let kept = 0
  const algorithms = new Set(
    [...content.manifests.map(({digest}) => digest), ...content.blobs.map(({blob}) => blob.digest)].map(
      (digest) => digest.split(':')[0] ?? '',
    ),
  )
  try {
    for (const algorithm of algorithms) await mkdir(join(path, 'blobs', algorithm), {recursive: true})
  } catch (error) {
    throw asDiskError(error, path)
  }
  for (const {digest, bytes} of content.manifests) {
    const file = join(path, blobPath(digest))
    if ((await sizeOfFile(file)) !== bytes.length)
      await writeDurably(file, async (handle) => void (await handle.write(bytes)))
  }
  await forEach(content.blobs, async ({blob, source}) => {
    const file = join(path, blobPath(blob.digest))
    if ((await sizeOfFile(file)) === blob.size) {
      kept += blob.size
      emit({type: 'blob.skip', digest: blob.digest, repository: source.fullName, size: blob.size, reason: 'exists'})
      return
    }
    await fetchInto(file, blob, source, emit)
  })
  for (const {name, bytes} of [...content.files].sort(
    (one, other) => Number(one.name === 'index.json') - Number(other.name === 'index.json'),
  )) {
    await writeDurably(join(path, name), async (handle) => void (await handle.write(bytes)))
  }
  return {kept}
}

async function sizeOfFile(path: string): Promise<number | undefined> {
  const found = await stat(path).catch(() => undefined)
  return found?.isFile() === true ? found.size : undefined
}

async function fetchInto(file: string, blob: Descriptor, source: ContentSource, emit: CopyEventSink): Promise<void> {
  const started = performance.now()
  const where = {digest: blob.digest, repository: source.fullName}
  emit({type: 'blob.start', ...where, size: blob.size})
  await writeDurably(file, (handle) =>
    verified(
      blob,
      (sink) => source.streamBlob(blob, sink, (reason) => emit({type: 'blob.retry', ...where, reason})),
      async (chunk) => {
        for (let done = 0; done < chunk.length;) done += (await handle.write(chunk, done)).bytesWritten
      },
    ),
  )
  emit({type: 'blob.done', ...where, size: blob.size, ms: Math.round(performance.now() - started)})
}
