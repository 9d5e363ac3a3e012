import {annotation, field, identity, labels, list, port, record, words} from '../model/fields.ts'
import {compareText} from './names.ts'

/** A proxy Service and whom it serves (design.md 5, "Target"). */
export interface ProxyService {
  /** `NAMESPACE/NAME`, or an FQDN where no cluster is asked. */
  readonly target: string
  /** `srcip.dev/feeds`: the ingress Service behind it, `NAMESPACE/NAME`. */
  readonly feeds?: string
  /** `srcip.dev/ingress-classes`: names, or values of `spec.controller`. Absent together with `gateways`: every class. */
  readonly ingressClasses?: readonly string[]
  /** `srcip.dev/gateways`: `NAMESPACE/NAME`, `NAMESPACE/*` or `*`. */
  readonly gateways?: readonly string[]
  readonly ports?: readonly number[]
}

/** Annotations that the chart writes on each proxy Service. */
const feedsAnnotation = 'srcip.dev/feeds'
const ingressClassesAnnotation = 'srcip.dev/ingress-classes'
const gatewaysAnnotation = 'srcip.dev/gateways'

/** Projects a Service with label `srcip.dev/component: proxy`; undefined for any other object. Never throws. */
export function projectProxyService(value: unknown): ProxyService | undefined {
  if (field(labels(value), 'srcip.dev/component') !== 'proxy') return undefined
  return projectTargetService(value)
}

/** Projects a Service that `--target` names, with or without our label. Never throws. */
export function projectTargetService(value: unknown): ProxyService | undefined {
  const who = identity(value)
  if (who === undefined) return undefined
  const feeds = annotation(value, feedsAnnotation)
  const ingressClasses = annotation(value, ingressClassesAnnotation)
  const gateways = annotation(value, gatewaysAnnotation)
  const ports = list(field(record(field(record(value), 'spec')), 'ports'))
    .map((entry) => port(field(record(entry), 'port')))
    .filter((entry) => entry !== undefined)
  return {
    target: `${who.namespace}/${who.name}`,
    ports,
    ...(feeds === undefined ? {} : {feeds}),
    ...(ingressClasses === undefined ? {} : {ingressClasses: words(ingressClasses)}),
    ...(gateways === undefined ? {} : {gateways: words(gateways)}),
  }
}

/** True if the Service says whom it serves; one that says nothing serves all. */
export function isRestricted(proxy: ProxyService): boolean {
  return proxy.ingressClasses !== undefined || proxy.gateways !== undefined
}

/** True if the proxy serves that Gateway. */
export function servesGateway(proxy: ProxyService, namespace: string, name: string): boolean {
  if (!isRestricted(proxy)) return true
  return (proxy.gateways ?? []).some(
    (entry) => entry === '*' || entry === `${namespace}/${name}` || entry === `${namespace}/*`,
  )
}

/**
 * Of the proxies that fit, the one to use: one that names the class or Gateway before one that serves all, then by
 * name, so that the choice is the same in every replica.
 */
export function preferred(proxies: readonly ProxyService[]): ProxyService | undefined {
  return [...proxies].sort(
    (a, b) => Number(isRestricted(b)) - Number(isRestricted(a)) || compareText(a.target, b.target),
  )[0]
}
