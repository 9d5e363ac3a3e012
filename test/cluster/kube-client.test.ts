import {readFile} from 'node:fs/promises'
import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import {createKubeClient, loadKubeconfig, resources} from '../../src/kube/index.ts'
import type {KubeClient, ListPage, WatchEvent} from '../../src/kube/index.ts'
import type {KubeObject} from '../../src/model/kubernetes.ts'
import {API_SERVER_PARTS, startApiServer, type ApiServer} from './bed/index.ts'
import {describeWithParts} from './bed/suite.ts'

const configMap = (name: string, data: Record<string, string>): KubeObject => ({
  metadata: {namespace: 'default', name},
  data,
})

await describeWithParts('the client against a real API server', [...API_SERVER_PARTS], () => {
  let api: ApiServer
  let client: KubeClient
  let warnings: string[]
  const key = (name: string) => ({namespace: 'default', name})

  beforeAll(async () => {
    api = await startApiServer({
      users: [
        {name: 'reader', groups: ['readers']},
        {name: 'root', groups: ['system:masters']},
      ],
    })
    warnings = []
    client = createKubeClient(await loadKubeconfig({kubeconfig: api.kubeconfig}, {}), {
      env: {},
      rate: 'unlimited',
      onWarning: (text) => void warnings.push(text),
    })
  })
  afterAll(async () => {
    client?.close()
    await api?.stop()
  })

  async function as(user: string, flags: object = {}): Promise<KubeClient> {
    return createKubeClient(await loadKubeconfig({kubeconfig: api.kubeconfigFor({user}), ...flags}, {}), {env: {}})
  }

  describe('merge patch', () => {
    test('with the version that was read, and null takes a key out', async () => {
      const created = await client.create(resources.configMaps, configMap('patched', {a: '1', b: '2'}))
      const {resourceVersion, uid} = created.metadata
      const patched = await client.mergePatch<KubeObject & {data: object}>(
        resources.configMaps,
        key('patched'),
        {data: {a: '3', b: null}},
        {resourceVersion, uid},
      )
      expect(patched.data).toEqual({a: '3'})
      expect(patched.metadata.managedFields?.some((entry) => entry.manager === 'kubectl-srcip')).toBe(true)
    })

    test('with a stale version is a conflict (409, exit 33)', async () => {
      const {metadata} = await client.create(resources.configMaps, configMap('stale', {a: '1'}))
      await client.mergePatch(resources.configMaps, key('stale'), {data: {a: '2'}})
      const again = client.mergePatch(
        resources.configMaps,
        key('stale'),
        {data: {a: '3'}},
        {resourceVersion: metadata.resourceVersion},
      )
      await expect(again).rejects.toMatchObject({status: 409, exitCode: 33, object: 'configmap/default/stale'})
    })

    test('with another uid is a conflict, too (422, exit 33)', async () => {
      await client.create(resources.configMaps, configMap('other', {a: '1'}))
      const patch = client.mergePatch(
        resources.configMaps,
        key('other'),
        {data: {a: '3'}},
        {uid: '11111111-2222-3333-4444-555555555555'},
      )
      await expect(patch).rejects.toMatchObject({
        status: 422,
        exitCode: 33,
        message: expect.stringContaining('created anew'),
      })
    })

    test('that changes nothing keeps the version', async () => {
      const {metadata} = await client.create(resources.configMaps, configMap('same', {a: '1'}))
      const {resourceVersion, uid} = metadata
      const patched = await client.mergePatch(
        resources.configMaps,
        key('same'),
        {data: {a: '1'}},
        {resourceVersion, uid},
      )
      expect(patched.metadata.resourceVersion).toBe(resourceVersion)
    })

    test('as a dry run stores nothing', async () => {
      const {metadata} = await client.create(resources.configMaps, configMap('dry', {a: '1'}))
      const patched = await client.mergePatch<KubeObject & {data: object}>(
        resources.configMaps,
        key('dry'),
        {data: {a: '2'}},
        {dryRun: 'server'},
      )
      expect(patched.data).toEqual({a: '2'})
      expect((await client.get(resources.configMaps, key('dry'))).metadata.resourceVersion).toBe(
        metadata.resourceVersion,
      )
    })

    test('of something that is not there is 404, exit 32', async () => {
      const patch = client.mergePatch(resources.configMaps, key('nothing'), {data: {}})
      await expect(patch).rejects.toMatchObject({
        status: 404,
        exitCode: 32,
        message: 'configmap/default/nothing not found',
      })
    })
  })

  test('server-side apply creates, changes nothing the second time, and takes out a key that is no longer given', async () => {
    const first = await client.apply(resources.configMaps, configMap('applied', {a: '1', b: '2'}))
    const second = await client.apply(resources.configMaps, configMap('applied', {a: '1', b: '2'}))
    expect(second.metadata.resourceVersion).toBe(first.metadata.resourceVersion)
    const third = await client.apply<KubeObject & {data: object}>(resources.configMaps, configMap('applied', {a: '1'}))
    expect(third.data).toEqual({a: '1'})
  })

  test('update, delete with a precondition, find', async () => {
    const {metadata} = await client.create(resources.configMaps, configMap('life', {a: '1'}))
    const updated = await client.update(resources.configMaps, {metadata, data: {a: '2'}})
    await expect(client.update(resources.configMaps, {metadata, data: {a: '3'}})).rejects.toMatchObject({status: 409})
    await expect(client.create(resources.configMaps, configMap('life', {}))).rejects.toMatchObject({
      reason: 'AlreadyExists',
      exitCode: 33,
    })
    await expect(client.delete(resources.configMaps, key('life'), {uid: 'another'})).rejects.toMatchObject({
      status: 409,
      exitCode: 33,
    })
    expect(await client.delete(resources.configMaps, key('life'), {uid: updated.metadata.uid})).toBe(true)
    expect(await client.delete(resources.configMaps, key('life'))).toBe(false)
    expect(await client.find(resources.configMaps, key('life'))).toBeUndefined()
  })

  test('lists in pages of one moment, compressed or not', async () => {
    await Promise.all(
      Array.from({length: 25}, (_, index) =>
        client.create(resources.configMaps, {
          ...configMap(`page-${index}`, {text: 'x'.repeat(20_000)}),
          metadata: {namespace: 'default', name: `page-${index}`, labels: {paged: 'yes'}},
        }),
      ),
    )
    const pages: ListPage<KubeObject>[] = []
    for await (const page of client.pages(resources.configMaps, {labelSelector: 'paged=yes', limit: 10}))
      pages.push(page)
    expect(pages.map((page) => page.items.length)).toEqual([10, 10, 5])
    expect(new Set(pages.map((page) => page.resourceVersion)).size).toBe(1)
    expect((await client.list(resources.configMaps, {labelSelector: 'paged=yes'})).items).toHaveLength(25)
    expect(
      (await client.list(resources.configMaps, {namespace: 'kube-public', labelSelector: 'paged=yes'})).items,
    ).toEqual([])
  })

  test('watches from a version; the server ends the stream in good order', async () => {
    const {resourceVersion} = await client.list(resources.configMaps, {namespace: 'default'})
    const seen: WatchEvent[] = []
    const watching = (async () => {
      for await (const event of client.watch(resources.configMaps, {
        namespace: 'default',
        resourceVersion,
        timeoutSeconds: 3,
      }))
        seen.push(event)
    })()
    await client.create(resources.configMaps, configMap('watched', {a: '1'}))
    await client.mergePatch(resources.configMaps, key('watched'), {data: {a: '2'}})
    await client.delete(resources.configMaps, key('watched'))
    await watching
    const types = seen.filter(({object}) => object.metadata.name === 'watched').map(({type}) => type)
    expect(types).toEqual(['ADDED', 'MODIFIED', 'DELETED'])
    expect(seen.some(({type}) => type === 'BOOKMARK')).toBe(true)
  })

  test('WatchList begins with what is there and marks the end of it', async () => {
    await client.create(resources.configMaps, configMap('initial', {a: '1'}))
    const names: string[] = []
    for await (const {type, object} of client.watch(resources.configMaps, {
      namespace: 'default',
      sendInitialEvents: true,
      timeoutSeconds: 20,
    })) {
      if (type === 'BOOKMARK' && object.metadata.annotations?.['k8s.io/initial-events-end'] === 'true') break
      names.push(object.metadata.name)
    }
    expect(names).toContain('initial')
  })

  describe('rights', () => {
    test('a refusal names verb, resource and user, and exits 31', async () => {
      const reader = await as('reader')
      await expect(reader.list(resources.ingresses)).rejects.toMatchObject({
        status: 403,
        exitCode: 31,
        message: 'user "reader" is not allowed to list ingresses.networking.k8s.io in all namespaces',
        hints: expect.arrayContaining([expect.stringContaining('auth can-i list ingresses.networking.k8s.io -A')]),
      })
      reader.close()
    })

    test('a token that the server does not know exits 31 and is not shown', async () => {
      const stranger = createKubeClient(
        await loadKubeconfig({kubeconfig: api.kubeconfig, token: 'unknown-secret-token'}, {}),
        {env: {}},
      )
      const error: unknown = await stranger
        .get(resources.namespaces, {name: 'default'})
        .catch((reason: unknown) => reason)
      expect(error).toMatchObject({status: 401, exitCode: 31})
      expect(JSON.stringify(error) + String(error)).not.toContain('secret-token')
      stranger.close()
    })

    test('acts as another user with groups, and asks what it may', async () => {
      const acting = await as('root', {as: 'jane', asGroup: ['one', 'system:masters', 'two'], asUid: '42'})
      const {body} = await acting.request({
        method: 'POST',
        path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
        body: JSON.stringify({apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview'}),
      })
      const {status} = JSON.parse(body.toString()) as {
        status: {userInfo: {username: string; uid: string; groups: string[]}}
      }
      expect(status.userInfo).toMatchObject({
        username: 'jane',
        uid: '42',
        groups: expect.arrayContaining(['one', 'two']),
      })
      acting.close()
      const reader = await as('reader')
      const question = {verb: 'patch', resource: resources.configMaps, namespace: 'kube-system', name: 'coredns'}
      expect(await reader.selfSubjectAccessReview(question)).toMatchObject({allowed: false})
      expect(await client.selfSubjectAccessReview(question)).toMatchObject({allowed: true})
      reader.close()
    })
  })

  test('discovers what is served, in a few requests', async () => {
    const discovery = await client.discover()
    expect(discovery.find('networking.k8s.io', 'ingresses')).toEqual(resources.ingresses)
    expect(discovery.find('', 'pods')).toMatchObject({namespaced: true, kind: 'Pod', version: 'v1'})
    expect(discovery.find('gateway.networking.k8s.io', 'gateways')).toBeUndefined()
    expect(discovery.incomplete).toEqual([])
    expect((await client.serverVersion()).gitVersion).toMatch(/^v1\./)
  })

  test('an absent kind says so', async () => {
    await expect(client.list(resources.httpRoutes)).rejects.toMatchObject({
      status: 404,
      exitCode: 32,
      message: 'the cluster does not serve httproutes.gateway.networking.k8s.io',
    })
  })

  test('a dry-run patch with an unknown field is warned about once', async () => {
    await client.create(resources.ingresses, {
      apiVersion: 'networking.k8s.io/v1',
      metadata: {namespace: 'default', name: 'warned', annotations: {'kubernetes.io/ingress.class': 'nginx'}},
      spec: {defaultBackend: {service: {name: 'x', port: {number: 80}}}},
    })
    expect(warnings.filter((text) => text.includes('kubernetes.io/ingress.class'))).toHaveLength(1)
  })

  test('takes many requests over few connections', async () => {
    for (let round = 0; round < 50; round += 1) await client.get(resources.namespaces, {name: 'default'})
    expect(await connections(client)).toBeLessThan(64)
  })
})

/** Connections to the API server's port, from the kernel's own list. */
async function connections(client: KubeClient): Promise<number> {
  const port = Number(new URL(client.config.server).port).toString(16).toUpperCase().padStart(4, '0')
  const lines = (await readFile('/proc/net/tcp', 'utf8')).split('\n')
  return lines.filter((line) => new RegExp(`^ *\\d+: \\S+ \\S+:${port} 01 `).test(line)).length
}
