/** The fields of Kubernetes objects that the bed itself reads or writes. */

export type OwnerReference = {
  apiVersion: string
  kind: string
  name: string
  uid: string
  controller?: boolean
  blockOwnerDeletion?: boolean
}

export type Metadata = {
  name: string
  namespace?: string
  uid?: string
  resourceVersion?: string
  generation?: number
  labels?: Record<string, string>
  annotations?: Record<string, string>
  ownerReferences?: OwnerReference[]
  deletionTimestamp?: string
  deletionGracePeriodSeconds?: number
  creationTimestamp?: string
}

/** Any object: what `create` and `apply` take. */
export type KubeObject = {apiVersion: string; kind: string; metadata: Metadata; [field: string]: unknown}

export type Probe = {
  httpGet?: {path?: string; port: number | string; scheme?: string}
  tcpSocket?: {port: number | string}
  exec?: {command: string[]}
  periodSeconds?: number
  failureThreshold?: number
  timeoutSeconds?: number
}

export type Container = {
  name: string
  image: string
  command?: string[]
  args?: string[]
  workingDir?: string
  env?: {name: string; value?: string; valueFrom?: {fieldRef?: {fieldPath: string}}}[]
  ports?: {name?: string; containerPort: number; protocol?: string}[]
  volumeMounts?: {name: string; mountPath: string; subPath?: string; readOnly?: boolean}[]
  readinessProbe?: Probe
  livenessProbe?: Probe
}

type KeyToPath = {key: string; path: string}

export type Projection = {
  configMap?: {name: string; items?: KeyToPath[]; optional?: boolean}
  secret?: {name: string; items?: KeyToPath[]; optional?: boolean}
  serviceAccountToken?: {path: string; audience?: string; expirationSeconds?: number}
  downwardAPI?: {items: {path: string; fieldRef: {fieldPath: string}}[]}
}

export type Volume = {
  name: string
  configMap?: {name: string; items?: KeyToPath[]; optional?: boolean}
  secret?: {secretName: string; items?: KeyToPath[]; optional?: boolean}
  projected?: {sources: Projection[]}
  emptyDir?: object
}

export type PodSpec = {
  nodeName?: string
  serviceAccountName?: string
  automountServiceAccountToken?: boolean
  containers: Container[]
  ephemeralContainers?: Container[]
  volumes?: Volume[]
  dnsPolicy?: string
  hostname?: string
  restartPolicy?: string
  terminationGracePeriodSeconds?: number
}

export type Condition = {type: string; status: string; reason?: string; lastTransitionTime?: string}

export type Pod = KubeObject & {
  spec: PodSpec
  status?: {phase?: string; podIP?: string; conditions?: Condition[]}
}

export type PodTemplate = {metadata?: Partial<Metadata>; spec: PodSpec}

export type ReplicaSet = KubeObject & {
  spec: {replicas?: number; selector: {matchLabels: Record<string, string>}; template: PodTemplate}
  status?: {replicas?: number; readyReplicas?: number; availableReplicas?: number; observedGeneration?: number}
}

export type Deployment = KubeObject & {
  spec: {replicas?: number; paused?: boolean; selector: {matchLabels: Record<string, string>}; template: PodTemplate}
  status?: Record<string, unknown>
}

export type ServicePort = {
  name?: string
  port: number
  protocol?: string
  targetPort?: number | string
  nodePort?: number
}

export type Service = KubeObject & {
  spec: {
    type?: string
    clusterIP?: string
    selector?: Record<string, string>
    ports?: ServicePort[]
    externalTrafficPolicy?: string
    publishNotReadyAddresses?: boolean
  }
  status?: {loadBalancer?: {ingress?: {ip?: string; hostname?: string; ipMode?: string}[]}}
}

export type Endpoint = {
  addresses: string[]
  conditions?: {ready?: boolean; serving?: boolean; terminating?: boolean}
  nodeName?: string
  targetRef?: {kind: string; name: string; namespace?: string; uid?: string}
}

export type EndpointSlice = KubeObject & {
  addressType: string
  endpoints?: Endpoint[]
  ports?: {name?: string; port?: number; protocol?: string}[]
}

export type ConfigMap = KubeObject & {data?: Record<string, string>; binaryData?: Record<string, string>}

export type Secret = KubeObject & {data?: Record<string, string>}

export type IngressRule = {
  host?: string
  http?: {
    paths: {
      path?: string
      pathType?: string
      backend: {service?: {name: string; port: {number?: number; name?: string}}}
    }[]
  }
}

export type Ingress = KubeObject & {
  spec: {ingressClassName?: string; tls?: {hosts?: string[]; secretName?: string}[]; rules?: IngressRule[]}
  status?: {loadBalancer?: {ingress?: {ip?: string}[]}}
}

/** `namespace/name`, or the name alone for what has no namespace. */
export function keyOf(object: {metadata: Metadata}): string {
  const {name, namespace} = object.metadata
  return namespace === undefined ? name : `${namespace}/${name}`
}

/** Whether an object carries every one of these labels. */
export function hasLabels(object: {metadata: Metadata}, wanted: Record<string, string>): boolean {
  const labels = object.metadata.labels ?? {}
  return Object.entries(wanted).every(([name, value]) => labels[name] === value)
}

/** Whether a pod's condition `Ready` is true. */
export function isReady(pod: Pod): boolean {
  return pod.status?.conditions?.some(({type, status}) => type === 'Ready' && status === 'True') ?? false
}

/** The reference that makes `owner` the controller of an object. */
export function controllerReference(owner: KubeObject): OwnerReference {
  const {apiVersion, kind, metadata} = owner
  return {apiVersion, kind, name: metadata.name, uid: metadata.uid ?? '', controller: true, blockOwnerDeletion: true}
}
