import {mkdtempSync, rmSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import type {ServerResponse} from 'node:http'
import {FakeApiServer} from '../../support/fake-api-server.ts'
import type {SeenRequest} from '../../support/fake-api-server.ts'
import {kubeadmCorefile} from '../bed/cluster-objects.ts'
import {clusterObjects, ingress} from './light-cluster.ts'

/** A fake API server that holds what `srcip run` finds in a cluster, for answers that a real one never gives. */
export interface FakeCluster {
  readonly server: FakeApiServer
  readonly kubeconfig: string
  corefile(): string
  /** Names between our markers, sorted. */
  names(): string[]
  addIngress(name: string, host: string): void
  /** Answers requests for the collection of Ingresses; false lets one through. */
  onIngresses(answer: (request: SeenRequest, response: ServerResponse) => boolean): void
  stop(): Promise<void>
}

const served: readonly (readonly [collection: string, kind: string])[] = [
  ['/v1/namespaces', 'Namespace'],
  ['/v1/configmaps', 'ConfigMap'],
  ['/v1/services', 'Service'],
  ['/v1/pods', 'Pod'],
  ['apps/v1/deployments', 'Deployment'],
  ['apps/v1/replicasets', 'ReplicaSet'],
  ['apps/v1/daemonsets', 'DaemonSet'],
  ['discovery.k8s.io/v1/endpointslices', 'EndpointSlice'],
  ['networking.k8s.io/v1/ingressclasses', 'IngressClass'],
  ['networking.k8s.io/v1/ingresses', 'Ingress'],
  ['coordination.k8s.io/v1/leases', 'Lease'],
  ['events.k8s.io/v1/events', 'Event'],
]

export async function startFakeCluster(
  options: {hosts?: readonly string[]; corefile?: string} = {},
): Promise<FakeCluster> {
  const server = new FakeApiServer({bookmarkMs: 1000})
  for (const [collection, kind] of served) server.kinds.set(collection, kind)
  for (const object of clusterObjects(options.corefile ?? kubeadmCorefile())) {
    const [collection] = served.find(([, kind]) => kind === object.kind) ?? ['']
    const extra = object.kind === 'Pod' ? {status: podStatus} : {}
    const spec = object.kind === 'Service' && object.metadata.name === 'srcip-proxy' ? {clusterIP: '10.96.7.7'} : {}
    server.objects.create(collection, {...object, ...extra, spec: {...(object['spec'] as object), ...spec}})
  }
  const addIngress = (name: string, host: string): void =>
    void server.objects.create('networking.k8s.io/v1/ingresses', ingress(name, [host]))
  for (const [index, host] of (options.hosts ?? []).entries()) addIngress(`i${index}`, host)
  await server.start()
  const folder = mkdtempSync(join(tmpdir(), 'srcip-fake-'))
  const kubeconfig = join(folder, 'config')
  writeFileSync(kubeconfig, configText(server.url), {mode: 0o600})
  const corefile = (): string =>
    (server.objects.get('/v1/configmaps', 'kube-system', 'coredns') as {data?: {Corefile?: string}} | undefined)?.data
      ?.Corefile ?? ''
  return {
    server,
    kubeconfig,
    corefile,
    names: () => [...corefile().matchAll(/rewrite name exact (\S+) /g)].map((match) => match[1] ?? '').sort(),
    addIngress,
    onIngresses: (answer) =>
      server.faults.push((request, response) =>
        request.path === '/apis/networking.k8s.io/v1/ingresses' ? answer(request, response) : false,
      ),
    stop: async () => {
      await server.kill()
      rmSync(folder, {recursive: true, force: true})
    },
  }
}

const podStatus = {phase: 'Running', podIP: '192.0.2.53', conditions: [{type: 'Ready', status: 'True'}]}

function configText(server: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{name: 'fake', cluster: {server}}],
    users: [{name: 'fake', user: {token: 'x'}}],
    contexts: [{name: 'fake', context: {cluster: 'fake', user: 'fake', namespace: 'srcip'}}],
    'current-context': 'fake',
  })
}
