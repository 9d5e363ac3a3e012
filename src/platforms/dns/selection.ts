import {isNodeCache} from './node-local.ts'
import type {ContainerView, DnsObjects, PodSpecView, PodView, ServiceView, WorkloadView} from './objects.ts'

/** A pod template (or a pod without a known workload) that serves a Service's port 53. */
export interface Serving {
  /** `deployment/kube-system/coredns`, for messages and to tell templates apart. */
  readonly name: string
  readonly workload?: {readonly kind: string; readonly name: string}
  readonly spec: PodSpecView
  readonly container: ContainerView
}

/** A Service on port 53 whose pods run CoreDNS. */
export interface DnsCandidate {
  readonly service: ServiceView
  readonly serving: readonly Serving[]
  readonly pods: readonly PodView[]
}

/** Every Service on port 53 that leads to pods, or to pod templates, with a CoreDNS container. */
export function servingCandidates(objects: DnsObjects): DnsCandidate[] {
  return objects.services
    .filter((service) => service.type !== 'ExternalName' && service.ports.some((port) => port.port === 53))
    .map((service): DnsCandidate => {
      const pods = podsBehind(service, objects)
      const living = pods.filter(
        (pod) => pod.metadata.deletionTimestamp === undefined && pod.phase !== 'Failed' && pod.phase !== 'Succeeded',
      )
      const serving =
        living.length > 0
          ? living.flatMap((pod) => servingOfPod(pod, objects))
          : workloadsBehind(service, objects).flatMap(servingOfWorkload)
      return {service, serving: distinct(serving), pods}
    })
    .filter((candidate) => candidate.serving.length > 0)
    .toSorted((left, right) => compare(key(left.service), key(right.service)))
}

/** Pods of a Service: by its selector; without one, those its EndpointSlices name. */
export function podsBehind(service: ServiceView, objects: DnsObjects): PodView[] {
  const namespace = service.metadata.namespace
  const selector = service.selector
  const named = new Set(
    objects.endpointSlices
      .filter((slice) => slice.metadata.namespace === namespace && slice.service === service.metadata.name)
      .flatMap((slice) => slice.endpoints.map((endpoint) => endpoint.pod)),
  )
  return objects.pods
    .filter((pod) => pod.metadata.namespace === namespace)
    .filter((pod) =>
      selector === undefined ? named.has(pod.metadata.name) : selects(selector, pod.metadata.labels ?? {}),
    )
    .toSorted((left, right) => compare(left.metadata.name, right.metadata.name))
}

/** Workloads whose pod template a Service selects; ReplicaSets only where no Deployment is known. */
export function workloadsBehind(service: ServiceView, objects: DnsObjects): WorkloadView[] {
  const selector = service.selector
  if (selector === undefined) return []
  const all = objects.workloads.filter(
    (workload) =>
      workload.metadata.namespace === service.metadata.namespace &&
      workload.replicas !== 0 &&
      selects(selector, workload.templateLabels),
  )
  const top = all.filter((workload) => workload.kind !== 'ReplicaSet')
  return top.length > 0 ? top : all
}

function servingOfWorkload(workload: WorkloadView): Serving[] {
  const container = coreDnsContainer(workload.spec)
  if (container === undefined) return []
  const {namespace, name} = workload.metadata
  return [
    {
      name: `${workload.kind.toLowerCase()}/${namespace}/${name}`,
      workload: {kind: workload.kind, name},
      spec: workload.spec,
      container,
    },
  ]
}

function servingOfPod(pod: PodView, objects: DnsObjects): Serving[] {
  const container = coreDnsContainer(pod.spec)
  if (container === undefined) return []
  const workload = workloadOf(pod, objects)
  const namespace = pod.metadata.namespace
  return [
    workload === undefined
      ? {name: `pod/${namespace}/${pod.metadata.name}`, spec: pod.spec, container}
      : {
          name: `${workload.kind.toLowerCase()}/${namespace}/${workload.name}`,
          workload,
          spec: pod.spec,
          container,
        },
  ]
}

/** The workload that made a pod, through its ReplicaSet to the Deployment. */
export function workloadOf(pod: PodView, objects: DnsObjects): {kind: string; name: string} | undefined {
  const owner = pod.metadata.ownerReferences?.find((reference) => reference.controller !== false)
  if (owner === undefined) return undefined
  if (owner.kind !== 'ReplicaSet') return {kind: owner.kind, name: owner.name}
  const set = objects.workloads.find(
    (workload) =>
      workload.kind === 'ReplicaSet' &&
      workload.metadata.namespace === pod.metadata.namespace &&
      workload.metadata.name === owner.name,
  )
  const parent = set?.metadata.ownerReferences?.find((reference) => reference.controller !== false)
  if (parent !== undefined) return {kind: parent.kind, name: parent.name}
  // without the right to read ReplicaSets their name still tells: DEPLOYMENT-HASH with the pod's own hash label
  const hash = pod.metadata.labels?.['pod-template-hash']
  return hash !== undefined && owner.name.endsWith(`-${hash}`)
    ? {kind: 'Deployment', name: owner.name.slice(0, -hash.length - 1)}
    : {kind: owner.kind, name: owner.name}
}

/**
 * The container that runs CoreDNS: by its command or image name, else the only one that is given a Corefile with `-conf`.
 * The node cache of node-local-dns and kube-dns are no CoreDNS in this sense.
 */
export function coreDnsContainer(spec: PodSpecView): ContainerView | undefined {
  const possible = spec.containers.filter(
    (container) => !isNodeCache(container) && !/k8s-dns-|kubedns|dnsmasq/.test(imageName(container.image)),
  )
  return (
    possible.find((container) => container.command.some((word) => /(?:^|\/)coredns$/.test(word))) ??
    possible.find((container) => /coredns/.test(imageName(container.image))) ??
    possible.find((container) => [...container.command, ...container.args].some((word) => /^--?conf(?:=|$)/.test(word)))
  )
}

function imageName(image: string): string {
  return (image.split('@')[0] ?? '').split('/').at(-1) ?? ''
}

/** Pods of one template and ConfigMap are one; a rollout that changes the mounted ConfigMap is two. */
function distinct(serving: readonly Serving[]): Serving[] {
  const seen = new Map<string, Serving>()
  for (const entry of serving) {
    const mounts = JSON.stringify([
      entry.container.args,
      entry.container.command,
      entry.container.mounts,
      entry.spec.volumes.map((volume) => volume.sources),
    ])
    const id = `${entry.name} ${stripPodTokens(mounts)}`
    if (!seen.has(id)) seen.set(id, entry)
  }
  return [...seen.values()].toSorted((left, right) => compare(left.name, right.name))
}

/** Every pod has its own service account volume name (`kube-api-access-x7k2p`). */
function stripPodTokens(text: string): string {
  return text.replace(/kube-api-access-[a-z0-9]{5}/g, 'kube-api-access')
}

function selects(selector: Readonly<Record<string, string>>, labels: Readonly<Record<string, string>>): boolean {
  return Object.entries(selector).every(([name, value]) => labels[name] === value)
}

function key(service: ServiceView): string {
  return `${service.metadata.namespace}/${service.metadata.name}`
}

function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0
}
