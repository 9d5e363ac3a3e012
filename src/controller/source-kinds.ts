import {
  projectGateway,
  projectIngress,
  projectIngressClass,
  projectListenerSet,
  projectNamespace,
  projectRoute,
  projectTrafficPolicy,
} from '../hosts/index.ts'
import type {
  GatewaySource,
  IngressClassSource,
  IngressSource,
  ListenerSetSource,
  NamespaceSource,
  RouteSource,
  TrafficPolicySource,
} from '../hosts/index.ts'
import {resources} from '../kube/index.ts'
import type {Resource} from '../kube/index.ts'

/** Every object that can ask for a name, by the kind of its source. */
export interface SourceObjects {
  readonly ingresses: IngressSource
  readonly ingressclasses: IngressClassSource
  readonly gateways: GatewaySource
  readonly listenersets: ListenerSetSource
  readonly httproutes: RouteSource
  readonly grpcroutes: RouteSource
  readonly tlsroutes: RouteSource
  readonly namespaces: NamespaceSource
  readonly clienttrafficpolicies: TrafficPolicySource
}

export type SourceName = keyof SourceObjects

/** How one source is read. */
export interface SourceKind<T> {
  readonly resource: Resource
  /** Served versions, best first; Gateway API releases differ (controller.md 3.2). */
  readonly versions: readonly string[]
  /** `ingress` and `gateway` can be switched off as a whole. */
  readonly family: 'ingress' | 'gateway'
  /** Word for the source of a name in a HostSet; absent where the kind gives no names by itself. */
  readonly sourceWord?: string
  readonly project: (object: unknown) => T | undefined
}

/** How each kind is read that is read at all. */
export type SourceKinds = {readonly [K in SourceName]?: SourceKind<SourceObjects[K]>}

/** The sources, in the order in which readiness lists them. */
export const sourceKinds: {readonly [K in SourceName]: SourceKind<SourceObjects[K]>} = {
  ingresses: {
    resource: resources.ingresses,
    versions: ['v1'],
    family: 'ingress',
    sourceWord: 'ingress',
    project: projectIngress,
  },
  ingressclasses: {
    resource: resources.ingressClasses,
    versions: ['v1'],
    family: 'ingress',
    project: projectIngressClass,
  },
  gateways: {
    resource: resources.gateways,
    versions: ['v1', 'v1beta1'],
    family: 'gateway',
    sourceWord: 'gateway',
    project: projectGateway,
  },
  listenersets: {
    resource: resources.listenerSets,
    versions: ['v1', 'v1beta1', 'v1alpha1'],
    family: 'gateway',
    sourceWord: 'listenerset',
    project: projectListenerSet,
  },
  httproutes: {
    resource: resources.httpRoutes,
    versions: ['v1', 'v1beta1'],
    family: 'gateway',
    sourceWord: 'httproute',
    project: (object) => projectRoute('HTTPRoute', object),
  },
  grpcroutes: {
    resource: resources.grpcRoutes,
    versions: ['v1', 'v1alpha2'],
    family: 'gateway',
    sourceWord: 'grpcroute',
    project: (object) => projectRoute('GRPCRoute', object),
  },
  tlsroutes: {
    resource: resources.tlsRoutes,
    versions: ['v1', 'v1alpha3', 'v1alpha2'],
    family: 'gateway',
    sourceWord: 'tlsroute',
    project: (object) => projectRoute('TLSRoute', object),
  },
  namespaces: {resource: resources.namespaces, versions: ['v1'], family: 'gateway', project: projectNamespace},
  clienttrafficpolicies: {
    resource: resources.clientTrafficPolicies,
    versions: ['v1alpha1'],
    family: 'gateway',
    project: projectTrafficPolicy,
  },
}

export const sourceNames = Object.keys(sourceKinds) as SourceName[]
