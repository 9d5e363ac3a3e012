import type {Remedy} from '../../model/doctor.ts'
import {advice} from '../checks/check.ts'
import type {JudgedWay} from '../judged-way.ts'
import type {WayFacts} from '../path/facts.ts'
import {controllerWrites, shortCircuits} from '../path/short-circuit.ts'
import {ask, forOutside, proxy} from './for-outside.ts'

/** What lets pods call the public name: cheapest first. The cloud's own ways come before a proxy and DNS. */
export function forHairpin(way: JudgedWay): Remedy[] {
  const {facts, hairpin} = way
  if (hairpin.cause === 'self-call')
    return hairpin.verdict === 'depends'
      ? ask(hairpin.check)
      : [{...proxy(facts), why: 'PROXY with preserve_client_ip off: source and destination differ again'}]
  if (hairpin.verdict === 'depends' || hairpin.verdict === 'unknown') return ask(hairpin.check)
  if (hairpin.cause === 'dns-fix-partial') return proxyAndDns(way)
  if (hairpin.cause !== undefined && hairpin.cause !== 'short-circuit') return forOutside({...way, outside: hairpin})
  return [...ofThePlatform(facts), ...tolerant(facts), ...proxyAndDns(way)]
}

function ofThePlatform(facts: WayFacts): Remedy[] {
  const {row} = facts.balancer
  if (row === undefined || row.place !== 'cloud' || facts.door !== 'balancer') return []
  // addresses of externalIPs have no ipMode, and no status to leave
  const left = shortCircuits(facts).filter(({taken}) => taken !== false)
  if (left.length > 0 && left.every(({entry}) => entry.external === true)) return []
  const honours = facts.cluster.plane.honoursIpMode.value !== false
  return honours ? [...ipMode(facts), ...hostname(facts)] : [...hostname(facts), ...dataPlane(facts)]
}

/** Only by the cloud controller: an announced address must never get it, and a hand-set one is written over. */
function ipMode(facts: WayFacts): Remedy[] {
  const {row, controller} = facts.balancer
  if (row === undefined) return []
  const shape = row.status.on.value
  if (row.ipMode !== undefined)
    return [
      advice(
        'ipMode',
        1,
        `annotation ${row.ipMode.value}: Proxy${shape.onlyIfAllPorts === true ? ', or PROXY on every port of the Service' : ''}`,
        'the service proxy then leaves the address alone',
      ),
    ]
  if (shape.ipMode !== 'Proxy') return []
  const old = controllerWrites(shape.since, controller?.version) === false
  return [
    advice(
      'ipMode',
      1,
      old || shape.since === undefined
        ? `upgrade the cloud controller to v${shape.since ?? ''} or later: it sets ipMode Proxy by itself`
        : `let the cloud controller set ipMode Proxy on every address: v${shape.since} or later, PROXY switched by the annotation of the Service`,
      'the service proxy then leaves the address alone',
    ),
  ]
}

function hostname(facts: WayFacts): Remedy[] {
  const {row} = facts.balancer
  if (row?.hostname === undefined) return []
  return [
    advice(
      'hostname-annotation',
      1,
      `annotation ${row.hostname.value}, with a name that resolves to the balancer`,
      'a status with a host name alone is never short-circuited; public names and external-dns must then lead to that host',
    ),
  ]
}

function dataPlane(facts: WayFacts): Remedy[] {
  const {plane} = facts.cluster
  const since = plane.row?.honoursIpMode.value
  if (since === undefined || typeof since === 'string') return []
  const upgrade = advice(
    'cni-upgrade',
    2,
    `upgrade ${plane.row?.title ?? 'the service proxy'} to v${since.from} or later${since.except === undefined ? '' : ` (not ${since.except.join(', ')})`}`,
    'it then honours ipMode Proxy, which stands in the status already',
  )
  return plane.proxy === 'kube-router'
    ? [
        upgrade,
        advice(
          'cni-annotation',
          1,
          'annotation kube-router.io/service.skiplbips on the Service',
          'it then leaves the balancer addresses alone',
        ),
      ]
    : [upgrade]
}

function tolerant(facts: WayFacts): Remedy[] {
  if (facts.receiver.row?.id !== 'envoy-gateway') return []
  return [
    advice(
      'tolerant-receiver',
      2,
      'ClientTrafficPolicy spec.proxyProtocol.optional: true (from v1.5.0), with a fence around the port: NetworkPolicy or loadBalancerSourceRanges',
      'callers without a header are taken; whoever reaches the port could claim an address',
    ),
  ]
}

/** Cluster DNS that cannot be made to rewrite a name: kube-dns, Cloud DNS, owners that put everything back at once. */
function cannotRewrite({dns, index}: WayFacts['cluster']): boolean {
  if (dns.location === undefined) {
    const nothing =
      dns.problem?.startsWith('no DNS Service was found') === true && index.state('Service') === 'complete'
    return nothing || dns.problem?.includes('is kube-dns') === true
  }
  return ['openshift', 'kamaji', 'kamaji-owner'].includes(dns.location.owner?.id ?? '')
}

/** Last, since it is a new part to run. */
function proxyAndDns(way: JudgedWay): Remedy[] {
  const {cluster} = way.facts
  const second = advice(
    'second-listener',
    3,
    'a second Service and listener without PROXY for calls from inside, and names that lead pods there',
    'no proxy, but a second set of ports to keep',
  )
  const split = advice(
    'split-dns',
    3,
    'a zone outside of the cluster (private zone of the cloud, stub domain to an own DNS server) that leads pods to an in-cluster proxy',
    cluster.dns.location?.owner?.instead ?? 'cluster DNS cannot rewrite names here',
  )
  if (cannotRewrite(cluster)) return [split, second]
  const dns = advice(
    'proxy-dns',
    3,
    'an in-cluster proxy that adds the header, and cluster DNS that leads to it: helm install srcip charts/srcip -n srcip --create-namespace -f values.yaml starts both',
    'works with any balancer',
  )
  if (!cluster.dns.bypassed) return [dns, second]
  return [
    {
      ...dns,
      why: `${cluster.dns.nodeLocal?.daemonSet ?? 'node-local-dns'} answers pods without asking CoreDNS: its template needs the hosts too`,
    },
    split,
    second,
  ]
}
