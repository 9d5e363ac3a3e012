import {person} from '../person.ts'
import {loadDnsState} from '../../cluster-dns/state.ts'
import {dnsLock} from '../../cluster-dns/lock.ts'
import {readBaseline, type PodBaseline} from '../../cluster-dns/observe.ts'
import {planCorednsChange, type CorednsChange} from '../../cluster-dns/plan/plan-change.ts'
import type {CorednsPlanRequest} from '../../cluster-dns/plan/request.ts'
import {createPodAccess, type PodAccess, type Via} from '../../cluster-dns/pod-access.ts'
import {listDnsPods, metricsPortOf} from '../../cluster-dns/pods.ts'
import {proveChange} from '../../cluster-dns/prove.ts'
import {restartCoredns} from '../../cluster-dns/restart.ts'
import type {DnsChange, DnsState, DoneWrite} from '../../cluster-dns/types.ts'
import {checkWrites, makeWrites, undoWrites} from '../../cluster-dns/write.ts'
import {systemClock, type KubeClient} from '../../kube/index.ts'
import {SrcipError} from '../../model/errors.ts'
import type {EventSink} from '../../model/events.ts'
import type {DnsLocation} from '../../platforms/dns/locate.ts'
import type {CorednsPorts} from '../../workflows/coredns/ports.ts'

/** Cluster DNS as it was read, and the plan that was made from it. */
export interface ClusterState {
  readonly dns: DnsState
  readonly location: DnsLocation
  readonly planned: CorednsChange
}

/** A write that was made; `at` is `systemClock.now()`. */
export interface Written {
  readonly writes: readonly DoneWrite[]
  readonly at: number
}

export interface ClusterPortOptions {
  readonly client: KubeClient
  /** What is wanted, with the targets that have to be read; asked once, before cluster DNS is read. */
  readonly wanted: (signal: AbortSignal) => Promise<CorednsPlanRequest & {readonly warnings?: readonly string[]}>
  /** What cluster DNS itself adds to the request: the names that stand there. */
  readonly complete?: ((request: CorednsPlanRequest, dns: DnsState) => CorednsPlanRequest) | undefined
  readonly dnsService?: string | undefined
  readonly version?: string | undefined
  readonly via: Via
  readonly verifyTimeoutMs: number
  readonly restart: boolean
  readonly onEvent: EventSink
}

type ClusterPorts = CorednsPorts<ClusterState, DnsChange, ReadonlyMap<string, PodBaseline>, Written>

/** The ports of `apply` and `clean` over a real cluster. */
export function clusterPorts(options: ClusterPortOptions): ClusterPorts {
  const {client, restart} = options
  return {
    load: (signal) => loadClusterState(options, signal),
    plan: ({planned}) => ({document: planned.document, change: planned.change}),
    check: (_state, change, signal) => checkWrites(client, change.writes, {signal}),
    async lock({location}, signal) {
      const lock = dnsLock(client, location.namespace, `${person()}:${process.pid}`)
      const lost = await lock.acquire({signal})
      return {signal: lost, release: () => lock.release()}
    },
    baseline: ({dns, location}, signal) =>
      readBaseline(accessOf(options, dns, location), countingPods(location), signal),
    async write(change, dryRun, signal) {
      const writes = await makeWrites(client, change.writes, {dryRun, signal})
      return {writes, at: systemClock.now()}
    },
    async prove({dns, location}, change, written, baseline, signal) {
      const restarted = restart && written !== undefined
      const stale = new Set(restarted ? location.pods.map((pod) => `${pod.namespace}/${pod.name}`) : [])
      if (restarted) await restartCoredns(client, location, new Date().toISOString(), {signal})
      return await proveChange({
        access: accessOf(options, dns, location),
        pods: (inner) => listDnsPods(client, location, {signal: inner}),
        stale,
        hash: restarted ? null : change.hash,
        probes: change.probes,
        baseline: baseline ?? new Map(),
        writtenAt: written?.at,
        verifyTimeoutMs: options.verifyTimeoutMs,
        signal,
        onEvent: options.onEvent,
      })
    },
    async undo({location}, written) {
      const undone = await undoWrites(client, written.writes)
      const kept = undone.find((entry) => !entry.restored)
      if (restart && kept === undefined) await restartCoredns(client, location, new Date().toISOString())
      return kept === undefined ? {restored: true} : {restored: false, reason: kept.reason ?? 'unknown reason'}
    },
    standing: ({planned}, document) =>
      document.hosts.length > 0 && planned.standing.probes.length > 0 ? planned.standing : undefined,
  }
}

/** Reads what is wanted, cluster DNS and the targets, and plans; nothing is written. */
export async function loadClusterState(
  options: Pick<ClusterPortOptions, 'client' | 'wanted' | 'complete' | 'dnsService' | 'version'>,
  signal: AbortSignal,
): Promise<ClusterState> {
  const {warnings = [], ...request} = await options.wanted(signal)
  const targets = [...new Set([...request.targets, ...request.hosts.map((host) => host.target)])].filter((target) =>
    target.includes('/'),
  )
  const dns = await loadDnsState(options.client, {
    service: options.dnsService,
    version: options.version,
    targets,
    signal,
  })
  const location = dns.location
  if (location === undefined) throw new SrcipError('Internal', 'a state of a cluster without a location')
  const planned = planCorednsChange(dns, options.complete?.(request, dns) ?? request)
  return {
    dns,
    location,
    planned: {...planned, document: {...planned.document, warnings: [...planned.document.warnings, ...warnings]}},
  }
}

/** How the pods of a state are asked. */
export function accessOf(
  options: Pick<ClusterPortOptions, 'client' | 'via'>,
  dns: DnsState,
  location: DnsLocation,
): PodAccess {
  return createPodAccess({
    client: options.client,
    container: location.container.name,
    dnsPort: location.dnsPort,
    metricsPort: metricsPortOf(dns),
    via: options.via,
  })
}

/** The pods that have to answer before a change is done. */
export function countingPods(location: DnsLocation) {
  return location.pods.filter((pod) => pod.counting)
}
