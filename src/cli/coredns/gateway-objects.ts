import {
  projectGateway,
  projectListenerSet,
  projectNamespace,
  projectRoute,
  projectTrafficPolicy,
  type HostSources,
} from '../../hosts/index.ts'
import {hasStatus, resources, type KubeClient, type Resource} from '../../kube/index.ts'
import type {KubeObject} from '../../model/kubernetes.ts'

/** Versions that `run` understands, best first. */
const routeVersions = ['v1', 'v1beta1', 'v1alpha3', 'v1alpha2']

/**
 * The kinds of the Gateway API and what narrows them, as `run` reads them, so that the whole set is the same. A kind that is not served is
 * empty; one that may not be read is a failure (an error is never an empty set), but for those that only narrow.
 */
export async function readGatewayObjects(client: KubeClient, signal: AbortSignal): Promise<HostSources> {
  const served = async (resource: Resource, versions = routeVersions) =>
    await listServed(client, resource, versions, signal)
  if (!(await isServed(client, resources.gateways.group, signal))) return {}
  const [gateways, listenerSets, http, grpc, tls] = await Promise.all([
    served(resources.gateways),
    served(resources.listenerSets),
    served(resources.httpRoutes),
    served(resources.grpcRoutes),
    served(resources.tlsRoutes),
  ])
  const routes = [
    ...http.flatMap((item) => projectRoute('HTTPRoute', item) ?? []),
    ...grpc.flatMap((item) => projectRoute('GRPCRoute', item) ?? []),
    ...tls.flatMap((item) => projectRoute('TLSRoute', item) ?? []),
  ]
  // Without Gateways nobody asks what else narrows them.
  if (gateways.length === 0 && routes.length === 0) return {}
  const [namespaces, policies] = await Promise.all([
    readable(served(resources.namespaces, ['v1'])),
    readable(served(resources.clientTrafficPolicies, ['v1alpha1'])),
  ])
  return {
    gateways: gateways.flatMap((item) => projectGateway(item) ?? []),
    listenerSets: listenerSets.flatMap((item) => projectListenerSet(item) ?? []),
    routes,
    namespaces: namespaces?.flatMap((item) => projectNamespace(item) ?? []),
    trafficPolicies: policies?.flatMap((item) => projectTrafficPolicy(item) ?? []) ?? [],
  }
}

/**
 * Whether a group of kinds is served: one small question in place of a list of each. A server that starts up forgets CRDs for a moment, one
 * that calls itself ready does not. What cannot be told is left to the lists.
 */
async function isServed(client: KubeClient, group: string, signal: AbortSignal): Promise<boolean> {
  const ask = async (path: string): Promise<number> => {
    try {
      return (await client.request({path, accept: '*/*', signal, about: {verb: `get ${path}`}})).status
    } catch (error) {
      signal.throwIfAborted()
      return hasStatus(error) ? error.status : 0
    }
  }
  if ((await ask(`/apis/${group}`)) !== 404 || (await ask('/readyz')) !== 200) return true
  return (await ask(`/apis/${group}`)) !== 404
}

/** Undefined where the right is missing. */
async function readable(reading: Promise<readonly KubeObject[]>): Promise<readonly KubeObject[] | undefined> {
  try {
    return await reading
  } catch (error) {
    if (hasStatus(error, 403)) return undefined
    throw error
  }
}

/** Objects of one kind in the best version that is served; none where discovery knows the kind in no version. */
async function listServed(
  client: KubeClient,
  resource: Resource,
  versions: readonly string[],
  signal: AbortSignal,
): Promise<readonly KubeObject[]> {
  try {
    return (await client.list<KubeObject>(resource, {signal})).items
  } catch (error) {
    // RBAC answers before anybody looks whether the kind exists.
    if (!hasStatus(error, 403, 404)) throw error
    const discovery = await client.discover({signal}).catch(() => undefined)
    if (discovery === undefined || discovery.incomplete.some((each) => each.startsWith(`${resource.group}/`)))
      throw error
    const found = discovery.find(resource.group, resource.plural, versions)
    if (found === undefined) return []
    if (found.version === resource.version) throw error
    return (await client.list<KubeObject>(found, {signal})).items
  }
}
