/**
 * The Kubernetes side of the house: kubeconfig, credentials, transport, typed calls, port-forward, reflector and Lease.
 * Other rooms import from here only. In a Pod, nothing of this loads `yaml`, `ws` or client-node before it is needed.
 */
export {systemClock, sleep} from './clock.ts'
export type {Clock} from './clock.ts'
export {KubeFailure, hasStatus} from './failure.ts'
export type {FailureKind} from './failure.ts'
export {resources, resourceText} from './resources.ts'
export type * from './types.ts'
export type * from './reflector/types.ts'
export type * from './lease/types.ts'

// The functions that come with these types:
//   loadKubeconfig(flags: KubeFlags, env: NodeJS.ProcessEnv): Promise<ClusterConfig>
//   inClusterConfig(env: NodeJS.ProcessEnv): Promise<ClusterConfig | undefined>
//   createKubeClient(config: ClusterConfig, options?: ClientOptions): KubeClient
//   createReflector<T>(options: ReflectorOptions<T>): Reflector<T>
//   createLeaseLock(options: LeaseOptions): LeaseLock
