import {readFileSync} from 'node:fs'
import {parseAllDocuments} from 'yaml'
import {
  projectGateway,
  projectIngress,
  projectIngressClass,
  projectListenerSet,
  projectNamespace,
  projectRoute,
  projectTrafficPolicy,
} from '../../../src/hosts/index.ts'
import type {HostCollection, HostSources, RouteKind} from '../../../src/hosts/index.ts'

/** The objects of a case, as the API would hand them out. */
export function caseObjects(name: string): unknown[] {
  const text = readFileSync(new URL(`../../cases/${name}/objects.yaml`, import.meta.url), 'utf8')
  return parseAllDocuments(text).map((document) => document.toJS() as unknown)
}

/** Sorts raw objects by kind and projects them. */
export function sourcesOf(objects: readonly unknown[]): HostSources {
  const ofKind = (kind: string): unknown[] =>
    objects.filter((entry) => (entry as {kind?: unknown} | null)?.kind === kind)
  const routes = (['HTTPRoute', 'GRPCRoute', 'TLSRoute'] as RouteKind[]).flatMap((kind) =>
    ofKind(kind).map((entry) => projectRoute(kind, entry)),
  )
  return {
    ingresses: defined(ofKind('Ingress').map(projectIngress)),
    ingressClasses: defined(ofKind('IngressClass').map(projectIngressClass)),
    gateways: defined(ofKind('Gateway').map(projectGateway)),
    listenerSets: defined(ofKind('ListenerSet').map(projectListenerSet)),
    routes: defined(routes),
    trafficPolicies: defined(ofKind('ClientTrafficPolicy').map(projectTrafficPolicy)),
    namespaces: defined(ofKind('Namespace').map(projectNamespace)),
  }
}

function defined<T>(values: readonly (T | undefined)[]): T[] {
  return values.filter((value) => value !== undefined)
}

/** `name` or `name KIND`, for short expectations. */
export function names(collection: HostCollection): string[] {
  return collection.hosts.map((host) => (host.kind === 'exact' ? host.name : `${host.name} ${host.kind}`))
}

/** `name: reason`. */
export function leftOut(collection: HostCollection): string[] {
  return collection.excluded.map((entry) => `${entry.name}: ${entry.reason}`)
}

export interface IngressShape {
  name?: string
  namespace?: string
  className?: string
  hosts?: (string | undefined)[]
  tls?: string[]
  annotations?: Record<string, string>
  created?: string
}

/** An Ingress as the API returns it. */
export function ingress(shape: IngressShape): unknown {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: {
      name: shape.name ?? 'web',
      namespace: shape.namespace ?? 'demo',
      ...(shape.annotations === undefined ? {} : {annotations: shape.annotations}),
      ...(shape.created === undefined ? {} : {creationTimestamp: shape.created}),
    },
    spec: {
      ...(shape.className === undefined ? {} : {ingressClassName: shape.className}),
      rules: (shape.hosts ?? []).map((host) => (host === undefined ? {} : {host})),
      ...(shape.tls === undefined ? {} : {tls: [{hosts: shape.tls}]}),
    },
  }
}

/** An IngressClass as the API returns it. */
export function ingressClass(
  name: string,
  controller: string,
  more: {isDefault?: boolean; created?: string} = {},
): unknown {
  return {
    kind: 'IngressClass',
    metadata: {
      name,
      creationTimestamp: more.created ?? '2026-01-01T00:00:00Z',
      annotations: more.isDefault === true ? {'ingressclass.kubernetes.io/is-default-class': 'true'} : {},
    },
    spec: {controller},
  }
}

/** A Gateway with the given listeners, in namespace infra. */
export function gateway(name: string, listeners: object[], more: Record<string, unknown> = {}): unknown {
  return {
    kind: 'Gateway',
    metadata: {name, namespace: 'infra', creationTimestamp: '2026-01-01T00:00:00Z'},
    spec: {listeners, ...(more['spec'] as object | undefined)},
    ...(more['status'] === undefined ? {} : {status: more['status']}),
  }
}

/** A route in namespace demo. */
export function route(
  kind: RouteKind,
  hostnames: string[],
  parentRefs: object[],
  more: Record<string, unknown> = {},
): unknown {
  return {
    kind,
    metadata: {
      name: 'r',
      namespace: 'demo',
      creationTimestamp: '2026-01-02T00:00:00Z',
      ...(more['metadata'] as object),
    },
    spec: {parentRefs, hostnames},
    ...(more['status'] === undefined ? {} : {status: more['status']}),
  }
}
