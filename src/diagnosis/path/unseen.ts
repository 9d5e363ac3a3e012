import {isUnread} from '../../model/snapshot.ts'
import type {DataPlane, Judged} from '../../platforms/cnis/data-plane.ts'
import {shared} from '../../platforms/sources.ts'
import type {WayFacts} from './facts.ts'
import {because, judge, type Judgement} from './verdict.ts'

type Side = 'outside' | 'hairpin'

/**
 * A verdict that rests on something nobody was allowed to read is no verdict: it becomes `depends`, with the right that would settle it.
 * Where several states of the unread are possible, the verdict is judged again for each; it stays firm when all of them agree.
 */
export function hedged(
  judgement: Judgement,
  facts: WayFacts,
  side: Side,
  again: (facts: WayFacts) => Judgement,
): Judgement {
  if (judgement.verdict === 'depends' || judgement.verdict === 'unknown') return judgement
  const unread = restsOn(judgement, facts, side) ?? planeUnread(judgement, facts, again)
  if (unread === undefined) return judgement
  return because(
    'not-read',
    judge(
      'depends',
      'unknown',
      `${judgement.why}; yet this rests on ${unread}, which could not be read`,
      [{grade: 'unconfirmed', source: shared.unread}],
      `the same with the right to list ${unread}`,
    ),
  )
}

/** Kinds that the verdict rests on whatever they hold, in words of RBAC; undefined: none of those that were not read. */
function restsOn(judgement: Judgement, facts: WayFacts, side: Side): string | undefined {
  const {balancer, state, receiver, cluster, service} = facts
  const lacks = (kind: string): boolean => isUnread(cluster.index.state(kind, service.metadata.namespace))
  if (judgement.cause === 'no-endpoints') return undefined
  // arguments, and whether all pods of a rollout have the same
  if (lacks('Pod')) return 'pods'
  if (state?.asks === 'unknown' && lacks('ConfigMap')) return 'configmaps'
  if (receiver.row === undefined) {
    const classes = ['Gateway', 'GatewayClass', 'IngressClass', 'Ingress'].find((kind) => lacks(kind))
    if (classes !== undefined) return plurals[classes]
  }
  if (side === 'hairpin' && lacks('Ingress') && cluster.dns.rules.length > 0) return 'ingresses'
  const setByController = balancer.row?.proxy.value.some(({kind}) => kind === 'environment') === true
  if (setByController && balancer.controller === undefined && lacks('Deployment')) return 'deployments'
  if (lacks('Node')) {
    // the provider is told from the nodes, and a trust list is held against their addresses
    const isStrict = state?.asks === 'yes' && state.withoutHeader === 'refused' && judgement.verdict === 'broken'
    if (facts.door === 'balancer' && balancer.row === undefined && !(side === 'hairpin' && isStrict)) return 'nodes'
    if (side === 'outside' && state?.asks === 'yes' && state.trust.kind === 'ranges') return 'nodes'
  }
  return undefined
}

const plurals: Readonly<Record<string, string>> = {
  Gateway: 'gateways',
  GatewayClass: 'gatewayclasses',
  IngressClass: 'ingressclasses',
  Ingress: 'ingresses',
}

/** The service proxy of the nodes was not wholly seen: is the verdict another for one that is possible? */
function planeUnread(judgement: Judgement, facts: WayFacts, again: (facts: WayFacts) => Judgement): string | undefined {
  const {plane} = facts.cluster
  if (plane.unread === undefined) return undefined
  const differs = possiblePlanes(plane).some((other) => !isSame(again(withPlane(facts, other)), judgement))
  return differs ? plane.unread : undefined
}

/** The same word for another reason is another verdict: its remedy is another. */
function isSame(left: Judgement, right: Judgement): boolean {
  return left.verdict === right.verdict && left.cause === right.cause && left.lost === right.lost
}

function withPlane(facts: WayFacts, plane: DataPlane): WayFacts {
  return {...facts, cluster: {...facts.cluster, plane}, source: plane.cluster, leftAlone: !plane.shortCircuits}
}

/** What nodes can do with the address of a balancer (platforms.md 3): each setting that decides something, once. */
function possiblePlanes(plane: DataPlane): DataPlane[] {
  const {mode: _, ...base} = plane
  const says = <T>(value: T): Judged<T> => ({value, grade: 'inferred', source: shared.kubeProxy})
  const usual = {...base, shortCircuits: true, honoursIpMode: says(true), cluster: says('translated' as const)}
  return [
    usual,
    {...usual, honoursIpMode: says(false)},
    {...usual, cluster: says('kept' as const)},
    {...usual, shortCircuits: false},
    {...usual, proxy: 'kube-proxy', mode: 'ipvs'},
  ]
}
