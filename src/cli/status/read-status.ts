import {simulate} from '../../../plugins/coredns/src/index.ts'
import {askProbes} from '../../cluster-dns/observe.ts'
import {readReloadMetrics} from '../../cluster-dns/reload-signs.ts'
import {showState} from '../../cluster-dns/view/show.ts'
import {parseState} from '../../cluster-dns/view/parsed-state.ts'
import {
  judgeStatus,
  sourceTroubles,
  statusExitCode,
  type RunningPart,
  type StatusInput,
} from '../../diagnosis/status.ts'
import type {PodAccess} from '../../cluster-dns/pod-access.ts'
import type {DnsState} from '../../cluster-dns/types.ts'
import type {DnsPod} from '../../platforms/dns/locate.ts'
import {projectPod} from '../../platforms/dns/objects.ts'
import {
  createSnapshotClient,
  hasStatus,
  labelSelectorOf,
  leaseHolder,
  readSnapshotFiles,
  resources,
  type KubeClient,
} from '../../kube/index.ts'
import {componentLabel, dnsLeaseName} from '../../model/dns.ts'
import {apiVersion} from '../../model/documents.ts'
import {SrcipError} from '../../model/errors.ts'
import type {ExcludedHost} from '../../model/hosts.ts'
import type {KubeObject} from '../../model/kubernetes.ts'
import type {StatusReport} from '../../model/status.ts'
import {ask} from '../../verify/index.ts'
import {accessOf, countingPods, loadClusterState} from '../coredns/ports.ts'
import {readRuns} from './read-runs.ts'
import {wantedOfCluster, type PlanFlagValues} from '../coredns/request.ts'

/** Flags of `status`, as the parser gives them. */
export interface StatusFlagValues extends PlanFlagValues {
  readonly 'dns-service'?: string | undefined
  readonly via: 'auto' | 'api' | 'direct'
}

/** Names that every CoreDNS pod is asked for: enough to see that it has the present text. */
const probesAPod = 20
/** Milliseconds for the readiness of one pod. */
const readinessTimeout = 5000

/** The snapshot of -f, to be read as if it were the cluster. What only a cluster can answer comes out as unknown. */
export async function statusOfFile(path: string): Promise<KubeClient> {
  return createSnapshotClient(await readSnapshotFiles([path]), path)
}

/** Reads the cluster once and judges it. Nothing is written. */
export async function readStatus(
  client: KubeClient,
  flags: StatusFlagValues,
  signal: AbortSignal,
): Promise<StatusReport> {
  const isLive = flags.filename === undefined
  const [parts, dns, runs] = await Promise.all([
    readParts(client, isLive, signal),
    readDns(client, flags, signal),
    isLive ? readRuns(client, signal) : [],
  ])
  const lease = dns.namespace === undefined || !isLive ? 'unread' : await readLease(client, dns.namespace, signal)
  const judged = judgeStatus({now: Date.now(), parts, lease, dns: dns.status})
  return {
    apiVersion,
    kind: 'StatusReport',
    ...judged,
    rows: [...judged.rows, ...runs],
    exitCode: statusExitCode(judged.rows),
    changed: false,
    warnings: dns.warnings,
  }
}

interface DnsReading {
  readonly status: StatusInput['dns']
  readonly namespace: string | undefined
  readonly warnings: readonly string[]
}

async function readDns(client: KubeClient, flags: StatusFlagValues, signal: AbortSignal): Promise<DnsReading> {
  let warnings: readonly string[] = []
  let excluded: readonly ExcludedHost[] = []
  const state = await loadClusterState(
    {
      client,
      wanted: async (inner) => {
        const wanted = await wantedOfCluster('apply', client, flags, inner)
        warnings = wanted.warnings
        excluded = wanted.excluded
        return {...wanted, warnings: []}
      },
      dnsService: flags['dns-service'],
      version: flags['coredns-version'],
    },
    signal,
  ).catch((error: unknown) => {
    signal.throwIfAborted()
    // Who may not read DNS at all still learns what runs; a server that is away is an error of the whole command.
    if (error instanceof SrcipError && (error.code === 'Denied' || error.code === 'Precondition')) return error
    throw error
  })
  if (state instanceof SrcipError)
    return {status: {unreadable: state.message}, namespace: undefined, warnings: state.hints}
  const {dns, location, planned} = state
  const {document, standing} = planned
  const access = accessOf({client, via: flags.via}, dns, location)
  const counting = countingPods(location)
  const lines = showState(dns).blocks.flatMap(({rewrites}) =>
    rewrites.filter(({owner}) => owner === flags.owner),
  ).length
  const probes = lines === 0 ? [] : standing.probes.slice(0, probesAPod)
  const [hashes, answers] = await Promise.all([
    Promise.all(counting.map(async (pod) => hashOf(access, pod, signal))),
    Promise.all(counting.map(async (pod) => askProbes(access, pod, probes, signal))),
  ])
  const hash = document.edits.length === 0 ? document.hash.sha512 : null
  const pods = counting.map((pod, index) => {
    const seen = hashes[index]
    const answer = answers[index]!
    return {
      object: `pod/${pod.namespace}/${pod.name}`,
      hash: hash === null || seen === undefined ? 'unknown' : seen === hash ? 'current' : 'other',
      probe: probes.length === 0 ? 'not-asked' : answer.probe,
      reason: answer.probeReason,
    } as const
  })
  const wanted = document.hosts.length + document.refused.length
  return {
    status: {
      object: `configmap/${location.namespace}/${location.corefile.configMap}`,
      wanted,
      written: document.edits.length === 0 ? document.hosts.length : standingNow(dns, document.hosts),
      lines,
      refused: document.refused,
      excluded,
      edits: document.edits.length,
      pods,
    },
    namespace: location.namespace,
    warnings,
  }
}

/** What the pod runs with by its own metrics; undefined where it does not say. */
async function hashOf(access: PodAccess, pod: DnsPod, signal: AbortSignal): Promise<string | undefined> {
  try {
    return readReloadMetrics(await access.metrics(pod, signal)).hash
  } catch {
    signal.throwIfAborted()
    return undefined
  }
}

/** Wanted names that the text as it is leads to their proxy, while a change is outstanding. */
function standingNow(dns: DnsState, hosts: readonly {readonly name: string; readonly target: string}[]): number {
  const parsed = parseState(dns)
  const listener = dns.location === undefined ? {} : {listener: {port: String(dns.location.dnsPort)}}
  return hosts.filter(({name, target}) => {
    const seen = simulate(parsed, {name: name.replace(/^\*\./, 'srcip-probe.'), type: 'A', ...listener})?.seen?.name
    return seen !== undefined && trimDot(seen) === trimDot(target)
  }).length
}

function trimDot(name: string): string {
  return name.toLowerCase().replace(/\.$/, '')
}

async function readLease(client: KubeClient, namespace: string, signal: AbortSignal): Promise<StatusInput['lease']> {
  const found = await client
    .find(resources.leases, {namespace, name: dnsLeaseName}, {signal})
    .catch((error: unknown) => {
      if (hasStatus(error, 403)) return undefined
      throw error
    })
  if (found === undefined) return undefined
  const holder = leaseHolder(found)
  return {
    object: `lease/${namespace}/${dnsLeaseName}`,
    holder: holder?.identity,
    acquired: holder?.acquireTime,
    renewed: holder?.renewTime === undefined ? undefined : Date.parse(holder.renewTime),
    durationSeconds: holder?.durationSeconds ?? 0,
  }
}

async function readParts(client: KubeClient, isLive: boolean, signal: AbortSignal): Promise<RunningPart[]> {
  const deployments = await client.list(resources.deployments, {labelSelector: componentLabel, signal})
  const ours = deployments.items.flatMap((object) => {
    const component = object.metadata.labels?.[componentLabel]
    return component === 'controller' || component === 'proxy' ? [{object, component} as const] : []
  })
  return Promise.all(ours.map(async ({object, component}) => readPart(client, object, component, isLive, signal)))
}

async function readPart(
  client: KubeClient,
  object: KubeObject,
  component: RunningPart['component'],
  isLive: boolean,
  signal: AbortSignal,
): Promise<RunningPart> {
  const {namespace = '', name} = object.metadata
  const spec = object['spec'] as {replicas?: number; selector?: {matchLabels?: Record<string, string>}}
  const status = object['status'] as {readyReplicas?: number} | undefined
  const wanted = spec.replicas ?? 1
  const ready = status?.readyReplicas ?? 0
  const causes =
    !isLive || (ready >= wanted && component !== 'controller')
      ? []
      : await causesOf(client, namespace, spec.selector?.matchLabels ?? {}, component, signal)
  return {component, object: `deployment/${namespace}/${name}`, wanted, ready, causes}
}

/** Asks the pods that are not ready why, and controllers also which sources they cannot list. */
async function causesOf(
  client: KubeClient,
  namespace: string,
  labels: Readonly<Record<string, string>>,
  component: RunningPart['component'],
  signal: AbortSignal,
): Promise<string[]> {
  const labelSelector = labelSelectorOf(labels)
  if (labelSelector === '') return []
  const pods = await client.list(resources.pods, {namespace, labelSelector, signal})
  const asked = pods.items.filter((pod) => component === 'controller' || !projectPod(pod).ready).slice(0, 5)
  return (await Promise.all(asked.map(async (pod) => causeOf(client, pod, signal)))).flat()
}

interface PodBody {
  readonly containers?: readonly {
    readonly readinessProbe?: {readonly httpGet?: {readonly path?: string; readonly port?: number | string}}
    readonly ports?: readonly {readonly name?: string; readonly containerPort: number}[]
  }[]
}

async function causeOf(client: KubeClient, pod: KubeObject, signal: AbortSignal): Promise<string[]> {
  const {namespace = '', name} = pod.metadata
  const {phase, containerStatuses = []} = (pod['status'] ?? {}) as {
    phase?: string
    containerStatuses?: readonly {state?: {waiting?: {reason?: string}}}[]
  }
  const waiting = containerStatuses.flatMap(({state}) => state?.waiting?.reason ?? [])
  if (waiting.length > 0 || phase === 'Pending') return [`${name}: ${waiting[0] ?? 'Pending'}`]
  const container = (pod['spec'] as PodBody).containers?.find(
    ({readinessProbe}) => readinessProbe?.httpGet !== undefined,
  )
  const probe = container?.readinessProbe?.httpGet
  const port =
    typeof probe?.port === 'number'
      ? probe.port
      : container?.ports?.find((one) => one.name === probe?.port)?.containerPort
  const isReady = projectPod(pod).ready
  if (port === undefined) return isReady ? [] : [`${name}: not ready`]
  const reply = await ask(
    () => client.portForward({namespace, name}, port, {signal, timeoutMs: readinessTimeout}),
    {secure: false, host: 'localhost', port, path: '/readyz?verbose'},
    {timeout: readinessTimeout, signal},
  )
  // A ready pod that cannot be asked is ready all the same: Kubernetes asks it.
  if (isReady) return reply.kind === 'failure' ? [] : sourceTroubles(reply.body).map((text) => `${name}: ${text}`)
  if (reply.kind === 'failure') return [`${name}: readiness could not be asked: ${reply.reason}`]
  const failed = reply.body.split('\n').filter((line) => line.startsWith('[-]'))
  return failed.length === 0 ? [`${name}: not ready yet`] : failed.map((line) => `${name}: ${line.slice(3)}`)
}
