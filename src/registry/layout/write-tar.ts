import type {CopyEventSink} from '../../model/mirror-events.ts'
import type {ContentSource} from '../copy/source.ts'
import {DigestCheck} from '../digest.ts'
import {verified} from '../download.ts'
import type {Descriptor} from '../manifest.ts'
import {type ArchiveContent, blobPath} from './content.ts'
import {type ArchivePart, PartedWriter} from './parted-file.ts'
import {PipeWriter} from './pipe-writer.ts'
import {blockSize, padded, tarEnd, tarHeader} from './tar-format.ts'

/** Small blobs fetched ahead of the one being written. */
const ahead = 16
const smallBlob = 1024 * 1024

interface Entry {
  readonly name: string
  readonly size: number
  readonly header: Buffer
  /** In memory already. */
  readonly bytes?: Buffer
  readonly blob?: {readonly blob: Descriptor; readonly source: ContentSource}
}

function folderEntry(name: string): Entry {
  return {name, size: 0, header: tarHeader(name, 0, 'folder')}
}

/** The entries in their order: small and descriptive first, then blobs by digest. */
function entriesOf(content: ArchiveContent): Entry[] {
  const files = content.files.map(({name, bytes}): Entry => ({
    name,
    size: bytes.length,
    header: tarHeader(name, bytes.length),
    bytes,
  }))
  const algorithms = [
    ...new Set(
      [...content.manifests.map(({digest}) => digest), ...content.blobs.map(({blob}) => blob.digest)].map(
        (digest) => digest.split(':')[0] ?? '',
      ),
    ),
  ].sort()
  const manifests = content.manifests.map(({digest, bytes}): Entry => ({
    name: blobPath(digest),
    size: bytes.length,
    header: tarHeader(blobPath(digest), bytes.length),
    bytes,
  }))
  const known = new Set(content.manifests.map(({digest}) => digest))
  const blobs = content.blobs
    .filter(({blob}) => !known.has(blob.digest))
    .map((blob): Entry => ({
      name: blobPath(blob.blob.digest),
      size: blob.blob.size,
      header: tarHeader(blobPath(blob.blob.digest), blob.blob.size),
      blob,
    }))
  return [
    ...files,
    folderEntry('blobs/'),
    ...algorithms.map((algorithm) => folderEntry(`blobs/${algorithm}/`)),
    ...manifests,
    ...blobs,
  ]
}

/**
 * Writes the archive as one tar or several parts. Everything's place is known beforehand, so what an earlier, cut run left
 * on the disk is checked by digest, kept up to the first incomplete entry, and the rest is written behind it.
 * @returns the files, and how many bytes of an earlier run were kept
 */
export async function writeTar(
  path: string,
  content: ArchiveContent,
  split: number | undefined,
  emit: CopyEventSink,
): Promise<{readonly parts: readonly ArchivePart[]; readonly kept: number}> {
  const writer = new PartedWriter(path, split)
  try {
    const entries = entriesOf(content)
    const {at, kept} = await completeEntries(writer, entries)
    await writer.startAt(kept)
    await writeEntries(writer, entries.slice(at), emit)
    await writer.write(tarEnd)
    return {parts: await writer.finish(), kept}
  } catch (error) {
    await writer.abandon()
    throw error
  }
}

async function completeEntries(writer: PartedWriter, entries: readonly Entry[]): Promise<{at: number; kept: number}> {
  const there = await writer.existing()
  let kept = 0
  for (const [at, entry] of entries.entries()) {
    const end = kept + entry.header.length + padded(entry.size)
    if (end > there || !(await isComplete(writer, entry, kept))) return {at, kept}
    kept = end
  }
  return {at: entries.length, kept}
}

async function isComplete(writer: PartedWriter, entry: Entry, offset: number): Promise<boolean> {
  if (!(await writer.read(offset, entry.header.length)).equals(entry.header)) return false
  const start = offset + entry.header.length
  if (entry.blob === undefined)
    return entry.bytes === undefined || (await writer.read(start, entry.size)).equals(entry.bytes)
  const check = new DigestCheck(entry.blob.blob.digest, entry.size)
  for (let done = 0; done < entry.size;) {
    const piece = await writer.read(start + done, Math.min(1024 * 1024, entry.size - done))
    if (piece.length === 0) return false
    check.update(piece)
    done += piece.length
  }
  try {
    check.finish()
    return true
  } catch {
    return false
  }
}

/**
 * Writes the archive into a pipe. What is written cannot be taken back, so nothing is resumed and a fault ends it.
 * @returns bytes and SHA-256 of what went out
 */
export async function pipeTar(
  handle: number,
  content: ArchiveContent,
  emit: CopyEventSink,
): Promise<{readonly size: number; readonly sha256: string}> {
  const writer = new PipeWriter(handle)
  await writeEntries(writer, entriesOf(content), emit)
  await writer.write(tarEnd)
  return {size: writer.length, sha256: writer.sha256()}
}

async function writeEntries(
  writer: Pick<PartedWriter, 'write'>,
  entries: readonly Entry[],
  emit: CopyEventSink,
): Promise<void> {
  const fetched = new Map<number, Promise<Buffer>>()
  let next = 0
  const prefetch = (upTo: number): void => {
    for (; next < entries.length && next <= upTo; next++) {
      const {blob, size} = entries[next] as Entry
      if (blob === undefined || size > smallBlob) continue
      const fetching = blob.source.readBlob(blob.blob)
      // Its failure is reported when its turn comes.
      fetching.catch(() => {})
      fetched.set(next, fetching)
    }
  }
  for (const [at, entry] of entries.entries()) {
    prefetch(at + ahead)
    await writer.write(entry.header)
    if (entry.bytes !== undefined) await writer.write(entry.bytes)
    else if (entry.blob !== undefined) await writeBlob(writer, entry.blob, fetched.get(at), emit)
    fetched.delete(at)
    const padding = padded(entry.size) - entry.size
    if (padding > 0) await writer.write(Buffer.alloc(padding, 0, 'latin1').subarray(0, blockSize))
  }
}

async function writeBlob(
  writer: Pick<PartedWriter, 'write'>,
  {blob, source}: {blob: Descriptor; source: ContentSource},
  fetched: Promise<Buffer> | undefined,
  emit: CopyEventSink,
): Promise<void> {
  const started = performance.now()
  const where = {digest: blob.digest, repository: source.fullName}
  emit({type: 'blob.start', ...where, size: blob.size})
  if (fetched !== undefined) await writer.write(await fetched)
  else {
    let done = 0
    await verified(
      blob,
      (sink) => source.streamBlob(blob, sink, (reason) => emit({type: 'blob.retry', ...where, reason})),
      (chunk) => writer.write(chunk),
      (bytes) => {
        done += bytes
        emit({type: 'blob.progress', digest: blob.digest, done, size: blob.size})
      },
    )
  }
  emit({type: 'blob.done', ...where, size: blob.size, ms: Math.round(performance.now() - started)})
}
