import {SrcipError} from '../../model/errors.ts'
import type {MirrorPlan, PlanExtra, PlanItem} from '../../model/mirror.ts'
import {isDigest} from '../digest.ts'
import {nodesOf, walkGraph, sizeOf} from '../copy/graph.ts'
import {platformsOf} from '../copy/item.ts'
import type {Manifest} from '../manifest.ts'
import {checkPlan} from '../plan/document.ts'
import {orderItems, roleOf} from '../plan/planner.ts'
import {cosignSuffixes, extraKind, fallbackTag} from '../referrers.ts'
import {parseReference, repositoryName} from '../reference.ts'
import {cleanText} from '../text.ts'
import {type ArchivePlan, planFileName} from './content.ts'
import {type LayoutReader, readLayoutJson} from './read.ts'
import {layoutSource} from './source.ts'

interface IndexEntry {
  readonly digest: string
  readonly name: string | undefined
}

/** Entries of `index.json` with the name that each carries. */
async function indexEntries(reader: LayoutReader): Promise<IndexEntry[]> {
  const index = await readLayoutJson(reader, 'index.json')
  if (index === undefined)
    throw new SrcipError('Precondition', `${reader.path}: index.json is missing`, {object: reader.path})
  const list: unknown[] = Array.isArray(index['manifests']) ? index['manifests'] : []
  return list.map((value) => {
    const entry = (typeof value === 'object' && value !== null ? value : {}) as {
      digest?: unknown
      annotations?: Record<string, unknown>
    }
    const digest = String(entry.digest)
    if (!isDigest(digest))
      throw new SrcipError(
        'Precondition',
        `${reader.path}: index.json names "${cleanText(digest)}", which is no digest`,
        {object: reader.path},
      )
    const name =
      entry.annotations?.['io.containerd.image.name'] ?? entry.annotations?.['org.opencontainers.image.ref.name']
    return {digest, name: typeof name === 'string' ? name : undefined}
  })
}

/**
 * What an archive holds: the plan inside it, or for a layout of another tool what its index.json names.
 * @param repository where plain tags of a foreign layout belong (`host/path`)
 */
export async function readArchivePlan(reader: LayoutReader, repository?: string): Promise<ArchivePlan> {
  const own = await readLayoutJson(reader, planFileName)
  if (own !== undefined) {
    const plan = await checkPlan(own['plan'], `${reader.path}: ${planFileName}`)
    const base = own['base'] as ArchivePlan['base']
    return {plan, ...(base === undefined ? {} : {base})}
  }
  return {plan: await planOfForeignLayout(reader, repository)}
}

async function planOfForeignLayout(reader: LayoutReader, repository: string | undefined): Promise<MirrorPlan> {
  const source = layoutSource(reader, reader.path, new Map())
  const entries = await Promise.all(
    (await indexEntries(reader)).map(async (entry) => ({...entry, manifest: await source.manifest(entry.digest)})),
  )
  const items: PlanItem[] = []
  for (const {digest, name, manifest} of entries) {
    if (manifest.subject !== undefined || (name !== undefined && isCosignTag(name))) continue
    const place = placeOf(reader, name, digest, repository)
    const graph = await walkGraph(source, {digest})
    const digests = new Set(nodesOf(graph).map((node) => node.manifest.digest))
    items.push({
      role: roleOf(manifest),
      source: place.source,
      ...(place.tag === undefined ? {} : {tag: place.tag}),
      digest,
      mediaType: manifest.mediaType,
      size: sizeOf(graph),
      platforms: platformsOf(manifest),
      extras: extrasOf(entries, digests),
      foundIn: [`${reader.path}: index.json`],
      notes: [],
    })
  }
  return {
    apiVersion: 'srcip.dev/v1alpha1',
    kind: 'MirrorPlan',
    items: orderItems(items),
    exitCode: 0,
    changed: false,
    warnings: [],
  }
}

function isCosignTag(name: string): boolean {
  return /(?:^|:)sha256-[0-9a-f]{64}\.(?:sig|att|sbom)$/.test(name)
}

function placeOf(
  reader: LayoutReader,
  name: string | undefined,
  digest: string,
  repository: string | undefined,
): {source: string; tag: string | undefined} {
  if (name !== undefined && name.includes('/')) {
    const reference = parseReference(name)
    return {source: repositoryName(reference), tag: reference.tag}
  }
  if (repository === undefined) {
    throw new SrcipError(
      'Usage',
      `${reader.path}: ${name === undefined ? digest : `"${cleanText(name)}"`} names no repository`,
      {
        hints: ['say where it belongs: --repository HOST/PATH'],
      },
    )
  }
  return {source: repository, tag: name}
}

function extrasOf(
  entries: readonly (IndexEntry & {readonly manifest: Manifest})[],
  subjects: ReadonlySet<string>,
): PlanExtra[] {
  const extras: PlanExtra[] = []
  for (const {digest, name, manifest} of entries) {
    const size = manifest.bytes.length + manifest.blobs.reduce((sum, blob) => sum + blob.size, 0)
    const {subject} = manifest
    if (subject !== undefined && subjects.has(subject.digest)) {
      extras.push({kind: extraKind(manifest), subject: subject.digest, digest, mediaType: manifest.mediaType, size})
    }
    const tag = name?.split(':').at(-1)
    const suffix = Object.entries(cosignSuffixes).find(([ending]) => tag?.endsWith(`.${ending}`))
    const about = [...subjects].find((one) => tag?.startsWith(`${fallbackTag(one)}.`) === true)
    if (tag !== undefined && suffix !== undefined && about !== undefined) {
      extras.push({kind: suffix[1], subject: about, digest, mediaType: manifest.mediaType, tag, size})
    }
  }
  return extras
}

/** Every blob and manifest that a reader of this archive holds, and what it needed beforehand: the base of a next delta. */
export async function digestsOfArchive(reader: LayoutReader): Promise<Set<string>> {
  const held = new Set(reader.blobs.keys())
  const {plan} = await readArchivePlan(reader)
  const source = layoutSource(reader, reader.path, new Map())
  for (const item of plan.items) {
    for (const digest of [item.digest, ...item.extras.map((extra) => extra.digest)]) {
      for (const node of nodesOf(await walkGraph(source, {digest})))
        for (const blob of node.manifest.blobs) held.add(blob.digest)
    }
  }
  return held
}
