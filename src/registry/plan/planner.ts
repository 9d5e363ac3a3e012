import {SrcipError} from '../../model/errors.ts'
import type {PlanExtra, PlanItem} from '../../model/mirror.ts'
import type {RegistryClient} from '../client.ts'
import {isNotFound} from '../errors.ts'
import {Gate} from '../http/gate.ts'
import type {Manifest} from '../manifest.ts'
import {isIndexType, mediaTypes} from '../media-types.ts'
import {formatReference, type Reference, repositoryName} from '../reference.ts'
import {isChart, Repository} from '../repository.ts'
import {type Extra, findExtras, loadExtras, type LostExtra} from '../copy/extras.ts'
import {blobsOf, childFor, type GraphNode, type Selection, sizeOf, walkGraph} from '../copy/graph.ts'
import {platformsOf} from '../copy/item.ts'
import {type ContentSource, firstThatHas, registrySource} from '../copy/source.ts'
import {newestVersion} from './versions.ts'

/** Something to carry, and where it was named. */
export interface Wanted {
  readonly reference: Reference
  readonly foundIn: readonly string[]
  readonly notes?: readonly string[]
}

export interface PlanOptions {
  /** One platform: its child's digest takes the index's place. */
  readonly platform?: string | undefined
  readonly skipAttestations?: boolean
  readonly referrers: boolean
  readonly sourceMap?: readonly SourceMap[]
}

/** An item of a plan with everything read that is needed to write it somewhere. */
export interface PlannedItem {
  readonly item: PlanItem
  readonly source: ContentSource
  readonly graph: GraphNode
  readonly extras: readonly Extra[]
  readonly lost: readonly LostExtra[]
}

/** Items resolved at once; each has several requests in flight itself. */
const atOnce = 16

/** Runs work for every entry, a few at a time, in order of the entries. */
export async function forEach<T, R>(entries: readonly T[], work: (entry: T) => Promise<R>): Promise<R[]> {
  const places = new Gate(atOnce)
  return Promise.all(
    entries.map(async (entry) => {
      const waiting = places.enter()
      if (waiting !== undefined) await waiting
      try {
        return await work(entry)
      } finally {
        places.leave()
      }
    }),
  )
}

/** Where to read a repository from when that is not where it is named: `--source-map FROM=TO`. */
export interface SourceMap {
  readonly from: string
  readonly to: string
}

/** The place a repository is read from: the longest matching prefix of the map decides. */
export function mappedPlace(
  host: string,
  repository: string,
  map: readonly SourceMap[],
): {host: string; repository: string} {
  const full = `${host}/${repository}`
  const match = map
    .filter(({from}) => full === from || full.startsWith(`${from}/`))
    .sort((one, other) => other.from.length - one.from.length)[0]
  if (match === undefined) return {host, repository}
  const mapped = match.to + full.slice(match.from.length)
  const slash = mapped.indexOf('/')
  return {host: mapped.slice(0, slash), repository: mapped.slice(slash + 1)}
}

export type SourceOf = (host: string, repository: string) => ContentSource

/** Other places of a repository, best first, from a registries.conf. */
export interface SourceMirrors {
  placesOf(host: string, repository: string): readonly {readonly host: string; readonly repository: string}[]
}

/** A source for each repository, so that a manifest is fetched once however many items name it. */
export function sourcesOf(client: RegistryClient, map: readonly SourceMap[] = [], mirrors?: SourceMirrors): SourceOf {
  const known = new Map<string, ContentSource>()
  return (host, repository) => {
    const key = `${host}/${repository}`
    const before = known.get(key)
    if (before !== undefined) return before
    const place = mappedPlace(host, repository, map)
    const places = mirrors?.placesOf(place.host, place.repository) ?? [place]
    const sources = places.map((one) => registrySource(new Repository(client, one.host, one.repository, 'pull')))
    const source = firstThatHas(`${place.host}/${place.repository}`, sources)
    known.set(key, source)
    return source
  }
}

/** A chart named without version means its newest stable one, as with helm pull. */
export async function withVersion(
  client: RegistryClient,
  wanted: Wanted,
  map: readonly SourceMap[] = [],
): Promise<Wanted> {
  const {reference} = wanted
  if (reference.tag !== undefined || reference.digest !== undefined) return wanted
  const name = repositoryName(reference)
  const place = mappedPlace(reference.host, reference.repository, map)
  const tags = await new Repository(client, place.host, place.repository, 'pull').tags()
  const tag = newestVersion(tags)
  if (tag === undefined)
    throw new SrcipError('Precondition', `oci://${name} has no tag that is a version`, {object: name})
  return {
    ...wanted,
    reference: {...reference, tag},
    notes: [...(wanted.notes ?? []), `no version given: ${tag} is the newest`],
  }
}

/** Resolves one reference to digests: the graph, the platforms, what is attached. */
export async function planItem(
  client: RegistryClient,
  sourceOf: SourceOf,
  asked: Wanted,
  options: PlanOptions,
): Promise<PlannedItem> {
  const wanted = await withVersion(client, asked, options.sourceMap)
  const {reference} = wanted
  const name = formatReference(reference)
  const source = sourceOf(reference.host, reference.repository)
  const notes = [...reference.notes, ...(wanted.notes ?? [])]
  const digest = await resolve(source, reference, name, notes)
  try {
    const chosen = await choose(source, digest, name, options, notes)
    const selection: Selection = {platforms: [], skipAttestations: options.skipAttestations === true}
    const graph = await walkGraph(source, {digest: chosen}, selection)
    const {extras, lost} = options.referrers ? await findExtras(source, graph) : {extras: [], lost: []}
    for (const {name: lostName, subject, reason} of lost)
      notes.push(`${lostName} of ${subject} cannot be read: ${reason}`)
    const item: PlanItem = {
      role: roleOf(graph.manifest),
      source: repositoryName(reference),
      ...(reference.tag === undefined ? {} : {tag: reference.tag}),
      digest: chosen,
      mediaType: graph.manifest.mediaType,
      size: totalSize(graph, extras),
      platforms: platformsOf(graph.manifest),
      ...(chosen === digest ? {} : {index: digest}),
      extras: extras.map(planExtra),
      foundIn: [...wanted.foundIn].sort(),
      notes,
    }
    return {item, source, graph, extras, lost}
  } catch (error) {
    if (isNotFound(error))
      throw new SrcipError('Precondition', `${name} is not there: ${error.message}`, {object: name, cause: error})
    throw error
  }
}

async function resolve(source: ContentSource, reference: Reference, name: string, notes: string[]): Promise<string> {
  const {tag, digest} = reference
  const named = tag === undefined ? undefined : await source.tagDigest(tag)
  if (digest === undefined) {
    if (named === undefined)
      throw new SrcipError('Precondition', `${name} is not there: ${source.fullName} has no tag ${tag ?? ''}`, {
        object: name,
      })
    return named
  }
  if (tag !== undefined && named !== digest) {
    notes.push(`tag ${tag} ${named === undefined ? 'is not there' : `names ${named} now`}; the digest decides`)
  }
  return digest
}

async function choose(
  source: ContentSource,
  digest: string,
  name: string,
  {platform}: PlanOptions,
  notes: string[],
): Promise<string> {
  if (platform === undefined) return digest
  const root = await source.manifest(digest)
  if (root.kind !== 'index') return digest
  const child = childFor(root, platform, name)
  notes.push(`only ${platform}: the digest becomes ${child.digest} instead of ${digest}`)
  return child.digest
}

/** Chart, image or something else, told by the media types. */
export function roleOf(manifest: Manifest): PlanItem['role'] {
  if (isChart(manifest)) return 'chart'
  if (isIndexType(manifest.mediaType)) return 'image'
  const images = ['application/vnd.oci.image.config.v1+json', 'application/vnd.docker.container.image.v1+json']
  return manifest.configType !== undefined && images.includes(manifest.configType) ? 'image' : 'artifact'
}

function planExtra({kind, subject, tag, node}: Extra): PlanExtra {
  const {manifest} = node
  const artifactType =
    manifest.artifactType ?? (manifest.configType === mediaTypes.empty ? undefined : manifest.configType)
  return {
    kind,
    subject,
    digest: manifest.digest,
    mediaType: manifest.mediaType,
    ...(artifactType === undefined ? {} : {artifactType}),
    ...(tag === undefined ? {} : {tag}),
    size: sizeOf(node),
  }
}

function totalSize(graph: GraphNode, extras: readonly Extra[]): number {
  const counted = new Set(blobsOf(graph).map((blob) => blob.digest))
  let size = sizeOf(graph)
  for (const {node} of extras) {
    size += node.manifest.bytes.length
    for (const blob of blobsOf(node)) {
      if (!counted.has(blob.digest)) size += blob.size
      counted.add(blob.digest)
    }
  }
  return size
}

/** Reads again what a plan names, by its digests. */
export async function loadPlanned(source: ContentSource, item: PlanItem): Promise<PlannedItem> {
  const graph = await walkGraph(source, {digest: item.digest, mediaType: item.mediaType}).catch((error: unknown) => {
    if (isNotFound(error))
      throw new SrcipError(
        'Precondition',
        `${item.source}@${item.digest} is in the plan and not at the source any more`,
        {object: `${item.source}@${item.digest}`, cause: error},
      )
    throw error
  })
  const {extras, lost} = await loadExtras(source, item.extras)
  return {item, source, graph, extras, lost}
}

/** Plans in one order, whatever order they were found in; the same thing found twice becomes one item. */
export function orderItems(items: readonly PlanItem[]): PlanItem[] {
  const merged = new Map<string, PlanItem>()
  for (const item of items) {
    const key = `${item.source} ${item.tag ?? ''} ${item.digest}`
    const before = merged.get(key)
    merged.set(
      key,
      before === undefined
        ? item
        : {...before, foundIn: union(before.foundIn, item.foundIn), notes: union(before.notes, item.notes)},
    )
  }
  const order = ['chart', 'image', 'artifact']
  return [...merged.values()].sort((one, other) => {
    const byRole = order.indexOf(one.role) - order.indexOf(other.role)
    const [left, right] = [
      `${one.source} ${one.tag ?? ''} ${one.digest}`,
      `${other.source} ${other.tag ?? ''} ${other.digest}`,
    ]
    return byRole !== 0 ? byRole : left < right ? -1 : left > right ? 1 : 0
  })
}

function union(one: readonly string[], other: readonly string[]): string[] {
  return [...new Set([...one, ...other])].sort()
}
