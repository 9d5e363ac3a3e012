import {describe, expect, test} from 'vitest'
import {resources} from '../../../../src/kube/index.ts'
import {sendStatus} from '../../../support/fake-api-server.ts'
import type {Fault} from '../../../support/fake-api-server.ts'
import {KubeStage, corednsMap, resetIt} from '../../../support/kube-stage.ts'

const stage = new KubeStage()

describe('connections', () => {
  test('one serves many requests', async () => {
    for (let round = 0; round < 20; round += 1) await stage.client.get(resources.configMaps, corednsMap)
    expect(stage.server.sockets).toBe(1)
  })

  test('a read on an idle connection that was just closed is sent again, once', async () => {
    await stage.client.get(resources.configMaps, corednsMap)
    stage.once(resetIt)
    await stage.client.get(resources.configMaps, corednsMap)
    expect(stage.server.requests).toHaveLength(3)
    await stage.client.get(resources.configMaps, corednsMap)
    stage.once(resetIt, 2)
    await expect(stage.client.get(resources.configMaps, corednsMap)).rejects.toMatchObject({
      kind: 'transport',
      reason: 'ECONNRESET',
      exitCode: 30,
    })
  })

  test('a write is sent again only with a precondition', async () => {
    const {metadata} = await stage.client.get(resources.configMaps, corednsMap)
    stage.once(resetIt)
    await expect(stage.client.mergePatch(resources.configMaps, corednsMap, {data: {a: '1'}})).rejects.toMatchObject({
      kind: 'transport',
    })
    await stage.client.get(resources.configMaps, corednsMap)
    stage.once(resetIt)
    const {resourceVersion, uid} = metadata
    await stage.client.mergePatch(resources.configMaps, corednsMap, {data: {a: '1'}}, {resourceVersion, uid})
    const bodies = stage.server.requests
      .filter(({method}) => method === 'PATCH')
      .map(({body}) => JSON.parse(body) as object)
    expect(bodies.at(-1)).toEqual({data: {a: '1'}, metadata: {resourceVersion, uid}})
  })

  test('a first connection that is reset is a failure', async () => {
    stage.once(resetIt)
    await expect(stage.client.get(resources.configMaps, corednsMap)).rejects.toMatchObject({
      kind: 'transport',
      reason: 'ECONNRESET',
    })
    expect(stage.server.requests).toHaveLength(1)
  })

  test('a server that is not there says so, with the next thing to type', async () => {
    await stage.server.kill()
    await expect(stage.client.get(resources.configMaps, corednsMap)).rejects.toMatchObject({
      kind: 'transport',
      exitCode: 30,
      message: `API server ${stage.client.config.server} cannot be reached: connection refused`,
      hints: ['kubectl get --raw /readyz'],
    })
  })

  test('fault 15: a name that DNS does not know', async () => {
    const lost = stage.connect({server: 'http://kube.invalid:6443'})
    await expect(lost.get(resources.configMaps, corednsMap)).rejects.toMatchObject({
      exitCode: 30,
      message: expect.stringMatching(/DNS/),
    })
  })

  test('close ends what is under way and everything after', async () => {
    stage.once(() => true)
    const waiting = stage.client.get(resources.configMaps, corednsMap)
    await expect.poll(() => stage.server.requests.length).toBe(1)
    stage.client.close()
    await expect(waiting).rejects.toMatchObject({kind: 'aborted'})
    await expect(stage.client.get(resources.configMaps, corednsMap)).rejects.toMatchObject({kind: 'aborted'})
  })
})

describe('time limits', () => {
  test('fault 3: a server that never answers', async () => {
    stage.once(() => true)
    const answer = stage.client.get(resources.configMaps, corednsMap, {timeoutMs: 80})
    await expect(answer).rejects.toMatchObject({
      kind: 'deadline',
      exitCode: 124,
      message: expect.stringContaining('configmap/kube-system/coredns'),
    })
  })

  test('--request-timeout counts for every call; the default counts as unreachable', async () => {
    const asked = stage.connect({requestTimeoutMs: 80})
    stage.once(() => true)
    await expect(asked.get(resources.configMaps, corednsMap)).rejects.toMatchObject({kind: 'deadline', exitCode: 124})
  })

  test('fault 3: a body that stops half-way', async () => {
    stage.once((_, response) => {
      response.writeHead(200, {'content-type': 'application/json'}).write('{"kind":')
      return true
    })
    await expect(stage.client.get(resources.configMaps, corednsMap, {timeoutMs: 80})).rejects.toMatchObject({
      kind: 'deadline',
    })
  })

  test('the caller’s own signal', async () => {
    stage.once(() => true)
    await expect(
      stage.client.get(resources.configMaps, corednsMap, {signal: AbortSignal.timeout(50)}),
    ).rejects.toMatchObject({
      kind: 'aborted',
      exitCode: 130,
    })
  })
})

describe('a server under load', () => {
  const busy =
    (status: number, seconds: string): Fault =>
    (_, response) => {
      sendStatus(response, status, {}, {'retry-after': seconds})
      return true
    }

  test.each([429, 503])('fault 12: %i with Retry-After is waited for', async (status) => {
    stage.once(busy(status, '1'))
    const started = performance.now()
    await stage.client.get(resources.configMaps, corednsMap)
    expect(performance.now() - started).toBeGreaterThanOrEqual(990)
  })

  test('ten tries, then it is a failure', async () => {
    stage.once(busy(429, '0'), 100)
    await expect(stage.client.get(resources.configMaps, corednsMap)).rejects.toMatchObject({status: 429, exitCode: 30})
    expect(stage.server.requests).toHaveLength(10)
  })

  test('a wait beyond the time limit is left to the caller', async () => {
    stage.once(busy(429, '600'), 100)
    await expect(stage.client.get(resources.configMaps, corednsMap)).rejects.toMatchObject({
      status: 429,
      retryAfterMs: 600_000,
    })
    expect(stage.server.requests).toHaveLength(1)
  })

  test('503 without Retry-After is a failure at once', async () => {
    stage.once((_, response) => (sendStatus(response, 503, {message: 'etcd is away'}), true))
    await expect(stage.client.get(resources.configMaps, corednsMap)).rejects.toMatchObject({
      status: 503,
      message: expect.stringContaining('etcd is away'),
    })
  })
})

describe('what is sent', () => {
  test('user agent, impersonation with each group of its own, and warnings come back once', async () => {
    const warnings: string[] = []
    const acting = stage.connect(
      {impersonate: {user: 'jane', uid: '7', groups: ['a', 'b'], extra: {'example.org/scope': ['x', 'y']}}},
      {userAgent: 'kubectl-srcip/1 (linux/x64) run', onWarning: (text) => void warnings.push(text)},
    )
    let raw: string[] = []
    stage.server.faults.push((_, response) => {
      raw = response.req.rawHeaders
      response.setHeader('warning', ['299 - "old \\"API\\""', '299 - "second"'])
      return false
    })
    await acting.get(resources.configMaps, corednsMap)
    await acting.get(resources.configMaps, corednsMap)
    const sent = Object.entries(Object.groupBy(pairs(raw), ([name]) => name)).map(([name, values]) => [
      name,
      values?.map(([, value]) => value),
    ])
    expect(Object.fromEntries(sent)).toMatchObject({
      'user-agent': ['kubectl-srcip/1 (linux/x64) run'],
      'impersonate-user': ['jane'],
      'impersonate-uid': ['7'],
      'impersonate-group': ['a', 'b'],
      'impersonate-extra-example.org%2Fscope': ['x', 'y'],
      accept: ['application/json'],
    })
    expect(warnings).toEqual(['old "API"', 'second'])
  })

  test('names are escaped, and names that would mean another path are refused', async () => {
    await stage.client.find(resources.configMaps, {namespace: 'a', name: 'x/../y?z#%'}).catch(() => undefined)
    expect(stage.server.requests[0]?.path).toBe('/api/v1/namespaces/a/configmaps/x%2F..%2Fy%3Fz%23%25')
    for (const name of ['..', '.', '']) {
      await expect(stage.client.get(resources.configMaps, {namespace: 'a', name})).rejects.toMatchObject({exitCode: 2})
    }
    expect(stage.server.requests).toHaveLength(1)
  })

  test('writes carry fieldManager, dryRun and their content type', async () => {
    await stage.client.mergePatch(resources.configMaps, corednsMap, {data: {a: null}}, {dryRun: 'server'})
    await stage.client.apply(resources.configMaps, {metadata: corednsMap, data: {}}).catch(() => undefined)
    const [patch, apply] = stage.server.requests
    expect(patch).toMatchObject({
      method: 'PATCH',
      headers: {'content-type': 'application/merge-patch+json'},
      body: '{"data":{"a":null}}',
    })
    expect(patch?.query.toString()).toBe('fieldManager=kubectl-srcip&dryRun=All')
    expect(apply).toMatchObject({headers: {'content-type': 'application/apply-patch+yaml'}})
    expect(apply?.query.toString()).toBe('fieldManager=kubectl-srcip&force=true')
    expect(JSON.parse(apply?.body ?? '')).toMatchObject({apiVersion: 'v1', kind: 'ConfigMap'})
  })

  test('at most as many requests as agreed', async () => {
    const slow = stage.connect({}, {rate: {perSecond: 50, burst: 5}})
    const started = performance.now()
    await Promise.all(Array.from({length: 20}, () => slow.get(resources.configMaps, corednsMap)))
    expect(performance.now() - started).toBeGreaterThanOrEqual(280)
  })
})

describe('refusals', () => {
  const refuse = (status: number, fields: object): void =>
    stage.once((_, response) => (sendStatus(response, status, fields), true))

  test('fault 11: a webhook’s denial, with whatever status, is told apart from a missing right', async () => {
    for (const status of [403, 400, 404, 409, 422]) {
      refuse(status, {
        reason: 'Forbidden',
        message: 'admission webhook "guard.example.org" denied the request: not today\u001b[31m',
      })
      await expect(stage.client.mergePatch(resources.configMaps, corednsMap, {}), `${status}`).rejects.toMatchObject({
        exitCode: 31,
        message:
          'configmap/kube-system/coredns: admission webhook "guard.example.org" denied the request: not today [31m',
      })
    }
    refuse(403, {
      reason: 'Forbidden',
      message:
        'configmaps "coredns" is forbidden: User "jane" cannot patch resource "configmaps" in API group "" in the namespace "kube-system"',
    })
    await expect(stage.client.mergePatch(resources.configMaps, corednsMap, {})).rejects.toMatchObject({
      message: 'user "jane" is not allowed to patch configmaps "coredns" in namespace "kube-system"',
      hints: ['ask for this right', 'kubectl auth can-i patch configmaps/coredns -n kube-system'],
    })
  })

  test.each([
    [409, 33, {reason: 'Conflict', message: 'modified'}],
    [409, 33, {reason: 'AlreadyExists'}],
    [422, 33, {reason: 'Invalid', message: 'metadata.uid: Invalid value: "x": field is immutable'}],
    [422, 32, {reason: 'Invalid', message: 'data: Too long: may not be more than 1048576 bytes'}],
    [413, 32, {}],
    [404, 32, {}],
    [400, 32, {message: 'bad'}],
    [500, 30, {message: 'failed calling webhook "x"'}],
  ])('%i exits %i', async (status, exitCode, fields) => {
    refuse(status, fields)
    await expect(stage.client.mergePatch(resources.configMaps, corednsMap, {})).rejects.toMatchObject({
      status,
      exitCode,
      object: 'configmap/kube-system/coredns',
    })
  })
})

function pairs(raw: readonly string[]): [string, string][] {
  return raw.flatMap((name, index) => (index % 2 === 0 ? [[name, raw[index + 1] ?? ''] as [string, string]] : []))
}
