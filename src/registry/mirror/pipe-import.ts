import {SrcipError} from '../../model/errors.ts'
import type {CopyItem, CopyOptions} from '../copy/item.ts'
import type {CopyRun} from '../copy/run.ts'
import type {ContentSource} from '../copy/source.ts'
import {RegistryError} from '../errors.ts'
import {Gate} from '../http/gate.ts'
import {type ArrivedBlob, PipedArchive, smallEntry} from '../layout/piped-archive.ts'
import type {Descriptor, Manifest} from '../manifest.ts'
import type {SourceOf} from '../plan/planner.ts'
import type {Repository} from '../repository.ts'

/** Small blobs being uploaded while the pipe is read on, and large ones, which lie on the disk meanwhile. */
const smallAtOnce = 12
const largeAtOnce = 3

interface Wish {
  readonly blob: Descriptor
  readonly places: {readonly target: Repository; readonly source: ContentSource}[]
}

/** An archive from a pipe, opened as far as its manifests. */
export interface PipeImport {
  readonly plan: PipedArchive['plan']
  readonly sourceOf: SourceOf
  /** Uploads every blob as it arrives; manifests and tags are the copy's own work afterwards. */
  readonly feed: (run: CopyRun, items: readonly CopyItem[], options: CopyOptions) => Promise<void>
}

/** Opens an archive of `mirror export` that comes through a pipe. Nothing is kept but what is on its way. */
export async function openPipe(input: AsyncIterable<Uint8Array>): Promise<PipeImport> {
  const archive = new PipedArchive(input)
  await archive.readManifests()
  const arrived = new Map<string, ArrivedBlob>()
  /** Why a blob did not get there: told again when the copy asks for it. */
  const failures = new Map<string, unknown>()
  const content = (digest: string): ArrivedBlob => {
    const found = arrived.get(digest)
    if (found !== undefined) return found
    const base =
      archive.base === undefined ? '' : `, which is a delta: import ${archive.base} into the same target first`
    throw (
      failures.get(digest) ??
      new SrcipError('Precondition', `${digest} is not in ${archive.name}${base}`, {object: digest})
    )
  }
  const sourceOf: SourceOf = (host, name) => ({
    fullName: `${host}/${name}`,
    async manifest(reference): Promise<Manifest> {
      const digest = tagOf(archive, `${host}/${name}`, reference) ?? reference
      return archive.manifest(digest) ?? (content(digest) as never)
    },
    tagDigest: async (tag) => tagOf(archive, `${host}/${name}`, tag),
    async readBlob({digest}) {
      const found = content(digest)
      if ('bytes' in found) return found.bytes
      throw new SrcipError('Internal', `${digest} is no small blob`)
    },
    async streamBlob({digest}, sink) {
      const found = content(digest)
      if ('bytes' in found) await sink(found.bytes)
      else await found.file.stream(sink)
    },
    referrers: async () => [],
  })
  return {
    plan: archive.plan,
    sourceOf,
    async feed(run, items, options) {
      const wishes = await wishesOf(archive, items, options)
      const lanes = {small: new Gate(smallAtOnce), large: new Gate(largeAtOnce)}
      const flying = new Set<Promise<void>>()
      const deliver = async ({blob, places}: Wish): Promise<void> => {
        const settled = await Promise.allSettled(
          places.map(({target, source}) => run.ensureBlob(target, source, blob, () => {})),
        )
        for (const outcome of settled) if (outcome.status === 'rejected') failures.set(blob.digest, outcome.reason)
      }
      const wanted = async (digest: string): Promise<Descriptor | undefined> => {
        const wish = wishes.get(digest)
        return wish === undefined || (await allHold(wish, run)) ? undefined : wish.blob
      }
      try {
        await archive.eachBlob(
          wanted,
          () => run.spool(),
          async (blob, bytes) => {
            const lane = blob.size <= smallEntry ? lanes.small : lanes.large
            await lane.enter()
            arrived.set(blob.digest, bytes)
            const work = deliver(wishes.get(blob.digest) as Wish).finally(async () => {
              arrived.delete(blob.digest)
              flying.delete(work)
              lane.leave()
              if ('file' in bytes) await bytes.file.close()
            })
            flying.add(work)
          },
        )
      } finally {
        await Promise.all(flying)
      }
      stopOn([...failures.values()])
    },
  }
}

/** A signal or the time limit ends the import; what concerns one blob is told by the item that needs it. */
function stopOn(failures: readonly unknown[]): void {
  for (const failure of failures)
    if (failure instanceof SrcipError && (failure.code === 'Interrupted' || failure.code === 'Timeout')) throw failure
}

function tagOf(archive: PipedArchive, source: string, tag: string): string | undefined {
  for (const item of archive.plan.items) {
    if (item.source !== source) continue
    if (item.tag === tag) return item.digest
    const extra = item.extras.find((one) => one.tag === tag)
    if (extra !== undefined) return extra.digest
  }
  return undefined
}

/** A large blob that every target has is not worth the disk; a small one is asked for by the run itself. */
async function allHold({blob, places}: Wish, run: CopyRun): Promise<boolean> {
  if (blob.size <= smallEntry || run.dryRun) return false
  const held = await Promise.all(places.map(({target}) => target.hasBlob(blob)))
  return held.every(Boolean)
}

/** Which blob goes where, without the images whose tag is taken: for those nothing may be written. */
async function wishesOf(
  archive: PipedArchive,
  items: readonly CopyItem[],
  options: CopyOptions,
): Promise<Map<string, Wish>> {
  const wishes = new Map<string, Wish>()
  const open = await Promise.all(items.map((item) => isOpen(item, options)))
  for (const [at, item] of items.entries()) {
    if (open[at] !== true) continue
    const extras = Array.isArray(item.extras) ? item.extras.map(({digest}: {digest: string}) => digest) : []
    for (const blob of blobsBelow(archive, [item.digest ?? '', ...extras])) {
      const wish = wishes.get(blob.digest) ?? {blob, places: []}
      wishes.set(blob.digest, wish)
      if (!wish.places.some(({target}) => target.fullName === item.target.fullName))
        wish.places.push({target: item.target, source: item.source})
    }
  }
  return wishes
}

/** What goes wrong here goes wrong for the item itself as well, and is told there. */
async function isOpen({target, tag, digest}: CopyItem, options: CopyOptions): Promise<boolean> {
  if (tag === undefined) return true
  try {
    const held = await target.tagDigest(tag)
    return held === undefined || (held === digest ? !options.trustManifests : options.moveTags)
  } catch (error) {
    if (error instanceof RegistryError) return false
    throw error
  }
}

function blobsBelow(archive: PipedArchive, roots: readonly string[]): Descriptor[] {
  const seen = new Set(roots)
  const blobs: Descriptor[] = []
  for (const digest of seen) {
    const manifest = archive.manifest(digest)
    if (manifest === undefined) continue
    for (const child of manifest.children) seen.add(child.digest)
    blobs.push(...manifest.blobs)
  }
  return blobs
}
