import {shared} from '../../platforms/sources.ts'
import {isSending, outerCheck, type WayFacts} from './facts.ts'
import {fixedByDns} from './dns-fix.ts'
import {healthCheckProblem} from './carried-way.ts'
import {isProxyMode, toldDifferently} from './outside.ts'
import {insidePeers, isListed} from './peers.ts'
import {shortCircuits, together} from './short-circuit.ts'
import {because, judge, type Ground, type Judgement} from './verdict.ts'

/** Nobody short-cuts the address. */
const throughBalancer = 'pods go through the balancer, which adds the header'

/** A pod that calls the public name: `not-needed` works without a fix, `fine` needs one and it is there. */
export function judgeHairpin(facts: WayFacts): Judgement {
  const {row} = facts.balancer
  if (row?.place === 'cluster' && isProxyMode(facts) && facts.cluster.plane.honoursIpMode.value === true) {
    return because(
      'ipmode-on-announced',
      judge(
        'broken',
        'service-proxy',
        'ipMode Proxy leaves no rule for an address that the nodes themselves announce',
        [{grade: 'inferred', source: shared.ipMode}],
      ),
    )
  }
  if (facts.noEndpoints)
    return because(
      'no-endpoints',
      judge('broken', 'service-proxy', 'no pod stands behind the Service: nobody gets in', [
        {grade: 'source', source: shared.virtualIps},
      ]),
    )
  const fixed = fixedByDns(facts)
  if (facts.protocol !== 'TCP' || facts.state === undefined) return withoutReceiver(facts)
  const grounds = facts.state.sources.map((source): Ground => ({grade: facts.state?.grade ?? 'source', source}))
  switch (facts.state.asks) {
    case 'no':
      return fixed ?? notAsking(facts, grounds)
    case 'some':
      return because(
        'pods-differ',
        judge('half-broken', 'receiver', 'some pods of the receiver ask for PROXY and some do not', grounds),
      )
    case 'unknown':
      return because(
        'receiver-unseen',
        judge(
          'depends',
          'unknown',
          `whether ${facts.receiver.row?.title ?? 'the receiver'} asks for PROXY cannot be seen`,
          grounds,
          facts.state.check,
        ),
      )
    case 'yes':
      return asking(facts, grounds, fixed)
  }
}

/** Nobody asks for a header: only what the balancer itself does to a caller behind it can go wrong. */
function notAsking(facts: WayFacts, grounds: readonly Ground[]): Judgement {
  if (isSending(facts.sender) && together(shortCircuits(facts)).taken !== 'all') {
    return because(
      'sender-without-receiver',
      judge(
        'broken',
        'receiver',
        'pods go through the balancer, whose header the receiver takes for a request',
        grounds,
      ),
    )
  }
  return (
    selfCalls(facts, grounds) ??
    judge('not-needed', 'none', 'nothing asks for a PROXY header: pods get in as they are', grounds)
  )
}

/** AWS: a target that calls itself times out while the client address is preserved (platforms.md 1.2). */
function selfCalls(facts: WayFacts, grounds: readonly Ground[]): Judgement | undefined {
  const {plain} = facts
  if (plain === undefined || plain.selfCalls === 'work' || together(shortCircuits(facts)).taken === 'all')
    return undefined
  const all = [...grounds, {grade: plain.grade, source: plain.from}]
  if (plain.selfCalls === 'not said')
    return judge(
      'unknown',
      'unknown',
      'nothing is said about a target that calls itself over UDP',
      all,
      'a query from a pod to the public name',
    )
  // OpenShift's own text: native preservation breaks the way from a pod to the router on its node
  if (plain.selfCalls === 'time out' || facts.receiver.row?.id === 'openshift-router')
    return because(
      'self-call',
      judge(
        'half-broken',
        'balancer',
        "a call that the balancer hands back to the caller's own node times out: source and destination are the same",
        all,
      ),
    )
  return because(
    'self-call',
    judge(
      'depends',
      'unknown',
      'a target that calls itself times out while the client address is preserved; whether a call of a pod keeps its address depends on how it leaves the network',
      all,
      'a call from a pod on each node to the public name, several times over fresh connections',
    ),
  )
}

function asking(facts: WayFacts, grounds: readonly Ground[], fixed: Judgement | undefined): Judgement {
  const {state} = facts
  const title = facts.receiver.row?.title ?? 'the receiver'
  if (state === undefined) return withoutReceiver(facts)
  const unread = unreadableVersion(facts)
  if (state.withoutHeader === 'tolerated') {
    if (unread !== undefined && together(shortCircuits(facts)).taken === 'none')
      return because(
        'header-version',
        judge(
          'broken',
          'receiver',
          `pods go through the balancer, which sends version ${unread} of the header: this port of ${title} does not read it`,
          grounds,
        ),
      )
    return judge('not-needed', 'none', `${title} takes connections without a header too`, grounds)
  }
  if (
    (facts.door === 'node-port' && facts.balancer.row === undefined) ||
    (facts.door === 'host-port' && facts.sender.sends !== 'no')
  )
    return behindOuter(facts, grounds, fixed)
  const circuit = together(shortCircuits(facts))
  const all = [...grounds, ...circuit.grounds]
  const inside = insideRefusal(facts)
  const throughBalancer = through(facts, all)
  const byAddress =
    fixed ??
    because(
      'short-circuit',
      judge(inside, inside === 'broken' ? 'receiver' : 'none', insideWhy(facts, inside), all, insideCheck(inside)),
    )
  switch (circuit.taken) {
    case 'all':
      return byAddress
    case 'none':
      return throughBalancer.verdict === 'broken' && fixed !== undefined ? fixed : throughBalancer
    case 'some':
      if (fixed !== undefined) return fixed
      return byAddress.verdict === throughBalancer.verdict
        ? byAddress
        : because(
            'short-circuit',
            judge('half-broken', 'receiver', bySplit(facts, `${title} sees no header there`), all),
          )
    case 'unknown':
      if (fixed !== undefined) return fixed
      if (byAddress.verdict === throughBalancer.verdict) return byAddress
      return because(
        'short-circuit',
        judge(
          'depends',
          'unknown',
          `whether ${facts.cluster.plane.title} leaves the address alone is not known`,
          all,
          circuit.check,
        ),
      )
  }
}

/** Which callers fare how, where the addresses of one balancer are treated differently: a name with both is tried in any order. */
function bySplit(facts: WayFacts, there: string): string {
  const all = shortCircuits(facts)
  const named = (taken: boolean): string =>
    all
      .filter((one) => one.taken === taken)
      .map(({entry: {ip, hostname}}) =>
        ip === undefined ? (hostname ?? '') : `${ip.includes(':') ? 'IPv6' : 'IPv4'} ${ip}`,
      )
      .join(', ')
  return `calls to ${named(true)} stay inside the cluster: ${there}; calls to ${named(false)} lead through the balancer`
}

/** The version that is sent where the receiver does not read it. */
function unreadableVersion({state, sender}: WayFacts): 'v1' | 'v2' | undefined {
  const {sends} = sender
  return (sends === 'v1' || sends === 'v2') && state?.versions.includes(sends) === false ? sends : undefined
}

/** A caller that goes through the balancer fares as clients outside do. */
function through(facts: WayFacts, grounds: readonly Ground[]): Judgement {
  const {sender} = facts
  const all = [...grounds, {grade: sender.grade, source: sender.source}]
  if (sender.sends === 'unknown')
    return because(
      'sender-unseen',
      judge(
        'depends',
        'unknown',
        'pods go to the balancer, and whether it sends the header cannot be seen',
        all,
        sender.check,
      ),
    )
  if (sender.sends === 'no')
    return because(
      'receiver-without-sender',
      judge('broken', 'receiver', 'pods go through the balancer, which sends no header: refused as everybody is', all),
    )
  const self = selfCalls(facts, all)
  if (self !== undefined) return self
  const sick = healthCheckProblem(facts)
  if (sick !== undefined) return judge('depends', 'unknown', sick.why, all, sick.check)
  const targets = facts.balancer.row?.family === 'aws' && facts.balancer.row.id !== 'aws-elb' ? facts.plain : undefined
  return judge(
    'not-needed',
    'none',
    throughBalancer,
    targets === undefined ? all : [...all, {grade: targets.grade, source: targets.from}],
  )
}

type Inside = 'broken' | 'half-broken' | 'not-needed' | 'depends'

/** A short-circuited call comes without a header: does the receiver take it? */
function insideRefusal(facts: WayFacts): Inside {
  if (facts.state?.withoutHeader !== 'per-source') return 'broken'
  switch (isListed(facts.state.trust, insidePeers(facts))) {
    case 'all':
      return 'broken'
    case 'some':
      return 'half-broken'
    case 'none':
      return 'not-needed'
    case undefined:
      return 'depends'
  }
}

function insideWhy(facts: WayFacts, inside: Inside): string {
  const title = facts.receiver.row?.title ?? 'the receiver'
  const peers = insidePeers(facts)?.what ?? 'peers'
  if (inside === 'broken')
    return `${facts.cluster.plane.title} keeps the call inside the cluster, so ${title} sees no PROXY header and refuses it`
  if (inside === 'half-broken') return `${title} wants a header from some ${peers}, and their calls come without one`
  if (inside === 'not-needed')
    return `${title} wants no header from ${peers}, which is what a call from a pod comes from`
  return `whether ${title} wants a header from ${peers} cannot be told`
}

function insideCheck(inside: Inside): string | undefined {
  return inside === 'depends' ? 'compare the list with the addresses that calls from pods come from' : undefined
}

/** Behind a node port the public name leads to something outside, unless it points at a node. */
function behindOuter(facts: WayFacts, grounds: readonly Ground[], fixed: Judgement | undefined): Judgement {
  return (
    fixed ??
    because(
      'sender-unseen',
      judge(
        'depends',
        'unknown',
        'pods go where the public name points, which no Service tells: through the outer balancer if that is it, refused if it is a node',
        [...grounds, {grade: 'source', source: shared.virtualIps}],
        outerCheck,
      ),
    )
  )
}

function withoutReceiver(facts: WayFacts): Judgement {
  if (facts.protocol !== 'TCP')
    return (
      selfCalls(facts, []) ??
      judge('not-needed', 'none', 'no PROXY on UDP', [{grade: 'source', source: shared.proxyProtocol}])
    )
  if (facts.receiver.contradiction.length > 0) return toldDifferently(facts)
  if (isSending(facts.sender) && together(shortCircuits(facts)).taken !== 'none') {
    return judge(
      'depends',
      'unknown',
      together(shortCircuits(facts)).taken === 'some'
        ? bySplit(facts, 'refused if what stands behind the Service insists on a header, which cannot be seen')
        : 'pods bypass the balancer and come without a header: refused if what stands behind the Service insists on one, which cannot be seen',
      [{grade: 'source', source: facts.sender.source}],
      'the configuration of the application, or a call from a pod',
    )
  }
  if (!isSending(facts.sender) && facts.receiver.runners.length === 0 && !facts.receiver.podsKnown) {
    return judge(
      'unknown',
      'unknown',
      'what stands behind the Service was not read',
      [{grade: 'source', source: shared.unread}],
      'the same with the pods behind the Service, or the workload that makes them',
    )
  }
  return (
    selfCalls(facts, []) ??
    judge(
      'not-needed',
      'none',
      isSending(facts.sender) ? throughBalancer : 'no PROXY header is in play: pods get in as they are',
      [{grade: 'source', source: shared.proxyProtocol}],
    )
  )
}
