import {
  hasStatus,
  resources,
  sleep,
  systemClock,
  type CallOptions,
  type KubeClient,
  type Resource,
} from '../../kube/index.ts'
import type {CleanedObject} from '../../model/cleanup.ts'
import {componentLabel} from '../../model/dns.ts'
import {refText, type KubeObject} from '../../model/kubernetes.ts'
import type {OwnObject} from '../../workflows/cleanup/ports.ts'

function kind(group: string, plural: string, name: string, namespaced = true): Resource {
  return {group, version: 'v1', plural, kind: name, namespaced}
}

const rbac = 'rbac.authorization.k8s.io'

/** What ExternalDNS reads with its source `crd`. */
export const dnsEndpoints: Resource = {
  ...kind('externaldns.k8s.io', 'dnsendpoints', 'DNSEndpoint'),
  version: 'v1alpha1',
}
/** Of all Services of ours only the one that publishes names to ExternalDNS has it. */
const publishedTargets = 'srcip.dev/targets'

/**
 * Kinds that are looked through for our label; docs/cleanup.md lists them. Not in it, so that no label can ever lead there:
 * namespaces, CRDs, Secrets, Ingresses, routes.
 */
export const ownKinds: readonly Resource[] = [
  dnsEndpoints,
  resources.deployments,
  resources.jobs,
  resources.pods,
  resources.services,
  resources.configMaps,
  resources.serviceAccounts,
  kind('policy', 'poddisruptionbudgets', 'PodDisruptionBudget'),
  kind('networking.k8s.io', 'networkpolicies', 'NetworkPolicy'),
  kind(rbac, 'roles', 'Role'),
  kind(rbac, 'rolebindings', 'RoleBinding'),
  kind(rbac, 'clusterroles', 'ClusterRole', false),
  kind(rbac, 'clusterrolebindings', 'ClusterRoleBinding', false),
  kind('monitoring.coreos.com', 'podmonitors', 'PodMonitor'),
  {...kind('monitoring.coreos.com', 'prometheusrules', 'PrometheusRule')},
]

/** ConfigMaps of ours are the records of runs and guards; anything else that carries the label is somebody's data. */
const ownConfigMapComponents = new Set(['run', 'guard'])

/** An object of ours with what deleting exactly this one needs. */
export interface FoundObject extends OwnObject {
  readonly resource: Resource
  readonly namespace: string | undefined
  readonly name: string
  readonly uid: string
}

export interface FindOptions extends CallOptions {
  /** Only this namespace, and nothing that has none. Absent: the whole cluster. */
  readonly namespace?: string | undefined
  /**
   * Only Deployments (controllers that may have to stop, proxies that names may lead to) and what publishes names to
   * ExternalDNS.
   */
  readonly dnsOnly: boolean
}

/** Every object that carries our label. A kind that the cluster does not serve has none; a missing right is an error (31). */
export async function findOwnObjects(client: KubeClient, options: FindOptions): Promise<FoundObject[]> {
  const {namespace, dnsOnly, signal} = options
  const kinds = dnsOnly
    ? [resources.deployments, dnsEndpoints, resources.services]
    : ownKinds.filter((resource) => namespace === undefined || resource.namespaced)
  const labelSelector = componentLabel
  const lists = await Promise.all(
    kinds.map(async (resource) => {
      const {items} = await client.list(resource, {namespace, labelSelector, signal}).catch((error: unknown) => {
        if (hasStatus(error, 404)) return {items: []}
        throw error
      })
      const objects = items.filter((item) => isOurs(resource, item)).map((item) => found(resource, item))
      return dnsOnly && resource !== resources.deployments ? objects.filter(({isRecord}) => isRecord === true) : objects
    }),
  )
  return lists.flat()
}

function isOurs(resource: Resource, object: KubeObject): boolean {
  const component = object.metadata.labels?.[componentLabel] ?? ''
  if (resource === resources.configMaps) return ownConfigMapComponents.has(component)
  // what another object owns goes with it
  return (object.metadata.ownerReferences ?? []).every((owner) => owner.controller !== true)
}

function found(resource: Resource, object: KubeObject): FoundObject {
  const {name, namespace, uid = '', labels = {}, annotations = {}} = object.metadata
  const release = annotations['meta.helm.sh/release-name']
  const replicas = (object['spec'] as {replicas?: number} | undefined)?.replicas
  return {
    resource,
    namespace,
    name,
    uid,
    text: refText({kind: resource.kind, namespace, name}),
    component: labels[componentLabel] ?? '',
    ...(release === undefined
      ? {}
      : {release: `${annotations['meta.helm.sh/release-namespace'] ?? namespace ?? 'default'}/${release}`}),
    ...(resource === resources.deployments ? {replicas: replicas ?? 1} : {}),
    ...(resource === dnsEndpoints || (resource === resources.services && annotations[publishedTargets] !== undefined)
      ? {isRecord: true}
      : {}),
  }
}

/** Milliseconds that an object may take to go after its deletion was accepted. */
const goneWithinMs = 60_000

/** Deletes exactly this object (by uid) and waits until it is gone; what goes wrong is its reason. */
export async function removeObject(
  client: KubeClient,
  object: FoundObject,
  dryRun: 'none' | 'server',
  signal: AbortSignal,
): Promise<CleanedObject> {
  const {resource, namespace, name, uid, text} = object
  try {
    const there = await client.delete(
      resource,
      {namespace, name},
      {uid, propagationPolicy: 'Background', dryRun, signal},
    )
    if (dryRun === 'server') return {object: text, state: 'planned'}
    if (!there) return {object: text, state: 'gone'}
    const deadline = systemClock.now() + goneWithinMs
    for (;;) {
      const live = await client.find<KubeObject>(resource, {namespace, name}, {signal})
      if (live === undefined || live.metadata.uid !== uid) return {object: text, state: 'deleted'}
      if (systemClock.now() > deadline)
        return {object: text, state: 'left', reason: 'its deletion waits for a finalizer'}
      await sleep(systemClock, 200, signal)
    }
  } catch (error) {
    if (signal.aborted) throw error
    return {object: text, state: 'left', reason: error instanceof Error ? error.message : String(error)}
  }
}
