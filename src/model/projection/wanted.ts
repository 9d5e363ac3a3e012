import {field, list, record, text, textPairs, texts} from '../fields.ts'
import type {KubeObject} from '../kubernetes.ts'
import {isKnownImage, isKnownWorkloadName} from './known-parts.ts'

/*
 * Of kinds that a cluster has by the thousand only what matters is read: the pods behind Services that lead in, those of
 * cluster DNS, our own, and the parts that are known by their image.
 */

/** A Service that is reachable from outside, serves DNS, or is a proxy against the hairpin. */
export function isWantedService(service: KubeObject): boolean {
  const spec = record(field(service, 'spec'))
  const type = field(spec, 'type')
  return (
    type === 'LoadBalancer' ||
    type === 'NodePort' ||
    list(field(spec, 'externalIPs')).length > 0 ||
    list(field(spec, 'ports')).some((port) => field(record(port), 'port') === 53) ||
    field(textPairs(service.metadata.labels), 'srcip.dev/component') !== undefined ||
    /ouroboros|hairpin-proxy|ingress|gateway/.test(service.metadata.name)
  )
}

/** Label selectors by namespace, as the API takes them, each once and sorted. */
export type Selections = ReadonlyMap<string, readonly string[]>

/** Which pods to ask for: those that wanted Services select, and those of known workloads without a Service. */
export function podSelections(services: readonly KubeObject[], workloads: readonly KubeObject[]): Selections {
  const found = new Map<string, Set<string>>()
  const add = (object: KubeObject, labels: Readonly<Record<string, string>>): void => {
    const selector = selectorText(labels)
    if (selector === '') return
    const namespace = object.metadata.namespace ?? 'default'
    found.set(namespace, (found.get(namespace) ?? new Set()).add(selector))
  }
  for (const service of services.filter(isWantedService)) add(service, selectorOf(service))
  const selectors = services.filter(isWantedService)
  for (const workload of workloads) {
    // Ingress pods on the host's own ports need no Service to be reached.
    if (!runsKnownImage(workload) || selectors.some((service) => selects(service, workload))) continue
    if (/ingress|gateway|router|traefik|haproxy|envoy|kong|contour|coredns/i.test(images(workload).join(' ')))
      add(workload, textPairs(field(record(field(record(field(workload, 'spec')), 'selector')), 'matchLabels')))
  }
  return sorted(found)
}

/** Which EndpointSlices to ask for: those of wanted Services. */
export function sliceSelections(services: readonly KubeObject[]): Selections {
  const found = new Map<string, Set<string>>()
  for (const service of services.filter(isWantedService)) {
    const namespace = service.metadata.namespace ?? 'default'
    found.set(namespace, (found.get(namespace) ?? new Set()).add(service.metadata.name))
  }
  return new Map(
    [...sorted(found)].map(([namespace, names]) => [namespace, [`kubernetes.io/service-name in (${names.join(',')})`]]),
  )
}

/** True for a workload (raw or projected) that is kept: it runs a known part, or a wanted Service selects its pods. */
export function isWantedWorkload(workload: KubeObject, services: readonly KubeObject[]): boolean {
  return (
    isKnownWorkloadName(workload.metadata.name) ||
    runsKnownImage(workload) ||
    services.some((service) => selects(service, workload))
  )
}

function selects(service: KubeObject, workload: KubeObject): boolean {
  const selector = Object.entries(selectorOf(service))
  if (selector.length === 0 || service.metadata.namespace !== workload.metadata.namespace) return false
  const template = record(field(record(field(workload, 'spec')), 'template'))
  const labels = textPairs(field(record(field(template, 'metadata')), 'labels'))
  return selector.every(([key, value]) => labels[key] === value)
}

function runsKnownImage(workload: KubeObject): boolean {
  return images(workload).some(isKnownImage)
}

function images(workload: KubeObject): string[] {
  const template = record(field(record(field(workload, 'spec')), 'template'))
  return list(field(record(field(template, 'spec')), 'containers')).map(
    (container) => text(field(record(container), 'image')) ?? '',
  )
}

function selectorOf(service: KubeObject): Readonly<Record<string, string>> {
  return textPairs(field(record(field(service, 'spec')), 'selector'))
}

function selectorText(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .sort()
    .join(',')
}

function sorted(found: ReadonlyMap<string, ReadonlySet<string>>): Map<string, string[]> {
  return new Map([...found.keys()].sort().map((key) => [key, [...(found.get(key) ?? [])].sort()]))
}

/** ConfigMaps of the namespace of a workload that are read for its presence, beside those it names itself. */
const companions: readonly {readonly part: RegExp; readonly names: readonly string[]}[] = [
  {part: /kube-proxy/, names: ['kube-proxy']},
  {part: /cilium/, names: ['cilium-config', 'ip-masq-agent']},
  {part: /ip-masq-agent/, names: ['ip-masq-agent']},
  {part: /k8s-dns-|kube-dns/, names: ['kube-dns']},
  {part: /node-cache|node-local-dns/, names: ['node-local-dns']},
  {part: /coredns/, names: ['coredns', 'coredns-custom']},
  {part: /istio\/pilot|istiod|proxyv2/, names: ['istio']},
  {part: /calico|tigera/, names: ['calico-config']},
  {part: /antrea/, names: ['antrea-config']},
]

/** Certificates of the cluster, in every namespace and of no use here. */
const publicCertificates = new Set(['kube-root-ca.crt', 'openshift-service-ca.crt', 'istio-ca-root-cert'])

/**
 * Names of the ConfigMaps to read, `NAMESPACE/NAME`, sorted: those that arguments of pods and workloads name, those that
 * known parts mount or take variables from, and the usual ones beside a known part.
 * @param all also the usual ones of kube-system where nothing tells which parts there are (workloads could not be read)
 */
export function configMapNames(objects: readonly KubeObject[], all: boolean): string[] {
  const names = new Set<string>(['kube-system/coredns', 'kube-system/coredns-custom'])
  if (all) for (const name of companions.flatMap((row) => row.names)) names.add(`kube-system/${name}`)
  for (const object of objects) {
    const namespace = object.metadata.namespace ?? 'default'
    const spec = podSpecOf(object)
    const containers = list(field(spec, 'containers')).map(record)
    const known = containers.filter(
      (one) => isKnownImage(text(field(one, 'image')) ?? '') || texts(field(one, 'args')).includes('-conf'),
    )
    for (const container of containers) for (const name of namedInArguments(container, namespace)) names.add(name)
    for (const container of known) for (const name of takenIn(container, spec)) names.add(`${namespace}/${name}`)
    const parts = [object.metadata.name, ...known.map((one) => text(field(one, 'image')) ?? '')].join(' ')
    for (const {part, names: usual} of companions)
      if (known.length > 0 && part.test(parts)) for (const name of usual) names.add(`${namespace}/${name}`)
  }
  return [...names].filter((name) => isObjectName(name)).sort()
}

function podSpecOf(object: KubeObject): Readonly<Record<string, unknown>> {
  const spec = record(field(object, 'spec'))
  return object.kind === 'Pod' ? spec : record(field(record(field(spec, 'template')), 'spec'))
}

/** `--configmap=NS/NAME`, `-nginx-configmaps NS/NAME`, `--tcp-services-configmap=$(POD_NAMESPACE)/NAME` and their like. */
function namedInArguments(container: Readonly<Record<string, unknown>>, namespace: string): string[] {
  const words = [...texts(field(container, 'command')), ...texts(field(container, 'args'))]
  return words.flatMap((word, index) => {
    const match = /^--?[\w-]*config-?maps?(?:=(.*))?$/i.exec(word)
    if (match === null) return []
    const value = (match[1] ?? words[index + 1] ?? '').replace(/^\$\([A-Z_]*NAMESPACE\)(?=\/)/, namespace)
    if (value === '' || value.startsWith('-')) return []
    return [value.includes('/') ? value : `${namespace}/${value}`]
  })
}

/** ConfigMaps that a container mounts or takes variables from. */
function takenIn(container: Readonly<Record<string, unknown>>, spec: Readonly<Record<string, unknown>>): string[] {
  const mounted = new Set(list(field(container, 'volumeMounts')).map((mount) => text(field(record(mount), 'name'))))
  const volumes = list(field(spec, 'volumes'))
    .map(record)
    .filter((volume) => mounted.has(text(field(volume, 'name'))))
    .flatMap((volume) => [volume, ...list(field(record(field(volume, 'projected')), 'sources')).map(record)])
    .map((source) => text(field(record(field(source, 'configMap')), 'name')))
  const variables = [
    ...list(field(container, 'env')).map((one) => field(record(field(record(one), 'valueFrom')), 'configMapKeyRef')),
    ...list(field(container, 'envFrom')).map((one) => field(record(one), 'configMapRef')),
  ].map((reference) => text(field(record(reference), 'name')))
  return [...volumes, ...variables].filter(
    (name): name is string => name !== undefined && !publicCertificates.has(name),
  )
}

function isObjectName(name: string): boolean {
  return /^[a-z0-9][a-z0-9-]*\/[a-z0-9][a-z0-9.-]*$/.test(name)
}
