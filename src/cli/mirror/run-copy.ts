import {SrcipError} from '../../model/errors.ts'
import type {MirrorResult} from '../../model/mirror.ts'
import type {KubeClient} from '../../kube/types.ts'
import {copyPlaced, type Destination, placePlan, placeWanted} from '../../registry/mirror/copy.ts'
import {parseTarget} from '../../registry/reference.ts'
import type {SpoolMode} from '../../registry/spool.ts'
import type {PathLayout} from '../../registry/target.ts'
import type {SessionFlags} from './flags.ts'
import {copyOptions, gatherFrom, type GatherFlagValues, openSession, planOf, type SessionContext} from './session.ts'

export interface CommandContext extends SessionContext {
  readonly cluster: () => Promise<KubeClient>
}

export interface CopyFlags extends SessionFlags, GatherFlagValues {
  readonly to: string
  readonly layout: PathLayout
  readonly 'plan-file'?: string | undefined
  readonly 'from-cluster': boolean
  readonly platform?: string[] | undefined
  readonly sparse: boolean
  readonly 'skip-attestations': boolean
  readonly referrers: boolean
  readonly 'move-tags': boolean
  readonly 'trust-manifests': boolean
  readonly 'dry-run': MirrorResult['dryRun']
  readonly spool: SpoolMode
  readonly 'spool-dir'?: string | undefined
}

/** `mirror copy`: from references, files, the cluster, or a plan. */
export async function runCopy(
  references: readonly string[],
  flags: CopyFlags,
  context: CommandContext,
): Promise<MirrorResult> {
  const destination: Destination = {to: parseTarget(flags.to), layout: flags.layout}
  const options = copyOptions(flags)
  const session = await openSession(flags, context)
  const named =
    references.length > 0 || flags.filename !== undefined || flags.cozystack !== undefined || flags['from-cluster']
  if (flags['plan-file'] !== undefined && named)
    throw new SrcipError('Usage', '--plan-file is the whole list: leave other references away')
  const plan = flags['plan-file'] === undefined ? undefined : await planOf(flags['plan-file'])
  const live = flags['from-cluster']
    ? await (await import('./live-images.ts')).liveImages(await context.cluster(), context.signal)
    : undefined
  const offline = flags['dry-run'] === 'client'
  const items =
    plan === undefined
      ? await placeWanted(
          session.client,
          (await gatherFrom(session, references, flags, live, offline)).wanted,
          destination,
          {referrers: flags.referrers, sourceMap: session.sourceMap, offline},
        )
      : placePlan(plan, destination, flags.referrers)
  return copyPlaced({
    client: session.client,
    sourceOf: session.sourceOf,
    items,
    destination,
    options,
    dryRun: flags['dry-run'],
    emit: session.emit,
    warnings: session.warnings,
    spool: flags.spool,
    spoolFolder: flags['spool-dir'],
  })
}
