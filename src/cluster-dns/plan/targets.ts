import {sameLine, type ParsedCorefile, type ServerBlock} from '../../../plugins/coredns/src/index.ts'
import type {CorednsTarget} from '../../model/coredns-plan.ts'
import type {ServiceView} from '../../platforms/dns/objects.ts'
import type {RefusalCode} from './refusals.ts'

/** Reverse zones that stand on a `kubernetes` line beside the cluster domain. */
const reverse = /(?:^|\.)(?:in-addr|ip6)\.arpa\.?$/i

/**
 * Cluster domain from the `kubernetes` lines (never from the caller's resolv.conf): the first zone that is no reverse zone, of a
 * block that serves the root zone if there is one. Undefined when no block has such a line.
 */
export function clusterDomainOf(parsed: ParsedCorefile): string | undefined {
  const blocks = [...parsed.blocks].sort((left, right) => Number(servesRoot(right)) - Number(servesRoot(left)))
  for (const block of blocks) {
    const zone = kubernetesZones(block).find((name) => !reverse.test(name) && name !== '.')
    if (zone !== undefined) return zone.toLowerCase().replace(/\.$/, '')
  }
  return undefined
}

/** Zones on the block's `kubernetes` line; none there means the block's own. */
function kubernetesZones(block: ServerBlock): string[] {
  const tokens = block.tokens.get('kubernetes')
  const first = tokens?.[0]
  if (tokens === undefined || first === undefined) return []
  const zones: string[] = []
  for (let at = 1, before = first; at < tokens.length; at++) {
    const token = tokens[at]
    if (token === undefined || token.text === '{' || !sameLine(before, token)) break
    zones.push(token.text)
    before = token
  }
  return zones.length > 0 ? zones : block.keys.map((key) => key.replace(/^[a-z0-9]+:\/\//, '').replace(/:\d+$/, ''))
}

function servesRoot(block: ServerBlock): boolean {
  return block.keys.some((key) => /^(?:dns:\/\/)?\.(?::\d+)?$/.test(key))
}

/** A label or a dotted name of labels, as Kubernetes allows for Services and namespaces, or as an FQDN. */
const serviceLabel = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/
const dottedName = /^(?:[a-z0-9_](?:[-a-z0-9_]{0,61}[a-z0-9_])?\.)+[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/

export interface ReadTarget {
  /** As given. */
  readonly name: string
  /** Lower case, final dot; undefined: not to be read as a target. */
  readonly fqdn: string | undefined
  /** `NAMESPACE/NAME` where it names a Service of this cluster. */
  readonly service: string | undefined
}

/** Reads `NAMESPACE/NAME` or an FQDN; an FQDN below the cluster's `svc` names a Service too. */
export function readTarget(name: string, clusterDomain: string): ReadTarget {
  const parts = name.split('/')
  if (parts.length === 2) {
    const [namespace = '', service = ''] = parts
    const fit = serviceLabel.test(namespace) && serviceLabel.test(service)
    return {
      name,
      fqdn: fit ? `${service}.${namespace}.svc.${clusterDomain}.` : undefined,
      service: fit ? name : undefined,
    }
  }
  const bare = name.toLowerCase().replace(/\.$/, '')
  if (parts.length > 2 || !dottedName.test(bare)) return {name, fqdn: undefined, service: undefined}
  const [service = '', namespace = '', svc, ...zone] = bare.split('.')
  const ours = svc === 'svc' && zone.join('.') === clusterDomain
  return {name, fqdn: `${bare}.`, service: ours ? `${namespace}/${service}` : undefined}
}

/** A target that hosts may be pointed at, or the reason why not. */
export type CheckedTarget =
  | {readonly target: CorednsTarget; readonly refusal?: undefined}
  | {
      readonly target?: undefined
      readonly refusal: {readonly code: RefusalCode; readonly reason: string; readonly remedy: string}
    }

/**
 * Checks one target against the Services that were read. Without a cluster (`services` undefined) any well-formed one passes,
 * unchecked. The Service must exist before the rule does: an early NXDOMAIN stays in caches (corefile.md 9).
 */
export function checkTarget(
  read: ReadTarget,
  services: ReadonlyMap<string, ServiceView | undefined> | undefined,
): CheckedTarget {
  if (read.fqdn === undefined) {
    return {
      refusal: {
        code: 'TargetInvalid',
        reason: `target ${JSON.stringify(read.name)} is not NAMESPACE/NAME of a Service`,
        remedy: '--target NAMESPACE/NAME',
      },
    }
  }
  const unchecked = {name: read.name, fqdn: read.fqdn, checked: false, addresses: []}
  if (services === undefined) return {target: unchecked}
  if (read.service === undefined) {
    return {
      refusal: {
        code: 'TargetInvalid',
        reason: `target ${read.name} is no Service of this cluster`,
        remedy: 'name the proxy Service: --target NAMESPACE/NAME',
      },
    }
  }
  const service = services.get(read.service)
  const [namespace = '', name = ''] = read.service.split('/')
  const look = `kubectl -n ${namespace} get service ${name}`
  if (service === undefined) {
    return {
      refusal: {
        code: 'TargetNotFound',
        reason: `service/${read.service} does not exist`,
        remedy: `install the proxy, or name its Service: --target NAMESPACE/NAME (${look})`,
      },
    }
  }
  if (service.type === 'ExternalName') {
    return {
      refusal: {
        code: 'TargetExternalName',
        reason: `service/${read.service} is an ExternalName (${service.externalName ?? ''}) and has no address of its own`,
        remedy: 'point --target at the proxy Service itself',
      },
    }
  }
  if (service.clusterIPs.length === 0) {
    return {
      refusal: {
        code: 'TargetNoClusterIP',
        reason: service.headless
          ? `service/${read.service} is headless: without ready endpoints it has no address`
          : `service/${read.service} has no ClusterIP`,
        remedy: 'give the proxy a Service of type ClusterIP',
      },
    }
  }
  return {target: {...unchecked, checked: true, addresses: service.clusterIPs}}
}
