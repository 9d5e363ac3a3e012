import {afterAll, beforeAll, beforeEach, expect, test} from 'vitest'
import type {DnsWrite} from '../../src/cluster-dns/types.ts'
import {checkWrites, makeWrites, undoWrites} from '../../src/cluster-dns/write.ts'
import {createKubeClient, loadKubeconfig, resources, type KubeClient} from '../../src/kube/index.ts'
import type {KubeObject} from '../../src/model/kubernetes.ts'
import {API_SERVER_PARTS, describeWithParts, startApiServer, type ApiServer} from './bed/index.ts'

type ConfigMap = KubeObject & {data?: Record<string, string>}

await describeWithParts('writes of cluster DNS with their preconditions', [...API_SERVER_PARTS], () => {
  let api: ApiServer
  let client: KubeClient
  const key = (name: string) => ({namespace: 'kube-system', name})

  beforeAll(async () => {
    api = await startApiServer({users: [{name: 'nobody'}]})
    client = createKubeClient(await loadKubeconfig({kubeconfig: api.kubeconfig}, {}), {env: {}, rate: 'unlimited'})
  })
  afterAll(async () => {
    client?.close()
    await api?.stop()
  })
  beforeEach(async () => {
    for (const name of ['coredns', 'coredns-custom']) await client.delete(resources.configMaps, key(name))
  })

  const read = (name: string) => client.get<ConfigMap>(resources.configMaps, key(name))

  /** A ConfigMap with these keys, and a write of one of them that fits it. */
  async function prepared(
    name: string,
    data: Record<string, string>,
    change: {key: string; after: string | null},
  ): Promise<DnsWrite> {
    const {metadata} = await client.create<ConfigMap>(resources.configMaps, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: key(name),
      data,
    })
    const {uid = '', resourceVersion = ''} = metadata
    return {
      namespace: 'kube-system',
      configMap: name,
      key: change.key,
      before: data[change.key] ?? null,
      after: change.after,
      uid,
      resourceVersion,
    }
  }

  test('one key changes, the manager is ours, and undo gives the bytes back', async () => {
    const before = '.:53 {\r\n\terrors \n}'
    const write = await prepared('coredns', {Corefile: before, other: 'theirs'}, {key: 'Corefile', after: 'new'})
    await checkWrites(client, [write])
    const done = await makeWrites(client, [write])
    const written = await read('coredns')
    expect(written.data).toEqual({Corefile: 'new', other: 'theirs'})
    expect(written.metadata.managedFields?.map((entry) => entry.manager)).toContain('kubectl-srcip')
    expect(await undoWrites(client, done)).toMatchObject([{restored: true}])
    expect((await read('coredns')).data).toEqual({Corefile: before, other: 'theirs'})
  })

  test('a key that was absent is absent again after undo', async () => {
    const write = await prepared('coredns-custom', {'a.override': 'log\n'}, {key: 'srcip.override', after: 'x\n'})
    await undoWrites(client, await makeWrites(client, [write]))
    expect((await read('coredns-custom')).data).toEqual({'a.override': 'log\n'})
  })

  test('a change of somebody else before the write: stale (32) in the check, conflict (33) in the write, nothing written', async () => {
    const write = await prepared('coredns', {Corefile: 'a'}, {key: 'Corefile', after: 'b'})
    await client.mergePatch(resources.configMaps, key('coredns'), {data: {Corefile: 'c'}}, {fieldManager: 'somebody'})
    await expect(checkWrites(client, [write])).rejects.toMatchObject({
      exitCode: 32,
      message: expect.stringContaining('somebody'),
    })
    await expect(makeWrites(client, [write])).rejects.toMatchObject({
      exitCode: 33,
      object: 'configmap/kube-system/coredns',
    })
    expect((await read('coredns')).data).toEqual({Corefile: 'c'})
  })

  test('fault 9: another object of the same name is not written', async () => {
    const write = await prepared('coredns', {Corefile: 'a'}, {key: 'Corefile', after: 'b'})
    await client.delete(resources.configMaps, key('coredns'))
    await expect(makeWrites(client, [write])).rejects.toMatchObject({
      exitCode: 33,
      message: expect.stringContaining('was deleted'),
    })
    const again = await prepared('coredns', {Corefile: 'a'}, {key: 'Corefile', after: 'b'})
    await expect(makeWrites(client, [{...write, resourceVersion: again.resourceVersion!}])).rejects.toMatchObject({
      exitCode: 33,
    })
    expect((await read('coredns')).data).toEqual({Corefile: 'a'})
  })

  test('a ConfigMap that appeared meanwhile is not overwritten', async () => {
    await prepared('coredns-custom', {'a.override': 'log\n'}, {key: 'a.override', after: null})
    const creation: DnsWrite = {
      namespace: 'kube-system',
      configMap: 'coredns-custom',
      key: 'srcip.override',
      before: null,
      after: 'x',
    }
    await expect(makeWrites(client, [creation])).rejects.toMatchObject({
      exitCode: 33,
      message: expect.stringContaining('was created by somebody else'),
    })
    expect((await read('coredns-custom')).data).toEqual({'a.override': 'log\n'})
  })

  test('when the second write fails the first is put back', async () => {
    const creation: DnsWrite = {
      namespace: 'kube-system',
      configMap: 'coredns-custom',
      key: 'srcip.override',
      before: null,
      after: 'x',
    }
    const write = await prepared('coredns', {Corefile: 'a'}, {key: 'Corefile', after: 'b'})
    await client.mergePatch(resources.configMaps, key('coredns'), {data: {Corefile: 'c'}})
    await expect(makeWrites(client, [creation, write])).rejects.toMatchObject({exitCode: 33})
    expect((await read('coredns-custom')).data).toBeUndefined()
    expect((await read('coredns')).data).toEqual({Corefile: 'c'})
  })

  test('two keys of one ConfigMap: the second write stands on the first, and undo goes the same way back', async () => {
    const first = await prepared('coredns', {Corefile: 'a', 'srcip.override': 'x'}, {key: 'Corefile', after: 'b'})
    const second: DnsWrite = {...first, key: 'srcip.override', before: 'x', after: null}
    const done = await makeWrites(client, [first, second])
    expect((await read('coredns')).data).toEqual({Corefile: 'b'})
    expect(await undoWrites(client, done)).toMatchObject([{restored: true}, {restored: true}])
    expect((await read('coredns')).data).toEqual({Corefile: 'a', 'srcip.override': 'x'})
  })

  test('undo leaves what somebody wrote since, and says so', async () => {
    const write = await prepared('coredns', {Corefile: 'a'}, {key: 'Corefile', after: 'b'})
    const done = await makeWrites(client, [write])
    await client.mergePatch(
      resources.configMaps,
      key('coredns'),
      {data: {Corefile: 'theirs'}},
      {fieldManager: 'somebody'},
    )
    expect(await undoWrites(client, done)).toMatchObject([
      {restored: false, reason: expect.stringContaining('somebody')},
    ])
    expect((await read('coredns')).data).toEqual({Corefile: 'theirs'})
  })

  test('a dry run at the server stores nothing', async () => {
    const write = await prepared('coredns', {Corefile: 'a'}, {key: 'Corefile', after: 'b'})
    await makeWrites(client, [write], {dryRun: 'server'})
    expect((await read('coredns')).data).toEqual({Corefile: 'a'})
  })

  test('fault 13: a text of over 1 MiB is refused by the server and reported, nothing written', async () => {
    const write = await prepared('coredns', {Corefile: 'a'}, {key: 'Corefile', after: 'x'.repeat(1_048_577)})
    await expect(makeWrites(client, [write])).rejects.toMatchObject({message: expect.stringMatching(/Too long/)})
    expect((await read('coredns')).data).toEqual({Corefile: 'a'})
  })

  test('without the right the check names verb, resource and namespace (31)', async () => {
    const write = await prepared('coredns', {Corefile: 'a'}, {key: 'Corefile', after: 'b'})
    const nobody = createKubeClient(await loadKubeconfig({kubeconfig: api.kubeconfigFor({user: 'nobody'})}, {}), {
      env: {},
    })
    await expect(checkWrites(nobody, [write])).rejects.toMatchObject({
      exitCode: 31,
      message: expect.stringContaining('patch configmaps in namespace kube-system'),
    })
    nobody.close()
  })
})
