import {shared} from '../../platforms/sources.ts'
import {isSending, outerCheck, type WayFacts} from './facts.ts'
import {isListed, outsidePeers, trustsOneFamily, unreadableRanges} from './peers.ts'
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
        [{grade: 'unconfirmed', source: shared.virtualIps}],
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
  return carried(facts, grounds)
}

/** Azure: a Private Link Service beside the balancer's own address, with PROXY on it. */
function privateLink(facts: WayFacts): boolean {
  return (
    facts.balancer.row?.id === 'azure' &&
    facts.service.metadata.annotations?.['service.beta.kubernetes.io/azure-pls-proxy-protocol'] === 'true'
  )
}

/** A header comes and is read: is the address in it believed? */
function carried(facts: WayFacts, grounds: readonly Ground[]): Judgement {
  const {state} = facts
  const title = facts.receiver.row?.title ?? 'the receiver'
  const trust = state?.trust ?? {kind: 'anyone' as const}
  const peers = outsidePeers(facts)
  const listed = isListed(trust, peers)
  const bound = boundByIpvs(facts)
  if (bound !== undefined)
    return judge(
      'depends',
      'unknown',
      bound,
      grounds,
      'health of the nodes at the balancer, and a request from outside',
    )
  const health = healthCheckProblem(facts)
  if (health !== undefined)
    return because('health-check', judge('depends', 'unknown', health.why, grounds, health.check))
  if (trustsOneFamily(trust, peers)) {
    return because(
      'trust-family',
      judge(
        'depends',
        'unknown',
        `${trust.kind === 'ranges' ? trust.key : 'the list'} trusts every IPv4 peer and no IPv6 one, and nodes have addresses of both`,
        [...grounds, {grade: 'inferred', source: shared.kubeProxy}],
        "the peer addresses in the receiver's log for a client that comes by IPv6",
      ),
    )
  }
  if (listed === 'none') {
    const key = trust.kind === 'ranges' ? trust.key : ''
    if (state?.withoutHeader === 'per-source')
      return because(
        'trust-list',
        judge(
          'broken',
          'receiver',
          `the peers that ${title} sees are ${peers?.what ?? 'unknown'}, which ${key} does not list: it takes the header for a request`,
          grounds,
        ),
      )
    return because(
      'trust-list',
      judge(
        'broken',
        'receiver',
        `${title} ignores the header: the peers it sees are ${peers?.what ?? 'unknown'}, and ${key} does not hold them`,
        grounds,
      ),
    )
  }
  if (listed === 'some')
    return because(
      'trust-list',
      judge(
        'half-broken',
        'receiver',
        `${title} believes the header from some ${peers?.what ?? 'peers'} only: the others are not in its trust list`,
        grounds,
      ),
    )
  const words = unreadableRanges(trust)
  if (words.length > 0) {
    return because(
      'unknown-value',
      judge(
        'depends',
        'unknown',
        `${trust.kind === 'ranges' ? trust.key : 'the trust list'} holds what is no range: ${words.join(', ')}`,
        [...grounds, {grade: 'unconfirmed', source: shared.unread}],
        'the configuration that a pod of the receiver really runs with (set_real_ip_from in nginx.conf)',
      ),
    )
  }
  if (listed === undefined) {
    return judge(
      'depends',
      'unknown',
      `${title} believes the header from listed peers only, and the addresses of what connects stand nowhere in the cluster`,
      grounds,
      "the balancer's own addresses (its subnet) against the list, or the address in the log for a known client",
    )
  }
  const passed = passedOn(facts, grounds)
  if (passed !== undefined) return passed
  if (
    facts.door === 'balancer' &&
    facts.state?.withoutHeader === 'refused' &&
    facts.entries.some((entry) => entry.external === true)
  ) {
    const addresses = facts.entries.flatMap((entry) => (entry.external === true ? (entry.ip ?? []) : []))
    return because(
      'sender-unseen',
      judge(
        'depends',
        'unknown',
        `the balancer sends the header; whether what answers on ${addresses.join(', ')} does cannot be seen`,
        grounds,
        `what answers on ${addresses.join(', ')} outside, and whether it sends PROXY`,
      ),
    )
  }
  return judge(
    'fine',
    'none',
    `the PROXY header of ${facts.balancer.row?.title ?? 'the balancer'} carries the address past every translation`,
    grounds,
  )
}

/** A TCP service of ingress-nginx is a connection of its own: the application sees the controller unless PROXY is passed on. */
function passedOn(facts: WayFacts, grounds: readonly Ground[]): Judgement | undefined {
  const tcp = facts.state?.tcpService
  if (tcp === undefined) return undefined
  const name = `${tcp.namespace}/${tcp.service}:${tcp.port}`
  if (tcp.encodes)
    return judge(
      'depends',
      'unknown',
      `PROXY is passed on to ${name}: whether that reads it cannot be seen`,
      grounds,
      `whether ${name} is told to expect PROXY`,
    )
  return because(
    'not-passed-on',
    judge(
      'broken',
      'receiver',
      `the controller opens a connection of its own to ${name}, which sees the controller`,
      grounds,
    ),
  )
}

/** IPVS binds the balancer's address on every node: a balancer that uses it as its own source never gets an answer (platforms.md 3.1). */
function boundByIpvs(facts: WayFacts): string | undefined {
  const {plane} = facts.cluster
  const bound = facts.entries.some((entry) => entry.ip !== undefined && (entry.ipMode ?? 'VIP') === 'VIP')
  if (plane.mode !== 'ipvs' || facts.balancer.row?.place !== 'cloud' || !bound) return undefined
  return 'kube-proxy in IPVS mode binds the address on every node: a balancer that uses it as its source never gets an answer'
}

/** An HTTP health check that speaks no PROXY against nodes: what the balancer does without healthy targets is not said. */
export function healthCheckProblem(facts: WayFacts): {readonly why: string; readonly check: string} | undefined {
  const annotations = facts.service.metadata.annotations ?? {}
  const kind = annotations['service.beta.kubernetes.io/aws-load-balancer-healthcheck-protocol']?.toLowerCase()
  const nodesAsTargets = facts.plain?.direct === false
  if (!['aws-lbc', 'aws-nlb'].includes(facts.balancer.row?.id ?? '') || !isSending(facts.sender) || !nodesAsTargets)
    return undefined
  const http = kind === 'http' || kind === 'https' || (kind === undefined && facts.policy === 'Local')
  if (!http || facts.policy !== 'Local') return undefined
  return {
    why: 'with PROXY on, an HTTP health check of the node fails, since the health port of kube-proxy reads no header',
    check: "target health of the balancer's target groups",
  }
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
        grounds,
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

/** An application of its own, or something nobody recognised. */
function withoutReceiver(facts: WayFacts): Judgement {
  if (facts.receiver.contradiction.length > 0) {
    return because(
      'contradiction',
      judge(
        'depends',
        'unknown',
        `what stands behind the Service is told differently: ${facts.receiver.contradiction.join(', ')}`,
        [{grade: 'unconfirmed', source: shared.unread}],
        'look at the pods behind the Service and at the class of its Ingresses',
      ),
    )
  }
  if (isSending(facts.sender)) {
    return judge(
      'depends',
      'unknown',
      'the balancer sends a PROXY header; whether the application reads it cannot be seen',
      [{grade: 'unconfirmed', source: facts.sender.source}],
      'the configuration of the application, or one connection and its log',
    )
  }
  return plainWay(facts, [])
}
