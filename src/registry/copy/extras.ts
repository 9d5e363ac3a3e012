import {SrcipError} from '../../model/errors.ts'
import {limits} from '../limits.ts'
import {cosignSuffixes, type ExtraKind, extraKind, fallbackTag} from '../referrers.ts'
import {everything, type GraphNode, nodesOf, walkGraph} from './graph.ts'
import type {ContentSource} from './source.ts'

/** Something attached to an image: a referrer by its subject, or a tag named after the image's digest. */
export interface Extra {
  readonly kind: ExtraKind
  /** Digest that it is attached to. */
  readonly subject: string
  /** `sha256-….sig` and its like; absent for a referrer. */
  readonly tag?: string
  readonly node: GraphNode
}

/** An extra whose digest is known already: from a plan. */
export interface PlannedExtra {
  readonly kind: ExtraKind
  readonly subject: string
  readonly digest: string
  readonly tag?: string | undefined
}

/** An extra that the source lists and does not serve, or that cannot be read. */
export interface LostExtra {
  readonly subject: string
  readonly name: string
  readonly reason: string
}

export interface FoundExtras {
  readonly extras: readonly Extra[]
  readonly lost: readonly LostExtra[]
}

/** Looks for everything attached to a graph: to its index and to every child, and to what is attached (an SBOM's signature). */
export async function findExtras(source: ContentSource, root: GraphNode): Promise<FoundExtras> {
  const extras = new Map<string, Extra>()
  const lost: LostExtra[] = []
  let level = nodesOf(root).map((node) => node.manifest.digest)
  for (let depth = 0; depth < limits.referrerDepth && level.length > 0; depth++) {
    const found = (await Promise.all(level.map((digest) => attachedTo(source, digest, lost)))).flat()
    level = []
    for (const extra of found) {
      const key = `${extra.subject} ${extra.tag ?? ''} ${extra.node.manifest.digest}`
      if (extras.has(key)) continue
      extras.set(key, extra)
      if (extra.tag === undefined) level.push(extra.node.manifest.digest)
      if (extras.size > limits.descriptors)
        throw new SrcipError('Precondition', `${source.fullName}: more than ${limits.descriptors} attached artifacts`)
    }
  }
  return {extras: [...extras.values()].sort(byDigest), lost}
}

function byDigest(one: Extra, other: Extra): number {
  const left = `${one.subject} ${one.tag ?? ''} ${one.node.manifest.digest}`
  const right = `${other.subject} ${other.tag ?? ''} ${other.node.manifest.digest}`
  return left < right ? -1 : left > right ? 1 : 0
}

async function attachedTo(source: ContentSource, subject: string, lost: LostExtra[]): Promise<Extra[]> {
  const [referrers, ...tags] = await Promise.all([
    source.referrers(subject),
    ...Object.keys(cosignSuffixes).map((suffix) => source.tagDigest(`${fallbackTag(subject)}.${suffix}`)),
  ])
  const byReferrer = referrers.map(async (entry): Promise<Extra | undefined> => {
    const node = await walkGraph(source, entry)
    // The list is a hint: what does not name this subject itself is somebody else's.
    if (node.manifest.subject?.digest !== subject) return undefined
    return {kind: extraKind(node.manifest), subject, node}
  })
  const byTag = tags.map(async (digest, at): Promise<Extra | undefined> => {
    if (digest === undefined || digest === subject) return undefined
    const [suffix, kind] = Object.entries(cosignSuffixes)[at] as [string, ExtraKind]
    return {
      kind,
      subject,
      tag: `${fallbackTag(subject)}.${suffix}`,
      node: await walkGraph(source, {digest}, everything),
    }
  })
  const names = [
    ...referrers.map((entry) => entry.digest),
    ...Object.keys(cosignSuffixes).map((suffix) => `${fallbackTag(subject)}.${suffix}`),
  ]
  const settled = await Promise.allSettled([...byReferrer, ...byTag])
  return settled.flatMap((outcome, at) => {
    if (outcome.status === 'fulfilled') return outcome.value === undefined ? [] : [outcome.value]
    const {reason} = outcome
    if (!(reason instanceof SrcipError) || reason.code === 'Unreachable' || reason.code === 'Interrupted') throw reason
    lost.push({subject, name: names[at] ?? subject, reason: reason.message})
    return []
  })
}

/** Reads extras that a plan names. */
export async function loadExtras(source: ContentSource, planned: readonly PlannedExtra[]): Promise<FoundExtras> {
  const lost: LostExtra[] = []
  const settled = await Promise.allSettled(
    planned.map(async ({kind, subject, digest, tag}): Promise<Extra> => ({
      kind,
      subject,
      node: await walkGraph(source, {digest}),
      ...(tag === undefined ? {} : {tag}),
    })),
  )
  const extras = settled.flatMap((outcome, at) => {
    if (outcome.status === 'fulfilled') return [outcome.value]
    const {reason} = outcome
    if (!(reason instanceof SrcipError) || reason.code === 'Unreachable' || reason.code === 'Interrupted') throw reason
    const plan = planned[at] as PlannedExtra
    lost.push({subject: plan.subject, name: plan.tag ?? plan.digest, reason: reason.message})
    return []
  })
  return {extras, lost}
}
