import {parseVersion} from '../../../plugins/coredns/src/index.ts'
import {requireFile} from '../../cluster-dns/corefile-file.ts'
import {planCorednsChange, type CorednsChange} from '../../cluster-dns/plan/plan-change.ts'
import type {CorednsPlanRequest, PlaceMode} from '../../cluster-dns/plan/request.ts'
import {stateOfFile} from '../../cluster-dns/state.ts'
import type {DnsState} from '../../cluster-dns/types.ts'
import type {KubeClient} from '../../kube/index.ts'
import {SrcipError} from '../../model/errors.ts'
import {adoptionOf, type CorednsOperation} from './adopt.ts'
import {readGiven, refuseMasked} from './given-file.ts'
import {
  defaultTarget,
  findProxies,
  namesHosts,
  wantedFromCluster,
  wantedFromFlags,
  type HostFlagValues,
  type Wanted,
} from './wanted.ts'

/** Flags that shape a plan, as the parser gives them. */
export interface PlanFlagValues extends HostFlagValues {
  readonly filename?: string | undefined
  readonly 'in-place'?: boolean
  readonly owner: 'srcip' | 'ouroboros'
  readonly wildcards?: boolean
  readonly before?: boolean
  readonly repair?: boolean
  readonly mode?: PlaceMode
  readonly 'allow-empty'?: boolean
  readonly 'restart-coredns'?: boolean
  readonly force?: boolean
  readonly 'cluster-domain'?: string | undefined
  readonly 'coredns-version'?: string | undefined
}

/** --coredns-version, checked. */
export function corednsVersion(flags: Pick<PlanFlagValues, 'coredns-version'>): string | undefined {
  const text = flags['coredns-version']
  if (text === undefined || parseVersion(text) !== undefined) return text?.replace(/^v/, '')
  throw new SrcipError('Usage', `--coredns-version expects a release such as 1.14.7, not ${JSON.stringify(text)}`)
}

/** --cluster-domain, checked: lower case, no final dot. */
export function clusterDomain(flags: Pick<PlanFlagValues, 'cluster-domain'>): string | undefined {
  const text = flags['cluster-domain']?.toLowerCase().replace(/\.$/, '')
  if (
    text === undefined ||
    /^(?:[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/.test(text)
  )
    return text
  throw new SrcipError('Usage', `--cluster-domain expects a zone such as cluster.local, not ${JSON.stringify(text)}`)
}

/** The request behind the flags, whichever way the names were found. */
export function planRequest(
  operation: CorednsOperation,
  flags: PlanFlagValues,
  wanted: Omit<Wanted, 'warnings' | 'excluded'>,
): CorednsPlanRequest {
  const domain = clusterDomain(flags)
  return {
    operation: operation === 'clean' ? 'clean' : 'apply',
    hosts: wanted.hosts,
    invalid: wanted.invalid,
    targets: wanted.targets,
    spared: wanted.spared,
    circles: wanted.circles,
    owner: flags.owner,
    wildcards: flags.wildcards === true,
    before: flags.before === true,
    repair: flags.repair === true,
    allowEmpty: flags['allow-empty'] === true,
    restartCoredns: flags['restart-coredns'] === true,
    force: flags.force === true,
    mode: flags.mode ?? 'auto',
    ...(domain === undefined ? {} : {clusterDomain: domain}),
  }
}

/** Everything `-f` gives: the state, the plan, and the request it was made from. */
export interface FilePlan {
  readonly state: DnsState
  readonly planned: CorednsChange
}

/**
 * Plans on what was given with -f; the cluster is never asked. On a Corefile `apply` needs hosts from the flags: without one it is a
 * usage error, since a file has no Ingresses. A snapshot has them, and its Services, too.
 */
export async function planOnFile(operation: CorednsOperation, flags: PlanFlagValues): Promise<FilePlan> {
  const path = flags.filename ?? '-'
  const version = corednsVersion(flags)
  const target = flags.target ?? defaultTarget
  if (flags['in-place'] === true) requireFile(path)
  const given = await readGiven(path)
  if ('client' in given) return await planOnSnapshot(operation, flags, given.client)
  if (operation === 'apply' && !namesHosts(flags) && flags['allow-empty'] !== true) {
    throw new SrcipError('Usage', 'with -f the names must be given: a Corefile has no Ingresses', {
      hints: ['add --host NAME, or --hosts-file FILE, or give a snapshot'],
    })
  }
  const wanted = operation === 'apply' ? await wantedFromFlags(flags, target) : withoutHosts([target])
  const state = stateOfFile(path, given.corefile, version)
  const request = planRequest(operation, flags, wanted)
  const complete = adoptionOf(operation, flags)
  const planned = planCorednsChange(state, complete?.(request, state) ?? request)
  const document = {...planned.document, warnings: [...planned.document.warnings, ...wanted.warnings]}
  return {state, planned: {...planned, document}}
}

/** As on the cluster that the snapshot was taken of. The new Corefile is shown; nothing is there to be written. */
async function planOnSnapshot(
  operation: CorednsOperation,
  flags: PlanFlagValues & {readonly 'dns-service'?: string | undefined},
  client: KubeClient,
): Promise<FilePlan> {
  const {source} = client.config
  if (flags['in-place'] === true) {
    throw new SrcipError('Usage', `--in-place needs a Corefile: ${source} is a snapshot`, {
      hints: ['without --in-place the new Corefile goes to stdout'],
    })
  }
  const {loadClusterState} = await import('./ports.ts')
  const {dns, planned} = await loadClusterState(
    {
      client,
      wanted: (signal) => wantedOfCluster(operation, client, flags, signal),
      complete: adoptionOf(operation, flags),
      dnsService: flags['dns-service'],
      version: corednsVersion(flags),
    },
    AbortSignal.timeout(60_000),
  )
  refuseMasked(dns.corefile.bytes, source)
  const elsewhere = planned.texts.filter((text) => text.source !== dns.corefile.source || text.key !== dns.corefile.key)
  const warnings = elsewhere.map(
    ({source: object, key}) => `key ${key} of ${object} changes, not the Corefile: -o diff shows it`,
  )
  const document = {...planned.document, warnings: [...planned.document.warnings, ...warnings]}
  return {state: dns, planned: {...planned, document}}
}

/** What is wanted of a cluster. */
export async function wantedOfCluster(
  operation: CorednsOperation,
  client: KubeClient,
  flags: PlanFlagValues,
  signal: AbortSignal,
) {
  const wanted =
    operation === 'apply'
      ? await wantedFromCluster(client, flags, signal)
      : withoutHosts((await findProxies(client, flags.target, signal)).map((proxy) => proxy.target))
  return {...planRequest(operation, flags, wanted), warnings: wanted.warnings, excluded: wanted.excluded}
}

function withoutHosts(targets: readonly string[]): Wanted {
  return {
    hosts: [],
    invalid: [],
    targets: [...new Set([...targets, defaultTarget])],
    spared: [],
    circles: new Map(),
    excluded: [],
    warnings: [],
  }
}
