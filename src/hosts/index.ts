/** Which names belong at the proxy: pure functions from projected objects to a HostSet, with a reason for each name left out. */
export {collectHosts} from './collect.ts'
export type {HostSources} from './collect.ts'
export {hostsFromIngresses} from './from-ingresses.ts'
export {excludeAnnotation, projectIngress, projectIngressClass} from './ingress.ts'
export type {IngressClassSource, IngressSource} from './ingress.ts'
export {projectGateway, projectListenerSet, projectNamespace, projectRoute} from './gateway.ts'
export type {GatewaySource, ListenerSetSource, NamespaceSource, RouteKind, RouteSource} from './gateway.ts'
export type {HostCollection, HostOptions} from './collection.ts'
export {envoyGatewayReceivers} from './proxy-receivers.ts'
export {
  feedsAnnotation,
  gatewaysAnnotation,
  ingressClassesAnnotation,
  projectProxyService,
  projectTargetService,
} from './targets.ts'
export type {ProxyService} from './targets.ts'
export {compareText, readName, wildcardAnswers} from './names.ts'
export type {ReadName} from './names.ts'
