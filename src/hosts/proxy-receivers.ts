import {field, identity, list, record, text} from '../model/fields.ts'
import type {Identity} from '../model/fields.ts'
import type {GatewaySource} from './gateway.ts'

/** What a ClientTrafficPolicy of Envoy Gateway says about the PROXY header. */
export interface TrafficPolicySource extends Identity {
  /** Gateways that it names, `NAMESPACE/NAME`. */
  readonly gateways: readonly string[]
  /** It chooses Gateways by label: which ones is not read. */
  readonly selects: boolean
  /** It makes its Gateways ask for the header. */
  readonly asks: boolean
}

/**
 * Projects a ClientTrafficPolicy (Envoy Gateway, api/v1alpha1): the newer `proxyProtocol`, or the deprecated `enableProxyProtocol: true`,
 * which loses when both are set. A policy for one section of a Gateway counts for the Gateway. Undefined for what is no object; never
 * throws.
 */
export function projectTrafficPolicy(value: unknown): TrafficPolicySource | undefined {
  const who = identity(value)
  if (who === undefined) return undefined
  const spec = record(field(record(value), 'spec'))
  const asks = field(spec, 'proxyProtocol') ?? (field(spec, 'enableProxyProtocol') === true ? {} : undefined)
  const isGateway = (entry: unknown): boolean => text(field(record(entry), 'kind')) === 'Gateway'
  const names = [...list(field(spec, 'targetRefs')), field(spec, 'targetRef')]
    .filter(isGateway)
    .flatMap((entry) => text(field(record(entry), 'name')) ?? [])
  return {
    ...who,
    gateways: [...new Set(names)].map((name) => `${who.namespace}/${name}`),
    selects: list(field(spec, 'targetSelectors')).some(isGateway),
    asks: typeof asks === 'object',
  }
}

/**
 * Which Gateways ask for a PROXY header, as far as policies of Envoy Gateway tell. In: all policies, all Gateways. Out: true or false for
 * the Gateways of those classes of which a policy names one, since these are Envoy Gateway's; nothing about any other, and nothing about
 * those of a namespace where a policy chooses by label.
 */
export function envoyGatewayReceivers(
  policies: Iterable<TrafficPolicySource>,
  gateways: Iterable<GatewaySource>,
): Map<string, boolean> {
  const all = [...policies]
  const named = new Set(all.flatMap((policy) => policy.gateways))
  const asking = new Set(all.filter(({asks}) => asks).flatMap((policy) => policy.gateways))
  const unclear = new Set(all.filter(({selects}) => selects).map(({namespace}) => namespace))
  const known = [...gateways].map((gateway) => ({...gateway, key: `${gateway.namespace}/${gateway.name}`}))
  const classes = new Set(known.filter(({key}) => named.has(key)).map(({className}) => className))
  return new Map(
    known
      .filter(({className, namespace, key}) => classes.has(className) && (asking.has(key) || !unclear.has(namespace)))
      .map(({key}) => [key, asking.has(key)]),
  )
}
