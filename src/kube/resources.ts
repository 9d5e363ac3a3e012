import type {Resource} from './types.ts'

function core(plural: string, kind: string, namespaced = true): Resource {
  return {group: '', version: 'v1', plural, kind, namespaced}
}

function grouped(group: string, plural: string, kind: string, version = 'v1', namespaced = true): Resource {
  return {group, version, plural, kind, namespaced}
}

/** The kinds this product reads or writes, in their preferred version. */
export const resources = {
  namespaces: core('namespaces', 'Namespace', false),
  nodes: core('nodes', 'Node', false),
  pods: core('pods', 'Pod'),
  services: core('services', 'Service'),
  configMaps: core('configmaps', 'ConfigMap'),
  serviceAccounts: core('serviceaccounts', 'ServiceAccount'),
  deployments: grouped('apps', 'deployments', 'Deployment'),
  daemonSets: grouped('apps', 'daemonsets', 'DaemonSet'),
  replicaSets: grouped('apps', 'replicasets', 'ReplicaSet'),
  endpointSlices: grouped('discovery.k8s.io', 'endpointslices', 'EndpointSlice'),
  ingresses: grouped('networking.k8s.io', 'ingresses', 'Ingress'),
  ingressClasses: grouped('networking.k8s.io', 'ingressclasses', 'IngressClass', 'v1', false),
  leases: grouped('coordination.k8s.io', 'leases', 'Lease'),
  events: grouped('events.k8s.io', 'events', 'Event'),
  jobs: grouped('batch', 'jobs', 'Job'),
  gateways: grouped('gateway.networking.k8s.io', 'gateways', 'Gateway'),
  gatewayClasses: grouped('gateway.networking.k8s.io', 'gatewayclasses', 'GatewayClass', 'v1', false),
  httpRoutes: grouped('gateway.networking.k8s.io', 'httproutes', 'HTTPRoute'),
  grpcRoutes: grouped('gateway.networking.k8s.io', 'grpcroutes', 'GRPCRoute'),
  tlsRoutes: grouped('gateway.networking.k8s.io', 'tlsroutes', 'TLSRoute'),
  listenerSets: grouped('gateway.networking.k8s.io', 'listenersets', 'ListenerSet'),
  helmReleases: grouped('helm.toolkit.fluxcd.io', 'helmreleases', 'HelmRelease', 'v2'),
  clientTrafficPolicies: grouped('gateway.envoyproxy.io', 'clienttrafficpolicies', 'ClientTrafficPolicy', 'v1alpha1'),
  customResourceDefinitions: grouped(
    'apiextensions.k8s.io',
    'customresourcedefinitions',
    'CustomResourceDefinition',
    'v1',
    false,
  ),
} as const satisfies Readonly<Record<string, Resource>>

/** The selector of a list for these labels, `a=b,c=d`; empty for none, which selects everything. */
export function labelSelectorOf(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(',')
}

/** `plural.group`, as kubectl and RBAC messages write it. */
export function resourceText(resource: Pick<Resource, 'group' | 'plural'>): string {
  return resource.group === '' ? resource.plural : `${resource.plural}.${resource.group}`
}
