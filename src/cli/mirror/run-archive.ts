import {SrcipError} from '../../model/errors.ts'
import type {MirrorArchive, MirrorResult} from '../../model/mirror.ts'
import {exportArchive, openArchive} from '../../registry/mirror/archive.ts'
import {copyPlaced, type Destination, placePlan} from '../../registry/mirror/copy.ts'
import type {PipeImport} from '../../registry/mirror/pipe-import.ts'
import {parseTarget} from '../../registry/reference.ts'
import type {PathLayout} from '../../registry/target.ts'
import type {SessionFlags} from './flags.ts'
import type {CommandContext} from './run-copy.ts'
import {type PlanFlags, planWith} from './run-plan.ts'
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
  if (flags.archive === '-' && process.stdout.isTTY)
    throw new SrcipError('Usage', 'an archive is not written to a terminal: redirect stdout', {
      hints: ['kubectl srcip mirror export - … | ssh HOST kubectl srcip mirror import - --to REGISTRY'],
    })
  const session = await openSession(flags, context)
  const plan =
    flags['plan-file'] === undefined
      ? await planWith(session, references, flags, context)
      : await planOf(flags['plan-file'])
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
  readonly 'spool-dir'?: string | undefined
}

/** `mirror import`: an archive into a registry. Nothing else is contacted. */
export async function runImport(path: string, flags: ImportFlags, context: SessionContext): Promise<MirrorResult> {
  const destination: Destination = {to: parseTarget(flags.to), layout: flags.layout}
  if (flags.repository !== undefined && !flags.repository.includes('/'))
    throw new SrcipError('Usage', '--repository expects HOST/PATH')
  if (path === '-') refuseStdinTwice(flags)
  const session = await openSession(flags, context)
  const archive = path === '-' ? await openStdin() : await openArchive(path, flags.repository)
  try {
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
      spoolFolder: flags['spool-dir'],
      ...('feed' in archive ? {feed: archive.feed} : {}),
    })
  } finally {
    if ('close' in archive) await archive.close()
  }
}

async function openStdin(): Promise<PipeImport> {
  if (process.stdin.isTTY)
    throw new SrcipError('Usage', 'an archive is expected on stdin', {
      hints: ['kubectl srcip mirror export - … | kubectl srcip mirror import - --to HOST'],
    })
  const {openPipe} = await import('../../registry/mirror/pipe-import.ts')
  return openPipe(process.stdin)
}

function refuseStdinTwice(flags: SessionFlags): void {
  if (flags.username !== undefined && process.env['SRCIP_REGISTRY_PASSWORD'] === undefined)
    throw new SrcipError(
      'Usage',
      'stdin holds the archive: the password of --username has to come from SRCIP_REGISTRY_PASSWORD',
    )
}
