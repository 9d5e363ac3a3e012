import {annotation, field, identity, list, port, record, text, textPairs, texts} from '../model/fields.ts'
import type {Identity} from '../model/fields.ts'
import {excludeAnnotation} from './ingress.ts'

/** Route kinds that carry host names. */
export type RouteKind = 'HTTPRoute' | 'GRPCRoute' | 'TLSRoute'

/** From which namespaces something may attach. */
export interface AllowedNamespaces {
  readonly from: 'All' | 'Same' | 'Selector' | 'None'
  readonly selector: LabelSelector | undefined
}

export interface LabelSelector {
  readonly matchLabels: Readonly<Record<string, string>>
  readonly matchExpressions: readonly {
    readonly key: string
    readonly operator: string
    readonly values: readonly string[]
  }[]
}

export interface ListenerSource {
  readonly name: string
  /** Undefined: every name. */
  readonly hostname: string | undefined
  readonly port: number | undefined
  readonly protocol: string
  readonly namespaces: AllowedNamespaces
  /** Undefined: the kinds that the protocol implies. */
  readonly kinds: readonly string[] | undefined
  /** Condition Accepted of its status; undefined: nobody has said. */
  readonly accepted: boolean | undefined
}

/** A Gateway, or a ListenerSet: a set of listeners that routes attach to. */
export interface GatewaySource extends Identity {
  /** `spec.gatewayClassName`. */
  readonly className: string
  readonly listeners: readonly ListenerSource[]
  readonly allowedListeners: AllowedNamespaces
  readonly accepted: boolean | undefined
  readonly excluded: boolean
}

export interface ListenerSetSource extends Identity {
  readonly parent: {readonly kind: string; readonly namespace: string; readonly name: string}
  readonly listeners: readonly ListenerSource[]
  readonly accepted: boolean | undefined
  readonly excluded: boolean
}

export interface ParentRef {
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly sectionName: string | undefined
  readonly port: number | undefined
  /** Condition Accepted for this parent: true if any controller says so, false if some say no and none yes. */
  readonly accepted: boolean | undefined
}

export interface RouteSource extends Identity {
  readonly kind: RouteKind
  readonly hostnames: readonly string[]
  readonly parents: readonly ParentRef[]
  readonly excluded: boolean
}

/** Labels of a Namespace, for `from: Selector`. */
export interface NamespaceSource {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
}

const gatewayGroup = 'gateway.networking.k8s.io'

/** Projects a Gateway of any version; undefined if it has no name. Never throws. */
export function projectGateway(value: unknown): GatewaySource | undefined {
  const who = identity(value)
  if (who === undefined) return undefined
  const spec = record(field(record(value), 'spec'))
  return {
    ...who,
    className: text(field(spec, 'gatewayClassName')) ?? '',
    listeners: projectListeners(value),
    allowedListeners: projectNamespaces(field(record(field(spec, 'allowedListeners')), 'namespaces'), 'None'),
    accepted: accepted(field(record(field(record(value), 'status')), 'conditions'), generation(value)),
    excluded: annotation(value, excludeAnnotation) === 'true',
  }
}

/** Projects a ListenerSet (GEP-1713); undefined if it has no name. Never throws. */
export function projectListenerSet(value: unknown): ListenerSetSource | undefined {
  const who = identity(value)
  if (who === undefined) return undefined
  const parent = record(field(record(field(record(value), 'spec')), 'parentRef'))
  return {
    ...who,
    parent: {
      kind: text(field(parent, 'kind')) ?? 'Gateway',
      namespace: text(field(parent, 'namespace')) ?? who.namespace,
      name: text(field(parent, 'name')) ?? '',
    },
    listeners: projectListeners(value),
    accepted: accepted(field(record(field(record(value), 'status')), 'conditions'), generation(value)),
    excluded: annotation(value, excludeAnnotation) === 'true',
  }
}

/** Projects an HTTPRoute, GRPCRoute or TLSRoute of any version; undefined if it has no name. Never throws. */
export function projectRoute(kind: RouteKind, value: unknown): RouteSource | undefined {
  const who = identity(value)
  if (who === undefined) return undefined
  const spec = record(field(record(value), 'spec'))
  const statuses = list(field(record(field(record(value), 'status')), 'parents')).map((entry) => ({
    ref: parentKey(field(record(entry), 'parentRef'), who.namespace),
    accepted: accepted(field(record(entry), 'conditions'), generation(value)),
  }))
  const parents: ParentRef[] = []
  for (const entry of list(field(spec, 'parentRefs'))) {
    const ref = parentRef(entry, who.namespace)
    if (ref === undefined) continue
    const key = parentKey(entry, who.namespace)
    const verdicts = statuses.filter((status) => status.ref === key).map((status) => status.accepted)
    parents.push({
      ...ref,
      accepted: verdicts.includes(true) ? true : verdicts.includes(false) ? false : undefined,
    })
  }
  return {
    ...who,
    kind,
    hostnames: texts(field(spec, 'hostnames')).filter((entry) => entry !== ''),
    parents,
    excluded: annotation(value, excludeAnnotation) === 'true',
  }
}

/** Projects a Namespace; undefined if it has no name. Never throws. */
export function projectNamespace(value: unknown): NamespaceSource | undefined {
  const metadata = record(field(record(value), 'metadata'))
  const name = text(field(metadata, 'name'))
  return name === undefined ? undefined : {name, labels: textPairs(field(metadata, 'labels'))}
}

function projectListeners(value: unknown): ListenerSource[] {
  const verdicts = new Map<string, boolean | undefined>()
  for (const entry of list(field(record(field(record(value), 'status')), 'listeners'))) {
    const name = text(field(record(entry), 'name'))
    if (name !== undefined) verdicts.set(name, accepted(field(record(entry), 'conditions'), generation(value)))
  }
  return list(field(record(field(record(value), 'spec')), 'listeners')).map((entry) => {
    const listener = record(entry)
    const routes = record(field(listener, 'allowedRoutes'))
    const kinds = list(field(routes, 'kinds'))
    const name = text(field(listener, 'name')) ?? ''
    return {
      name,
      hostname: text(field(listener, 'hostname')),
      port: port(field(listener, 'port')),
      protocol: text(field(listener, 'protocol')) ?? '',
      namespaces: projectNamespaces(field(routes, 'namespaces'), 'Same'),
      kinds:
        kinds.length === 0
          ? undefined
          : kinds
              .map(record)
              .filter((kind) => (text(field(kind, 'group')) ?? gatewayGroup) === gatewayGroup)
              .map((kind) => text(field(kind, 'kind')) ?? ''),
      accepted: verdicts.get(name),
    }
  })
}

function projectNamespaces(value: unknown, absent: AllowedNamespaces['from']): AllowedNamespaces {
  const from = text(field(record(value), 'from')) ?? absent
  if (from === 'All' || from === 'Same') return {from, selector: undefined}
  if (from !== 'Selector') return {from: 'None', selector: undefined}
  const selector = record(field(record(value), 'selector'))
  return {
    from,
    selector: {
      matchLabels: textPairs(field(selector, 'matchLabels')),
      matchExpressions: list(field(selector, 'matchExpressions')).map((entry) => ({
        key: text(field(record(entry), 'key')) ?? '',
        operator: text(field(record(entry), 'operator')) ?? '',
        values: texts(field(record(entry), 'values')),
      })),
    },
  }
}

function parentRef(value: unknown, namespace: string): Omit<ParentRef, 'accepted'> | undefined {
  const ref = record(value)
  const group = field(ref, 'group')
  const kind = text(field(ref, 'kind')) ?? 'Gateway'
  const name = text(field(ref, 'name'))
  if (name === undefined) return undefined
  const inGroup = group === undefined || group === null || group === gatewayGroup
  return {
    // A Service of the core group is a mesh parent (GAMMA): requests to it never pass an ingress.
    kind: inGroup ? kind : `${typeof group === 'string' && group !== '' ? group : 'core'}/${kind}`,
    namespace: text(field(ref, 'namespace')) ?? namespace,
    name,
    sectionName: text(field(ref, 'sectionName')),
    port: port(field(ref, 'port')),
  }
}

function parentKey(value: unknown, namespace: string): string {
  const ref = parentRef(value, namespace)
  return ref === undefined ? '' : JSON.stringify([ref.kind, ref.namespace, ref.name, ref.sectionName, ref.port])
}

function generation(value: unknown): number | undefined {
  const found = field(record(field(record(value), 'metadata')), 'generation')
  return typeof found === 'number' ? found : undefined
}

/**
 * The condition Accepted as a verdict. One that was written for an older generation says nothing about this one, so a
 * stale refusal never takes names away.
 */
function accepted(conditions: unknown, current: number | undefined): boolean | undefined {
  for (const entry of list(conditions)) {
    const condition = record(entry)
    if (field(condition, 'type') !== 'Accepted') continue
    const seen = field(condition, 'observedGeneration')
    const status = field(condition, 'status')
    if (status === 'True') return true
    if (status !== 'False') return undefined
    return typeof seen === 'number' && current !== undefined && seen < current ? undefined : false
  }
  return undefined
}
