import {SrcipError} from '../../model/errors.ts'
import {isNotFound} from '../errors.ts'
import {limits} from '../limits.ts'
import {
  attestedDigest,
  type Descriptor,
  formatPlatform,
  isAttestationEntry,
  type Manifest,
  platformMatches,
} from '../manifest.ts'
import type {ContentSource} from './source.ts'

/** A manifest with the manifests below it. */
export interface GraphNode {
  readonly manifest: Manifest
  readonly children: readonly GraphNode[]
  /** Entries of an index that are left out on purpose; its digest then needs a target that takes holes. */
  readonly leftOut: readonly Descriptor[]
  /** True when the target has said that it holds this very manifest. */
  readonly held: boolean
}

/** Which children of an index are wanted. */
export interface Selection {
  /** Platforms to keep; empty keeps all. */
  readonly platforms: readonly string[]
  readonly skipAttestations: boolean
}

export const everything: Selection = {platforms: [], skipAttestations: false}

/** Says whether the target holds a manifest, and reads it there; absent when nothing is known of a target. */
export interface HeldManifests {
  holds(digest: string): Promise<boolean>
  read(digest: string, descriptorType: string | undefined): Promise<Manifest>
}

interface Walk {
  readonly source: ContentSource
  readonly selection: Selection
  readonly held: HeldManifests | undefined
  count: number
}

/**
 * Reads a manifest and everything below it. Documents that the target holds are read there: same bytes, and the source's
 * rate limit is spared.
 * @throws SrcipError Precondition naming a child that the source does not serve
 */
export function walkGraph(
  source: ContentSource,
  root: Descriptor | {readonly digest: string; readonly mediaType?: string},
  selection: Selection = everything,
  held?: HeldManifests,
  likelyHeld = false,
): Promise<GraphNode> {
  return visit({source, selection, held, count: 0}, root.digest, root.mediaType, [], likelyHeld)
}

async function visit(
  walk: Walk,
  digest: string,
  mediaType: string | undefined,
  path: readonly string[],
  likelyHeld: boolean,
): Promise<GraphNode> {
  const {source} = walk
  if (path.length > limits.depth)
    throw new SrcipError('Precondition', `${source.fullName}: indexes nested deeper than ${limits.depth}`)
  if (path.includes(digest)) throw new SrcipError('Precondition', `${source.fullName}@${digest} contains itself`)
  const {manifest, isHeld} = await fetchNode(walk, digest, mediaType, likelyHeld)
  walk.count += manifest.children.length + manifest.blobs.length
  if (walk.count > limits.descriptors)
    throw new SrcipError('Precondition', `${source.fullName}: more than ${limits.descriptors} descriptors`)
  const wanted = manifest.children.filter((entry) => isWanted(entry, manifest, walk.selection))
  const leftOut = manifest.children.filter((entry) => !wanted.includes(entry))
  const children = await Promise.all(
    wanted.map((entry) =>
      visit(walk, entry.digest, entry.mediaType, [...path, digest], isHeld).catch((error: unknown) => {
        throw isNotFound(error) ? missingChild(source, manifest, entry) : error
      }),
    ),
  )
  return {manifest, children, leftOut, held: isHeld}
}

async function fetchNode(
  walk: Walk,
  digest: string,
  mediaType: string | undefined,
  likelyHeld: boolean,
): Promise<{manifest: Manifest; isHeld: boolean}> {
  const {source, held} = walk
  if (held === undefined) return {manifest: await source.manifest(digest, mediaType), isHeld: false}
  if (likelyHeld) {
    const isHeld = await held.holds(digest)
    return {manifest: isHeld ? await held.read(digest, mediaType) : await source.manifest(digest, mediaType), isHeld}
  }
  const [isHeld, manifest] = await Promise.all([held.holds(digest), source.manifest(digest, mediaType)])
  return {manifest, isHeld}
}

function isWanted(entry: Descriptor, index: Manifest, {platforms, skipAttestations}: Selection): boolean {
  if (isAttestationEntry(entry)) {
    if (skipAttestations) return false
    const about = attestedDigest(entry)
    const subject = about === undefined ? undefined : index.children.find((child) => child.digest === about)
    return platforms.length === 0 || subject === undefined || isWanted(subject, index, {platforms, skipAttestations})
  }
  if (platforms.length === 0 || entry.platform === undefined) return true
  const {platform} = entry
  return platforms.some((wish) => platformMatches(platform, wish))
}

/** What an entry is, for people: `linux/arm64`, or `attestation of linux/amd64`. */
export function describeEntry(entry: Descriptor, index: Manifest): string {
  if (isAttestationEntry(entry)) {
    const about = attestedDigest(entry)
    const subject = index.children.find((child) => child.digest === about)
    return subject?.platform === undefined ? 'attestation' : `attestation of ${formatPlatform(subject.platform)}`
  }
  return entry.platform === undefined ? entry.mediaType : formatPlatform(entry.platform)
}

function missingChild(source: ContentSource, index: Manifest, entry: Descriptor): SrcipError {
  const attestation = isAttestationEntry(entry)
  return new SrcipError(
    'Precondition',
    `${source.fullName}@${index.digest}: ${entry.digest} (${describeEntry(entry, index)}) is listed but not served by the source`,
    {
      object: `${source.fullName}@${index.digest}`,
      hints: attestation
        ? [
            '--skip-attestations leaves attestations out; the index then keeps its digest only on a target that takes sparse indexes',
          ]
        : [
            'nothing was tagged; ask the publisher for the missing platform, or copy one that is there with --platform OS/ARCH',
          ],
    },
  )
}

/** Every node of a graph once, children before parents. */
export function nodesOf(root: GraphNode): GraphNode[] {
  const found = new Map<string, GraphNode>()
  const collect = (node: GraphNode): void => {
    if (found.has(node.manifest.digest)) return
    for (const child of node.children) collect(child)
    found.set(node.manifest.digest, node)
  }
  collect(root)
  return [...found.values()]
}

/** Every blob below a node once. */
export function blobsOf(root: GraphNode): Descriptor[] {
  const found = new Map<string, Descriptor>()
  for (const node of nodesOf(root)) for (const blob of node.manifest.blobs) found.set(blob.digest, blob)
  return [...found.values()]
}

/** Bytes of everything below a node, manifests included, each digest once. */
export function sizeOf(root: GraphNode): number {
  const manifests = nodesOf(root).reduce((sum, node) => sum + node.manifest.bytes.length, 0)
  return blobsOf(root).reduce((sum, blob) => sum + blob.size, manifests)
}

/**
 * The one child that runs on a platform.
 * @throws SrcipError Precondition when there is none, naming what there is
 */
export function childFor(index: Manifest, platform: string, name: string): Descriptor {
  const children = index.children.filter((entry) => !isAttestationEntry(entry))
  const match = children.find((entry) => entry.platform !== undefined && platformMatches(entry.platform, platform))
  if (match !== undefined) return match
  const list = children.map((entry) => describeEntry(entry, index)).join(', ')
  throw new SrcipError('Precondition', `${name} has no ${platform}; it has ${list === '' ? 'no platforms' : list}`)
}
