import {afterEach, beforeEach, describe, expect, test} from 'vitest'
import {createKubeClient, loadSnapshot, type KubeClient} from '../../../../src/kube/index.ts'
import type {SrcipEvent} from '../../../../src/model/events.ts'
import {snapshotKinds} from '../../../../src/model/projection/project-object.ts'
import {indexSnapshot, type Snapshot} from '../../../../src/model/snapshot.ts'
import {FakeApiServer, sendStatus} from '../../../support/fake-api-server.ts'
import {configFor} from '../../../support/kube-configs.ts'

let server: FakeApiServer
let client: KubeClient

beforeEach(async () => {
  server = await new FakeApiServer().start()
  for (const {group, versions, plural, kind, builtIn} of snapshotKinds)
    if (builtIn) server.kinds.set(`${group}/${versions[0]}/${plural}`, kind)
  client = createKubeClient(configFor(server.url), {env: {}, rate: 'unlimited'})
  put('/v1/namespaces', 'kube-system')
})
afterEach(async () => {
  client.close()
  await server.kill()
})

function put(collection: string, name: string, fields: object = {}, namespace?: string): void {
  server.objects.create(collection, {metadata: {name, ...(namespace === undefined ? {} : {namespace})}, ...fields})
}

function states(snapshot: Snapshot, ...resources: string[]): Record<string, string> {
  const found = snapshot.readings.filter(
    ({resource, namespace}) => resources.includes(resource) && namespace === undefined,
  )
  return Object.fromEntries(found.map(({resource, state}) => [resource, state]))
}

const load = (options: Parameters<typeof loadSnapshot>[1] = {}): Promise<Snapshot> =>
  loadSnapshot(client, {timeoutMs: 3000, ...options})

describe('what cannot be read', () => {
  test('a list that breaks in the middle is partial, and keeps the pages that came', async () => {
    for (let index = 0; index < 700; index++) put('networking.k8s.io/v1/ingresses', `i${index}`, {spec: {}}, 'demo')
    server.faults.push((request, response) => {
      if (!request.path.endsWith('/ingresses') || !request.query.has('continue')) return false
      sendStatus(response, 500, {message: 'etcd is gone'})
      return true
    })
    const snapshot = await load()
    expect(snapshot.exitCode).toBe(23)
    expect(states(snapshot, 'ingresses', 'services')).toEqual({ingresses: 'partial', services: 'complete'})
    expect(snapshot.objects.filter(({kind}) => kind === 'Ingress').length).toBe(250)
    expect(snapshot.warnings).toEqual(['partial: list ingresses.networking.k8s.io (etcd is gone)'])
    expect(indexSnapshot(snapshot).state('Ingress', 'demo', 'x', 'networking.k8s.io')).toBe('partial')
  })

  test('a list that the server forgets on the way is read anew, each object once', async () => {
    for (let index = 0; index < 700; index++) put('networking.k8s.io/v1/ingresses', `i${index}`, {spec: {}}, 'demo')
    let forgotten = false
    server.faults.push((request, response) => {
      if (forgotten || !request.path.endsWith('/ingresses') || !request.query.has('continue')) return false
      forgotten = true
      server.objects.delete('networking.k8s.io/v1/ingresses', 'demo', 'i0')
      sendStatus(response, 410, {reason: 'Expired', message: 'The provided continue parameter is too old'})
      return true
    })
    const snapshot = await load()
    expect({exitCode: snapshot.exitCode, forgotten}).toEqual({exitCode: 0, forgotten: true})
    // What went meanwhile was on the first page.
    expect(snapshot.objects.filter(({kind}) => kind === 'Ingress').length).toBe(699)
  })

  test('one kind is mute: it is unreachable after the limit, the rest is there', async () => {
    put('/v1/services', 'a', {spec: {type: 'LoadBalancer', selector: {app: 'a'}}}, 'demo')
    server.faults.push((request) => request.path.endsWith('/nodes'))
    const snapshot = await load({timeoutMs: 500})
    expect(states(snapshot, 'nodes', 'services')).toEqual({nodes: 'unreachable', services: 'complete'})
    expect(snapshot.exitCode).toBe(23)
    expect(snapshot.warnings[0]).toMatch(/^unreachable: list nodes \(no answer from API server/)
  })

  test('refused everywhere: the context namespace and kube-system are tried', async () => {
    put('/v1/services', 'a', {spec: {}}, 'edge')
    put('/v1/services', 'b', {spec: {}}, 'other')
    server.faults.push((request, response) => {
      if (!request.path.startsWith('/api/v1/') || request.path.includes('/namespaces/edge/')) return false
      sendStatus(response, 403, {reason: 'Forbidden', message: 'User "x" cannot list resource'})
      return true
    })
    const index = indexSnapshot(await load({namespaces: ['edge', 'kube-system']}))
    expect(index.list('Service').map(({metadata}) => metadata.name)).toEqual(['a'])
    expect([index.state('Service', 'edge'), index.state('Service', 'other')]).toEqual(['complete', 'denied'])
  })

  test('an aggregated API that is down is unreachable, one that is not served is absent', async () => {
    server.faults.push((request, response) => {
      if (request.path !== '/apis') return false
      response.writeHead(200, {'content-type': 'application/json'}).end(
        JSON.stringify({
          kind: 'APIGroupDiscoveryList',
          apiVersion: 'apidiscovery.k8s.io/v2',
          metadata: {},
          items: [
            {
              metadata: {name: 'apps.cozystack.io'},
              versions: [{version: 'v1alpha1', resources: [], freshness: 'Stale'}],
            },
          ],
        }),
      )
      return true
    })
    const snapshot = await load()
    expect(states(snapshot, 'tenants', 'gateways', 'ipaddresspools')).toEqual({
      tenants: 'unreachable',
      gateways: 'absent',
      ipaddresspools: 'absent',
    })
    expect(
      snapshot.warnings.some((line) => line.startsWith('unreachable: list tenants.apps.cozystack.io (API apps')),
    ).toBe(true)
  })

  test('without discovery the built-in kinds are there', async () => {
    server.faults.push((request, response) => {
      if (request.path !== '/api' && request.path !== '/apis') return false
      sendStatus(response, 403, {reason: 'Forbidden', message: 'no'})
      return true
    })
    put('/v1/services', 'a', {spec: {}}, 'demo')
    const snapshot = await load()
    expect(indexSnapshot(snapshot).list('Service').length).toBe(1)
    expect(states(snapshot, 'services', 'gateways')).toEqual({services: 'complete', gateways: 'absent'})
  })

  test('nothing: 31 when it is refused, 30 when it is gone', async () => {
    server.faults.push((request, response) => {
      if (request.path === '/version' || request.path.split('/').length < 3) return false
      sendStatus(response, 403, {reason: 'Forbidden', message: 'User "x" cannot list'})
      return true
    })
    await expect(load()).rejects.toMatchObject({exitCode: 31, message: expect.stringContaining('denied: ')})
    await server.kill()
    await expect(load()).rejects.toMatchObject({exitCode: 30})
  })

  test('credentials that are not accepted are 31 at once, in the words for that', async () => {
    server.faults.push((_, response) => {
      sendStatus(response, 401, {reason: 'Unauthorized', message: 'Unauthorized'})
      return true
    })
    await expect(load()).rejects.toMatchObject({
      exitCode: 31,
      message: expect.stringContaining('does not accept the credentials'),
    })
    expect(server.requests.some(({path}) => path.endsWith('/services'))).toBe(false)
  })

  test('the caller who stops is obeyed', async () => {
    server.faults.push((request) => request.path.endsWith('/nodes'))
    const stop = new AbortController()
    const loading = load({signal: stop.signal})
    setTimeout(() => stop.abort(new Error('enough')), 100)
    await expect(loading).rejects.toMatchObject({kind: 'aborted'})
  })
})

describe('what is chosen', () => {
  const pod = (name: string, labels: Record<string, string>, image = 'example.org/app:v1', args: string[] = []): void =>
    put(
      '/v1/pods',
      name,
      {metadata: {name, namespace: 'demo', labels}, spec: {containers: [{name: 'c', image, args}]}},
      'demo',
    )
  beforeEach(() => {
    // The fake server knows no label selectors.
    server.faults.push((request, response) => {
      const selector = request.query.get('labelSelector')
      if (selector === null || !request.path.endsWith('/pods')) return false
      const wanted = selector.split(',').map((pair) => pair.split('='))
      const namespace = /namespaces\/([^/]+)/.exec(request.path)?.[1]
      const items = server.objects
        .list('/v1/pods', namespace)
        .filter(({metadata}) => wanted.every(([key = '', value]) => metadata.labels?.[key] === value))
      const body = JSON.stringify({kind: 'PodList', apiVersion: 'v1', metadata: {resourceVersion: '1'}, items})
      response.writeHead(200, {'content-type': 'application/json'}).end(body)
      return true
    })
  })

  test('pods behind Services that lead in, and the ConfigMaps that their arguments name; other pods are not asked for', async () => {
    put('/v1/services', 'edge', {spec: {type: 'NodePort', selector: {app: 'edge'}, ports: [{port: 80}]}}, 'demo')
    put('/v1/services', 'inner', {spec: {type: 'ClusterIP', selector: {app: 'inner'}, ports: [{port: 80}]}}, 'demo')
    pod('edge-1', {app: 'edge'}, 'example.org/renamed:v1', [
      '--configmap=demo/settings',
      '--tcp-services-configmap',
      'demo/tcp',
    ])
    pod('inner-1', {app: 'inner'})
    put('/v1/configmaps', 'settings', {data: {'use-proxy-protocol': 'true'}}, 'demo')
    put('/v1/configmaps', 'other', {data: {'use-proxy-protocol': 'true'}}, 'demo')
    const snapshot = await load()
    const index = indexSnapshot(snapshot)
    expect(index.list('Pod').map(({metadata}) => metadata.name)).toEqual(['edge-1'])
    expect(index.list('ConfigMap').map(({metadata}) => metadata.name)).toEqual(['settings'])
    expect(index.state('ConfigMap', 'demo', 'tcp')).toBe('complete')
    expect(server.requests.filter(({path}) => path.endsWith('/pods')).map(({path}) => path)).toEqual([
      '/api/v1/namespaces/demo/pods',
    ])
    expect(server.requests.some(({path}) => path.includes('secrets'))).toBe(false)
    expect(server.requests.some(({method}) => method !== 'GET')).toBe(false)
  })

  test('no way in at all: that there are no pods to ask for is known', async () => {
    const index = indexSnapshot(await load())
    expect([index.state('Pod'), index.state('EndpointSlice'), index.state('Service')]).toEqual(
      Array(3).fill('complete'),
    )
    server.faults.push((request, response) => {
      if (!request.path.endsWith('/services')) return false
      sendStatus(response, 403, {reason: 'Forbidden', message: 'no'})
      return true
    })
    const denied = indexSnapshot(await load())
    expect([denied.state('Pod', 'demo'), denied.state('EndpointSlice')]).toEqual(['unknown', 'unknown'])
  })

  test('many Services: one list of pods, filtered as it comes', async () => {
    for (let index = 0; index < 60; index++) {
      put('/v1/services', `s${index}`, {spec: {type: 'NodePort', selector: {app: `a${index}`}}}, 'demo')
      pod(`p${index}`, {app: `a${index}`})
      pod(`q${index}`, {app: `b${index}`})
    }
    const snapshot = await load()
    expect(snapshot.objects.filter(({kind}) => kind === 'Pod').length).toBe(60)
    expect(server.requests.filter(({path}) => path.endsWith('/pods')).map(({path}) => path)).toEqual(['/api/v1/pods'])
  })

  test('workloads: known parts by image and name, and what wanted Services select', async () => {
    const workload = (name: string, image: string, labels: object): void =>
      put(
        'apps/v1/deployments',
        name,
        {
          spec: {
            selector: {matchLabels: labels},
            template: {metadata: {labels}, spec: {containers: [{name: 'c', image}]}},
          },
          status: {readyReplicas: 1},
        },
        'demo',
      )
    put('/v1/services', 'edge', {spec: {type: 'LoadBalancer', selector: {app: 'edge'}}}, 'demo')
    workload('mine', 'example.org/app:v1', {app: 'mine'})
    workload('edge', 'example.org/app:v1', {app: 'edge'})
    workload('lb', 'quay.io/metallb/controller:v0.15.2', {app: 'lb'})
    workload('my-cloud-controller-manager', 'example.org/renamed:v1', {app: 'ccm'})
    const index = indexSnapshot(await load())
    expect(index.list('Deployment').map(({metadata}) => metadata.name)).toEqual([
      'edge',
      'lb',
      'my-cloud-controller-manager',
    ])
    expect(index.list('Deployment')[0]).toMatchObject({status: {readyReplicas: 1}})
  })
})

test('progress says what is read, and the time is only what the caller gives', async () => {
  const events: SrcipEvent[] = []
  const snapshot = await load({onEvent: (event) => events.push(event), now: new Date(0)})
  expect(snapshot.metadata).toEqual({createdAt: '1970-01-01T00:00:00.000Z'})
  expect((await load()).metadata).toBeUndefined()
  expect(events.some((event) => event.type === 'step-progress' && event.message === 'namespaces: 1')).toBe(true)
})
