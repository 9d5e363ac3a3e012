import {combineExitCodes} from '../../model/errors.ts'
import type {MirrorVerification} from '../../model/mirror.ts'
import {type Destination, placePlan, placeWanted} from '../../registry/mirror/copy.ts'
import {verifyPlaced} from '../../registry/mirror/verify.ts'
import {parseTarget} from '../../registry/reference.ts'
import type {PathLayout} from '../../registry/target.ts'
import type {SessionFlags} from './flags.ts'
import type {CommandContext} from './run-copy.ts'
import {gatherFrom, type GatherFlagValues, openSession, planOf} from './session.ts'

export interface VerifyFlags extends SessionFlags, GatherFlagValues {
  readonly to: string
  readonly layout: PathLayout
  readonly 'plan-file'?: string | undefined
  readonly deep: boolean
  readonly ns: boolean
  readonly platform?: string[] | undefined
  readonly referrers: boolean
  readonly 'pull-secret'?: string[] | undefined
  readonly 'in-cluster': boolean
  readonly namespace?: string | undefined
}

/** `mirror verify`: reads back what a plan promises, and with --in-cluster lets nodes pull it. */
export async function runVerify(
  references: readonly string[],
  flags: VerifyFlags,
  context: CommandContext,
): Promise<MirrorVerification> {
  const destination: Destination = {to: parseTarget(flags.to), layout: flags.layout}
  const secrets = flags['pull-secret'] ?? []
  const cluster = secrets.length > 0 || flags['in-cluster'] ? await context.cluster() : undefined
  const logins =
    cluster === undefined || secrets.length === 0
      ? []
      : [await (await import('./pull-secrets.ts')).pullSecretLogins(cluster, secrets, context.signal)]
  const session = await openSession(flags, {...context, credentials: logins})
  const plan = flags['plan-file'] === undefined ? undefined : await planOf(flags['plan-file'])
  const items =
    plan === undefined
      ? await placeWanted(session.client, (await gatherFrom(session, references, flags)).wanted, destination, {
          referrers: false,
          sourceMap: session.sourceMap,
        })
      : placePlan(plan, destination, flags.referrers)
  const {checks, exitCode} = await verifyPlaced(
    session.client,
    items,
    destination,
    {deep: flags.deep, ns: flags.ns, platforms: flags.platform ?? []},
    session.emit,
  )
  const inCluster =
    cluster === undefined || !flags['in-cluster']
      ? {status: 'not checked' as const, nodes: []}
      : await (
          await import('./pull-test.ts')
        ).pullInCluster(cluster, checks, {
          namespace: flags.namespace ?? cluster.config.namespace,
          pullSecrets: secrets,
          signal: context.signal,
          say: (message) => session.emit({type: 'warning', message}),
        })
  return {
    apiVersion: 'srcip.dev/v1alpha1',
    kind: 'MirrorVerification',
    exitCode: combineExitCodes([exitCode, inCluster.status === 'failed' ? 22 : 0]),
    changed: false,
    warnings: session.warnings,
    items: checks,
    depth: flags.deep ? 'every byte' : 'manifests and presence of blobs',
    inCluster,
  }
}
