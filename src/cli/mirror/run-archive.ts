import {SrcipError} from '../../model/errors.ts'
import type {MirrorArchive, MirrorResult} from '../../model/mirror.ts'
import {exportArchive, openArchive} from '../../registry/mirror/archive.ts'
import {copyPlaced, type Destination, placePlan} from '../../registry/mirror/copy.ts'
import {parseTarget} from '../../registry/reference.ts'
import type {PathLayout} from '../../registry/target.ts'
import type {SessionFlags} from './flags.ts'
import type {CommandContext} from './run-copy.ts'
import {type PlanFlags, runPlan} from './run-plan.ts'
import {copyOptions, openSession, planOf, type SessionContext} from './session.ts'

export interface ExportFlags extends PlanFlags {
  readonly 'plan-file'?: string | undefined
  readonly archive: string
  readonly split?: number | undefined
  readonly since?: string | undefined
}

/** `mirror export`: a plan, or what the flags name, into an archive. */
export async function runExport(
  references: readonly string[],
  flags: ExportFlags,
  context: CommandContext,
): Promise<MirrorArchive> {
  const plan =
    flags['plan-file'] === undefined ? await runPlan(references, flags, context) : await planOf(flags['plan-file'])
  const session = await openSession(flags, context)
  return exportArchive({
    plan,
    sourceOf: session.sourceOf,
    path: flags.archive,
    split: flags.split,
    since: flags.since,
    emit: session.emit,
  })
}

export interface ImportFlags extends SessionFlags {
  readonly to: string
  readonly layout: PathLayout
  readonly repository?: string | undefined
  readonly 'move-tags': boolean
  readonly 'trust-manifests': boolean
  readonly referrers: boolean
  readonly 'dry-run': MirrorResult['dryRun']
}

/** `mirror import`: an archive into a registry. Nothing else is contacted. */
export async function runImport(path: string, flags: ImportFlags, context: SessionContext): Promise<MirrorResult> {
  const destination: Destination = {to: parseTarget(flags.to), layout: flags.layout}
  if (flags.repository !== undefined && !flags.repository.includes('/'))
    throw new SrcipError('Usage', '--repository expects HOST/PATH')
  const archive = await openArchive(path, flags.repository)
  try {
    const session = await openSession(flags, context)
    const items = placePlan(archive.plan, destination, flags.referrers)
    return await copyPlaced({
      client: session.client,
      sourceOf: archive.sourceOf,
      items,
      destination,
      options: copyOptions(flags),
      dryRun: flags['dry-run'],
      emit: session.emit,
      warnings: session.warnings,
    })
  } finally {
    await archive.close()
  }
}
