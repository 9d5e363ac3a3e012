import {combineExitCodes, SrcipError} from '../../model/errors.ts'
import type {CopyEventSink} from '../../model/mirror-events.ts'
import type {MirrorCheck} from '../../model/mirror.ts'
import type {RegistryClient} from '../client.ts'
import {describeEntry} from '../copy/graph.ts'
import {ContentMismatch} from '../digest.ts'
import {downloadBlob, verified} from '../download.ts'
import {isNotFound} from '../errors.ts'
import {type Descriptor, isAttestationEntry, type Manifest, platformMatches} from '../manifest.ts'
import {forEach} from '../plan/planner.ts'
import {listReferrers} from '../referrers.ts'
import {formatReference} from '../reference.ts'
import {Repository} from '../repository.ts'
import type {Destination, PlacedItem} from './copy.ts'

export interface VerifyOptions {
  /** Downloads every blob and hashes it, instead of asking whether it is there. */
  readonly deep: boolean
  /** Sends `?ns=SOURCE` with manifests, as containerd does behind a mirror. */
  readonly ns: boolean
  /** Only these platforms have to be there; empty means all. */
  readonly platforms: readonly string[]
}

interface Count {
  manifests: number
  blobs: number
}

/**
 * Reads back what a plan promises, as a kubelet would: by digest, with the pull credentials, every child, every blob.
 * @returns one check an item, and the exit code: 22 when something is missing or different, 30 or 31 when it could not be asked
 */
export async function verifyPlaced(
  client: RegistryClient,
  items: readonly PlacedItem[],
  destination: Destination,
  options: VerifyOptions,
  emit: CopyEventSink,
): Promise<{readonly checks: readonly MirrorCheck[]; readonly exitCode: number}> {
  const codes: number[] = []
  const checks = await forEach(items, async (item): Promise<MirrorCheck> => {
    const reference = formatReference({host: destination.to.host, repository: item.targetName, ...pick(item)})
    const repository = new Repository(client, destination.to.host, item.targetName, 'verify')
    const count: Count = {manifests: 0, blobs: 0}
    const problems: string[] = []
    let digest = item.reference.digest
    try {
      const ns = options.ns ? {ns: item.reference.host} : {}
      const {tag} = item.reference
      if (tag !== undefined) {
        const named = await repository.tagDigest(tag)
        if (named === undefined) problems.push(`tag ${tag} is not there`)
        else if (digest !== undefined && named !== digest)
          problems.push(`tag ${tag} names ${named} instead of ${digest}`)
        digest ??= named
      }
      if (digest !== undefined) {
        await checkGraph(repository, {digest}, options, ns, count, problems)
        if (Array.isArray(item.extras)) await checkExtras(repository, item, options, count, problems)
      }
    } catch (error) {
      if (!(error instanceof SrcipError)) throw error
      codes.push(error.exitCode)
      emit({type: 'item.failed', item: reference, reason: error.message})
      return {
        reference,
        status: error.code === 'CheckFailed' ? 'failed' : 'not checked',
        ...(digest === undefined ? {} : {digest}),
        problems: [...problems, error.message],
        ...count,
      }
    }
    if (problems.length > 0) codes.push(22)
    const status = problems.length > 0 ? 'failed' : 'ok'
    emit(
      status === 'ok'
        ? {type: 'item.done', item: reference, status: 'verified', digest: digest ?? ''}
        : {type: 'item.failed', item: reference, reason: problems.join('; ')},
    )
    return {reference, status, ...(digest === undefined ? {} : {digest}), problems, ...count}
  })
  return {checks, exitCode: combineExitCodes(codes)}
}

function pick({reference}: PlacedItem): {tag?: string; digest?: string} {
  return {
    ...(reference.tag === undefined ? {} : {tag: reference.tag}),
    ...(reference.digest === undefined ? {} : {digest: reference.digest}),
  }
}

async function checkGraph(
  repository: Repository,
  entry: {readonly digest: string; readonly mediaType?: string},
  options: VerifyOptions,
  ns: {ns?: string},
  count: Count,
  problems: string[],
): Promise<void> {
  let manifest: Manifest
  try {
    manifest = await repository.manifest(entry.digest, {
      ...ns,
      ...(entry.mediaType === undefined ? {} : {descriptorType: entry.mediaType}),
    })
  } catch (error) {
    if (isNotFound(error)) problems.push(`${entry.digest} is not there`)
    else if (error instanceof SrcipError && error.code === 'CheckFailed') problems.push(error.message)
    else throw error
    return
  }
  count.manifests++
  const children = manifest.children.filter((child) => isNeeded(child, manifest, options))
  await Promise.all([
    ...children.map(async (child) => {
      const own: string[] = []
      await checkGraph(repository, child, options, ns, count, own)
      problems.push(
        ...own.map((problem) =>
          problem.startsWith(child.digest) ? `${problem} (${describeEntry(child, manifest)})` : problem,
        ),
      )
    }),
    ...manifest.blobs.map((blob) => checkBlob(repository, blob, options.deep, count, problems)),
  ])
}

function isNeeded(child: Descriptor, index: Manifest, {platforms}: VerifyOptions): boolean {
  if (platforms.length === 0) return true
  if (isAttestationEntry(child)) return false
  return (
    child.platform === undefined ||
    platforms.some((wish) => platformMatches(child.platform as NonNullable<typeof child.platform>, wish)) ||
    index.children.length === 1
  )
}

async function checkBlob(
  repository: Repository,
  blob: Descriptor,
  deep: boolean,
  count: Count,
  problems: string[],
): Promise<void> {
  count.blobs++
  if (!deep) {
    if (!(await repository.hasBlob(blob))) problems.push(`blob ${blob.digest} is not there`)
    return
  }
  try {
    await verified(
      blob,
      (sink) => downloadBlob(repository, blob, sink),
      () => undefined,
    )
  } catch (error) {
    if (isNotFound(error)) problems.push(`blob ${blob.digest} is not there`)
    else if (error instanceof ContentMismatch) problems.push(error.message)
    else throw error
  }
}

async function checkExtras(
  repository: Repository,
  item: PlacedItem,
  options: VerifyOptions,
  count: Count,
  problems: string[],
): Promise<void> {
  if (!Array.isArray(item.extras)) return
  const listed = new Map<string, Set<string>>()
  for (const extra of item.extras) {
    await checkGraph(repository, {digest: extra.digest}, options, {}, count, problems)
    if (extra.tag !== undefined) {
      const named = await repository.tagDigest(extra.tag)
      if (named !== extra.digest)
        problems.push(
          `tag ${extra.tag} ${named === undefined ? 'is not there' : `names ${named} instead of ${extra.digest}`}`,
        )
      continue
    }
    const known =
      listed.get(extra.subject) ?? new Set((await listReferrers(repository, extra.subject)).map(({digest}) => digest))
    listed.set(extra.subject, known)
    if (!known.has(extra.digest))
      problems.push(`${extra.kind} ${extra.digest} is not listed as a referrer of ${extra.subject}`)
  }
}
