import {IngressClasses} from './classes.ts'
import {Collection} from './collection.ts'
import type {HostCollection, HostOptions} from './collection.ts'
import {addGateways} from './from-gateways.ts'
import type {GatewayObjects} from './from-gateways.ts'
import {addFlagHosts, addIngresses} from './from-ingresses.ts'
import type {IngressClassSource, IngressSource} from './ingress.ts'
import {envoyGatewayReceivers} from './proxy-receivers.ts'
import type {TrafficPolicySource} from './proxy-receivers.ts'

/** Everything that can ask for a name, projected. */
export interface HostSources extends Partial<GatewayObjects> {
  readonly ingresses?: Iterable<IngressSource>
  readonly ingressClasses?: Iterable<IngressClassSource>
  /** ClientTrafficPolicies of Envoy Gateway; absent: which Gateways ask for the header is not known. */
  readonly trafficPolicies?: Iterable<TrafficPolicySource>
}

/**
 * The whole wanted set of names. Pure; depends on the set of objects only, not on their order.
 * In: projected objects, and what the person chose. Out: hosts in a fixed order, everything left out with its reason,
 * and warnings. Names inside cluster zones are still in it: only the DNS planner knows the zones.
 */
export function collectHosts(sources: HostSources, options: HostOptions): HostCollection {
  const collection = new Collection(options.exclude ?? [])
  addIngresses(collection, sources.ingresses ?? [], new IngressClasses(sources.ingressClasses ?? []), options)
  addGateways(
    collection,
    {
      gateways: sources.gateways ?? [],
      listenerSets: sources.listenerSets ?? [],
      routes: sources.routes ?? [],
      namespaces: sources.namespaces,
    },
    {...options, gatewayReceivers: envoyGatewayReceivers(sources.trafficPolicies ?? [], sources.gateways ?? [])},
  )
  addFlagHosts(collection, options)
  return collection.finish()
}
