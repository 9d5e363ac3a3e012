import {person} from '../person.ts'
import {dnsLock} from '../../cluster-dns/lock.ts'
import {hasStatus, resources, sleep, systemClock, type KubeClient} from '../../kube/index.ts'
import type {CorednsResult, CorednsTextChange} from '../../model/coredns-plan.ts'
import {dnsLeaseName} from '../../model/dns.ts'
import {SrcipError} from '../../model/errors.ts'
import type {EventSink} from '../../model/events.ts'
import {refText, type KubeObject} from '../../model/kubernetes.ts'
import type {CleanupPorts, HeldLock, OwnObject, ServedProxy, Traces} from '../../workflows/cleanup/ports.ts'
import {changeDns} from '../../workflows/coredns/change-dns.ts'
import {clusterPorts, type ClusterPortOptions, type ClusterState} from '../coredns/ports.ts'
import {planRequest} from '../coredns/request.ts'
import {defaultTarget, findProxies} from '../coredns/wanted.ts'
import {findOwnObjects, removeObject, type FoundObject} from './own-objects.ts'

export interface CleanupPortOptions {
  readonly client: KubeClient
  readonly namespace: string | undefined
  readonly dnsOnly: boolean
  /** Whether readiness of the proxies matters; without it their EndpointSlices are not read. */
  readonly askServed: boolean
  readonly target: string | undefined
  readonly dnsService: string | undefined
  readonly via: 'auto' | 'api' | 'direct'
  readonly verifyTimeoutMs: number
  readonly force: boolean
  readonly repair: boolean
  readonly restart: boolean
  readonly onEvent: EventSink
}

/** The ports of `cleanup` over a real cluster; `texts` are the texts that the last look would change, for the diff. */
export function cleanupPorts(options: CleanupPortOptions): CleanupPorts & {texts(): readonly CorednsTextChange[]} {
  const {client, namespace, dnsOnly} = options
  let state: ClusterState | undefined
  const dnsOptions: ClusterPortOptions = {
    client,
    wanted: async (signal) => {
      const targets = await targetsOf(options, signal)
      const nothing = {hosts: [], invalid: [], spared: [], circles: new Map()}
      return planRequest(
        'clean',
        {owner: 'srcip', force: options.force, repair: options.repair, 'restart-coredns': options.restart},
        {...nothing, targets},
      )
    },
    dnsService: options.dnsService,
    via: options.via,
    verifyTimeoutMs: options.verifyTimeoutMs,
    restart: options.restart,
    onEvent: options.onEvent,
  }
  const ports = clusterPorts(dnsOptions)
  let changedMsAgo = Infinity
  const quiet: typeof ports = {
    ...ports,
    async load(signal) {
      state = await ports.load(signal)
      changedMsAgo = await sinceLastChange(client, state, signal)
      return state
    },
    // the workflow holds it already
    lock: async () => ({signal: new AbortController().signal, release: async () => {}}),
    // a run that was cut off after its write: the text is clean, and pods may still answer with the one before
    standing: ({planned}) => (changedMsAgo < stillArrivingMs && !options.restart ? planned.standing : undefined),
    async prove(current, change, written, baseline, signal) {
      if (written !== undefined) return await ports.prove(current, change, written, baseline, signal)
      const since = {writes: [], at: systemClock.now() - changedMsAgo}
      return await ports.prove(current, change, since, await ports.baseline(current, signal), signal)
    },
  }
  const lockNamespace = (): string => state?.location.namespace ?? 'kube-system'
  const leaseKey = () => ({namespace: lockNamespace(), name: dnsLeaseName})

  async function look(signal: AbortSignal): Promise<CorednsResult> {
    return await changeDns(quiet, {
      operation: 'clean',
      dryRun: 'client',
      approve: async () => false,
      signal,
      onEvent: () => {},
    })
  }

  return {
    texts: () => state?.planned.texts ?? [],
    async find(signal): Promise<Traces> {
      const [objects, dns] = await Promise.all([findOwnObjects(client, {namespace, dnsOnly, signal}), look(signal)])
      const removed = dns.plan.edits.map((edit) => edit.removed).join('\n')
      const record = await client.find<KubeObject>(resources.leases, leaseKey(), {signal})
      const holder = (record?.['spec'] as {holderIdentity?: string} | undefined)?.holderIdentity
      return {
        objects,
        dns,
        lines: removed === '' ? 0 : removed.replace(/\n$/, '').split('\n').length,
        served: options.askServed && removed !== '' ? await servedProxies(client, state, removed, signal) : [],
        ...(record === undefined
          ? {}
          : {
              lease: {
                text: refText({kind: 'Lease', ...leaseKey()}),
                ...(holder === undefined || holder === '' ? {} : {holder}),
              },
            }),
      }
    },
    async stop(deployment, dryRun, signal) {
      const {namespace: where, name} = deployment as FoundObject
      await client.mergePatch(
        resources.deployments,
        {namespace: where, name},
        {spec: {replicas: 0}},
        {subresource: 'scale', dryRun, signal},
      )
    },
    lock: (waitMs, signal) => takeLock(client, lockNamespace(), waitMs, signal),
    cleanDns: (dryRun, signal) =>
      changeDns(quiet, {operation: 'clean', dryRun, approve: async () => true, signal, onEvent: options.onEvent}),
    sleep: (ms, signal) => sleep(systemClock, ms, signal),
    remove: (object: OwnObject, dryRun, signal) => removeObject(client, object as FoundObject, dryRun, signal),
    async removeLease(signal) {
      const lease = await client.find<KubeObject>(resources.leases, leaseKey(), {signal})
      if (lease === undefined) return undefined
      const text = refText({kind: 'Lease', ...leaseKey()})
      const {uid, resourceVersion} = lease.metadata
      const holder = (lease['spec'] as {holderIdentity?: string} | undefined)?.holderIdentity
      if (holder !== undefined && holder !== '')
        return {object: text, state: 'left', reason: `${holder} has taken it meanwhile`}
      try {
        await client.delete(resources.leases, leaseKey(), {uid, resourceVersion, signal})
        return {object: text, state: 'deleted'}
      } catch (error) {
        if (signal.aborted) throw error
        return {object: text, state: 'left', reason: error instanceof Error ? error.message : String(error)}
      }
    },
  }
}

/** Kubelet's sync, the longest usual reload interval, and room: within this a change may not have reached every CoreDNS. */
const stillArrivingMs = 15 * 60_000

/** Milliseconds since somebody wrote one of the ConfigMaps of cluster DNS, by their managedFields; Infinity when not known. */
async function sinceLastChange(client: KubeClient, state: ClusterState, signal: AbortSignal): Promise<number> {
  const keys = state.planned.document.sources.flatMap(({object}) => {
    const [, namespace, name] = (object ?? '').split('/')
    return namespace === undefined || name === undefined ? [] : [{namespace, name}]
  })
  const maps = await Promise.all(keys.map((key) => client.find<KubeObject>(resources.configMaps, key, {signal})))
  const times = maps.flatMap((map) => (map?.metadata.managedFields ?? []).flatMap((entry) => entry.time ?? []))
  const last = Math.max(-Infinity, ...times.map((time) => Date.parse(time)).filter((time) => !Number.isNaN(time)))
  return Math.max(0, systemClock.wall() - last)
}

/** The Lease, with what to type when a live `run` has it. */
async function takeLock(client: KubeClient, namespace: string, waitMs: number, signal: AbortSignal): Promise<HeldLock> {
  const lock = dnsLock(client, namespace, identity())
  try {
    return {signal: await lock.acquire({waitMs, signal}), release: () => lock.release()}
  } catch (error) {
    if (!(error instanceof SrcipError) || error.code !== 'Conflict') throw error
    throw new SrcipError('Conflict', error.message, {
      ...(error.object === undefined ? {} : {object: error.object}),
      hints:
        waitMs > 0
          ? ['something else than the stopped controllers writes cluster DNS: end it first']
          : ['add --stop-run to scale the controller to 0 first', 'or end that process'],
      cause: error,
    })
  }
}

/** Who we are in the Lease: the pod, or user@host:pid. */
function identity(): string {
  const pod = process.env['POD_NAME']
  if (pod !== undefined && pod !== '') return `${pod}:${process.pid}`
  return `${person()}:${process.pid}`
}

/** Proxy Services whose lines are ours even without markers; in one namespace only where rights end there. */
async function targetsOf(options: CleanupPortOptions, signal: AbortSignal): Promise<string[]> {
  const {client, namespace, target} = options
  if (target !== undefined) return [target]
  if (namespace === undefined) {
    const proxies = await findProxies(client, undefined, signal)
    return [...new Set([...proxies.map((proxy) => proxy.target), defaultTarget])]
  }
  const {items} = await client.list(resources.services, {
    namespace,
    labelSelector: 'srcip.dev/component=proxy',
    signal,
  })
  const found = items.map((item) => `${namespace}/${item.metadata.name}`)
  return found.length > 0 ? found : [`${namespace}/srcip-proxy`]
}

/** Proxies that lines of ours lead to and that have ready endpoints. */
async function servedProxies(
  client: KubeClient,
  state: ClusterState | undefined,
  removed: string,
  signal: AbortSignal,
): Promise<ServedProxy[]> {
  const services = [...(state?.dns.services ?? new Map<string, unknown>())].filter(([, view]) => view !== undefined)
  const served = await Promise.all(
    services.map(async ([service]): Promise<ServedProxy | undefined> => {
      const [namespace, name] = service.split('/') as [string, string]
      if (!removed.includes(`${name}.${namespace}.svc.`)) return undefined
      const {items} = await client
        .list(resources.endpointSlices, {namespace, labelSelector: `kubernetes.io/service-name=${name}`, signal})
        .catch((error: unknown) => {
          if (hasStatus(error, 403)) return {items: []}
          throw error
        })
      const endpoints = items.flatMap((item) => (item['endpoints'] ?? []) as {conditions?: {ready?: boolean}}[])
      const readyEndpoints = endpoints.filter((endpoint) => endpoint.conditions?.ready !== false).length
      return readyEndpoints === 0 ? undefined : {service, readyEndpoints}
    }),
  )
  return served.flatMap((entry) => entry ?? [])
}
