import {apiClient} from '../cluster/bed/api-client.ts'
import {startApiServer, type ApiServer} from '../cluster/bed/index.ts'
import type {KubeObject} from '../cluster/bed/objects.ts'
import {cluster} from './simulator-cases.ts'

/** The objects of the API server that the simulator is told of. */
function liveObjects(): KubeObject[] {
  const namespaces = ['demo', 'empty'].map((name) => ({apiVersion: 'v1', kind: 'Namespace', metadata: {name}}))
  const services = cluster.services.map((live): KubeObject => {
    const spec =
      live.type === 'ExternalName'
        ? {type: live.type, externalName: live.externalName}
        : {clusterIP: live.clusterIPs[0], ports: live.ports}
    return {apiVersion: 'v1', kind: 'Service', metadata: {name: live.name, namespace: live.namespace}, spec}
  })
  const slices = cluster.services
    .filter((live) => (live.endpoints ?? []).length > 0)
    .map((live): KubeObject => ({
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: {name: `${live.name}-1`, namespace: live.namespace, labels: {'kubernetes.io/service-name': live.name}},
      addressType: 'IPv4',
      endpoints: (live.endpoints ?? []).map(({ip, hostname}) => ({
        addresses: [ip],
        conditions: {ready: true},
        ...(hostname === undefined ? {} : {hostname}),
      })),
      ports: live.ports.map(({name, protocol, port}) => ({name, protocol, port})),
    }))
  return [...namespaces, ...services, ...slices]
}

/** A real API server that holds the simulator's cluster. */
export async function startLiveCluster(): Promise<ApiServer> {
  const api = await startApiServer()
  const client = apiClient({port: api.port, ca: api.ca, token: api.adminToken})
  for (const object of liveObjects()) await client.create(object)
  client.close()
  return api
}
