import {SrcipError} from '../../model/errors.ts'
import {RegistryError} from '../errors.ts'
import {isAttestationEntry, type Manifest} from '../manifest.ts'
import type {Repository} from '../repository.ts'
import {addToFallback} from '../referrers.ts'
import {cleanText} from '../text.ts'
import {type Extra, findExtras, type FoundExtras, loadExtras, type LostExtra, type PlannedExtra} from './extras.ts'
import {
  childFor,
  describeEntry,
  type GraphNode,
  type HeldManifests,
  nodesOf,
  blobsOf,
  type Selection,
  sizeOf,
  walkGraph,
} from './graph.ts'
import {asSrcipError, explainPut} from './explain.ts'
import type {CopyRun} from './run.ts'
import type {ContentSource} from './source.ts'

/** One thing to copy. */
export interface CopyItem {
  /** As shown to people: `host/path:tag@digest`. */
  readonly name: string
  readonly source: ContentSource
  readonly target: Repository
  readonly tag?: string | undefined
  readonly digest?: string | undefined
  /** Extras: looked for at the source, taken from a plan, or none. */
  readonly extras: 'discover' | 'none' | readonly PlannedExtra[]
}

export interface CopyOptions {
  readonly moveTags: boolean
  /** A target that holds the manifest is believed to hold all of it. */
  readonly trustManifests: boolean
  readonly platforms: readonly string[]
  /** Keep the index and leave the other platforms out. */
  readonly sparse: boolean
  readonly skipAttestations: boolean
}

export interface SkippedExtra {
  readonly name: string
  readonly subject: string
  readonly reason: string
}

export interface ItemResult {
  readonly name: string
  readonly status: 'copied' | 'unchanged' | 'planned' | 'failed' | 'conflict'
  readonly sourceDigest: string | undefined
  /** Digest that the target answers with now, asked for after the copy. */
  readonly targetDigest: string | undefined
  /** Set when a platform was chosen: the digest of the index that it comes from. */
  readonly indexDigest?: string
  readonly mediaType: string | undefined
  readonly configType: string | undefined
  readonly size: number
  readonly extras: readonly {
    readonly kind: string
    readonly digest: string
    readonly subject: string
    readonly tag?: string
  }[]
  readonly skippedExtras: readonly SkippedExtra[]
  readonly notes: readonly string[]
  readonly error?: SrcipError
}

/** Copies one item: blobs, child manifests, index, referrers, their tags, and the human tag last. Never throws for what concerns this item alone. */
export async function copyItem(run: CopyRun, item: CopyItem, options: CopyOptions): Promise<ItemResult> {
  const state = new ItemCopy(run, item, options)
  run.emit({type: 'item.start', item: item.name})
  try {
    const result = await state.copy()
    run.emit({
      type: 'item.done',
      item: item.name,
      status: result.status,
      digest: result.targetDigest ?? result.sourceDigest ?? '',
    })
    return result
  } catch (thrown) {
    const error = asSrcipError(thrown, item)
    if (error.code === 'Interrupted' || error.code === 'Timeout') throw error
    run.emit({type: 'item.failed', item: item.name, reason: error.message})
    return state.result(error.code === 'Conflict' ? 'conflict' : 'failed', {error})
  }
}

class ItemCopy {
  readonly #run: CopyRun
  readonly #item: CopyItem
  readonly #options: CopyOptions
  readonly #notes: string[] = []
  readonly #skipped: SkippedExtra[] = []
  readonly #extras: Extra[] = []
  #digest: string | undefined
  #indexDigest: string | undefined
  #mediaType: string | undefined
  #configType: string | undefined
  #size = 0
  #wrote = false
  #failed: unknown

  constructor(run: CopyRun, item: CopyItem, options: CopyOptions) {
    this.#run = run
    this.#item = item
    this.#options = options
  }

  result(
    status: ItemResult['status'],
    more: {readonly error?: SrcipError; readonly targetDigest?: string | undefined} = {},
  ): ItemResult {
    return {
      name: this.#item.name,
      status,
      sourceDigest: this.#digest,
      targetDigest: more.targetDigest,
      ...(this.#indexDigest === undefined ? {} : {indexDigest: this.#indexDigest}),
      mediaType: this.#mediaType,
      configType: this.#configType,
      size: this.#size,
      extras: this.#extras.map(({kind, node, subject, tag}) => ({
        kind,
        digest: node.manifest.digest,
        subject,
        ...(tag === undefined ? {} : {tag}),
      })),
      skippedExtras: this.#skipped,
      notes: this.#notes,
      ...(more.error === undefined ? {} : {error: more.error}),
    }
  }

  async copy(): Promise<ItemResult> {
    const {source, target, tag} = this.#item
    const [digest, held] = await Promise.all([
      this.#resolve(),
      tag === undefined ? undefined : target.head(tag).then((head) => head && (head.digest ?? target.tagDigest(tag))),
    ])
    this.#digest = await this.#choosePlatform(digest)
    this.#refuseMovedTag(held)
    const present = tag === undefined ? (await target.head(this.#digest)) !== undefined : held === this.#digest
    if (present && this.#options.trustManifests) return this.result('unchanged', {targetDigest: this.#digest})
    const graph = await walkGraph(source, {digest: this.#digest}, this.#selection(), heldBy(target), present)
    this.#mediaType = graph.manifest.mediaType
    this.#configType = graph.manifest.configType
    this.#size = sizeOf(graph)
    this.#noteHoles(graph)
    if (tag === undefined) this.#notes.push('no tag: a registry that collects untagged manifests may remove it')
    const blobs = blobsOf(graph)
    this.#run.emit({type: 'item.total', item: this.#item.name, blobs: blobs.length, bytes: this.#size})
    const looking = this.#findExtras(graph)
    await this.#together<unknown>([looking, this.#place(graph, graph.held)])
    const {extras: found, lost} = await looking
    // Without anything in between, the tag's own PUT stores the index under its digest as well: one request less.
    const byTagOnly = tag !== undefined && found.length === 0 && !present
    if (!graph.held && !byTagOnly) await this.#putManifest(target, graph)
    await this.#copyExtras(found, lost)
    if (tag !== undefined && !present) await this.#tag(tag, graph)
    if (this.#run.dryRun) return this.result(this.#wrote ? 'planned' : 'unchanged', {targetDigest: held ?? undefined})
    const now = await target.tagDigest(tag ?? this.#digest)
    if (now !== this.#digest) {
      throw new SrcipError(
        'CheckFailed',
        `${target.fullName}${tag === undefined ? '' : `:${tag}`} answers with ${now ?? 'nothing'} after the copy, expected ${this.#digest}`,
      )
    }
    return this.result(this.#wrote ? 'copied' : 'unchanged', {targetDigest: now})
  }

  /** The digest that is copied: the one that was written, else the one that the tag names now. */
  async #resolve(): Promise<string> {
    const {source, tag, digest, name} = this.#item
    if (digest !== undefined) {
      if (tag !== undefined && this.#item.extras === 'discover') await this.#compareTag(tag, digest)
      return digest
    }
    const named = tag === undefined ? undefined : await source.tagDigest(tag)
    if (named === undefined)
      throw new SrcipError('Precondition', `${name} is not there: ${source.fullName} has no tag ${tag ?? ''}`, {
        object: name,
      })
    return named
  }

  /** A tag is a label that moves; the digest decides, and a difference is worth knowing. */
  async #compareTag(tag: string, digest: string): Promise<void> {
    const named = await this.#item.source.tagDigest(tag).catch((error: unknown) => {
      if (error instanceof RegistryError) return undefined
      throw error
    })
    if (named === digest) return
    const state = named === undefined ? 'is not there any more' : `names ${named} now`
    this.#note(`${this.#item.source.fullName}: tag ${tag} ${state}; ${digest} is copied, as the reference says`)
  }

  async #choosePlatform(digest: string): Promise<string> {
    const {platforms, sparse} = this.#options
    if (platforms.length === 0 || sparse) return digest
    const root = await this.#item.source.manifest(digest)
    if (root.kind !== 'index') return digest
    const child = childFor(root, platforms[0] as string, this.#item.name)
    this.#indexDigest = digest
    this.#note(`only ${platforms[0]}: the digest becomes ${child.digest} instead of ${digest}`)
    return child.digest
  }

  #selection(): Selection {
    return {
      platforms: this.#options.sparse ? this.#options.platforms : [],
      skipAttestations: this.#options.skipAttestations,
    }
  }

  #noteHoles(graph: GraphNode): void {
    const left = nodesOf(graph).flatMap((node) => node.leftOut.map((entry) => describeEntry(entry, node.manifest)))
    if (left.length === 0) return
    this.#note(`left out: ${left.join(', ')}; the index keeps its digest only on a target that takes sparse indexes`)
  }

  #note(text: string): void {
    this.#notes.push(text)
    this.#run.client.warn(`${this.#item.name}: ${text}`)
  }

  #refuseMovedTag(held: string | undefined): void {
    const {target, tag} = this.#item
    if (tag === undefined || held === undefined || held === this.#digest || this.#options.moveTags) return
    this.#run.emit({type: 'tag.conflict', repository: target.fullName, tag, held, wanted: this.#digest as string})
    throw new SrcipError(
      'Conflict',
      `${target.fullName}:${tag} names ${held} already; it would become ${this.#digest}`,
      {
        object: `${target.fullName}:${tag}`,
        hints: ['--move-tags moves it; nothing was written for this image'],
      },
    )
  }

  async #findExtras(graph: GraphNode): Promise<FoundExtras> {
    const {extras, source} = this.#item
    if (extras === 'none') return {extras: [], lost: []}
    return extras === 'discover' ? findExtras(source, graph) : loadExtras(source, extras)
  }

  /** Waits for all, so that nothing goes on in the background after a failure, then fails with the first error. */
  async #together<T>(work: readonly Promise<T>[]): Promise<T[]> {
    const settled = await Promise.allSettled(
      work.map((one) =>
        one.catch((error: unknown) => {
          this.#failed ??= error
          throw error
        }),
      ),
    )
    const failure = settled.find((outcome) => outcome.status === 'rejected')
    if (failure !== undefined) throw this.#failed ?? failure.reason
    return settled.map((outcome) => (outcome as PromiseFulfilledResult<T>).value)
  }

  /** Blobs and child manifests of a graph; the root's own manifest is the caller's. */
  async #place(graph: GraphNode, rootHeld: boolean): Promise<void> {
    const {source, target} = this.#item
    const stopped = (): void => {
      if (this.#failed !== undefined) throw this.#failed
    }
    const placeNode = async (node: GraphNode, root: boolean): Promise<void> => {
      await this.#together([
        ...node.children.map((child) => placeNode(child, false)),
        ...node.manifest.blobs.map(async (blob) => {
          const outcome = await this.#run.ensureBlob(target, source, blob, stopped)
          if (outcome !== 'exists') this.#wrote = true
        }),
      ])
      if (!root && !node.held) await this.#putManifest(target, node)
    }
    await placeNode(graph, true)
    if (!rootHeld) this.#wrote = true
  }

  async #putManifest(
    target: Repository,
    node: GraphNode,
    reference: string = node.manifest.digest,
  ): Promise<{readonly subjectIndexed: boolean}> {
    this.#wrote = true
    if (this.#run.dryRun) return {subjectIndexed: true}
    try {
      const answer = await target.putManifest(reference, node.manifest)
      this.#run.emit({type: 'manifest.done', digest: node.manifest.digest, repository: target.fullName})
      return answer
    } catch (error) {
      if (
        !(error instanceof RegistryError) ||
        !error.codes.includes('MANIFEST_BLOB_UNKNOWN') ||
        node.manifest.kind === 'index'
      )
        throw explainPut(error, node.manifest, this.#item, this.#options.sparse || this.#options.skipAttestations)
    }
    // The target said that it has these blobs and now does not: a stale cache, or garbage collection. Heal once.
    this.#run.forget(
      target,
      node.manifest.blobs.map((blob) => blob.digest),
    )
    for (const blob of node.manifest.blobs) await this.#run.forceBlob(target, this.#item.source, blob)
    return target.putManifest(reference, node.manifest).catch((error: unknown) => {
      throw explainPut(error, node.manifest, this.#item, this.#options.sparse || this.#options.skipAttestations)
    })
  }

  async #tag(tag: string, graph: GraphNode): Promise<void> {
    const {target} = this.#item
    await this.#putManifest(target, graph, tag)
    if (!this.#run.dryRun)
      this.#run.emit({type: 'tag.done', repository: target.fullName, tag, digest: graph.manifest.digest})
  }

  /** Extras never fail the image: what the target refuses is named and left out. */
  async #copyExtras(found: readonly Extra[], lost: readonly LostExtra[]): Promise<void> {
    for (const {subject, name, reason} of lost) this.#skip(name, subject, reason)
    const unindexed = new Map<string, Manifest[]>()
    for (const extra of found) await this.#copyExtra(extra, unindexed)
    for (const [subject, manifests] of unindexed) {
      try {
        if (!this.#run.dryRun) await addToFallback(this.#item.target, subject, manifests)
      } catch (error) {
        if (!(error instanceof RegistryError)) throw error
        for (const manifest of manifests) this.#skip(manifest.digest, subject, error.message)
      }
    }
  }

  async #copyExtra(extra: Extra, unindexed: Map<string, Manifest[]>): Promise<void> {
    const {target} = this.#item
    const {node, subject, tag} = extra
    const {digest} = node.manifest
    try {
      const nowHeld = tag === undefined ? undefined : await target.tagDigest(tag)
      const held = tag === undefined ? (await target.head(digest)) !== undefined : nowHeld === digest
      if (!held && nowHeld !== undefined && !this.#options.moveTags) {
        this.#skip(tag ?? digest, subject, `${target.fullName}:${tag} names ${nowHeld} already; --move-tags moves it`)
        return
      }
      await this.#place(node, held)
      const indexed = held
        ? target.state.referrersApi === true
        : (await this.#putManifest(target, node, tag ?? digest)).subjectIndexed
      if (tag === undefined && !indexed) unindexed.set(subject, [...(unindexed.get(subject) ?? []), node.manifest])
      this.#extras.push(extra)
    } catch (error) {
      if (!(error instanceof RegistryError) || error.code === 'Unreachable') throw error
      this.#failed = undefined
      this.#skip(
        tag ?? digest,
        subject,
        `${target.host} refuses ${cleanText(node.manifest.artifactType ?? node.manifest.mediaType)}: ${error.message}`,
      )
    }
  }

  #skip(name: string, subject: string, reason: string): void {
    this.#skipped.push({name, subject, reason})
    this.#run.emit({type: 'extra.skipped', name, subject, reason})
  }
}

/** What the target holds, asked once for each digest. */
function heldBy(target: Repository): HeldManifests {
  const asked = new Map<string, Promise<boolean>>()
  return {
    holds(digest) {
      const known = asked.get(digest)
      if (known !== undefined) return known
      const asking = target
        .head(digest)
        .then((head) => head !== undefined && (head.digest === undefined || head.digest === digest))
      asked.set(digest, asking)
      return asking
    },
    read: (digest, mediaType) => target.manifest(digest, mediaType === undefined ? {} : {descriptorType: mediaType}),
  }
}

/** Is this the digest of an attestation in some index? Kept out of platform lists. */
export function platformsOf(manifest: Manifest): {readonly platform: string; readonly digest: string}[] {
  return manifest.children
    .filter((entry) => !isAttestationEntry(entry))
    .map((entry) => ({platform: describeEntry(entry, manifest), digest: entry.digest}))
}
