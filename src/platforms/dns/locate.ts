import {SrcipError} from '../../model/errors.ts'
import {
  configMounts,
  containerEnvironment,
  corefilePath,
  findConfigMap,
  hasHiddenEnvironment,
  isForbidden,
  mountedFiles,
  opaqueMounts,
  sourceOfPath,
  versionFromImage,
  type ConfigMount,
  type ContainerEnvironment,
  type MountedFile,
} from './container.ts'
import {detectNodeLocalDns, type NodeLocalDns} from './node-local.ts'
import type {ConfigMapView, ContainerView, DnsObjects, PodSpecView, PodView, ServiceView} from './objects.ts'
import {recogniseDnsOwner, type DnsOwner} from './owner.ts'
import {servingCandidates, type DnsCandidate} from './selection.ts'

/** A CoreDNS pod, and whether its answer counts (design.md 5: behind the DNS Service, Ready, not deleting). */
export interface DnsPod {
  readonly namespace: string
  readonly name: string
  readonly uid?: string
  readonly ips: readonly string[]
  readonly counting: boolean
  /** Why it does not count. */
  readonly reason?: string
}

/** Where cluster DNS lives, all the way from the Service to the bytes. Plain data. */
export interface DnsLocation {
  readonly namespace: string
  readonly service: {
    readonly name: string
    readonly clusterIPs: readonly string[]
    readonly selector?: Readonly<Record<string, string>>
  }
  /** The workload that a restart would have to roll, when one is known. */
  readonly workload?: {readonly kind: string; readonly name: string}
  readonly container: {readonly name: string; readonly image: string; readonly version?: string}
  readonly environment: ContainerEnvironment
  /** Variables may exist that cannot be named from outside (`envFrom` a Secret). */
  readonly hiddenEnvironment: boolean
  /** Container port that the Service's port 53 leads to. */
  readonly dnsPort: number
  readonly corefilePath: string
  readonly corefile: {
    readonly configMap: string
    readonly key: string
    readonly uid?: string
    readonly resourceVersion?: string
    /** False: kubelet never updates it in a running pod (subPath), or the ConfigMap is immutable. */
    readonly live: boolean
    readonly immutable: boolean
    readonly text: string
  }
  readonly mounts: readonly ConfigMount[]
  /** Mount paths of other volumes (Secrets, host paths): what lies below is not known. */
  readonly opaqueMounts: readonly string[]
  /** Every mounted file, the Corefile among them. */
  readonly files: readonly MountedFile[]
  readonly pods: readonly DnsPod[]
  readonly owner?: DnsOwner
  readonly nodeLocal?: NodeLocalDns
  /** Objects that look like cluster DNS and are not: `object`, and why it was passed over. */
  readonly ignored: readonly {readonly object: string; readonly reason: string}[]
  /** ConfigMaps, `NAMESPACE/NAME`, that may matter and must not be read. The Corefile's own is never among them. */
  readonly forbidden: readonly string[]
}

export interface LocateOptions {
  /** `NAMESPACE/NAME` of the DNS Service, where a person has to choose. */
  readonly service?: string | undefined
}

/**
 * Finds cluster DNS: DNS Service, the pods behind it, their container, its `-conf`, the volume, the ConfigMap and key.
 * Names of distributions play no part. Throws a Precondition (32) that lists the candidates when it is not certain.
 */
export function locateClusterDns(objects: DnsObjects, options: LocateOptions = {}): DnsLocation {
  const {candidate, passedOver} = chooseService(objects, options)
  const {service, serving} = candidate
  const namespace = service.metadata.namespace ?? 'default'
  const sources = serving.map((entry) =>
    readCorefileSource(entry.spec, entry.container, namespace, objects, entry.name),
  )
  const first = sources[0]
  const chosen = serving[0]
  if (first === undefined || chosen === undefined)
    throw new SrcipError('Internal', 'a DNS candidate without a serving container')
  const distinct = [...new Map(sources.map((source) => [`${source.configMap}/${source.key}`, source])).values()]
  if (distinct.length > 1) {
    throw new SrcipError(
      'Precondition',
      `service/${namespace}/${service.metadata.name} leads to pods that mount different Corefiles: ${serving
        .map(
          (entry, index) =>
            `${entry.name} (configmap/${namespace}/${sources[index]?.configMap}, key ${sources[index]?.key})`,
        )
        .join(', ')}`,
      {
        object: `service/${namespace}/${service.metadata.name}`,
        hints: ['let the Service select one of them (or wait for the rollout to end), then run this again'],
      },
    )
  }
  const configMap = findConfigMap(objects.configMaps, namespace, first.configMap)
  if (configMap === undefined && isForbidden(objects, namespace, first.configMap)) {
    throw new SrcipError(
      'Denied',
      `not allowed to get configmaps/${first.configMap} in namespace ${namespace}, which holds the Corefile of ${chosen.name}`,
      {
        object: `configmap/${namespace}/${first.configMap}`,
        hints: [`kubectl auth can-i get configmaps/${first.configMap} -n ${namespace}`],
      },
    )
  }
  if (configMap === undefined) {
    throw new SrcipError(
      'Precondition',
      `configmap/${namespace}/${first.configMap}, which holds the Corefile of ${chosen.name}, does not exist`,
      {
        object: `configmap/${namespace}/${first.configMap}`,
        hints: [`kubectl -n ${namespace} get configmap ${first.configMap}`],
      },
    )
  }
  const text = configMap.data[first.key]
  if (text === undefined) {
    throw new SrcipError(
      'Precondition',
      `configmap/${namespace}/${first.configMap} has no text in key ${first.key}, which ${chosen.name} reads as ${first.path}`,
      {
        object: `configmap/${namespace}/${first.configMap}`,
        hints: [`kubectl -n ${namespace} get configmap ${first.configMap} -o yaml`],
      },
    )
  }
  const version = versionFromImage(chosen.container.image)
  const owner = recogniseDnsOwner(configMap.metadata, first.key)
  const nodeLocal = detectNodeLocalDns(objects, service.clusterIPs)
  return {
    namespace,
    service: {
      name: service.metadata.name,
      clusterIPs: service.clusterIPs,
      ...(service.selector === undefined ? {} : {selector: service.selector}),
    },
    ...(chosen.workload === undefined ? {} : {workload: chosen.workload}),
    container: {
      name: chosen.container.name,
      image: chosen.container.image,
      ...(version === undefined ? {} : {version}),
    },
    environment: first.environment,
    hiddenEnvironment: hasHiddenEnvironment(chosen.container, namespace, objects.configMaps),
    dnsPort: containerDnsPort(service, chosen.container),
    corefilePath: first.path,
    corefile: {
      configMap: first.configMap,
      key: first.key,
      ...identity(configMap),
      live: first.mount.live && !configMap.immutable,
      immutable: configMap.immutable,
      text,
    },
    mounts: first.mounts,
    opaqueMounts: [
      ...opaqueMounts(chosen.spec, chosen.container),
      ...first.mounts.filter((mount) => mount.forbidden).map((mount) => mount.path),
    ],
    files: mountedFiles(first.mounts, objects.configMaps),
    pods: candidate.pods.map(describePod),
    ...(owner === undefined ? {} : {owner}),
    ...(nodeLocal === undefined ? {} : {nodeLocal}),
    ignored: [...passedOver, ...unmountedCorefiles(objects, namespace, first.mounts, nodeLocal)],
    forbidden: [...(objects.forbiddenMaps ?? [])].toSorted(),
  }
}

function chooseService(
  objects: DnsObjects,
  options: LocateOptions,
): {candidate: DnsCandidate; passedOver: {object: string; reason: string}[]} {
  const all = servingCandidates(objects)
  const wanted = options.service
  if (wanted !== undefined) {
    const named = all.find((entry) => serviceName(entry.service) === wanted)
    if (named !== undefined) return {candidate: named, passedOver: []}
    throw new SrcipError('Precondition', `service/${wanted} does not lead to CoreDNS pods on port 53`, {
      object: `service/${wanted}`,
      hints: all.map((entry) => `candidate: ${serviceName(entry.service)}`),
    })
  }
  // kubelet hands out the ClusterIP of the Service that carries this label; the label is API convention, the name is not
  const labelled = all.filter(
    (entry) => entry.service.metadata.labels?.['k8s-app'] === 'kube-dns' && entry.service.clusterIPs.length > 0,
  )
  const pool = labelled.length > 0 ? labelled : all.filter((entry) => entry.service.clusterIPs.length > 0)
  const byPods = new Map<string, DnsCandidate[]>()
  for (const entry of pool) {
    const key = entry.serving
      .map((serving) => serving.name)
      .toSorted()
      .join(' ')
    byPods.set(key, [...(byPods.get(key) ?? []), entry])
  }
  if (byPods.size === 0) throw nothingFound(objects)
  if (byPods.size > 1) {
    throw new SrcipError(
      'Precondition',
      `more than one CoreDNS could be the cluster's: ${[...byPods.values()]
        .map(
          (group) =>
            `service ${group.map((entry) => serviceName(entry.service)).join(' and ')} (${group[0]?.serving.map((serving) => serving.name).join(', ')})`,
        )
        .join('; ')}`,
      {
        hints: [...byPods.values()].map(
          (group) => `--dns-service ${group[0] === undefined ? '' : serviceName(group[0].service)}`,
        ),
      },
    )
  }
  // several Services over the same pods (kube-dns and kube-dns-upstream of node-local-dns): prefer the one kubelets know by name
  const group = [...byPods.values()][0] ?? []
  const candidate = group.find((entry) => entry.service.metadata.name === 'kube-dns') ?? group[0]
  if (candidate === undefined) throw nothingFound(objects)
  const passedOver = all
    .filter((entry) => !group.includes(entry))
    .map((entry) => ({
      object: `service/${serviceName(entry.service)}`,
      reason: `leads to ${entry.serving.map((serving) => serving.name).join(', ')}, but is not the cluster's DNS Service (label k8s-app=kube-dns)`,
    }))
  return {candidate, passedOver}
}

/** No Service leads to CoreDNS: tell kube-dns (GKE) from nothing at all. */
function nothingFound(objects: DnsObjects): SrcipError {
  const kubeDns = objects.workloads.find((workload) =>
    workload.spec.containers.some((container) => /k8s-dns-(?:kube-dns|dnsmasq)|\/kubedns/.test(container.image)),
  )
  if (kubeDns !== undefined) {
    return new SrcipError(
      'Precondition',
      `${kubeDns.kind.toLowerCase()}/${kubeDns.metadata.namespace}/${kubeDns.metadata.name} is kube-dns, which has no Corefile and cannot rewrite names`,
      {
        object: `${kubeDns.kind.toLowerCase()}/${kubeDns.metadata.namespace}/${kubeDns.metadata.name}`,
        hints: ['put a CoreDNS of your own in front (stubDomains), or a private zone (Cloud DNS) for the hosts'],
      },
    )
  }
  const services = objects.services.filter((service) => service.metadata.labels?.['k8s-app'] === 'kube-dns')
  const found = services.map((service) => `service/${serviceName(service)}`).join(', ')
  return new SrcipError(
    'Precondition',
    found === ''
      ? 'no DNS Service was found: no Service on port 53 leads to pods of CoreDNS'
      : `${found} is the DNS Service, but no CoreDNS pod or workload was found behind it`,
    {hints: ['kubectl get services,endpointslices -A -l k8s-app=kube-dns', 'or name it: --dns-service NAMESPACE/NAME']},
  )
}

interface CorefileSource {
  readonly path: string
  readonly configMap: string
  readonly key: string
  readonly mount: ConfigMount
  readonly mounts: readonly ConfigMount[]
  readonly environment: ContainerEnvironment
}

function readCorefileSource(
  spec: PodSpecView,
  container: ContainerView,
  namespace: string,
  objects: DnsObjects,
  name: string,
): CorefileSource {
  const environment = containerEnvironment(container, namespace, objects.configMaps)
  const mounts = configMounts(spec, container, namespace, objects)
  const path = corefilePath(container, environment)
  const source = sourceOfPath(path, spec, container, mounts)
  if ('reason' in source) {
    throw new SrcipError('Precondition', `the Corefile of ${name} cannot be edited: ${source.reason}`, {
      object: name,
      hints: ['mount the Corefile from a ConfigMap, or change it where it comes from'],
    })
  }
  return {path, configMap: source.mount.configMap, key: source.key, mount: source.mount, mounts, environment}
}

function identity(configMap: ConfigMapView): {uid?: string; resourceVersion?: string} {
  const {uid, resourceVersion} = configMap.metadata
  return {...(uid === undefined ? {} : {uid}), ...(resourceVersion === undefined ? {} : {resourceVersion})}
}

/** A pod as a proof counts it. */
export function describePod(pod: PodView): DnsPod {
  const reason =
    pod.metadata.deletionTimestamp !== undefined
      ? 'is being deleted'
      : pod.phase === 'Succeeded' || pod.phase === 'Failed'
        ? `is ${pod.phase}`
        : pod.ready
          ? undefined
          : 'is not Ready'
  return {
    namespace: pod.metadata.namespace ?? 'default',
    name: pod.metadata.name,
    ...(pod.metadata.uid === undefined ? {} : {uid: pod.metadata.uid}),
    ips: pod.ips,
    counting: reason === undefined,
    ...(reason === undefined ? {} : {reason}),
  }
}

/** Port inside the pod that the Service's DNS port leads to (5353 on OpenShift, 8053 on Gardener). */
function containerDnsPort(service: ServiceView, container: ContainerView): number {
  const port =
    service.ports.find((entry) => entry.port === 53 && entry.protocol === 'TCP') ??
    service.ports.find((entry) => entry.port === 53)
  const target = port?.targetPort
  if (typeof target === 'number' && target > 0) return target
  if (typeof target === 'string') return container.ports.find((entry) => entry.name === target)?.containerPort ?? 53
  return port?.port ?? 53
}

/** ConfigMaps that hold a Corefile and are not mounted by the pods: decoys of an old install, worth a mention. */
function unmountedCorefiles(
  objects: DnsObjects,
  namespace: string,
  mounts: readonly ConfigMount[],
  nodeLocal: NodeLocalDns | undefined,
): {object: string; reason: string}[] {
  const mounted = new Set(mounts.map((mount) => mount.configMap))
  return objects.configMaps
    .filter(
      (entry) =>
        entry.metadata.namespace === namespace && 'Corefile' in entry.data && !mounted.has(entry.metadata.name),
    )
    .filter((entry) => entry.metadata.name !== nodeLocal?.configMap)
    .map((entry) => ({
      object: `configmap/${namespace}/${entry.metadata.name}`,
      reason: 'holds a Corefile that no DNS pod mounts',
    }))
}

function serviceName(service: ServiceView): string {
  return `${service.metadata.namespace}/${service.metadata.name}`
}
