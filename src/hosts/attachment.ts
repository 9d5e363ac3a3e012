import {compareText} from './names.ts'
import type {
  AllowedNamespaces,
  GatewaySource,
  LabelSelector,
  ListenerSetSource,
  ListenerSource,
  NamespaceSource,
  ParentRef,
  RouteKind,
  RouteSource,
} from './gateway.ts'

/** A listener with the Gateway whose address it answers on and the object that holds it. */
export interface PlacedListener {
  readonly gateway: GatewaySource
  readonly listener: ListenerSource
  /** Namespace and kind of the object that holds the listener: its rules count from there. */
  readonly holder: {readonly kind: 'Gateway' | 'ListenerSet'; readonly namespace: string; readonly name: string}
  /** `gateway/infra/edge` or `listenerset/demo/more`. */
  readonly source: string
  readonly created: string
  /** Why nothing can come through it, if so. */
  readonly closed: string | undefined
}

/** A yes, or the reason for a no. */
export type Verdict = {readonly ok: true} | {readonly ok: false; readonly reason: string}

const yes: Verdict = {ok: true}
const no = (reason: string): Verdict => ({ok: false, reason})

/** Labels of namespaces by name; undefined: namespaces were not read. */
export type NamespaceLabels = ReadonlyMap<string, NamespaceSource['labels']> | undefined

/** Kinds that a protocol carries when a listener names none (Gateway API, AllowedRoutes.kinds). */
const kindsOfProtocol: Readonly<Record<string, readonly RouteKind[]>> = {
  HTTP: ['HTTPRoute', 'GRPCRoute'],
  HTTPS: ['HTTPRoute', 'GRPCRoute'],
  TLS: ['TLSRoute'],
  TCP: [],
  UDP: [],
}

/** Label selector semantics of Kubernetes (meta/v1 LabelSelector): all of it must hold; an empty one takes all. */
export function selectorMatches(selector: LabelSelector, labels: Readonly<Record<string, string>>): boolean {
  const has = (key: string): boolean => Object.hasOwn(labels, key)
  for (const [key, value] of Object.entries(selector.matchLabels)) {
    if (!has(key) || labels[key] !== value) return false
  }
  return selector.matchExpressions.every(({key, operator, values}) => {
    const inValues = has(key) && values.includes(labels[key] ?? '')
    if (operator === 'In') return inValues
    if (operator === 'NotIn') return !inValues
    if (operator === 'Exists') return has(key)
    if (operator === 'DoesNotExist') return !has(key)
    return false
  })
}

/**
 * May something of namespace `from` attach where `rule` of an object in `home` decides? `knownAccepted`: the controller
 * has said yes, which settles a selector whose namespace labels nobody gave us.
 */
function allows(
  rule: AllowedNamespaces,
  home: string,
  from: string,
  namespaces: NamespaceLabels,
  knownAccepted: boolean,
): Verdict {
  if (rule.from === 'All') return yes
  if (rule.from === 'None') return no('takes nothing from any namespace')
  if (rule.from === 'Same') return from === home ? yes : no(`takes routes of namespace ${home} only`)
  const labels = namespaces?.get(from)
  if (labels === undefined) {
    return knownAccepted ? yes : no(`selects namespaces by label, and the labels of namespace ${from} are not known`)
  }
  return rule.selector !== undefined && selectorMatches(rule.selector, labels)
    ? yes
    : no(`selects namespaces by label, and namespace ${from} does not match`)
}

/** All listeners of Gateways and of the ListenerSets that they let in (GEP-1713), in a fixed order. */
export function placeListeners(
  gateways: readonly GatewaySource[],
  listenerSets: readonly ListenerSetSource[],
  namespaces: NamespaceLabels,
): {placed: PlacedListener[]; orphans: {set: ListenerSetSource; reason: string}[]} {
  const byName = new Map(gateways.map((gateway) => [`${gateway.namespace}/${gateway.name}`, gateway]))
  const placed: PlacedListener[] = []
  const orphans: {set: ListenerSetSource; reason: string}[] = []
  const place = (
    gateway: GatewaySource,
    kind: 'Gateway' | 'ListenerSet',
    holder: GatewaySource | ListenerSetSource,
  ): void => {
    const name = `${kind} ${holder.namespace}/${holder.name}`
    for (const listener of holder.listeners) {
      placed.push({
        gateway,
        listener,
        holder: {kind, namespace: holder.namespace, name: holder.name},
        source: `${kind.toLowerCase()}/${holder.namespace}/${holder.name}`,
        created: holder.created,
        closed:
          gateway.excluded || holder.excluded
            ? `annotation srcip.dev/exclude of ${gateway.excluded ? `Gateway ${gateway.namespace}/${gateway.name}` : name} is "true"`
            : gateway.accepted === false
              ? `Gateway ${gateway.namespace}/${gateway.name} is not accepted by its controller`
              : listener.accepted === false
                ? `listener ${listener.name} of ${name} is not accepted by its controller`
                : undefined,
      })
    }
  }
  for (const gateway of gateways) place(gateway, 'Gateway', gateway)
  for (const set of listenerSets) {
    const parent = set.parent.kind === 'Gateway' ? byName.get(`${set.parent.namespace}/${set.parent.name}`) : undefined
    if (parent === undefined) {
      orphans.push({
        set,
        reason: `its parent ${set.parent.kind} ${set.parent.namespace}/${set.parent.name} does not exist`,
      })
      continue
    }
    const verdict = allows(parent.allowedListeners, parent.namespace, set.namespace, namespaces, set.accepted === true)
    if (!verdict.ok) {
      orphans.push({
        set,
        reason: `Gateway ${parent.namespace}/${parent.name} does not let it in (allowedListeners): ${verdict.reason}`,
      })
    } else if (set.accepted === false) {
      orphans.push({set, reason: 'it is not accepted by its controller'})
    } else {
      place(parent, 'ListenerSet', set)
    }
  }
  placed.sort((a, b) => compareText(a.source, b.source) || compareText(a.listener.name, b.listener.name))
  return {placed, orphans}
}

/**
 * The listeners that one parentRef of a route reaches, or why none (Gateway API, ParentReference and AllowedRoutes).
 * ReferenceGrant has no part in this: it governs backends and certificates, not which names a listener takes.
 */
export function attach(
  route: RouteSource,
  parent: ParentRef,
  placed: readonly PlacedListener[],
  namespaces: NamespaceLabels,
): {listeners: PlacedListener[]; reason: string} {
  const name = `${parent.kind} ${parent.namespace}/${parent.name}`
  const none = (reason: string): {listeners: PlacedListener[]; reason: string} => ({listeners: [], reason})
  if (parent.kind !== 'Gateway' && parent.kind !== 'ListenerSet') return none(`parent ${name} is no Gateway`)
  if (parent.accepted === false) return none(`${name} has not accepted it`)
  const own = placed.filter(
    ({holder}) => holder.kind === parent.kind && holder.namespace === parent.namespace && holder.name === parent.name,
  )
  if (own.length === 0) return none(`${name} does not exist or has no listener`)
  const chosen = own.filter(
    ({listener}) =>
      (parent.sectionName === undefined || listener.name === parent.sectionName) &&
      (parent.port === undefined || listener.port === parent.port),
  )
  if (chosen.length === 0) {
    const asked = [
      ...(parent.sectionName === undefined ? [] : [`section ${parent.sectionName}`]),
      ...(parent.port === undefined ? [] : [`port ${parent.port}`]),
    ]
    return none(`${name} has no listener with ${asked.join(' and ')}`)
  }
  let reason = ''
  const listeners = chosen.filter((entry) => {
    const verdict = mayAttach(route, entry, namespaces, parent.accepted === true)
    if (!verdict.ok && reason === '') reason = verdict.reason
    return verdict.ok
  })
  return {listeners, reason}
}

function mayAttach(
  route: RouteSource,
  {listener, holder, closed}: PlacedListener,
  namespaces: NamespaceLabels,
  knownAccepted: boolean,
): Verdict {
  if (closed !== undefined) return no(closed)
  const where = `listener ${listener.name} of ${holder.kind} ${holder.namespace}/${holder.name}`
  const implied = Object.hasOwn(kindsOfProtocol, listener.protocol) ? kindsOfProtocol[listener.protocol] : undefined
  const kinds = listener.kinds ?? implied
  // A protocol of a vendor's own implies nothing; the controller alone knows, so the route is taken.
  if (kinds !== undefined && !kinds.includes(route.kind)) return no(`${where} takes no ${route.kind}`)
  const verdict = allows(listener.namespaces, holder.namespace, route.namespace, namespaces, knownAccepted)
  return verdict.ok ? yes : no(`${where} ${verdict.reason}`)
}
