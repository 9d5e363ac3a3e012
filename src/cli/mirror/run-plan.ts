import {writeFile} from 'node:fs/promises'
import {SrcipError} from '../../model/errors.ts'
import type {MirrorPlan} from '../../model/mirror.ts'
import {makePlan} from '../../registry/mirror/plan.ts'
import type {SessionFlags} from './flags.ts'
import type {CommandContext} from './run-copy.ts'
import {gatherFrom, type GatherFlagValues, type MirrorSession, openSession} from './session.ts'

export interface PlanFlags extends SessionFlags, GatherFlagValues {
  readonly 'from-cluster': boolean
  readonly platform?: string[] | undefined
  readonly 'skip-attestations': boolean
  readonly referrers: boolean
}

/** Resolves everything that arguments and flags name to a lock file. */
export async function runPlan(
  references: readonly string[],
  flags: PlanFlags,
  context: CommandContext,
): Promise<MirrorPlan> {
  return planWith(await openSession(flags, context), references, flags, context)
}

/** The same in a session that is open already. */
export async function planWith(
  session: MirrorSession,
  references: readonly string[],
  flags: PlanFlags,
  context: CommandContext,
): Promise<MirrorPlan> {
  const [platform, ...more] = flags.platform ?? []
  if (more.length > 0) throw new SrcipError('Usage', 'a plan holds one platform or all of them')
  const live = flags['from-cluster']
    ? await (await import('./live-images.ts')).liveImages(await context.cluster(), context.signal)
    : undefined
  const found = await gatherFrom(session, references, flags, live)
  return makePlan(session.client, session.sourceOf, found.wanted, found.warnings, {
    platform,
    skipAttestations: flags['skip-attestations'],
    referrers: flags.referrers,
    sourceMap: session.sourceMap,
  })
}

/** Writes text to a file of the user's, or says why not. */
export async function writeText(path: string, text: string): Promise<void> {
  await writeFile(path, text).catch((error: NodeJS.ErrnoException) => {
    throw new SrcipError('Precondition', `${path} cannot be written: ${error.code}`, {object: path, cause: error})
  })
}
