import type {Finding, Remedy, WayIn} from '../../model/doctor.ts'
import {field, record, text} from '../../model/fields.ts'
import type {SnapshotIndex} from '../../model/snapshot.ts'
import {advice, command} from '../checks/check.ts'
import {secondController} from '../remedies/for-outside.ts'
import type {LogClass} from './judge-log.ts'

/** What the cluster says about a Service through which the logged requests may have come. */
export interface LoggedWay {
  readonly namespace: string
  readonly service: string
  readonly policy: string
  readonly balancer: string | undefined
}

/** Which hop wrote an address of the cluster where the client's should stand, and what to do about it. */
export interface HiddenCause {
  readonly cause: string
  readonly remedies: readonly Remedy[]
}

/** The Services of a report, each once. */
export function loggedWays(ways: readonly WayIn[], index: SnapshotIndex): LoggedWay[] {
  const services = new Map(ways.map((way) => [`${way.namespace}/${way.service}`, way]))
  return [...services.values()].map(({namespace, service, platform}) => {
    const spec = record(index.get('Service', namespace, service, '')?.['spec'])
    return {
      namespace,
      service,
      policy: text(field(spec, 'externalTrafficPolicy')) ?? 'Cluster',
      balancer: platform.balancer,
    }
  })
}

/** Services that one cause names; a cluster may have thousands. */
const named = 3

/**
 * Causes of a kind of address in a log, as far as the Services tell; never empty for a kind that hides the client, always empty for
 * others (platforms.md 1.3 and 3.1). `findings` are those of the same report.
 */
export function hiddenCauses(
  name: LogClass,
  ways: readonly LoggedWay[],
  findings: readonly Finding[] = [],
): HiddenCause[] {
  switch (name) {
    case 'passthrough-loopback':
      return [loopback(findings)]
    case 'balancer-address':
      return [balancer()]
    case 'node-address':
    case 'pod-range-gateway':
      return byService(ways)
    default:
      return []
  }
}

function byService(ways: readonly LoggedWay[]): HiddenCause[] {
  const cluster = ways.filter(({policy}) => policy !== 'Local')
  const local = ways.filter(({policy}) => policy === 'Local')
  const svclb = local.filter(({balancer: id}) => id === 'k3s-servicelb')
  const others = local.filter(({balancer: id}) => id !== 'k3s-servicelb')
  const causes = [
    ...(cluster.length > 0 ? [sourceTranslated(cluster)] : []),
    ...(svclb.length > 0 ? [throughSvclb(svclb)] : []),
    ...(others.length > 0 ? [masqueraded(others)] : []),
  ]
  return causes.length > 0 ? causes : [notRead]
}

function sourceTranslated(ways: readonly LoggedWay[]): HiddenCause {
  return {
    cause: `externalTrafficPolicy Cluster of ${list(ways)}: kube-proxy, or what stands for it, replaces the source on the node (SNAT), as it must`,
    remedies: ways
      .slice(0, named)
      .map(({namespace, service}) =>
        command(
          'externalTrafficPolicy-local',
          1,
          `kubectl patch -n ${namespace} service ${service} -p '{"spec":{"externalTrafficPolicy":"Local"}}'`,
          'one field; only nodes with a pod answer then',
        ),
      ),
  }
}

function throughSvclb(ways: readonly LoggedWay[]): HiddenCause {
  return {
    cause: `${list(ways)} has externalTrafficPolicy Local on servicelb of k3s: the client came through a node without an endpoint, and the svclb pod there sent it on as itself`,
    remedies: [
      advice(
        'pod-on-each-node',
        1,
        'pin the pool or the pods: label the nodes that have a pod svccontroller.k3s.cattle.io/enablelb=true, or run a pod on every node (DaemonSet), and let names point at these nodes only',
        'a node with an endpoint of its own keeps the source',
      ),
    ],
  }
}

function masqueraded(ways: readonly LoggedWay[]): HiddenCause {
  return {
    cause: `externalTrafficPolicy Local of ${list(ways)} keeps the source, so a masquerade rule of the CNI or of the node replaces it`,
    remedies: [
      advice(
        'look',
        1,
        'on the node with the pod: iptables -t nat -S | grep -i masq (or nft list ruleset): a MASQUERADE that also takes packets from outside to the pod range, as old rules of Canal and Flannel (FLANNEL-POSTRTG, ip-masq) do',
        'the rule that counts packets while a client calls is the one; a newer CNI or its masquerade setting takes it out',
      ),
    ],
  }
}

const notRead: HiddenCause = {
  cause:
    'a node replaced the source: by externalTrafficPolicy Cluster (SNAT of kube-proxy), or by a masquerade rule of the CNI where the policy is Local',
  remedies: [
    advice(
      'ask',
      0,
      'kubectl get services -A -o custom-columns=NS:.metadata.namespace,NAME:.metadata.name,POLICY:.spec.externalTrafficPolicy tells which; then the field of that Service is the cheapest remedy',
      'no Service that leads to this ingress was read',
    ),
  ],
}

function balancer(): HiddenCause {
  return {
    cause: 'the balancer opens connections of its own to the nodes and sends no PROXY header',
    remedies: [
      advice(
        'proxy-protocol',
        2,
        'switch PROXY on at the balancer and at the receiver; kubectl srcip doctor --for enable tells first what that breaks',
        'a header carries the address past every translation',
      ),
    ],
  }
}

function loopback(findings: readonly Finding[]): HiddenCause {
  const seen = findings.find(({id}) => id === 'SRC025')
  const loop = 'the TLS passthrough listener of the controller (--enable-ssl-passthrough) hands connections to itself'
  return {
    cause:
      seen === undefined
        ? `not SNAT, no hop of the network does this: a listener on the same machine hands the connection on, with ingress-nginx ${loop}`
        : `not SNAT, no hop of the network does this: ${loop} (${seen.object})`,
    remedies: seen === undefined || seen.remedies.length === 0 ? [secondController()] : seen.remedies,
  }
}

function list(ways: readonly LoggedWay[]): string {
  const shown = ways.slice(0, named).map(({namespace, service}) => `service/${namespace}/${service}`)
  return `${shown.join(', ')}${ways.length > named ? ` and ${ways.length - named} more` : ''}`
}
