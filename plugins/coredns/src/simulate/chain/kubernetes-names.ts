import {atLeast} from '../../directives.ts'
import {readAddress} from '../../setup/go-values.ts'
import type {KubernetesStanza} from '../../setup/plugins/kubernetes.ts'
import {addressOfReverseName} from '../../setup/zone-arguments.ts'
import {labelsOf} from '../dns-name.ts'
import type {Run} from '../run.ts'
import {AnswerUnknown} from '../run.ts'
import type {Endpoint, LiveCluster, LiveService, ServicePort} from '../world.ts'

/** One thing a name stands for: an address or the name an ExternalName points to. */
export interface Found {
  readonly host: string
  readonly family: 4 | 6 | 'name'
  readonly port: number
  /** Full name of the Service or of its endpoint: the target of SRV records. */
  readonly owner: string
}

/** `missing` is CoreDNS' name error (NXDOMAIN, or on with fallthrough). */
export type Records = readonly Found[] | 'missing'

interface Parts {
  readonly kind: 'svc' | 'pod'
  readonly namespace?: string
  readonly service?: string
  readonly endpoint?: string
  readonly port?: string
  readonly protocol?: string
}

/**
 * In: a name (lower case) in one of the zones, the zone as the client spelled it (targets repeat that). Out: what the cluster has under it. Source: corefile.md 9,
 * plugin/kubernetes parse.go and kubernetes.go.
 */
export function recordsOf(
  stanza: KubernetesStanza,
  cluster: LiveCluster,
  run: Run,
  name: string,
  zone: string,
): Records {
  if (stanza.multicluster.includes(zone.toLowerCase())) throw new AnswerUnknown('multicluster zones are not modelled')
  const parts = partsOf(name, zone)
  if (parts === 'missing') return 'missing'
  if (parts === 'zone') return []
  if (/\.(in-addr|ip6)\.arpa\.$/.test(name)) return 'missing'
  const {namespace, service} = parts
  if (namespace === undefined) return []
  const exposed =
    cluster.namespaces.includes(namespace) && (stanza.namespaces.length === 0 || stanza.namespaces.includes(namespace))
  if (!exposed) return 'missing'
  if (service === undefined) return stanza.pods === 'disabled' && parts.kind === 'pod' ? 'missing' : []
  if (parts.kind === 'pod') return podRecords(stanza, cluster, namespace, service, zone)
  const live = cluster.services.find((candidate) => candidate.namespace === namespace && candidate.name === service)
  return live === undefined ? 'missing' : serviceRecords(stanza, run, live, parts, zone)
}

function partsOf(name: string, zone: string): Parts | 'missing' | 'zone' {
  const labels = labelsOf(name).slice(0, labelsOf(name).length - labelsOf(zone).length)
  const kind = labels.pop()
  if (kind === undefined) return 'zone'
  if (labels.length === 0 && (kind === 'svc' || kind === 'pod')) return 'zone'
  if (kind !== 'svc' && kind !== 'pod') return 'missing'
  const namespace = labels.pop() ?? ''
  const service = labels.pop()
  const base = {kind, namespace, ...(service === undefined ? {} : {service})} as const
  const [first, second] = labels
  if (first === undefined) return base
  if (second === undefined) return {...base, endpoint: first}
  // More labels: too long to be anything; NXDOMAIN.
  if (labels.length > 2) return 'missing'
  return {...base, port: first.replace(/^_/, ''), protocol: second.replace(/^_/, '')}
}

function podRecords(
  stanza: KubernetesStanza,
  cluster: LiveCluster,
  namespace: string,
  pod: string,
  zone: string,
): Records {
  if (stanza.pods === 'disabled') return 'missing'
  const four = pod.split('-').length === 4 && !pod.includes('--')
  const ip = pod.replaceAll('-', four ? '.' : ':')
  const address = readAddress(ip)
  if (stanza.pods === 'verified') {
    if (cluster.pods === undefined) throw new AnswerUnknown('the Pods of the cluster are not known here')
    if (!cluster.pods.some((live) => live.namespace === namespace && live.ip === ip)) return 'missing'
  }
  if (address === undefined) return 'missing'
  // Labels in front of a pod's name (up to two, as of an endpoint or a port) are read and forgotten.
  return [{host: address.text, family: address.family, port: 0, owner: `${pod}.${namespace}.pod.${zone}`}]
}

function serviceRecords(stanza: KubernetesStanza, run: Run, live: LiveService, parts: Parts, zone: string): Records {
  const owner = `${live.name}.${live.namespace}.svc.${zone}`
  const headless = live.type !== 'ExternalName' && (live.clusterIPs.length === 0 || live.clusterIPs[0] === 'None')
  if (stanza.ignoreEmpty && live.type !== 'ExternalName' && !headless && endpointsOf(live).length === 0)
    return 'missing'
  if (live.type === 'ExternalName') {
    if (parts.endpoint !== undefined || parts.port !== undefined) return 'missing'
    const host = live.externalName ?? ''
    // An address as externalName is no name to point to: as if the Service were not there.
    return readAddress(host) === undefined ? [{host, family: 'name', port: 0, owner}] : 'missing'
  }
  if (headless || parts.endpoint !== undefined) return endpointRecords(stanza, run, live, parts, owner)
  const found: Found[] = []
  let hit = false
  for (const port of portsOf(live.ports)) {
    if (!portFits(parts, port)) continue
    hit = true
    for (const ip of live.clusterIPs) {
      const address = readAddress(ip)
      if (address !== undefined) found.push({host: address.text, family: address.family, port: port.port, owner})
    }
  }
  return hit ? found : 'missing'
}

/** A Service without ports counts as having one nameless port. */
function portsOf(ports: readonly ServicePort[]): readonly ServicePort[] {
  return ports.length === 0 ? [{protocol: 'TCP', port: -1}] : ports
}

function endpointsOf(live: LiveService): readonly Endpoint[] {
  if (live.endpoints === undefined) {
    throw new AnswerUnknown(`the endpoints of Service ${live.namespace}/${live.name} are not known here`)
  }
  return live.endpoints
}

function endpointRecords(stanza: KubernetesStanza, run: Run, live: LiveService, parts: Parts, owner: string): Records {
  const found: Found[] = []
  // Without the endpoint cache every such name is missing.
  for (const endpoint of stanza.endpointsCache ? endpointsOf(live) : []) {
    const label = endpointLabel(endpoint, stanza, run)
    if (parts.endpoint !== undefined && parts.endpoint !== label.toLowerCase()) continue
    const address = readAddress(endpoint.ip)
    if (address === undefined) continue
    for (const port of portsOf(endpoint.ports ?? live.ports)) {
      if (!portFits(parts, port)) continue
      found.push({host: address.text, family: address.family, port: port.port, owner: `${label}.${owner}`})
    }
  }
  return found.length === 0 ? 'missing' : found
}

function endpointLabel(endpoint: Endpoint, stanza: KubernetesStanza, run: Run): string {
  if (endpoint.hostname !== undefined && endpoint.hostname !== '') return endpoint.hostname
  if (stanza.endpointPodNames && endpoint.targetName !== undefined) return endpoint.targetName
  const dashed = endpoint.ip.replace(/[.:]/g, '-')
  return dashed.endsWith('-') && atLeast(run.version, '1.12.0') ? `${dashed}0` : dashed
}

function portFits(parts: Parts, port: ServicePort): boolean {
  const fits = (asked: string | undefined, have: string) =>
    asked === undefined || asked.toLowerCase() === have.toLowerCase()
  return fits(parts.port, port.name ?? '') && fits(parts.protocol, port.protocol)
}

/** In: a reverse name. Out: names of the Services or endpoints behind the address; undefined when the name is no full reverse name. */
export function namesOfAddress(
  stanza: KubernetesStanza,
  cluster: LiveCluster,
  run: Run,
  name: string,
): string[] | undefined {
  const ip = readAddress(addressOfReverseName(name) ?? '')?.text
  if (ip === undefined) return undefined
  const same = (other: string) => readAddress(other)?.text === ip
  const seen = cluster.services.filter(
    (live) => stanza.namespaces.length === 0 || stanza.namespaces.includes(live.namespace),
  )
  const service = seen.find((live) => live.clusterIPs.some(same))
  const full = (live: LiveService) => `${live.name}.${live.namespace}.svc.${stanza.clusterZone}`
  if (service !== undefined) return [full(service)]
  return seen.flatMap((live) =>
    (live.endpoints ?? [])
      .filter((endpoint) => same(endpoint.ip))
      .map((endpoint) => `${endpointLabel(endpoint, stanza, run)}.${full(live)}`),
  )
}
