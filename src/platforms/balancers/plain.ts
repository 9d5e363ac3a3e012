import type {Grade} from '../../model/doctor.ts'
import {record} from '../../model/fields.ts'
import type {KubeObject} from '../../model/kubernetes.ts'
import {attribute, digitalOceanType} from './sender.ts'
import type {BalancerRow} from './row.ts'

/** What the balancer does with the client's address when it writes no header. */
export interface PlainSource {
  readonly source: 'kept' | 'translated' | 'unknown'
  /** Connections go to the pods themselves: no node and no service proxy on the way. */
  readonly direct: boolean
  /** Lost for clients of the other address family. */
  readonly otherFamily: boolean
  /** A target that calls itself through it times out (source and destination are the same). */
  readonly selfCalls: 'work' | 'time out' | 'unknown' | 'not said'
  readonly how: string
  readonly grade: Grade
  readonly from: string
  readonly check?: string
}

/** Reads settings that the row calls `depends`. */
export function readPlain(row: BalancerRow, service: KubeObject, sendsProxy: boolean, protocol = 'TCP'): PlainSource {
  const {value, grade, source, check} = row.plain
  const base: PlainSource = {
    source: value === 'depends' ? 'unknown' : value,
    direct: false,
    otherFamily: false,
    selfCalls: 'work',
    how:
      value === 'kept'
        ? 'passes packets through'
        : value === 'translated'
          ? 'opens a connection of its own'
          : 'depends on a setting that is not seen',
    grade,
    from: source,
    ...(check === undefined ? {} : {check}),
  }
  if (row.id === 'aws-nlb' || row.id === 'aws-lbc') return networkLoadBalancer(row, service, sendsProxy, base, protocol)
  if (row.id === 'digitalocean') return digitalOcean(service, base)
  if (row.id === 'oracle') return oracle(service, base)
  if (row.id === 'k3s-servicelb')
    return {
      ...base,
      source: 'kept',
      how: 'its addresses are those of nodes, where the service proxy takes the packet first',
      grade: 'inferred',
    }
  return base
}

const aws = 'service.beta.kubernetes.io/aws-load-balancer-'

const targetGroups = 'https://docs.aws.amazon.com/elasticloadbalancing/latest/network/edit-target-group-attributes.html'

/** platforms.md 1.2: instance targets keep the address unless that is switched off, address targets the other way round. */
function networkLoadBalancer(
  row: BalancerRow,
  service: KubeObject,
  sendsProxy: boolean,
  base: PlainSource,
  protocol: string,
): PlainSource {
  const annotations = service.metadata.annotations ?? {}
  const direct =
    row.id === 'aws-lbc' && (annotations[`${aws}nlb-target-type`] === 'ip' || annotations[`${aws}type`] === 'nlb-ip')
  if (protocol !== 'TCP') {
    return {
      ...base,
      source: 'kept',
      direct,
      how: 'keeps the address of UDP clients, which cannot be changed',
      selfCalls: 'not said',
      grade: 'source',
      from: targetGroups,
    }
  }
  const set = attribute(annotations[`${aws}target-group-attributes`], 'preserve_client_ip.enabled')
  const kept = set === undefined ? !direct : set === 'true'
  const internal =
    annotations[`${aws}scheme`] === 'internal' ||
    (annotations[`${aws}scheme`] === undefined && (row.id === 'aws-lbc' || annotations[`${aws}internal`] === 'true'))
  return {
    source: kept ? 'kept' : 'translated',
    direct,
    otherFamily: kept && annotations[`${aws}ip-address-type`] === 'dualstack' && !sendsProxy,
    selfCalls: !kept ? 'work' : internal ? 'time out' : 'unknown',
    how: kept
      ? `has ${direct ? 'address' : 'instance'} targets with the client address preserved`
      : `has ${direct ? 'address' : 'instance'} targets with preserve_client_ip off`,
    // "works while off" is said of address targets; for instances it follows
    grade: kept || direct ? 'source' : 'inferred',
    from: targetGroups,
  }
}

function digitalOcean(service: KubeObject, base: PlainSource): PlainSource {
  switch (service.metadata.annotations?.[digitalOceanType]) {
    case 'REGIONAL':
      return {...base, source: 'translated', how: 'of type REGIONAL opens a connection of its own'}
    case 'REGIONAL_NETWORK':
      return {...base, source: 'kept', how: 'of type REGIONAL_NETWORK passes packets through'}
    default:
      return {
        ...base,
        how: 'the type is not stated; the default of the controller has changed',
        check: "the type of this balancer in the provider's console or API (REGIONAL or REGIONAL_NETWORK)",
      }
  }
}

/** Oracle: its network balancer keeps the source where asked to, and ignores that under policy Cluster. */
function oracle(service: KubeObject, base: PlainSource): PlainSource {
  const annotations = service.metadata.annotations ?? {}
  const network = annotations['oci.oraclecloud.com/load-balancer-type'] === 'nlb'
  if (!network) return base
  const asked = annotations['oci-network-load-balancer.oraclecloud.com/is-preserve-source'] === 'true'
  const local = record(service['spec'])['externalTrafficPolicy'] === 'Local'
  if (asked && local) return {...base, source: 'kept', how: 'keeps the source (is-preserve-source)'}
  if (asked)
    return {...base, source: 'translated', how: 'ignores is-preserve-source under policy Cluster', grade: 'inferred'}
  return base
}
