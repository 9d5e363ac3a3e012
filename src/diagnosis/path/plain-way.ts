import {shared} from '../../platforms/sources.ts'
import {outerCheck, type WayFacts} from './facts.ts'
import {isListed, outsidePeers} from './peers.ts'
import {judge, type Ground, type Judgement} from './verdict.ts'

const look = "a request from a known address, and the address in the receiver's log"

/** What arrives where nothing carries the address: each hop that translates loses it (platforms.md 1, 3.1, 3.3). */
export function plainWay(facts: WayFacts, before: readonly Ground[] = []): Judgement {
  const atBalancer = balancerHop(facts)
  const atNode = nodeHop(facts)
  const grounds = [...before.filter((ground) => ground.grade !== 'unconfirmed')]
  if (facts.balancer.contradiction.length > 0 && atNode.loses !== 'always') {
    return judge(
      'depends',
      'unknown',
      `which balancer this is is told differently: ${facts.balancer.contradiction.join(', ')}`,
      [{grade: 'source', source: shared.unread}],
      'kubectl describe service: which controller writes its events',
    )
  }
  const byHeader = inForwardedHeader(facts, grounds)
  if (byHeader !== undefined) return byHeader
  if (atBalancer.loses === 'always')
    return judge('broken', 'balancer', atBalancer.why, [...grounds, atBalancer.ground], atBalancer.check)
  if (atNode.loses === 'always') return judge('broken', 'service-proxy', atNode.why, [...grounds, atNode.ground])
  if (atNode.loses === 'sometimes')
    return judge('half-broken', 'service-proxy', atNode.why, [...grounds, atNode.ground])
  if (atBalancer.loses === 'unknown')
    return judge('depends', 'unknown', atBalancer.why, [...grounds, atBalancer.ground], atBalancer.check ?? look)
  if (atBalancer.loses === 'sometimes')
    return judge('half-broken', 'balancer', atBalancer.why, [...grounds, atBalancer.ground])
  if (atNode.loses === 'unknown')
    return judge('depends', 'unknown', atNode.why, [...grounds, atNode.ground], atNode.check ?? look)
  return judge('fine', 'none', atNode.why, [...grounds, atBalancer.ground, atNode.ground])
}

/** OpenStack: an HTTP listener that writes X-Forwarded-For before every translation, believed from the peers that are seen. */
function inForwardedHeader(facts: WayFacts, grounds: readonly Ground[]): Judgement | undefined {
  const {row} = facts.balancer
  const forwarded = facts.state?.forwarded
  if (row?.family !== 'openstack' || forwarded === undefined) return undefined
  if (facts.service.metadata.annotations?.['loadbalancer.openstack.org/x-forwarded-for'] !== 'true') return undefined
  // on a TLS port the balancer cannot write into what it passes on
  if (facts.port === 443 || facts.portName === 'https') return undefined
  const listed = isListed(forwarded, outsidePeers(facts))
  if (listed !== 'all') return undefined
  return judge(
    'fine',
    'none',
    `${row.title} writes X-Forwarded-For, and ${facts.receiver.row?.title ?? 'the receiver'} believes it from its peers`,
    [...grounds, {grade: 'inferred', source: row.proxy.source}],
  )
}

interface HopLoss {
  readonly loses: 'never' | 'sometimes' | 'always' | 'unknown'
  readonly why: string
  readonly ground: Ground
  readonly check?: string
}

/** The balancer without a header. */
export function balancerHop(facts: WayFacts): HopLoss {
  const {row} = facts.balancer
  if (facts.door === 'host-port')
    return {
      loses: 'unknown',
      why: 'whether clients reach the nodes themselves or through a proxy in front cannot be seen',
      ground: {grade: 'source', source: shared.virtualIps},
      check: outerCheck,
    }
  if (facts.door !== 'balancer' && row === undefined)
    return {
      loses: 'unknown',
      why: 'the node keeps the address; a proxy in front of it would show its own, and nothing in the cluster tells',
      ground: {grade: 'source', source: shared.virtualIps},
      check: `where the public name points (node or balancer), and ${look}`,
    }
  if (row === undefined || facts.plain === undefined)
    return {
      loses: 'unknown',
      why: 'which balancer stands in front cannot be told',
      ground: {grade: 'unconfirmed', source: shared.unread},
      check: look,
    }
  const {plain} = facts
  const ground: Ground = {grade: plain.grade, source: plain.from}
  const check = plain.check === undefined ? {} : {check: plain.check}
  if (plain.source === 'unknown') return {loses: 'unknown', why: `${row.title}: ${plain.how}`, ground, ...check}
  if (plain.source === 'translated') {
    // not confirmed, and the node does not hide it: nobody knows
    const certain = plain.grade !== 'unconfirmed' || nodeHop(facts).loses === 'always'
    return {
      loses: certain ? 'always' : 'unknown',
      why: `${row.title} ${plain.how} and shows its own address`,
      ground,
      ...check,
    }
  }
  if (plain.otherFamily)
    return {
      loses: 'sometimes',
      why: `${row.title}: clients of IPv6 reach targets of IPv4 as the balancer's own address`,
      ground,
    }
  return {loses: 'never', why: `${row.title} ${plain.how}`, ground, ...check}
}

/** The node: kube-proxy, or what replaces it. */
export function nodeHop(facts: WayFacts): HopLoss {
  const {plane} = facts.cluster
  const {receiver, source, policy} = facts
  const ground: Ground = {grade: source.grade, source: source.source}
  if (facts.plain?.direct === true)
    return {
      loses: 'never',
      why: 'connections go to the pods themselves, past every node',
      ground: {grade: 'source', source: facts.plain.from},
    }
  if (facts.door === 'host-port')
    return {
      loses: 'never',
      why: 'the receiver listens on the node itself',
      ground: {grade: 'source', source: shared.virtualIps},
    }
  if (receiver.row?.transparent !== undefined)
    return {
      loses: 'never',
      why: `${receiver.row.title} gets the source with either policy`,
      ground: {grade: receiver.row.transparent.grade, source: receiver.row.transparent.source},
    }
  if (policy === 'Local') return localPolicy(facts)
  if (source.value === undefined)
    return {
      loses: 'unknown',
      why: `whether ${plane.title} keeps the source depends on a setting that is not seen`,
      ground,
      ...(source.check === undefined ? {} : {check: source.check}),
    }
  if (source.value === 'kept')
    return {loses: 'never', why: `${plane.title} keeps the source with policy Cluster too`, ground}
  if (plane.proxy === 'cilium')
    return {
      loses: 'sometimes',
      why: `${plane.title} replaces the source whenever the pod is on another node than the one that got the packet`,
      ground,
    }
  return {
    loses: 'always',
    why: `${plane.title} replaces the source by the address of the node (externalTrafficPolicy Cluster)`,
    ground,
  }
}

function localPolicy(facts: WayFacts): HopLoss {
  const {row} = facts.balancer
  const ground: Ground = {grade: 'source', source: shared.virtualIps}
  const kept: HopLoss = {loses: 'never', why: 'externalTrafficPolicy Local keeps the source', ground}
  const missing = nodesWithoutPods(facts)
  if (row?.id === 'cilium-lb') return ciliumLocal(facts, missing)
  if (facts.door !== 'balancer' && missing.length > 0) {
    return {
      loses: 'sometimes',
      why: `externalTrafficPolicy Local keeps the source, and nodes without a pod drop the connection: ${missing.join(', ')}`,
      ground,
    }
  }
  if (row?.id === 'kube-vip') return {...kept, ground: {grade: 'inferred', source: row.plain.source}}
  return kept
}

function ciliumLocal(facts: WayFacts, missing: readonly string[]): HopLoss {
  const {row, clues} = facts.balancer
  const source = row?.traps[0]?.source ?? shared.unread
  const l2 = clues.some((clue) => /l2/.test(`${clue.field} ${clue.value}`))
  if (!l2)
    return {
      loses: 'unknown',
      why: 'whether Cilium BGP honours policy Local is not confirmed',
      ground: {grade: 'unconfirmed', source},
      check: `${look}, through each announcing node`,
    }
  if (facts.cluster.nodes.length === 0 || facts.nodesWithPods.size === 0)
    return {
      loses: 'unknown',
      why: 'whether every node that may announce has a pod cannot be seen',
      ground: {grade: 'source', source},
      check: 'the same with the right to list nodes and pods',
    }
  if (missing.length === 0)
    return {
      loses: 'never',
      why: 'every node has a pod, so whichever announces keeps the source',
      ground: {grade: 'source', source},
    }
  return {
    loses: 'sometimes',
    why: `L2 announcements do not look where the pods are: nobody gets in while one of these announces: ${missing.join(', ')}`,
    ground: {grade: 'source', source},
  }
}

/** Nodes that have no ready pod of the Service; empty where pods or nodes are not known. */
export function nodesWithoutPods(facts: WayFacts): string[] {
  if (facts.nodesWithPods.size === 0) return []
  return facts.cluster.nodes.map((node) => node.name).filter((name) => !facts.nodesWithPods.has(name))
}
