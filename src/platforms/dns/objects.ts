import type {KubeObject, ObjectMeta} from '../../model/kubernetes.ts'

/** Projected Service: what locating cluster DNS and checking a rewrite target need. */
export interface ServiceView {
  readonly metadata: ObjectMeta
  readonly type: string
  /** Every ClusterIP of the Service (dual stack), without `None` and empty text. */
  readonly clusterIPs: readonly string[]
  readonly headless: boolean
  readonly externalName?: string
  readonly selector?: Readonly<Record<string, string>>
  readonly ports: readonly {
    readonly name?: string
    readonly port: number
    readonly protocol: string
    readonly targetPort?: number | string
  }[]
}

export interface EndpointSliceView {
  readonly metadata: ObjectMeta
  /** Name of the Service in the same namespace (label kubernetes.io/service-name). */
  readonly service: string
  readonly endpoints: readonly {readonly addresses: readonly string[]; readonly pod?: string; readonly ready: boolean}[]
  readonly ports: readonly {readonly name?: string; readonly port: number; readonly protocol: string}[]
}

export interface EnvVar {
  readonly name: string
  /** Literal value; `undefined` when it comes from somewhere else. */
  readonly value?: string
  readonly configMapKey?: {readonly name: string; readonly key: string; readonly optional: boolean}
  /** From a Secret, a field or a resource: the value is not known outside the pod. */
  readonly opaque: boolean
}

export interface ContainerView {
  readonly name: string
  readonly image: string
  readonly command: readonly string[]
  readonly args: readonly string[]
  readonly workingDir?: string
  readonly env: readonly EnvVar[]
  readonly envFrom: readonly {readonly configMap?: string; readonly prefix: string; readonly opaque: boolean}[]
  readonly ports: readonly {readonly name?: string; readonly containerPort: number; readonly protocol: string}[]
  readonly mounts: readonly {
    readonly volume: string
    readonly path: string
    readonly subPath?: string
    readonly subPathExpr: boolean
  }[]
}

/** One source of a volume; `projected` volumes have several. Other volume types are kept by name only. */
export interface VolumeSource {
  readonly type: string
  readonly configMap?: {
    readonly name: string
    readonly optional: boolean
    /** Absent: every key is a file of that name. */
    readonly items?: readonly {readonly key: string; readonly path: string}[]
  }
}

export interface VolumeView {
  readonly name: string
  readonly sources: readonly VolumeSource[]
}

export interface PodSpecView {
  readonly hostNetwork: boolean
  readonly containers: readonly ContainerView[]
  readonly volumes: readonly VolumeView[]
}

export interface PodView {
  readonly metadata: ObjectMeta
  readonly spec: PodSpecView
  readonly phase: string
  readonly ips: readonly string[]
  readonly ready: boolean
}

/** Deployment, ReplicaSet, DaemonSet or StatefulSet. */
export interface WorkloadView {
  readonly kind: string
  readonly metadata: ObjectMeta
  readonly replicas?: number
  readonly templateLabels: Readonly<Record<string, string>>
  readonly spec: PodSpecView
}

export interface ConfigMapView {
  readonly metadata: ObjectMeta
  readonly data: Readonly<Record<string, string>>
  /** Keys of `binaryData`: they are files of the volume too, but no text. */
  readonly binaryKeys: readonly string[]
  readonly immutable: boolean
}

/** What locating cluster DNS reads; anything else in a cluster is of no interest to it. */
export interface DnsObjects {
  readonly services: readonly ServiceView[]
  readonly endpointSlices: readonly EndpointSliceView[]
  readonly pods: readonly PodView[]
  readonly workloads: readonly WorkloadView[]
  readonly configMaps: readonly ConfigMapView[]
  /** ConfigMaps that may be there but must not be read (403), as `NAMESPACE/NAME`: nothing is known of them. */
  readonly forbiddenMaps?: ReadonlySet<string>
}

const workloadKinds = new Set(['Deployment', 'ReplicaSet', 'DaemonSet', 'StatefulSet'])

/** Projects objects as the API or a manifest gives them; kinds that are not needed are dropped, malformed fields read as absent. */
export function projectDnsObjects(objects: readonly KubeObject[]): DnsObjects {
  const of = (kind: string): KubeObject[] => objects.filter((object) => object.kind === kind)
  return {
    services: of('Service').map(projectService),
    endpointSlices: of('EndpointSlice').map(projectEndpointSlice),
    pods: of('Pod').map(projectPod),
    workloads: objects.filter((object) => workloadKinds.has(object.kind ?? '')).map(projectWorkload),
    configMaps: of('ConfigMap').map(projectConfigMap),
  }
}

export function projectService(object: KubeObject): ServiceView {
  const spec = record(object['spec'])
  const single = text(spec['clusterIP'])
  const listed = list(spec['clusterIPs'])
    .map(text)
    .filter((ip) => ip !== undefined)
  const all = listed.length > 0 ? listed : single === undefined ? [] : [single]
  const externalName = text(spec['externalName'])
  const selector = textRecord(spec['selector'])
  return {
    metadata: projectMeta(object),
    type: text(spec['type']) ?? 'ClusterIP',
    clusterIPs: all.filter((ip) => ip !== 'None' && ip !== ''),
    headless: single === 'None',
    ...(externalName === undefined ? {} : {externalName}),
    ...(selector === undefined || Object.keys(selector).length === 0 ? {} : {selector}),
    ports: list(spec['ports']).map((entry) => {
      const port = record(entry)
      const target = port['targetPort']
      return {
        ...named(port),
        port: number(port['port']) ?? 0,
        protocol: text(port['protocol']) ?? 'TCP',
        ...(typeof target === 'number' || typeof target === 'string' ? {targetPort: target} : {}),
      }
    }),
  }
}

export function projectEndpointSlice(object: KubeObject): EndpointSliceView {
  const metadata = projectMeta(object)
  return {
    metadata,
    service: metadata.labels?.['kubernetes.io/service-name'] ?? '',
    endpoints: list(object['endpoints']).map((entry) => {
      const endpoint = record(entry)
      const target = record(endpoint['targetRef'])
      const pod = target['kind'] === 'Pod' ? text(target['name']) : undefined
      return {
        addresses: list(endpoint['addresses'])
          .map(text)
          .filter((address) => address !== undefined),
        ...(pod === undefined ? {} : {pod}),
        // discovery.k8s.io/v1: an unset ready condition is to be read as ready
        ready: record(endpoint['conditions'])['ready'] !== false,
      }
    }),
    ports: list(object['ports']).map((entry) => {
      const port = record(entry)
      return {...named(port), port: number(port['port']) ?? 0, protocol: text(port['protocol']) ?? 'TCP'}
    }),
  }
}

export function projectPod(object: KubeObject): PodView {
  const status = record(object['status'])
  const ips = list(status['podIPs'])
    .map((entry) => text(record(entry)['ip']))
    .filter((ip) => ip !== undefined)
  const single = text(status['podIP'])
  return {
    metadata: projectMeta(object),
    spec: projectPodSpec(object['spec']),
    phase: text(status['phase']) ?? 'Unknown',
    ips: ips.length > 0 ? ips : single === undefined ? [] : [single],
    ready: list(status['conditions']).some((entry) => {
      const condition = record(entry)
      return condition['type'] === 'Ready' && condition['status'] === 'True'
    }),
  }
}

export function projectWorkload(object: KubeObject): WorkloadView {
  const spec = record(object['spec'])
  const template = record(spec['template'])
  const replicas = number(spec['replicas'])
  return {
    kind: object.kind ?? '',
    metadata: projectMeta(object),
    ...(replicas === undefined ? {} : {replicas}),
    templateLabels: textRecord(record(template['metadata'])['labels']) ?? {},
    spec: projectPodSpec(template['spec']),
  }
}

export function projectConfigMap(object: KubeObject): ConfigMapView {
  return {
    metadata: projectMeta(object),
    data: textRecord(object['data']) ?? {},
    binaryKeys: Object.keys(record(object['binaryData'])).toSorted(),
    immutable: object['immutable'] === true,
  }
}

function projectMeta(object: KubeObject): ObjectMeta {
  const meta = record(object.metadata)
  return {
    ...(meta as unknown as ObjectMeta),
    name: text(meta['name']) ?? '',
    namespace: text(meta['namespace']) ?? 'default',
  }
}

function projectPodSpec(value: unknown): PodSpecView {
  const spec = record(value)
  return {
    hostNetwork: spec['hostNetwork'] === true,
    containers: list(spec['containers']).map(projectContainer),
    volumes: list(spec['volumes']).map(projectVolume),
  }
}

function projectContainer(value: unknown): ContainerView {
  const container = record(value)
  const workingDir = text(container['workingDir'])
  return {
    name: text(container['name']) ?? '',
    image: text(container['image']) ?? '',
    command: list(container['command'])
      .map(text)
      .filter((word) => word !== undefined),
    args: list(container['args'])
      .map(text)
      .filter((word) => word !== undefined),
    ...(workingDir === undefined ? {} : {workingDir}),
    env: list(container['env']).map(projectEnv),
    envFrom: list(container['envFrom']).map((entry) => {
      const source = record(entry)
      const configMap = text(record(source['configMapRef'])['name'])
      return {
        ...(configMap === undefined ? {} : {configMap}),
        prefix: text(source['prefix']) ?? '',
        opaque: configMap === undefined,
      }
    }),
    ports: list(container['ports']).map((entry) => {
      const port = record(entry)
      return {
        ...named(port),
        containerPort: number(port['containerPort']) ?? 0,
        protocol: text(port['protocol']) ?? 'TCP',
      }
    }),
    mounts: list(container['volumeMounts']).map((entry) => {
      const mount = record(entry)
      const subPath = text(mount['subPath'])
      return {
        volume: text(mount['name']) ?? '',
        path: text(mount['mountPath']) ?? '',
        ...(subPath === undefined || subPath === '' ? {} : {subPath}),
        subPathExpr: text(mount['subPathExpr']) !== undefined,
      }
    }),
  }
}

function projectEnv(value: unknown): EnvVar {
  const variable = record(value)
  const from = record(variable['valueFrom'])
  const ref = record(from['configMapKeyRef'])
  const literal = text(variable['value'])
  const name = text(ref['name'])
  const key = text(ref['key'])
  return {
    name: text(variable['name']) ?? '',
    ...(Object.keys(from).length === 0 ? {value: literal ?? ''} : {}),
    ...(name !== undefined && key !== undefined ? {configMapKey: {name, key, optional: ref['optional'] === true}} : {}),
    opaque: Object.keys(from).length > 0 && (name === undefined || key === undefined),
  }
}

function projectVolume(value: unknown): VolumeView {
  const volume = record(value)
  const projected = record(volume['projected'])
  const sources = 'projected' in volume ? list(projected['sources']).map(record) : [volume]
  return {name: text(volume['name']) ?? '', sources: sources.map(projectVolumeSource)}
}

function projectVolumeSource(source: Readonly<Record<string, unknown>>): VolumeSource {
  const configMap = source['configMap']
  if (configMap === undefined) return {type: Object.keys(source).find((key) => key !== 'name') ?? 'unknown'}
  const from = record(configMap)
  const items = from['items']
  return {
    type: 'configMap',
    configMap: {
      name: text(from['name']) ?? '',
      optional: from['optional'] === true,
      ...(Array.isArray(items) && items.length > 0
        ? {
            items: items.map((entry) => ({
              key: text(record(entry)['key']) ?? '',
              path: text(record(entry)['path']) ?? '',
            })),
          }
        : {}),
    },
  }
}

function named(port: Readonly<Record<string, unknown>>): {name?: string} {
  const name = text(port['name'])
  return name === undefined || name === '' ? {} : {name}
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function number(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

function textRecord(value: unknown): Record<string, string> | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
}
