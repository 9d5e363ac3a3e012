import {shared} from '../../platforms/sources.ts'
import {isSending, type WayFacts} from './facts.ts'
import {isListed, outsidePeers, trustsOneFamily, unreadableRanges} from './peers.ts'
import {because, judge, type Ground, type Judgement} from './verdict.ts'

/** A header comes and is read: is the address in it believed? */
export function carriedWay(facts: WayFacts, grounds: readonly Ground[]): Judgement {
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
          [...grounds, {grade: 'inferred', source: shared.kubeProxy}],
        ),
      )
    return because(
      'trust-list',
      judge(
        'broken',
        'receiver',
        `${title} ignores the header: the peers it sees are ${peers?.what ?? 'unknown'}, and ${key} does not hold them`,
        [...grounds, {grade: 'inferred', source: shared.kubeProxy}],
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
        [...grounds, {grade: 'inferred', source: shared.kubeProxy}],
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
      [...grounds, {grade: 'inferred', source: shared.kubeProxy}],
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
export function passedOn(facts: WayFacts, grounds: readonly Ground[]): Judgement | undefined {
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
