import type {MirrorPlan, PlanItem} from '../../model/mirror.ts'
import {nodesOf, type GraphNode} from '../copy/graph.ts'
import type {ContentSource} from '../copy/source.ts'
import type {Descriptor, Manifest} from '../manifest.ts'
import {mediaTypes} from '../media-types.ts'
import type {PlannedItem} from '../plan/planner.ts'

/** Our own file in a layout: the plan, and for a delta what must be there before. */
export const planFileName = 'srcip-mirror.json'
/** Annotation of our own on entries of index.json. */
const roleAnnotation = 'dev.srcip.mirror.role'

/** What an archive is made of, before any blob is fetched. */
export interface ArchiveContent {
  /** `index.json`, the plan file and `oci-layout`, in the order of writing. */
  readonly files: readonly {readonly name: string; readonly bytes: Buffer}[]
  /** Manifests, in order of writing. */
  readonly manifests: readonly Manifest[]
  /** Blobs to fetch, in order of writing, each with a place to get it from. */
  readonly blobs: readonly {readonly blob: Descriptor; readonly source: ContentSource}[]
  /** Blobs that a delta leaves out. */
  readonly leftOut: readonly Descriptor[]
}

/** The plan file's own shape: a MirrorPlan, and the base of a delta. */
export interface ArchivePlan {
  readonly plan: MirrorPlan
  readonly base?: {readonly name: string; readonly blobs: number; readonly size: number}
}

function entryOf(item: PlanItem, manifest: Manifest): Record<string, unknown> {
  const full = item.tag === undefined ? `${item.source}@${item.digest}` : `${item.source}:${item.tag}`
  return {
    mediaType: manifest.mediaType,
    digest: manifest.digest,
    size: manifest.bytes.length,
    // skopeo and regctl read the first, ctr the second.
    annotations: {
      'io.containerd.image.name': full,
      'org.opencontainers.image.ref.name': full,
      [roleAnnotation]: item.role,
    },
  }
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}

/**
 * Lays out an archive: one entry for each item and for what is attached to it, every manifest, every blob once.
 * The same plan always gives the same files in the same order.
 * @param held digests that the reader has already (a delta's base)
 */
export function layOut(
  planned: readonly PlannedItem[],
  plan: MirrorPlan,
  held: ReadonlySet<string> = new Set(),
  baseName = '',
): ArchiveContent {
  const manifests = new Map<string, Manifest>()
  const blobs = new Map<string, {blob: Descriptor; source: ContentSource}>()
  const leftOut = new Map<string, Descriptor>()
  const entries: Record<string, unknown>[] = []
  const take = (node: GraphNode, source: ContentSource): void => {
    for (const {manifest} of nodesOf(node)) {
      manifests.set(manifest.digest, manifest)
      for (const blob of manifest.blobs) {
        if (held.has(blob.digest)) leftOut.set(blob.digest, blob)
        else if (!blobs.has(blob.digest)) blobs.set(blob.digest, {blob, source})
      }
    }
  }
  for (const {item, graph, extras, source} of planned) {
    entries.push(entryOf(item, graph.manifest))
    take(graph, source)
    for (const {node, tag, kind} of extras) {
      const name =
        tag === undefined
          ? {}
          : {
              'io.containerd.image.name': `${item.source}:${tag}`,
              'org.opencontainers.image.ref.name': `${item.source}:${tag}`,
            }
      entries.push({
        mediaType: node.manifest.mediaType,
        digest: node.manifest.digest,
        size: node.manifest.bytes.length,
        annotations: {...name, [roleAnnotation]: kind},
      })
      take(node, source)
    }
  }
  const index = {schemaVersion: 2, mediaType: mediaTypes.ociIndex, manifests: entries}
  const size = [...leftOut.values()].reduce((sum, blob) => sum + blob.size, 0)
  const archivePlan: ArchivePlan = {
    plan,
    ...(held.size === 0 ? {} : {base: {name: baseName, blobs: leftOut.size, size}}),
  }
  return {
    files: [
      {name: 'oci-layout', bytes: Buffer.from('{"imageLayoutVersion":"1.0.0"}')},
      {name: 'index.json', bytes: Buffer.from(JSON.stringify(index))},
      {name: planFileName, bytes: Buffer.from(`${JSON.stringify(archivePlan, null, 1)}\n`)},
    ],
    manifests: [...manifests.values()].sort((one, other) => compare(one.digest, other.digest)),
    blobs: [...blobs.values()].sort((one, other) => compare(one.blob.digest, other.blob.digest)),
    leftOut: [...leftOut.values()],
  }
}

/** `blobs/ALGORITHM/HEX`; the digest has been checked before. */
export function blobPath(digest: string): string {
  const [algorithm = '', encoded = ''] = digest.split(':')
  return `blobs/${algorithm}/${encoded}`
}
