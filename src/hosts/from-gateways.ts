import {attach, placeListeners} from './attachment.ts'
import type {NamespaceLabels, PlacedListener} from './attachment.ts'
import type {Collection, HostOptions} from './collection.ts'
import type {GatewaySource, ListenerSetSource, NamespaceSource, RouteSource} from './gateway.ts'
import {compareText, intersectNames, readName} from './names.ts'
import {preferred, servesGateway} from './targets.ts'
import type {ProxyService} from './targets.ts'

/** What the Gateway API holds, projected. A kind that the cluster does not serve is an empty list. */
export interface GatewayObjects {
  readonly gateways: readonly GatewaySource[]
  readonly listenerSets: readonly ListenerSetSource[]
  readonly routes: readonly RouteSource[]
  /** Undefined: namespaces were not read; then a selector counts only where the controller has accepted the route. */
  readonly namespaces?: readonly NamespaceSource[] | undefined
}

/** Where the names of one Gateway go, or why they are left out. */
type Way = {readonly proxy: ProxyService} | {readonly reason: string}

/** What decides where the names of a Gateway go. */
interface WayOptions extends Pick<HostOptions, 'proxies'> {
  /** Gateways (`NAMESPACE/NAME`) of which is known whether they ask for the PROXY header; the others are taken. */
  readonly gatewayReceivers: ReadonlyMap<string, boolean>
}

/** Adds the names of listeners and routes to a collection under way. */
export function addGateways(collection: Collection, objects: GatewayObjects, options: WayOptions): void {
  const namespaces: NamespaceLabels =
    objects.namespaces === undefined
      ? undefined
      : new Map(objects.namespaces.map((entry) => [entry.name, entry.labels]))
  const {placed, orphans} = placeListeners(objects.gateways, objects.listenerSets, namespaces)
  const ways = new Map(objects.gateways.map((gateway) => [gateway, wayOf(gateway, options)]))
  const way = (entry: PlacedListener): Way => ways.get(entry.gateway) ?? {reason: 'unknown Gateway'}

  for (const {set, reason} of orphans) {
    const source = `listenerset/${set.namespace}/${set.name}`
    const names = set.listeners.flatMap(({hostname}) => (hostname === undefined ? [] : [hostname]))
    for (const name of names.length === 0 ? [''] : new Set(names)) collection.leaveOut(name, reason, source)
  }
  for (const entry of placed) addListener(collection, entry, way(entry))
  const sorted = [...objects.routes].sort(
    (a, b) => compareText(a.kind, b.kind) || compareText(a.namespace, b.namespace) || compareText(a.name, b.name),
  )
  for (const route of sorted) addRoute(collection, route, placed, namespaces, way)
}

function wayOf(gateway: GatewaySource, options: WayOptions): Way {
  const name = `${gateway.namespace}/${gateway.name}`
  if (options.gatewayReceivers.get(name) === false) return {reason: `Gateway ${name} does not ask for PROXY`}
  const proxy = preferred(options.proxies.filter((entry) => servesGateway(entry, gateway.namespace, gateway.name)))
  return proxy === undefined ? {reason: `no-proxy-for-class: no proxy Service names Gateway ${name}`} : {proxy}
}

function addListener(collection: Collection, entry: PlacedListener, way: Way): void {
  const {listener, source, created, closed} = entry
  if (listener.hostname === undefined) return
  if (closed !== undefined) return collection.leaveOut(listener.hostname, closed, source)
  if ('reason' in way) return collection.leaveOut(listener.hostname, way.reason, source)
  collection.take({
    spelling: listener.hostname,
    wildcardKind: 'wildcard-any-depth',
    proxy: way.proxy,
    ports: portsOf(entry),
    source,
    created,
  })
}

function addRoute(
  collection: Collection,
  route: RouteSource,
  placed: readonly PlacedListener[],
  namespaces: NamespaceLabels,
  wayTo: (entry: PlacedListener) => Way,
): void {
  const source = `${route.kind.toLowerCase()}/${route.namespace}/${route.name}`
  const named = route.hostnames.length === 0 ? [''] : [...new Set(route.hostnames)]
  if (route.excluded) {
    for (const name of named) collection.leaveOut(name, 'annotation srcip.dev/exclude is "true"', source)
    return
  }
  if (route.parents.length === 0) {
    for (const name of named) collection.leaveOut(name, 'it names no parent', source)
    return
  }
  const reached: PlacedListener[] = []
  for (const parent of route.parents) {
    const {listeners, reason} = attach(route, parent, placed, namespaces)
    reached.push(...listeners)
    if (listeners.length === 0) for (const name of named) collection.leaveOut(name, reason, source)
  }
  for (const name of named) addRouteName(collection, route, name, reached, placed, wayTo)
}

/** One host of a route (empty: it names none) through every listener that it reaches. */
function addRouteName(
  collection: Collection,
  route: RouteSource,
  name: string,
  reached: readonly PlacedListener[],
  placed: readonly PlacedListener[],
  wayTo: (entry: PlacedListener) => Way,
): void {
  const source = `${route.kind.toLowerCase()}/${route.namespace}/${route.name}`
  const reasons = new Set<string>()
  const isolated = new Set<string>()
  let met = false
  let taken = false
  for (const entry of reached) {
    const {hostname} = entry.listener
    const common = name === '' ? hostname : hostname === undefined ? name : meet(name, hostname)
    if (common === undefined) continue
    met = true
    const nearer = isolatedBy(common, entry, placed)
    if (nearer !== undefined) {
      const {holder, listener} = nearer
      isolated.add(
        `listener ${listener.name} of ${holder.kind} ${holder.namespace}/${holder.name} is more specific and takes it`,
      )
      continue
    }
    const way = wayTo(entry)
    if ('reason' in way) {
      reasons.add(way.reason)
      continue
    }
    taken = true
    collection.take({
      spelling: common,
      wildcardKind: 'wildcard-any-depth',
      proxy: way.proxy,
      ports: portsOf(entry),
      source,
      created: route.created,
    })
  }
  for (const reason of reasons) {
    collection.leaveOut(name, taken ? `part of its traffic does not pass the proxy: ${reason}` : reason, source)
  }
  if (!taken) for (const reason of isolated) collection.leaveOut(name, reason, source)
  if (!met && reached.length > 0) {
    collection.leaveOut(
      name,
      name === '' ? 'answers every name: cannot be rewritten' : 'no listener that it attaches to takes this name',
      source,
    )
  }
}

/**
 * The listener that gets requests for a name before another one does: same Gateway and port, a more specific hostname that covers the
 * name (Gateway API 1.2, listener isolation: a route is asked only where it is attached to the most specific listener).
 */
function isolatedBy(
  name: string,
  entry: PlacedListener,
  placed: readonly PlacedListener[],
): PlacedListener | undefined {
  const {gateway, listener} = entry
  const read = readName(name)
  if (!read.ok || specificity(listener.hostname) === Infinity) return undefined
  const nearer = placed.filter(
    (other) =>
      other.gateway === gateway &&
      other.closed === undefined &&
      other.listener.port === listener.port &&
      other.listener.hostname !== undefined &&
      specificity(other.listener.hostname) > specificity(listener.hostname) &&
      meet(read.name, other.listener.hostname) === read.name,
  )

  return nearer.reduce<PlacedListener | undefined>(
    (best, other) =>
      best === undefined || specificity(other.listener.hostname) > specificity(best.listener.hostname) ? other : best,
    undefined,
  )
}

/** An exact name before any wildcard, a longer wildcard before a shorter one, any before none. */
function specificity(hostname: string | undefined): number {
  if (hostname === undefined) return 0
  return hostname.startsWith('*') ? hostname.split('.').length : Infinity
}

/** Intersection of two spellings; one that is no name passes as it is, so that its own reason is reported. */
function meet(route: string, listener: string): string | undefined {
  const a = readName(route)
  const b = readName(listener)
  if (!a.ok) return route
  if (!b.ok) return undefined
  return intersectNames(a.name, b.name)
}

function portsOf(entry: PlacedListener): readonly number[] {
  return entry.listener.port === undefined ? [] : [entry.listener.port]
}
