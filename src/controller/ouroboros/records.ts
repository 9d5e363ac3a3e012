import {createHash} from 'node:crypto'
import {isIPv4} from 'node:net'
import type {KubeObject} from '../../model/kubernetes.ts'

/** How ouroboros hands names to ExternalDNS: one object for each name. */
export interface RecordSettings {
  readonly output: 'crd' | 'service'
  readonly namespace: string
  readonly instance: string
  readonly ttl: number
  readonly annotationPrefix: string
  readonly annotations: Readonly<Record<string, string>>
  readonly labels: Readonly<Record<string, string>>
}

const managedByLabel = 'app.kubernetes.io/managed-by'
const instanceLabel = 'ouroboros.lexfrei.tech/instance'
const sourceAnnotation = 'ouroboros.lexfrei.tech/source'
/** Longest name of an object (RFC 1123 subdomain). */
const longestName = 253

/** Selects the records of one release and of nobody else. */
export function recordSelector(instance: string): string {
  return `${managedByLabel}=ouroboros,${instanceLabel}=${instance}`
}

/**
 * The objects for one name, as ouroboros v0.8 writes them (internal/externaldns/endpoint.go, service.go): for `crd` one DNSEndpoint for each
 * family of addresses, for `service` one headless Service with annotations. Same names and labels, so either tool goes on with the other's.
 */
export function recordsFor(host: string, addresses: readonly string[], settings: RecordSettings): KubeObject[] {
  const v4 = addresses.filter((address) => isIPv4(address))
  const v6 = addresses.filter((address) => !isIPv4(address))
  const labels = {...settings.labels, [managedByLabel]: 'ouroboros', [instanceLabel]: settings.instance}
  const annotations = {...settings.annotations, [sourceAnnotation]: 'controller'}
  const metadata = (suffix: string, more: Readonly<Record<string, string>> = {}) => ({
    name: recordName(host, suffix),
    namespace: settings.namespace,
    labels,
    annotations: {...annotations, ...more},
  })
  if (settings.output === 'service') {
    const prefix = settings.annotationPrefix
    const own = {
      [`${prefix}hostname`]: host,
      [`${prefix}target`]: [...v4, ...v6].join(','),
      [`${prefix}ttl`]: String(settings.ttl),
    }
    const spec = {type: 'ClusterIP', clusterIP: 'None'}
    return addresses.length === 0 ? [] : [{apiVersion: 'v1', kind: 'Service', metadata: metadata('', own), spec}]
  }
  const isBoth = v4.length > 0 && v6.length > 0
  const families = [
    {recordType: 'A', targets: v4, suffix: isBoth ? '-v4' : ''},
    {recordType: 'AAAA', targets: v6, suffix: isBoth ? '-v6' : ''},
  ]
  return families
    .filter(({targets}) => targets.length > 0)
    .map(({recordType, targets, suffix}) => ({
      apiVersion: 'externaldns.k8s.io/v1alpha1',
      kind: 'DNSEndpoint',
      metadata: metadata(suffix),
      spec: {endpoints: [{dnsName: host, recordType, recordTTL: settings.ttl, targets}]},
    }))
}

/** `ouroboros-shop-example-org`, cut and told apart by eight digits of SHA-256 where it would be too long. */
export function recordName(host: string, suffix: string): string {
  const prefix = 'ouroboros-'
  const plain = host.replaceAll(/[._]/g, '-')
  const name = `${prefix}${plain}${suffix}`
  if (name.length <= longestName) return name
  const hash = createHash('sha256').update(`${host}${suffix}`).digest('hex').slice(0, 8)
  const tail = `-${hash}${suffix}`
  return `${prefix}${plain.slice(0, longestName - prefix.length - tail.length)}${tail}`
}

/** The name that such an object publishes; undefined for an object of another shape. */
export function nameInRecord(
  object: KubeObject,
  settings: Pick<RecordSettings, 'output' | 'annotationPrefix'>,
): string | undefined {
  if (settings.output === 'service') return object.metadata.annotations?.[`${settings.annotationPrefix}hostname`]
  const {endpoints} = (object['spec'] ?? {}) as {endpoints?: readonly {dnsName?: unknown}[]}
  const name = Array.isArray(endpoints) ? endpoints[0]?.dnsName : undefined
  return typeof name === 'string' ? name : undefined
}

/** Whether the live object says all that the wanted one says, in the part that is ours. */
export function recordStands(live: KubeObject, wanted: KubeObject): boolean {
  const part = ({metadata, spec}: KubeObject & {readonly spec?: unknown}): string =>
    JSON.stringify([
      sorted(metadata.labels),
      sorted(metadata.annotations),
      wanted.kind === 'Service' ? undefined : endpointsOf(spec),
    ])
  return part(live) === part(wanted)
}

function endpointsOf(spec: unknown): unknown {
  const {endpoints} = (spec ?? {}) as {endpoints?: unknown}
  return (Array.isArray(endpoints) ? (endpoints as Readonly<Record<string, unknown>>[]) : []).map((entry) => [
    entry['dnsName'],
    entry['recordType'],
    entry['recordTTL'],
    entry['targets'],
  ])
}

function sorted(pairs: Readonly<Record<string, string>> | undefined): [string, string][] {
  return Object.entries(pairs ?? {}).sort(([a], [b]) => (a < b ? -1 : 1))
}
