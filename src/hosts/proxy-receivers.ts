import {field, identity, list, record, text} from '../model/fields.ts'

/**
 * Which Gateways of Envoy Gateway ask for a PROXY header, from its ClientTrafficPolicies (api/v1alpha1: the newer
 * `proxyProtocol`, or the deprecated `enableProxyProtocol: true`, which loses when both are set).
 * In: all policies and the names of the Gateways in question, `NAMESPACE/NAME`. Out: true for those that a policy makes
 * ask, false for the rest. A policy that targets one section of a Gateway counts for the Gateway. Never throws.
 */
export function envoyGatewayReceivers(policies: Iterable<unknown>, gateways: Iterable<string>): Map<string, boolean> {
  const receivers = new Map<string, boolean>()
  for (const name of gateways) receivers.set(name, false)
  for (const policy of policies) {
    const who = identity(policy)
    if (who === undefined) continue
    const spec = record(field(record(policy), 'spec'))
    const asks = field(spec, 'proxyProtocol') ?? (field(spec, 'enableProxyProtocol') === true ? {} : undefined)
    if (typeof asks !== 'object') continue
    for (const entry of [...list(field(spec, 'targetRefs')), field(spec, 'targetRef')]) {
      const ref = record(entry)
      const name = `${who.namespace}/${text(field(ref, 'name')) ?? ''}`
      if (text(field(ref, 'kind')) === 'Gateway' && receivers.has(name)) receivers.set(name, true)
    }
  }
  return receivers
}
