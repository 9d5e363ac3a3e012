import {shared} from '../../platforms/sources.ts'
import {isSending, outerCheck, type WayFacts} from './facts.ts'
import {carriedWay, passedOn} from './carried-way.ts'
import {isListed, outsidePeers} from './peers.ts'
import {plainWay} from './plain-way.ts'
import {because, judge, type Ground, type Judgement} from './verdict.ts'

/** Does the application see the client's address from outside? `broken` is also: nobody gets in. */
export function judgeOutside(facts: WayFacts): Judgement {
  const early = beforeAnyConnection(facts)
  if (early !== undefined) return early
  const {state} = facts
  if (state === undefined) return withoutReceiver(facts)
  const grounds: Ground[] = [senderGround(facts), ...stateGrounds(facts)]
  switch (state.asks) {
    case 'yes':
      return asking(facts, grounds)
    case 'no':
      return notAsking(facts, grounds)
    case 'some':
      return because(
        'pods-differ',
        judge('half-broken', 'receiver', 'some pods of the receiver ask for PROXY and some do not', grounds),
      )
    case 'unknown':
      return unseenReceiver(facts, grounds)
  }
}

/** Cases in which it does not matter what the receiver does. */
function beforeAnyConnection(facts: WayFacts): Judgement | undefined {
  const {row} = facts.balancer
  if (facts.noEndpoints)
    return because(
      'no-endpoints',
      judge('broken', 'service-proxy', 'no pod stands behind the Service: nobody gets in', [
        {grade: 'source', source: shared.virtualIps},
      ]),
    )
  if (!['Cluster', 'Local'].includes(facts.policy)) {
    return because(
      'unknown-value',
      judge(
        'unknown',
        'unknown',
        `externalTrafficPolicy ${facts.policy} is not known`,
        [{grade: 'source', source: shared.virtualIps}],
        'the documentation of this version of Kubernetes, and a request from a known address',
      ),
    )
  }
  if (facts.protocol !== 'TCP') {
    // PROXY is for TCP here: what reaches a UDP port is what the network leaves of the address
    return plainWay(facts)
  }
  if (facts.door === 'balancer' && facts.entries.length === 0) {
    return because(
      'no-address',
      judge(
        'unknown',
        'unknown',
        'the Service has no address yet: nothing leads in',
        [{grade: 'unconfirmed', source: shared.virtualIps}],
        'which balancer is to serve this Service: kubectl describe service, its events',
      ),
    )
  }
  if (row?.place === 'cluster' && isProxyMode(facts) && facts.cluster.plane.honoursIpMode.value === true) {
    return because(
      'ipmode-on-announced',
      judge(
        'broken',
        'service-proxy',
        `ipMode Proxy takes the address out of the rules of ${facts.cluster.plane.title}, and ${row.title} lets packets arrive for that very address`,
        [{grade: 'inferred', source: shared.ipMode}],
      ),
    )
  }
  return undefined
}

/** Is some address of an in-cluster announcer marked as one of a proxy? */
export function isProxyMode(facts: WayFacts): boolean {
  return facts.entries.some((entry) => entry.ip !== undefined && entry.ipMode === 'Proxy')
}

function senderGround(facts: WayFacts): Ground {
  return {grade: facts.sender.grade, source: facts.sender.source}
}

function stateGrounds(facts: WayFacts): Ground[] {
  return (facts.state?.sources ?? []).map((source) => ({grade: facts.state?.grade ?? 'source', source}))
}

/** The receiver reads a header. */
function asking(facts: WayFacts, grounds: readonly Ground[]): Judgement {
  const {sender, state, balancer} = facts
  if (state === undefined) return withoutReceiver(facts)
  const title = facts.receiver.row?.title ?? 'the receiver'
  const from = balancer.row?.title ?? 'what stands in front'
  if (sender.sends === 'unknown') return unseenSender(facts, grounds)
  if (sender.sends === 'no') {
    if (state.withoutHeader === 'refused' && privateLink(facts))
      return because(
        'receiver-without-sender',
        judge(
          'half-broken',
          'receiver',
          'connections through Private Link come with a header, the balancer itself sends none: its callers are refused',
          [...grounds, {grade: 'inferred', source: shared.proxyProtocol}],
        ),
      )
    if (state.withoutHeader === 'refused')
      return because(
        'receiver-without-sender',
        judge(
          'broken',
          'receiver',
          `${title} takes only connections with a PROXY header, and ${from} sends none: nobody gets in`,
          grounds,
        ),
      )
    if (state.withoutHeader === 'per-source' && isListed(state.trust, outsidePeers(facts)) === 'all')
      return because(
        'receiver-without-sender',
        judge(
          'broken',
          'receiver',
          `${title} wants a PROXY header from these peers, and ${from} sends none: nobody gets in`,
          grounds,
        ),
      )
    const plain = plainWay(facts, grounds)
    const loop = state.trust.kind === 'nobody' && state.trust.key.includes('127.0.0.1')
    if (!loop || plain.lost === 'balancer' || plain.lost === 'service-proxy') return plain
    return because(
      'header-thrown-away',
      judge('broken', 'receiver', `${title} sees every connection from 127.0.0.1, which its trust list lacks`, grounds),
    )
  }
  if (state.tcpService?.encodes === false) {
    const passed = passedOn(facts, grounds)
    if (passed !== undefined) return passed
  }
  if (state.trust.kind === 'nobody')
    return because(
      'header-thrown-away',
      judge(
        'broken',
        'receiver',
        `${title} reads the header and throws its address away: ${state.trust.key} names nobody who connects`,
        grounds,
      ),
    )
  if (sender.sends !== 'some' && !state.versions.includes(sender.sends)) {
    return because(
      'header-version',
      judge(
        'broken',
        'receiver',
        `${from} sends version ${sender.sends} of the header, which this port of ${title} does not read`,
        grounds,
      ),
    )
  }
  if (state.versions.length === 1 && sender.sends === 'some') {
    return because(
      'header-version',
      judge(
        'depends',
        'unknown',
        `this port of ${title} reads version ${state.versions[0]} only, and nobody says which one ${from} sends`,
        grounds,
        'capture one connection at the receiver (doctor --capture)',
      ),
    )
  }
  return carriedWay(facts, grounds)
}

/** Azure: a Private Link Service beside the balancer's own address, with PROXY on it. */
function privateLink(facts: WayFacts): boolean {
  return (
    facts.balancer.row?.id === 'azure' &&
    facts.service.metadata.annotations?.['service.beta.kubernetes.io/azure-pls-proxy-protocol'] === 'true'
  )
}

/** The receiver reads none. */
function notAsking(facts: WayFacts, grounds: readonly Ground[]): Judgement {
  if (isSending(facts.sender)) {
    const title = facts.receiver.row?.title ?? 'the receiver'
    return because(
      'sender-without-receiver',
      judge(
        'broken',
        'receiver',
        `${facts.balancer.row?.title ?? 'the balancer'} sends a PROXY header, and ${title} takes it for a request: nobody gets in`,
        [...grounds, {grade: 'inferred', source: shared.proxyProtocol}],
      ),
    )
  }
  const plain = plainWay(facts, grounds)
  if (plain.lost !== 'balancer' && plain.lost !== 'service-proxy') {
    const passed = passedOn(facts, grounds)
    if (passed !== undefined) return passed
  }
  if (facts.state?.loopback !== true || plain.lost === 'balancer' || plain.lost === 'service-proxy') return plain
  return because(
    'loopback',
    judge(
      'broken',
      'receiver',
      `TLS passthrough: the listener in front of ${facts.receiver.row?.title ?? 'nginx'} hands every connection on from 127.0.0.1`,
      grounds,
    ),
  )
}

/** Nobody knows whether the receiver asks; what the network loses is lost all the same, unless a header carries it. */
function unseenReceiver(facts: WayFacts, grounds: readonly Ground[]): Judgement {
  const check = facts.state?.check
  if (facts.sender.sends === 'no') {
    const plain = plainWay(facts, grounds)
    if (plain.verdict === 'broken') return plain
  }
  return because(
    'receiver-unseen',
    judge(
      'depends',
      'unknown',
      `whether ${facts.receiver.row?.title ?? 'the receiver'} asks for PROXY cannot be seen`,
      grounds,
      check,
    ),
  )
}

/** It asks, and whether anybody sends cannot be seen from here. */
function unseenSender(facts: WayFacts, grounds: readonly Ground[]): Judgement {
  const title = facts.receiver.row?.title ?? 'the receiver'
  return because(
    'sender-unseen',
    judge(
      'depends',
      'unknown',
      `${title} asks for PROXY; whether something in front sends it cannot be seen from the cluster`,
      grounds,
      facts.sender.check ?? outerCheck,
    ),
  )
}

/** Two signs name different receivers: no verdict rests on either. */
export function toldDifferently({receiver}: WayFacts): Judgement {
  return because(
    'contradiction',
    judge(
      'depends',
      'unknown',
      `what stands behind the Service is told differently: ${receiver.contradiction.join(', ')}`,
      [{grade: 'source', source: shared.unread}],
      'look at the pods behind the Service and at the class of its Ingresses',
    ),
  )
}

/** An application of its own, or something nobody recognised. */
function withoutReceiver(facts: WayFacts): Judgement {
  if (facts.receiver.contradiction.length > 0) return toldDifferently(facts)
  if (isSending(facts.sender)) {
    return judge(
      'depends',
      'unknown',
      'the balancer sends a PROXY header; whether the application reads it cannot be seen',
      [{grade: 'source', source: facts.sender.source}],
      'the configuration of the application, or one connection and its log',
    )
  }
  return plainWay(facts, [])
}
