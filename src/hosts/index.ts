/** Which names belong at the proxy: pure functions from projected objects to a HostSet, with a reason for each name left out. */
export {hostsFromIngresses} from './from-ingresses.ts'
export {projectIngress, projectIngressClass, excludeAnnotation} from './ingress.ts'
export type {IngressClassSource, IngressSource} from './ingress.ts'
export type {HostCollection, HostOptions} from './collection.ts'
export {
  projectProxyService,
  projectTargetService,
  feedsAnnotation,
  gatewaysAnnotation,
  ingressClassesAnnotation,
} from './targets.ts'
export type {ProxyService} from './targets.ts'
export {readName, wildcardAnswers} from './names.ts'
export type {ReadName} from './names.ts'
