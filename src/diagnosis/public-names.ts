import {
  collectHosts,
  projectGateway,
  projectIngress,
  projectIngressClass,
  projectListenerSet,
  projectNamespace,
  projectRoute,
} from '../hosts/index.ts'
import type {RouteKind} from '../hosts/index.ts'
import type {SnapshotIndex} from '../model/snapshot.ts'

/** A name that applications are called by, and the objects that ask for it. */
export interface PublicName {
  readonly name: string
  readonly wildcard: boolean
  readonly ports: readonly number[]
  /** `ingress/NAMESPACE/NAME`, `httproute/…`. */
  readonly sources: readonly string[]
}

/** Every public name of the cluster, through the same rules that DNS rules are made by; exclusions of a proxy play no part. */
export function readNames(index: SnapshotIndex): PublicName[] {
  const defined = <T>(values: readonly (T | undefined)[]): T[] => values.filter((value) => value !== undefined)
  const {hosts} = collectHosts(
    {
      ingresses: defined(index.list('Ingress', 'networking.k8s.io').map(projectIngress)),
      ingressClasses: defined(index.list('IngressClass').map(projectIngressClass)),
      gateways: defined(index.list('Gateway', 'gateway.networking.k8s.io').map(projectGateway)),
      listenerSets: defined(index.list('ListenerSet').map(projectListenerSet)),
      routes: (['HTTPRoute', 'GRPCRoute', 'TLSRoute'] as RouteKind[]).flatMap((kind) =>
        defined(index.list(kind, 'gateway.networking.k8s.io').map((route) => projectRoute(kind, route))),
      ),
      namespaces: defined(index.list('Namespace').map(projectNamespace)),
    },
    {proxies: [{target: 'every/way'}]},
  )
  return hosts.map(({name, kind, ports, sources}) => ({name, wildcard: kind !== 'exact', ports, sources}))
}
