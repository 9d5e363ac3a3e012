import {componentLabel} from '../model/dns.ts'
import type {KubeObject} from '../model/kubernetes.ts'
import {compareText} from '../hosts/index.ts'
import type {Published} from './names-guard.ts'
import {keyOf} from './names-guard.ts'
import type {AddressedName} from './targets.ts'

/** How names are handed to ExternalDNS. */
export interface ExternalDnsSettings {
  /** A DNSEndpoint (source `crd`), or an annotated headless Service (source `service`). */
  readonly as: 'endpoint' | 'service'
  readonly namespace: string
  readonly name: string
  /** Seconds; undefined: what ExternalDNS defaults to. */
  readonly ttl: number | undefined
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

/** All annotations of an object together may hold this many bytes (apimachinery TotalAnnotationSizeLimitB). */
export const annotationLimit = 262_144
const prefix = 'external-dns.alpha.kubernetes.io'
/** Which proxy each name belongs to, for the process that comes after us. */
const targetsAnnotation = 'srcip.dev/targets'

/** The object that ExternalDNS reads. */
export function externalDnsObject(settings: ExternalDnsSettings, names: readonly AddressedName[]): KubeObject {
  const sorted = names.toSorted((a, b) => compareText(keyOf(a), keyOf(b)))
  return settings.as === 'endpoint' ? endpointObject(settings, sorted) : serviceObject(settings, sorted)
}

function metadataOf(settings: ExternalDnsSettings, annotations: Readonly<Record<string, string>>) {
  return {
    name: settings.name,
    namespace: settings.namespace,
    labels: {...settings.labels, [componentLabel]: 'controller'},
    annotations: {...settings.annotations, ...annotations},
  }
}

function endpointObject(settings: ExternalDnsSettings, names: readonly AddressedName[]): KubeObject {
  const endpoints = names.flatMap((entry) =>
    (['A', 'AAAA'] as const).flatMap((recordType) => {
      const targets = entry.addresses.filter((address) => address.includes(':') === (recordType === 'AAAA'))
      if (targets.length === 0) return []
      const ttl = settings.ttl === undefined ? {} : {recordTTL: settings.ttl}
      return [
        {
          dnsName: entry.name,
          recordType,
          targets,
          ...ttl,
          labels: {'srcip.dev/target': entry.target, 'srcip.dev/kind': entry.kind},
        },
      ]
    }),
  )
  return {
    apiVersion: 'externaldns.k8s.io/v1alpha1',
    kind: 'DNSEndpoint',
    metadata: metadataOf(settings, {}),
    spec: {endpoints},
  }
}

/** One Service publishes all names with the same addresses; ExternalDNS has no way to say more in annotations. */
function serviceObject(settings: ExternalDnsSettings, names: readonly AddressedName[]): KubeObject {
  const addresses = [...new Set(names.flatMap((entry) => entry.addresses))]
  const targets = [...new Set(names.map((entry) => entry.target))]
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: metadataOf(settings, {
      [`${prefix}/hostname`]: names.map((entry) => entry.name).join(','),
      [`${prefix}/target`]: addresses.join(','),
      ...(settings.ttl === undefined ? {} : {[`${prefix}/ttl`]: String(settings.ttl)}),
      [targetsAnnotation]: targets.join(','),
    }),
    spec: {clusterIP: 'None', ports: [{name: 'none', port: 1, protocol: 'TCP'}]},
  }
}

/** Names that such an object publishes. */
export function publishedInObject(settings: ExternalDnsSettings, object: KubeObject | undefined): Published[] {
  if (object === undefined) return []
  const found = new Map<string, Published>()
  const add = (name: unknown, target: unknown, given?: unknown): void => {
    if (typeof name !== 'string' || name === '' || typeof target !== 'string') return
    // A record `*.x` takes any depth (RFC 4592), whatever was asked for; the kind only tells one wish from another.
    const wild = given === 'wildcard-one-label' ? given : 'wildcard-any-depth'
    const kind = name.startsWith('*.') ? wild : 'exact'
    found.set(`${kind} ${name}`, {name, kind, target})
  }
  if (settings.as === 'service') {
    const annotations = object.metadata.annotations ?? {}
    const [target = ''] = (annotations[targetsAnnotation] ?? '').split(',')
    for (const name of (annotations[`${prefix}/hostname`] ?? '').split(',')) add(name, target)
    return [...found.values()]
  }
  const spec = (object['spec'] ?? {}) as {endpoints?: unknown}
  for (const entry of Array.isArray(spec.endpoints) ? (spec.endpoints as unknown[]) : []) {
    const {dnsName, labels} = (entry ?? {}) as {dnsName?: unknown; labels?: Record<string, unknown>}
    add(dnsName, labels?.['srcip.dev/target'], labels?.['srcip.dev/kind'])
  }
  return [...found.values()]
}

/** The part of an object that is ours, for telling whether it changes. */
export function ownPart(object: KubeObject | undefined): string {
  if (object === undefined) return ''
  const {labels, annotations} = object.metadata
  const spec = object.kind === 'Service' ? undefined : object['spec']
  return JSON.stringify([sortedPairs(labels), sortedPairs(annotations), spec])
}

function sortedPairs(pairs: Readonly<Record<string, string>> | undefined): [string, string][] {
  return Object.entries(pairs ?? {}).sort(([a], [b]) => compareText(a, b))
}
