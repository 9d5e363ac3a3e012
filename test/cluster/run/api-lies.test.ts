import type {ServerResponse} from 'node:http'
import {afterEach, beforeEach, describe, expect, test} from 'vitest'
import {sendJson, sendStatus} from '../../support/fake-api-server.ts'
import type {SeenRequest} from '../../support/fake-api-server.ts'
import {startFakeCluster} from './fake-cluster.ts'
import type {FakeCluster} from './fake-cluster.ts'
import {RunProcess, runOptions} from './run-process.ts'

const hosts = ['a.example.org', 'b.example.org', 'c.example.org']
const message =
  'ingresses.networking.k8s.io is forbidden: User "system:serviceaccount:srcip:srcip" cannot list resource "ingresses"'

type Answer = (request: SeenRequest, response: ServerResponse) => boolean

const list = (items: unknown, metadata: object = {resourceVersion: '900'}) => ({
  kind: 'IngressList',
  apiVersion: 'networking.k8s.io/v1',
  metadata,
  items,
})

/** Case B32: answers of the Ingress list that are no empty list. Watches get the same failure where there is one. */
const lies: Readonly<Record<string, Answer>> = {
  'b) 403': (_request, response) => {
    sendStatus(response, 403, {reason: 'Forbidden', message})
    return true
  },
  'c) 404, the API is not served': (_request, response) => {
    sendStatus(response, 404, {reason: 'NotFound', message: 'the server could not find the requested resource'})
    return true
  },
  'd) 503': (_request, response) => {
    sendStatus(response, 503, {
      reason: 'ServiceUnavailable',
      message: 'the server is currently unable to handle the request',
    })
    return true
  },
  'e) 200 with items: null': (request, response) => {
    if (request.watch) sendStatus(response, 422, {reason: 'Invalid', message: 'sendInitialEvents is forbidden'})
    else sendJson(response, 200, list(null))
    return true
  },
  'f) page 1 of 2, then 410, and 410 again for the whole': (request, response) => {
    if (request.watch) sendStatus(response, 422, {reason: 'Invalid', message: 'sendInitialEvents is forbidden'})
    else if (request.query.has('continue') || !request.query.has('limit')) {
      sendStatus(response, 410, {reason: 'Expired', message: 'the provided continue parameter is too old'})
    } else sendJson(response, 200, list([], {resourceVersion: '900', continue: 'more'}))
    return true
  },
  'g) 200 with a body that is no list': (request, response) => {
    if (request.watch) sendStatus(response, 422, {reason: 'Invalid', message: 'sendInitialEvents is forbidden'})
    else response.writeHead(200, {'content-type': 'text/html'}).end('<html>login</html>')
    return true
  },
  'h) 200 with a list of nothing but odd objects': (request, response) => {
    if (request.watch) sendStatus(response, 422, {reason: 'Invalid', message: 'sendInitialEvents is forbidden'})
    else sendJson(response, 200, list([null, 7, {}, {metadata: null}, {metadata: {name: 'x'}, spec: {rules: 'no'}}]))
    return true
  },
}

describe('an API error is not an empty list', () => {
  let cluster: FakeCluster
  let run: RunProcess | undefined
  let standing: string
  const start = (more: Parameters<typeof runOptions>[0] = {}): RunProcess => {
    run = new RunProcess(runOptions({kube: {kubeconfig: cluster.kubeconfig}, families: ['ingress'], ...more}), {
      POD_NAME: 'srcip-0',
    })
    return run
  }
  beforeEach(async () => {
    cluster = await startFakeCluster({hosts})
    const first = start()
    await expect.poll(() => cluster.names(), {timeout: 30_000}).toEqual(hosts)
    await first.stop()
    standing = cluster.corefile()
  })
  afterEach(async () => {
    await run?.stop('SIGKILL')
    await cluster.stop()
  })

  for (const [name, answer] of Object.entries(lies)) {
    test(
      `${name}: not one byte changes, for a process that starts and for one that runs`,
      {timeout: 60_000},
      async () => {
        let lying = true
        cluster.onIngresses((request, response) => lying && answer(request, response))
        const process = start()
        await process.said('this process holds the Lease')
        await new Promise((resolve) => setTimeout(resolve, 3000))
        expect(cluster.corefile()).toBe(standing)
        lying = false
        await process.said('source ingresses is synced', 60_000)
        lying = true
        cluster.server.endWatches()
        await new Promise((resolve) => setTimeout(resolve, 3000))
        expect(cluster.corefile()).toBe(standing)
        expect(process.child.exitCode).toBeNull()
      },
    )
  }

  test('a true empty list is mass removal: refused unless --allow-empty', {timeout: 60_000}, async () => {
    for (const object of cluster.server.objects.list('networking.k8s.io/v1/ingresses', 'demo')) {
      cluster.server.objects.delete('networking.k8s.io/v1/ingresses', 'demo', object.metadata.name)
    }
    const careful = start()
    await careful.said('3 names stay: no source names anything')
    expect(cluster.corefile()).toBe(standing)
    await careful.stop()
    start({allowEmpty: true})
    await expect.poll(() => cluster.names(), {timeout: 30_000}).toEqual([])
  })
})
