import {createHash, randomBytes} from 'node:crypto'
import {isDeepStrictEqual} from 'node:util'
import {ApiFailure, collectionPath, type ApiClient} from './api-client.ts'
import {controllerReference, isReady, type Deployment, type KubeObject, type Pod, type ReplicaSet} from './objects.ts'
import {workLoop, type Store} from './store.ts'

type Settings = {
  api: ApiClient
  deployments: Store<Deployment>
  replicaSets: Store<ReplicaSet>
  pods: Store<Pod>
  log: (line: string) => void
  end: AbortSignal
}

const hashLabel = 'pod-template-hash'

/**
 * Deployments and ReplicaSets as their controllers treat them: a rollout makes new pods first and takes old ones once
 * the new are ready; a paused Deployment is scaled but not rolled.
 */
export function startWorkloads(settings: Settings): void {
  const {deployments, replicaSets, pods, log, end} = settings
  // Objects just made may not have come back through the watch; without this they would be made twice.
  const made = new Map<string, number>()
  const kick = workLoop(
    'workloads',
    async () => {
      for (const deployment of deployments.items.values()) {
        if (deployment.metadata.deletionTimestamp === undefined) await syncDeployment(settings, deployment, made)
      }
      for (const set of replicaSets.items.values()) await syncReplicaSet(settings, set, made)
    },
    log,
    end,
  )
  for (const store of [deployments, replicaSets, pods]) store.onChange(kick)
  const timer = setInterval(kick, 1000)
  timer.unref()
  end.addEventListener('abort', () => clearInterval(timer))
}

/** The hash that names a template's ReplicaSet. */
export function templateHash(template: unknown): string {
  return createHash('sha256').update(JSON.stringify(template)).digest('hex').slice(0, 9)
}

/** A ReplicaSet of a Deployment, for a template of its own. */
export function replicaSetOf(
  deployment: Deployment,
  template: Deployment['spec']['template'],
  replicas: number,
): ReplicaSet {
  const hash = templateHash(template)
  const labels = {...template.metadata?.labels, [hashLabel]: hash}
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name: `${deployment.metadata.name}-${hash}`,
      namespace: deployment.metadata.namespace ?? 'default',
      labels,
      ownerReferences: [controllerReference(deployment)],
    },
    spec: {
      replicas,
      selector: {matchLabels: {...deployment.spec.selector.matchLabels, [hashLabel]: hash}},
      template: {...template, metadata: {...template.metadata, labels}},
    },
  }
}

function ownedBy<T extends KubeObject>(store: Store<T>, owner: KubeObject): T[] {
  return [...store.items.values()].filter(({metadata}) =>
    metadata.ownerReferences?.some(({uid}) => uid === owner.metadata.uid),
  )
}

function alive(pods: Pod[]): Pod[] {
  return pods.filter(({metadata, status}) => metadata.deletionTimestamp === undefined && status?.phase !== 'Failed')
}

async function syncDeployment(
  {api, ...stores}: Settings,
  deployment: Deployment,
  made: Map<string, number>,
): Promise<void> {
  const {replicas = 1, paused = false, template} = deployment.spec
  const sets = ownedBy(stores.replicaSets, deployment)
  const key = `${deployment.metadata.uid}/${templateHash(template)}`
  let current = sets.find(({metadata}) => metadata.labels?.[hashLabel] === templateHash(template))
  if (current === undefined && !paused && !recent(made, key)) {
    current = await api.create(replicaSetOf(deployment, template, replicas))
    made.set(key, Date.now())
  }
  const others = sets.filter((set) => set !== current && (set.spec.replicas ?? 0) > 0)
  const total = sets.reduce((sum, set) => sum + (set.spec.replicas ?? 0), 0)
  if (paused) {
    // Scaling goes proportionally; the bed needs down to nothing and back.
    if (replicas === 0) for (const set of sets) await scale(api, set, 0)
    else if (total === 0 && sets[0] !== undefined) await scale(api, sets[0], replicas)
  } else if (current !== undefined) {
    await scale(api, current, replicas)
    const ready = ownedBy(stores.pods, current).filter(isReady).length
    if (ready >= replicas) for (const set of others) await scale(api, set, 0)
  }
  await reportDeployment(api, deployment, current, sets, stores.pods)
}

async function reportDeployment(
  api: ApiClient,
  deployment: Deployment,
  current: ReplicaSet | undefined,
  sets: ReplicaSet[],
  store: Store<Pod>,
): Promise<void> {
  const pods = alive(sets.flatMap((set) => ownedBy(store, set)))
  const ready = pods.filter(isReady).length
  const {replicas = 1, paused = false} = deployment.spec
  const updated = current === undefined ? 0 : alive(ownedBy(store, current)).length
  const done = !paused && updated === replicas && ready === replicas && pods.length === replicas
  const status = {
    observedGeneration: deployment.metadata.generation,
    replicas: pods.length,
    updatedReplicas: updated,
    readyReplicas: ready,
    availableReplicas: ready,
    unavailableReplicas: Math.max(replicas - ready, 0),
    conditions: [
      {type: 'Available', status: ready >= replicas ? 'True' : 'False', reason: 'MinimumReplicasAvailable'},
      {
        type: 'Progressing',
        status: paused ? 'Unknown' : 'True',
        reason: paused ? 'DeploymentPaused' : done ? 'NewReplicaSetAvailable' : 'ReplicaSetUpdated',
      },
    ],
  }
  await reportStatus(api, deployment, status)
}

async function syncReplicaSet({api, pods}: Settings, set: ReplicaSet, made: Map<string, number>): Promise<void> {
  const owned = alive(ownedBy(pods, set))
  const wanted = set.metadata.deletionTimestamp === undefined ? (set.spec.replicas ?? 1) : 0
  const key = set.metadata.uid ?? ''
  if (owned.length < wanted && !recent(made, key)) {
    made.set(key, Date.now())
    for (let missing = wanted - owned.length; missing > 0; missing -= 1) await api.create(podOf(set))
  }
  // Those that are not ready go first.
  const surplus = owned
    .toSorted((a, b) => Number(isReady(a)) - Number(isReady(b)))
    .slice(0, Math.max(owned.length - wanted, 0))
  for (const pod of surplus) await api.delete(pod).catch(ignoreGone)
  const ready = owned.filter(isReady).length
  const observedGeneration = set.metadata.generation
  await reportStatus(api, set, {
    replicas: owned.length,
    readyReplicas: ready,
    availableReplicas: ready,
    observedGeneration,
  })
}

function podOf(set: ReplicaSet): Pod {
  const {metadata, spec} = set.spec.template
  const name = `${set.metadata.name}-${randomBytes(3).toString('hex').slice(0, 5)}`
  const own = {
    ...(metadata?.labels === undefined ? {} : {labels: metadata.labels}),
    ...(metadata?.annotations === undefined ? {} : {annotations: metadata.annotations}),
  }
  const namespace = set.metadata.namespace ?? 'default'
  const ownerReferences = [controllerReference(set)]
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {name, namespace, ...own, ownerReferences},
    spec: {serviceAccountName: 'default', ...spec},
  }
}

/** Whether this was made within the last two seconds, so that the watch may not show it yet. */
function recent(made: Map<string, number>, key: string): boolean {
  return Date.now() - (made.get(key) ?? 0) < 2000
}

async function scale(api: ApiClient, set: ReplicaSet, replicas: number): Promise<void> {
  if (set.spec.replicas !== replicas) await api.patch(set, {spec: {replicas}})
}

async function reportStatus(api: ApiClient, object: KubeObject, status: Record<string, unknown>): Promise<void> {
  const before = (object['status'] ?? {}) as Record<string, unknown>
  const same = Object.entries(status).every(([field, value]) => isDeepStrictEqual(told(before[field]), told(value)))
  if (!same) await api.patch(object, {status}, 'status').catch(ignoreGone)
}

/** A status field without what the API server adds to it: times of conditions; zeros, which it leaves out. */
function told(value: unknown): unknown {
  if (!Array.isArray(value)) return value ?? 0
  return (value as {type: string; status: string; reason: string}[]).map(({type, status, reason}) => [
    type,
    status,
    reason,
  ])
}

function ignoreGone(error: unknown): void {
  if (!(error instanceof ApiFailure && error.status === 404)) throw error
}

/** Kinds whose owned objects the bed collects, and that it empties a namespace of. */
const collected: [string, string][] = [
  ['v1', 'Pod'],
  ['v1', 'ConfigMap'],
  ['v1', 'Secret'],
  ['v1', 'Service'],
  ['v1', 'ServiceAccount'],
  ['apps/v1', 'Deployment'],
  ['apps/v1', 'ReplicaSet'],
  ['coordination.k8s.io/v1', 'Lease'],
  ['discovery.k8s.io/v1', 'EndpointSlice'],
  ['networking.k8s.io/v1', 'Ingress'],
  ['rbac.authorization.k8s.io/v1', 'Role'],
  ['rbac.authorization.k8s.io/v1', 'RoleBinding'],
]

/** Garbage collection: owned objects whose owner is gone, and the content of namespaces that are being deleted. */
export function startCollector(settings: {
  api: ApiClient
  namespaces: Store<KubeObject>
  owned: Store<KubeObject>[]
  log: (line: string) => void
  end: AbortSignal
}): void {
  const {api, namespaces, owned, log, end} = settings
  const kick = workLoop(
    'collector',
    async () => {
      const uids = new Set(owned.flatMap(({items}) => [...items.values()].map(({metadata}) => metadata.uid)))
      const known = new Set(['Deployment', 'ReplicaSet', 'Service', 'Pod'])
      for (const {items} of owned) {
        for (const object of items.values()) {
          const owner = object.metadata.ownerReferences?.[0]
          if (owner === undefined || !known.has(owner.kind) || uids.has(owner.uid)) continue
          if (object.metadata.deletionTimestamp === undefined) await api.delete(object).catch(ignoreGone)
        }
      }
      for (const namespace of namespaces.items.values()) {
        if (namespace.metadata.deletionTimestamp === undefined) await ensureAccount(api, namespace.metadata.name)
        else await empty(api, namespace)
      }
    },
    log,
    end,
  )
  for (const store of [namespaces, ...owned]) store.onChange(kick)
}

const withAccount = new Set<string>()

/** Every namespace has a service account `default`. */
async function ensureAccount(api: ApiClient, namespace: string): Promise<void> {
  if (withAccount.has(namespace)) return
  await api.apply({apiVersion: 'v1', kind: 'ServiceAccount', metadata: {name: 'default', namespace}})
  withAccount.add(namespace)
}

async function empty(api: ApiClient, namespace: KubeObject): Promise<void> {
  const {name} = namespace.metadata
  withAccount.delete(name)
  let left = 0
  for (const [apiVersion, kind] of collected) {
    for (const item of await api.list<KubeObject>(collectionPath(apiVersion, kind, name))) {
      left += 1
      if (item.metadata.deletionTimestamp === undefined) await api.delete({...item, apiVersion, kind}).catch(ignoreGone)
    }
  }
  if (left > 0) throw new Error(`namespace ${name} still holds ${left} objects`)
  await api
    .request('PUT', `/api/v1/namespaces/${name}/finalize`, {...namespace, spec: {finalizers: []}})
    .catch(ignoreGone)
}
