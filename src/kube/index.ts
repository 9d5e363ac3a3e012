/**
 * The Kubernetes side of the house: kubeconfig, credentials, transport, typed calls, port-forward, reflector and Lease.
 * Other rooms import from here only. In a Pod, nothing of this loads `yaml`, `ws` or client-node before it is needed.
 */
export {systemClock, sleep} from './clock.ts'
export type {Clock} from './clock.ts'
export {KubeFailure, hasStatus} from './failures/failure.ts'
export type {FailureKind} from './failures/failure.ts'
export {labelSelectorOf, resources, resourceText} from './resources.ts'
export type * from './types.ts'
export type * from './reflector/types.ts'
export type * from './lease/types.ts'
export {loadKubeconfig} from './config/kubeconfig.ts'
export {inClusterConfig} from './config/in-cluster.ts'
export {parseGoDuration, parseRequestTimeout} from './config/duration.ts'
export {createKubeClient} from './calls/client.ts'
export {isAdmissionDenial} from './failures/from-status.ts'

export {createReflector} from './reflector/reflector.ts'
export {createLeaseLock} from './lease/lease-lock.ts'
export {holderOf as leaseHolder} from './lease/record.ts'
export {loadSnapshot} from './snapshot/load.ts'
export type {LoadSnapshotOptions} from './snapshot/load.ts'
export {readSnapshotFiles} from './snapshot/read-files.ts'
export {createSnapshotClient} from './snapshot/snapshot-client.ts'
