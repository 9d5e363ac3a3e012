import type {MirrorItemResult, MirrorResult} from '../../model/mirror.ts'
import type {MirrorPlan} from '../../model/mirror.ts'
import {combineExitCodes} from '../../model/errors.ts'
import type {RegistryClient} from '../client.ts'
import type {KnownQuota} from '../http/quota.ts'
import {type CopyReport, copyItems} from '../copy/copy.ts'
import type {CopyItem, CopyOptions, ItemResult} from '../copy/item.ts'
import type {CopyEventSink} from '../../model/mirror-events.ts'
import {CopyRun} from '../copy/run.ts'
import {mediaTypes} from '../media-types.ts'
import {referenceOf} from '../plan/document.ts'
import {forEach, type SourceMap, type SourceOf, type Wanted, withVersion} from '../plan/planner.ts'
import {formatReference, parseReference, type Reference, repositoryName, type TargetPrefix} from '../reference.ts'
import {Repository} from '../repository.ts'
import type {SpoolMode} from '../spool.ts'
import {type PathLayout, refuseClashes, targetRepository} from '../target.ts'
import {mergeWanted} from './plan.ts'

/** Where copies go. */
export interface Destination {
  readonly to: TargetPrefix
  readonly layout: PathLayout
}

/** One thing to copy with the place it goes to. */
export interface PlacedItem {
  readonly reference: Reference
  readonly role: MirrorItemResult['role']
  readonly extras: CopyItem['extras']
  readonly targetName: string
  /** Size where the plan knows it. */
  readonly size: number
}

/** References with their places at the target. @throws SrcipError when two would meet in one tag */
export async function placeWanted(
  client: RegistryClient,
  wanted: readonly Wanted[],
  destination: Destination,
  {
    referrers,
    sourceMap,
    offline = false,
  }: {readonly referrers: boolean; readonly sourceMap: readonly SourceMap[]; readonly offline?: boolean},
): Promise<PlacedItem[]> {
  // the newest version of a chart is known to its registry alone
  const merged = mergeWanted(wanted)
  const exact = offline ? merged : await forEach(merged, (one) => withVersion(client, one, sourceMap))
  return place(
    exact.map(({reference}) => ({
      reference,
      role: reference.chart ? ('chart' as const) : ('image' as const),
      extras: referrers ? ('discover' as const) : ('none' as const),
      size: 0,
    })),
    destination,
  )
}

/** Items of a plan with their places at the target. */
export function placePlan(plan: MirrorPlan, destination: Destination, referrers: boolean): PlacedItem[] {
  return place(
    plan.items.map((item) => ({
      reference: parseReference(referenceOf(item)),
      role: item.role,
      extras: referrers ? item.extras : ('none' as const),
      size: item.size,
    })),
    destination,
  )
}

function place(items: readonly Omit<PlacedItem, 'targetName'>[], {to, layout}: Destination): PlacedItem[] {
  const placed = items.map((item) => ({
    ...item,
    targetName: targetRepository(item.reference, to, layout, item.role === 'chart'),
  }))
  refuseClashes(
    placed.map(({reference, targetName}) => ({
      source: repositoryName(reference),
      target: `${to.host}/${targetName}`,
      tag: reference.tag,
      digest: reference.digest,
    })),
  )
  return placed
}

export interface CopyRequest {
  readonly client: RegistryClient
  readonly sourceOf: SourceOf
  readonly items: readonly PlacedItem[]
  readonly destination: Destination
  readonly options: CopyOptions
  readonly dryRun: MirrorResult['dryRun']
  readonly emit: CopyEventSink
  readonly warnings: readonly string[]
  readonly spool?: SpoolMode | undefined
  readonly spoolFolder?: string | undefined
  /** Brings blobs to the target before the items are copied, from where they come only once. */
  readonly feed?: (run: CopyRun, items: readonly CopyItem[], options: CopyOptions) => Promise<void>
}

/** Copies placed items, or says what would be done. `client` contacts nothing at all. */
export async function copyPlaced(request: CopyRequest): Promise<MirrorResult> {
  const {client, items, destination, emit} = request
  const started = performance.now()
  const {spool, spoolFolder} = request
  const run = new CopyRun(client, emit, {dryRun: request.dryRun !== 'none', spool, spoolFolder})
  const report =
    request.dryRun === 'client'
      ? {items: items.map(untouched), exitCode: 0, changed: false}
      : await copyAll(run, request).finally(() => run.close())
  const results = report.items.map((result, at) => present(result, items[at] as PlacedItem, destination))
  const quotas = client.quotas()
  return {
    apiVersion: 'srcip.dev/v1alpha1',
    kind: 'MirrorResult',
    exitCode: combineExitCodes([report.exitCode]),
    changed: report.changed && request.dryRun === 'none',
    warnings: [...request.warnings, ...(request.dryRun === 'server' ? quotas.flatMap(tooFewReads) : [])],
    dryRun: request.dryRun,
    items: results,
    ...(quotas.length === 0 ? {} : {quotas}),
    summary: {
      ...run.counts,
      requests: client.transport.requests,
      seconds: Math.round((performance.now() - started) / 10) / 100,
      signatures:
        request.dryRun === 'client' || items.every(({extras}) => extras === 'none')
          ? 'not asked for'
          : results.some(({extras}) => extras.length > 0)
            ? 'copied, not verified'
            : 'none found',
    },
  }
}

/** What the preview reads is read again by the copy. */
function tooFewReads({host, needed, remaining}: KnownQuota): string[] {
  if (needed <= remaining) return []
  return [
    `${host} lets ${remaining} more manifests be read and the copy needs ${needed}: log in there, or copy in parts`,
  ]
}

async function copyAll(run: CopyRun, request: CopyRequest): Promise<CopyReport> {
  const copies = request.items.map((item): CopyItem => ({
    name: formatReference(item.reference),
    source: request.sourceOf(item.reference.host, item.reference.repository),
    target: new Repository(request.client, request.destination.to.host, item.targetName, 'push'),
    tag: item.reference.tag,
    digest: item.reference.digest,
    extras: item.extras,
  }))
  await request.feed?.(run, copies, request.options)
  return copyItems(run, copies, request.options)
}

function untouched(item: PlacedItem): ItemResult {
  return {
    name: formatReference(item.reference),
    status: 'planned',
    sourceDigest: item.reference.digest,
    targetDigest: undefined,
    mediaType: undefined,
    configType: undefined,
    size: item.size,
    extras: Array.isArray(item.extras) ? item.extras : [],
    skippedExtras: [],
    notes: item.reference.notes,
  }
}

function present(result: ItemResult, item: PlacedItem, {to}: Destination): MirrorItemResult {
  const tag = item.reference.tag === undefined ? '' : `:${item.reference.tag}`
  return {
    role: result.configType === mediaTypes.helmConfig ? 'chart' : item.role,
    source: result.name,
    target: `${to.host}/${item.targetName}${tag}`,
    ...(result.sourceDigest === undefined ? {} : {sourceDigest: result.sourceDigest}),
    ...(result.targetDigest === undefined ? {} : {targetDigest: result.targetDigest}),
    ...(result.indexDigest === undefined ? {} : {indexDigest: result.indexDigest}),
    status: result.status,
    size: result.size === 0 ? item.size : result.size,
    extras: result.extras,
    skippedExtras: result.skippedExtras,
    notes: [...new Set([...item.reference.notes, ...result.notes])],
    ...(result.error === undefined
      ? {}
      : {error: {code: result.error.code, message: result.error.message, hints: result.error.hints}}),
  }
}
