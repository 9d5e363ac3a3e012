import {SrcipError} from '../model/errors.ts'
import type {KubeObject} from '../model/kubernetes.ts'
import {hasStatus, resources, type CallOptions, type KubeClient, type Resource} from '../kube/index.ts'
import {locateClusterDns, type DnsLocation, type LocateOptions} from '../platforms/dns/locate.ts'
import {
  projectDnsObjects,
  projectService,
  type DnsObjects,
  type PodSpecView,
  type ServiceView,
} from '../platforms/dns/objects.ts'
import {podsBehind, servingCandidates} from '../platforms/dns/selection.ts'

export interface LoadOptions extends LocateOptions, CallOptions {
  /** Namespace to look in first. Default `kube-system`; only when no DNS is found there are all namespaces asked. */
  readonly namespace?: string | undefined
}

/**
 * Reads what `locateClusterDns` needs and locates. Asks as little as it can: everything in one namespace but ConfigMaps, and of
 * those only the mounted ones by name. Rights: get and list of services, endpointslices, pods, deployments, replicasets,
 * daemonsets and get of configmaps in the DNS namespace; ReplicaSets, DaemonSets and EndpointSlices may be forbidden, and
 * every ConfigMap but the one with the Corefile.
 */
export async function loadDnsLocation(client: KubeClient, options: LoadOptions = {}): Promise<DnsLocation> {
  const named = options.service?.split('/')[0]
  const namespace = named ?? options.namespace ?? 'kube-system'
  const call: CallOptions = {signal: options.signal, timeoutMs: options.timeoutMs}
  const objects = await loadDnsObjects(client, namespace, call)
  if (servingCandidates(objects).length > 0 || named !== undefined) return locateClusterDns(objects, options)
  const elsewhere = await namespacesWithDns(client, call)
  const others = await Promise.all(
    elsewhere.filter((name) => name !== namespace).map((name) => loadDnsObjects(client, name, call)),
  )
  return locateClusterDns(merge([objects, ...others]), options)
}

/** One namespace's share of `DnsObjects`. */
export async function loadDnsObjects(
  client: KubeClient,
  namespace: string,
  call: CallOptions = {},
): Promise<DnsObjects> {
  const all = async (resource: Resource): Promise<KubeObject[]> => {
    const {items} = await client.list(resource, {...call, namespace})
    // items of a list carry no kind of their own
    return items.map((item) => ({...item, kind: resource.kind}))
  }
  // enough can be told from pods alone; a role that leaves these out is not refused for it
  const optional = (resource: Resource): Promise<KubeObject[]> =>
    all(resource).catch((error: unknown) => {
      if (hasStatus(error, 403)) return []
      throw error
    })
  const [services, pods, slices, deployments, replicaSets, daemonSets] = await Promise.all([
    all(resources.services),
    all(resources.pods),
    optional(resources.endpointSlices),
    optional(resources.deployments),
    optional(resources.replicaSets),
    optional(resources.daemonSets),
  ])
  const withoutMaps = projectDnsObjects([
    ...services,
    ...pods,
    ...slices,
    ...deployments,
    ...replicaSets,
    ...daemonSets,
  ])
  const names = configMapNames(withoutMaps)
  const forbidden = new Set<string>()
  const found = await Promise.all(
    [...names].map((name) =>
      client.find(resources.configMaps, {namespace, name}, call).catch((error: unknown) => {
        if (!hasStatus(error, 403)) throw error
        // Only the Corefile's own is needed for certain, and which one that is shows later.
        forbidden.add(`${namespace}/${name}`)
        return undefined
      }),
    ),
  )
  const configMaps = found.flatMap((object) => (object === undefined ? [] : [{...object, kind: 'ConfigMap'}]))
  return {
    ...keepRelevant(withoutMaps),
    configMaps: projectDnsObjects(configMaps).configMaps,
    forbiddenMaps: forbidden,
  }
}

/** ConfigMaps that DNS pods and the node cache mount or take variables from, and the usual decoy. */
function configMapNames(objects: DnsObjects): Set<string> {
  const candidates = servingCandidates(objects)
  const specs = [
    ...candidates.flatMap((candidate) => candidate.serving.map((serving) => serving.spec)),
    ...objects.workloads
      .filter((workload) => workload.kind === 'DaemonSet')
      .map((workload) => workload.spec)
      .filter(usesNodeCache),
  ]
  const names = specs.flatMap((spec) => [
    ...spec.volumes.flatMap((volume) => volume.sources.flatMap((source) => source.configMap?.name ?? [])),
    ...spec.containers.flatMap((container) => [
      ...container.env.flatMap((variable) => variable.configMapKey?.name ?? []),
      ...container.envFrom.flatMap((source) => source.configMap ?? []),
    ]),
  ])
  if (candidates.length > 0) names.push('coredns')
  if (specs.some(usesNodeCache)) names.push('node-local-dns')
  return new Set(names.filter((name) => name !== ''))
}

function usesNodeCache(spec: PodSpecView): boolean {
  return spec.containers.some(
    (container) => /node-cache|node-local-dns/.test(container.image) || container.args.includes('-localip'),
  )
}

/** A namespace may hold thousands of pods that have nothing to do with DNS. */
function keepRelevant(objects: DnsObjects): DnsObjects {
  const dns = objects.services.filter((service) => service.ports.some((port) => port.port === 53))
  const pods = new Set(dns.flatMap((service) => podsBehind(service, objects)))
  return {...objects, services: dns, pods: objects.pods.filter((pod) => pods.has(pod))}
}

/** Namespaces with a Service on port 53, where the right to list them all is there; else none. */
async function namespacesWithDns(client: KubeClient, call: CallOptions): Promise<string[]> {
  try {
    const {items} = await client.list(resources.services, call)
    const services = items.map((item) => projectService({...item, kind: 'Service'}))
    return [
      ...new Set(
        services
          .filter((service) => service.ports.some((port) => port.port === 53))
          .map((service) => service.metadata.namespace ?? 'default'),
      ),
    ]
  } catch (error) {
    if (hasStatus(error, 403)) return []
    throw error
  }
}

function merge(parts: readonly DnsObjects[]): DnsObjects {
  return {
    services: parts.flatMap((part) => part.services),
    endpointSlices: parts.flatMap((part) => part.endpointSlices),
    pods: parts.flatMap((part) => part.pods),
    workloads: parts.flatMap((part) => part.workloads),
    configMaps: parts.flatMap((part) => part.configMaps),
    forbiddenMaps: new Set(parts.flatMap((part) => [...(part.forbiddenMaps ?? [])])),
  }
}

/** The Services that a change wants as targets, each `NAMESPACE/NAME`; a missing one is undefined. */
export async function loadTargets(
  client: KubeClient,
  targets: Iterable<string>,
  call: CallOptions = {},
): Promise<Map<string, ServiceView | undefined>> {
  const found = await Promise.all(
    [...new Set(targets)].map(async (target): Promise<[string, ServiceView | undefined]> => {
      const [namespace, name, ...rest] = target.split('/')
      if (!namespace || !name || rest.length > 0)
        throw new SrcipError('Usage', `${JSON.stringify(target)} is not NAMESPACE/NAME of a Service`)
      const object = await client.find(resources.services, {namespace, name}, call)
      return [target, object === undefined ? undefined : projectService({...object, kind: 'Service'})]
    }),
  )
  return new Map(found)
}
