import nock from 'nock'
import {afterEach, expect, test} from 'vitest'
import {createKubeClient, resources} from '../../../src/kube/index.ts'
import {configFor} from '../../support/kube-configs.ts'

afterEach(() => {
  nock.cleanAll()
  nock.enableNetConnect()
})

// Command tests rely on it: if nock ever stops seeing node:https with our agent, they would prove nothing.
test('nock sees what the client sends', async () => {
  nock.disableNetConnect()
  const scope = nock('https://kube.example.org:6443', {reqheaders: {authorization: 'Bearer t'}})
    .get('/api/v1/namespaces/kube-system/configmaps/coredns')
    .times(2)
    .reply(200, {metadata: {name: 'coredns'}})
    .patch('/api/v1/namespaces/kube-system/configmaps/coredns', {data: {a: 'b'}})
    .query({fieldManager: 'kubectl-srcip'})
    .reply(409, {kind: 'Status', reason: 'Conflict'})
  const client = createKubeClient(configFor('https://kube.example.org:6443', {user: {token: 't'}}), {env: {}})
  const key = {namespace: 'kube-system', name: 'coredns'}
  await client.get(resources.configMaps, key)
  await client.get(resources.configMaps, key)
  await expect(client.mergePatch(resources.configMaps, key, {data: {a: 'b'}})).rejects.toMatchObject({
    status: 409,
    exitCode: 33,
  })
  expect(scope.isDone()).toBe(true)
  client.close()
})
