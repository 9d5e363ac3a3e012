import {mkdtemp, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {gzipSync} from 'node:zlib'
import {afterEach, beforeEach, describe, expect, test} from 'vitest'
import {createKubeClient, resources, systemClock} from '../../../../src/kube/index.ts'
import type {ClientOptions, ClusterConfig, KubeClient} from '../../../../src/kube/index.ts'
import {testAuthority} from '../../../support/certificates.ts'
import {FakeApiServer, sendJson, sendStatus} from '../../../support/fake-api-server.ts'
import type {Fault} from '../../../support/fake-api-server.ts'
import {configFor} from '../../../support/kube-configs.ts'

let server: FakeApiServer
let client: KubeClient
const clients: KubeClient[] = []
const cm = {namespace: 'kube-system', name: 'coredns'}

function connect(config: Partial<ClusterConfig> = {}, options: ClientOptions = {}): KubeClient {
  const made = createKubeClient(configFor(server.url, config), {env: {}, rate: 'unlimited', ...options})
  clients.push(made)
  return made
}

beforeEach(async () => {
  server = await new FakeApiServer().start()
  server.objects.put('/v1/configmaps', {metadata: cm, data: {Corefile: '.:53 {}'}})
  client = connect()
})
afterEach(async () => {
  for (const one of clients.splice(0)) one.close()
  await server.kill()
})

/** Applies a fault to the first `times` requests that match. */
function once(fault: Fault, times = 1): void {
  let left = times
  server.faults.push((request, response) => left > 0 && (left -= 1) >= 0 && fault(request, response))
}

const resetIt: Fault = (_, response) => {
  response.socket?.resetAndDestroy()
  return true
}

describe('connections', () => {
  test('one serves many requests', async () => {
    for (let round = 0; round < 20; round += 1) await client.get(resources.configMaps, cm)
    expect(server.sockets).toBe(1)
  })

  test('a read on an idle connection that was just closed is sent again, once', async () => {
    await client.get(resources.configMaps, cm)
    once(resetIt)
    await client.get(resources.configMaps, cm)
    expect(server.requests).toHaveLength(3)
    await client.get(resources.configMaps, cm)
    once(resetIt, 2)
    await expect(client.get(resources.configMaps, cm)).rejects.toMatchObject({
      kind: 'transport',
      reason: 'ECONNRESET',
      exitCode: 30,
    })
  })

  test('a write is sent again only with a precondition', async () => {
    const {metadata} = await client.get(resources.configMaps, cm)
    once(resetIt)
    await expect(client.mergePatch(resources.configMaps, cm, {data: {a: '1'}})).rejects.toMatchObject({
      kind: 'transport',
    })
    await client.get(resources.configMaps, cm)
    once(resetIt)
    const {resourceVersion, uid} = metadata
    await client.mergePatch(resources.configMaps, cm, {data: {a: '1'}}, {resourceVersion, uid})
    const bodies = server.requests.filter(({method}) => method === 'PATCH').map(({body}) => JSON.parse(body) as object)
    expect(bodies.at(-1)).toEqual({data: {a: '1'}, metadata: {resourceVersion, uid}})
  })

  test('a first connection that is reset is a failure', async () => {
    once(resetIt)
    await expect(client.get(resources.configMaps, cm)).rejects.toMatchObject({kind: 'transport', reason: 'ECONNRESET'})
    expect(server.requests).toHaveLength(1)
  })

  test('a server that is not there says so, with the next thing to type', async () => {
    await server.kill()
    await expect(client.get(resources.configMaps, cm)).rejects.toMatchObject({
      kind: 'transport',
      exitCode: 30,
      message: `API server ${client.config.server} cannot be reached: connection refused`,
      hints: ['kubectl get --raw /readyz'],
    })
  })

  test('a name that DNS does not know', async () => {
    const lost = connect({server: 'http://kube.invalid:6443'})
    await expect(lost.get(resources.configMaps, cm)).rejects.toMatchObject({
      exitCode: 30,
      message: expect.stringMatching(/DNS/),
    })
  })

  test('close ends what is under way and everything after', async () => {
    once(() => true)
    const waiting = client.get(resources.configMaps, cm)
    await expect.poll(() => server.requests.length).toBe(1)
    client.close()
    await expect(waiting).rejects.toMatchObject({kind: 'aborted'})
    await expect(client.get(resources.configMaps, cm)).rejects.toMatchObject({kind: 'aborted'})
  })
})

describe('time limits', () => {
  test('a server that never answers', async () => {
    once(() => true)
    const answer = client.get(resources.configMaps, cm, {timeoutMs: 80})
    await expect(answer).rejects.toMatchObject({
      kind: 'deadline',
      exitCode: 124,
      message: expect.stringContaining('configmap/kube-system/coredns'),
    })
  })

  test('--request-timeout counts for every call; the default counts as unreachable', async () => {
    const asked = connect({requestTimeoutMs: 80})
    once(() => true)
    await expect(asked.get(resources.configMaps, cm)).rejects.toMatchObject({kind: 'deadline', exitCode: 124})
  })

  test('a body that stops half-way', async () => {
    once((_, response) => {
      response.writeHead(200, {'content-type': 'application/json'}).write('{"kind":')
      return true
    })
    await expect(client.get(resources.configMaps, cm, {timeoutMs: 80})).rejects.toMatchObject({kind: 'deadline'})
  })

  test('the caller’s own signal', async () => {
    once(() => true)
    await expect(client.get(resources.configMaps, cm, {signal: AbortSignal.timeout(50)})).rejects.toMatchObject({
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

  test.each([429, 503])('%i with Retry-After is waited for', async (status) => {
    once(busy(status, '1'))
    const started = performance.now()
    await client.get(resources.configMaps, cm)
    expect(performance.now() - started).toBeGreaterThanOrEqual(990)
  })

  test('ten tries, then it is a failure', async () => {
    once(busy(429, '0'), 100)
    await expect(client.get(resources.configMaps, cm)).rejects.toMatchObject({status: 429, exitCode: 30})
    expect(server.requests).toHaveLength(10)
  })

  test('a wait beyond the time limit is left to the caller', async () => {
    once(busy(429, '600'), 100)
    await expect(client.get(resources.configMaps, cm)).rejects.toMatchObject({status: 429, retryAfterMs: 600_000})
    expect(server.requests).toHaveLength(1)
  })

  test('503 without Retry-After is a failure at once', async () => {
    once((_, response) => (sendStatus(response, 503, {message: 'etcd is away'}), true))
    await expect(client.get(resources.configMaps, cm)).rejects.toMatchObject({
      status: 503,
      message: expect.stringContaining('etcd is away'),
    })
  })
})

describe('answers that are not what they should be', () => {
  const answer = (body: unknown): void => once((_, response) => (sendJson(response, 200, body), true))

  test.each([
    ['a login page', '<html>log in</html>'],
    ['half a document', '{"kind": "ConfigMapList", "items": ['],
  ])('%s is no JSON, and is not quoted', async (_, text) => {
    once((__, response) => (response.writeHead(200).end(text), true))
    const error: unknown = await client.list(resources.configMaps).catch((reason: unknown) => reason)
    expect(error).toMatchObject({kind: 'decode', exitCode: 30})
    expect(String(error)).not.toContain('log in')
  })

  test.each([
    ['an empty object', {}],
    ['a Status', {kind: 'Status', status: 'Success'}],
    ['no items', {kind: 'ConfigMapList', metadata: {resourceVersion: '1'}}],
    ['items that are no list', {kind: 'ConfigMapList', metadata: {resourceVersion: '1'}, items: {}}],
    ['items without names', {kind: 'ConfigMapList', metadata: {resourceVersion: '1'}, items: [{}]}],
    ['no version', {kind: 'ConfigMapList', metadata: {}, items: []}],
    ['null', null],
  ])('%s is never an empty list', async (_, body) => {
    answer(body)
    await expect(client.list(resources.configMaps)).rejects.toMatchObject({kind: 'decode'})
  })

  test('items: null is one, as Go writes it', async () => {
    answer({kind: 'ConfigMapList', metadata: {resourceVersion: '1'}, items: null})
    expect(await client.list(resources.configMaps)).toEqual({items: [], resourceVersion: '1'})
  })

  test('more bytes than are wanted, also when they come compressed', async () => {
    const big = Buffer.alloc(3 * 1024 * 1024, 0x20)
    once((_, response) => (response.writeHead(200).end(big), true))
    const request = {path: '/version', maxBytes: 1024 * 1024}
    await expect(client.request(request)).rejects.toMatchObject({
      kind: 'decode',
      message: expect.stringContaining('more than 1 MiB'),
    })
    once((_, response) => (response.writeHead(200, {'content-encoding': 'gzip'}).end(gzipSync(big)), true))
    await expect(client.request(request)).rejects.toMatchObject({
      kind: 'decode',
      message: expect.stringContaining('more than 1 MiB'),
    })
  })

  test('a server that speaks something else', async () => {
    once((_, response) => (response.socket?.end('SSH-2.0-OpenSSH\r\n'), true))
    await expect(client.get(resources.configMaps, cm)).rejects.toMatchObject({kind: 'decode', exitCode: 30})
  })
})

describe('lists', () => {
  beforeEach(() => {
    for (let index = 0; index < 7; index += 1) {
      server.objects.put('networking.k8s.io/v1/ingresses', {metadata: {namespace: 'edge', name: `i${index}`}})
    }
  })

  test('come in pages of 500, or as asked', async () => {
    expect((await client.list(resources.ingresses, {limit: 3})).items).toHaveLength(7)
    const queries = server.requests.map(({query}) => query.toString())
    expect(queries).toEqual([
      'limit=3',
      expect.stringMatching(/^limit=3&continue=/),
      expect.stringMatching(/^limit=3&continue=/),
    ])
  })

  test('410 on continue: once more without pages, and the first page does not count', async () => {
    let pages = 0
    server.faults.push(() => {
      pages += 1
      if (pages === 2) {
        server.objects.put('/v1/services', {metadata: {name: 'x', namespace: 'y'}})
        server.objects.compacted = server.objects.version
      }
      return false
    })
    server.objects.delete('networking.k8s.io/v1/ingresses', 'edge', 'i0')
    expect((await client.list(resources.ingresses, {limit: 3})).items.map(({metadata}) => metadata.name)).toEqual([
      'i1',
      'i2',
      'i3',
      'i4',
      'i5',
      'i6',
    ])
    expect(server.requests.at(-1)?.query.toString()).toBe('')
  })

  test('a server that answers 410 to every continue gives no list at all', async () => {
    server.faults.push((request, response) => {
      if (request.query.has('continue')) sendStatus(response, 410, {reason: 'Expired'})
      else sendJson(response, 200, {kind: 'IngressList', metadata: {resourceVersion: '9', continue: 'more'}, items: []})
      return true
    })
    await expect(client.list(resources.ingresses)).rejects.toMatchObject({status: 410})
  })
})

describe('watches', () => {
  const at = {resourceVersion: '100'}
  async function first(text: string | Buffer, end = false): Promise<unknown> {
    once((_, response) => {
      response.writeHead(200, {'content-type': 'application/json'})
      const bytes = Buffer.from(text)
      // One byte at a time: every character is cut somewhere.
      for (const byte of bytes) response.write(Buffer.from([byte]))
      if (end) response.end()
      return true
    })
    for await (const event of client.watch(resources.ingresses, at)) return event
    return 'end'
  }

  test('a line cut in the middle of a character', async () => {
    expect(await first('{"type":"ADDED","object":{"metadata":{"name":"größe–日本"}}}\n')).toMatchObject({
      object: {metadata: {name: 'größe–日本'}},
    })
  })

  test.each([
    ['no JSON', '{"type":"ADDED",\n'],
    ['an unknown type', '{"type":"NEWS","object":{"metadata":{}}}\n'],
    ['no object', '{"type":"ADDED"}\n'],
    ['an object without metadata', '{"type":"ADDED","object":{}}\n'],
  ])('%s ends it as undecodable', async (_, text) => {
    await expect(first(text)).rejects.toMatchObject({kind: 'decode'})
  })

  test('an end in the middle of a line is no good end', async () => {
    await expect(first('{"type":"ADDED","obj', true)).rejects.toMatchObject({kind: 'decode'})
    expect(await first('\n', true)).toBe('end')
  })

  test('an ERROR event is the failure it carries', async () => {
    const status = {kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version'}
    await expect(first(`${JSON.stringify({type: 'ERROR', object: status})}\n`)).rejects.toMatchObject({
      status: 410,
      reason: 'Expired',
    })
  })

  test('a line without end', async () => {
    once((_, response) => {
      response.writeHead(200)
      const chunk = Buffer.alloc(1024 * 1024, 0x61)
      for (let index = 0; index < 9; index += 1) response.write(chunk)
      return true
    })
    const events = client.watch(resources.ingresses, at)
    await expect(events[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      kind: 'decode',
      message: expect.stringContaining('8388608'),
    })
  })

  test('leaving the loop closes the connection', async () => {
    server.objects.put('networking.k8s.io/v1/ingresses', {metadata: {namespace: 'edge', name: 'a'}})
    for await (const event of client.watch(resources.ingresses, at)) {
      expect(event.type).toBe('ADDED')
      break
    }
    await expect.poll(() => server.sockets).toBe(0)
  })

  test('asks for bookmarks', async () => {
    await first('\n', true)
    expect(server.requests[0]?.query.get('allowWatchBookmarks')).toBe('true')
  })
})

describe('what is sent', () => {
  test('user agent, impersonation with each group of its own, and warnings come back once', async () => {
    const warnings: string[] = []
    const acting = connect(
      {impersonate: {user: 'jane', uid: '7', groups: ['a', 'b'], extra: {'example.org/scope': ['x', 'y']}}},
      {userAgent: 'kubectl-srcip/1 (linux/x64) run', onWarning: (text) => void warnings.push(text)},
    )
    let raw: string[] = []
    server.faults.push((_, response) => {
      raw = response.req.rawHeaders
      response.setHeader('warning', ['299 - "old \\"API\\""', '299 - "second"'])
      return false
    })
    await acting.get(resources.configMaps, cm)
    await acting.get(resources.configMaps, cm)
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
    await client.find(resources.configMaps, {namespace: 'a', name: 'x/../y?z#%'}).catch(() => undefined)
    expect(server.requests[0]?.path).toBe('/api/v1/namespaces/a/configmaps/x%2F..%2Fy%3Fz%23%25')
    for (const name of ['..', '.', '']) {
      await expect(client.get(resources.configMaps, {namespace: 'a', name})).rejects.toMatchObject({exitCode: 2})
    }
    expect(server.requests).toHaveLength(1)
  })

  test('writes carry fieldManager, dryRun and their content type', async () => {
    await client.mergePatch(resources.configMaps, cm, {data: {a: null}}, {dryRun: 'server'})
    await client.apply(resources.configMaps, {metadata: cm, data: {}}).catch(() => undefined)
    const [patch, apply] = server.requests
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
    const slow = connect({}, {rate: {perSecond: 50, burst: 5}})
    const started = performance.now()
    await Promise.all(Array.from({length: 20}, () => slow.get(resources.configMaps, cm)))
    expect(performance.now() - started).toBeGreaterThanOrEqual(280)
  })
})

describe('refusals', () => {
  const refuse = (status: number, fields: object): void =>
    once((_, response) => (sendStatus(response, status, fields), true))

  test('a webhook’s denial is told apart from a missing right', async () => {
    refuse(403, {
      reason: 'Forbidden',
      message: 'admission webhook "guard.example.org" denied the request: not today\u001b[31m',
    })
    await expect(client.mergePatch(resources.configMaps, cm, {})).rejects.toMatchObject({
      exitCode: 31,
      message:
        'configmap/kube-system/coredns: admission webhook "guard.example.org" denied the request: not today [31m',
    })
    refuse(403, {
      reason: 'Forbidden',
      message:
        'configmaps "coredns" is forbidden: User "jane" cannot patch resource "configmaps" in API group "" in the namespace "kube-system"',
    })
    await expect(client.mergePatch(resources.configMaps, cm, {})).rejects.toMatchObject({
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
    await expect(client.mergePatch(resources.configMaps, cm, {})).rejects.toMatchObject({
      status,
      exitCode,
      object: 'configmap/kube-system/coredns',
    })
  })
})

describe('credentials', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kube-credentials-'))
  })
  afterEach(async () => rm(folder, {recursive: true}))

  const authority = testAuthority('ca')
  const serving = authority.issue('kube', ['127.0.0.1', 'kube.example.org'])

  async function secure(): Promise<Partial<ClusterConfig>> {
    await server.kill()
    server = await new FakeApiServer({tls: {...serving, ca: authority.cert, requestCert: true}}).start()
    server.objects.put('/v1/configmaps', {metadata: cm, data: {}})
    return {server: server.url, certificateAuthority: {data: Buffer.from(authority.cert)}}
  }

  /** 401 unless this token comes. */
  const wants =
    (token: string): Fault =>
    (request, response) => {
      if (request.headers.authorization === `Bearer ${token}`) return false
      sendStatus(response, 401, {reason: 'Unauthorized'})
      return true
    }

  test('nothing is sent to a plain http server, as with kubectl', async () => {
    await connect({user: {token: 'secret'}}).get(resources.configMaps, cm)
    expect(server.requests[0]?.headers.authorization).toBeUndefined()
  })

  test('a token, a password', async () => {
    const tls = await secure()
    await connect({...tls, user: {token: 'abc\n'}}).get(resources.configMaps, cm)
    await connect({...tls, user: {username: 'u', password: 'p:q'}}).get(resources.configMaps, cm)
    expect(server.requests.map(({headers}) => headers.authorization)).toEqual([
      'Bearer abc',
      `Basic ${Buffer.from('u:p:q').toString('base64')}`,
    ])
    await expect(connect({...tls, user: {token: 'a\nb: c'}}).get(resources.configMaps, cm)).rejects.toMatchObject({
      exitCode: 2,
    })
  })

  test('a token file is read again after a 401 at once, and a 401 that stays is told', async () => {
    const tls = await secure()
    const tokenFile = join(folder, 'token')
    await writeFile(tokenFile, 'one\n')
    const reading = connect({...tls, user: {tokenFile}})
    server.faults.push(wants('one'))
    await reading.get(resources.configMaps, cm)
    server.faults.splice(0, 1, wants('two'))
    await writeFile(tokenFile, 'two')
    await reading.get(resources.configMaps, cm)
    expect(server.requests).toHaveLength(3)
    server.faults.splice(0, 1, wants('three'))
    await expect(reading.get(resources.configMaps, cm)).rejects.toMatchObject({status: 401, exitCode: 31})
    expect(server.requests).toHaveLength(4)
  })

  test('a token file is read again after 10 s of the monotonic clock, and the last token kept when it is gone', async () => {
    const tls = await secure()
    const tokenFile = join(folder, 'token')
    await writeFile(tokenFile, 'one')
    let ahead = 0
    const clock = {...systemClock, now: () => systemClock.now() + ahead, wall: () => 0}
    const reading = connect({...tls, user: {tokenFile}}, {clock})
    const sent = async (): Promise<string | undefined> => {
      await reading.get(resources.configMaps, cm)
      return server.requests.at(-1)?.headers.authorization
    }
    expect(await sent()).toBe('Bearer one')
    await writeFile(tokenFile, 'two')
    ahead = 9000
    expect(await sent()).toBe('Bearer one')
    ahead = 10_500
    expect(await sent()).toBe('Bearer two')
    await rm(tokenFile)
    ahead = 30_000
    expect(await sent()).toBe('Bearer two')
    await expect(connect({...tls, user: {tokenFile}}).get(resources.configMaps, cm)).rejects.toMatchObject({
      exitCode: 31,
      object: tokenFile,
    })
  })

  test('client certificates, by file and inline', async () => {
    const tls = await secure()
    const own = authority.issue('jane', [])
    let subject: unknown
    server.faults.push((_, response) => {
      subject = (response.socket as unknown as {getPeerCertificate(): {subject?: {CN: string}}}).getPeerCertificate()
        .subject?.CN
      return false
    })
    await writeFile(join(folder, 'cert'), own.cert)
    await writeFile(join(folder, 'key'), own.key)
    await connect({
      ...tls,
      user: {clientCertificate: {file: join(folder, 'cert')}, clientKey: {file: join(folder, 'key')}},
    }).get(resources.configMaps, cm)
    expect(subject).toBe('jane')
    subject = undefined
    await connect({
      ...tls,
      user: {clientCertificate: {data: Buffer.from(own.cert)}, clientKey: {data: Buffer.from(own.key)}},
    }).get(resources.configMaps, cm)
    expect(subject).toBe('jane')
    const broken = connect({
      ...tls,
      user: {clientCertificate: {data: Buffer.from('no pem')}, clientKey: {data: Buffer.from('x')}},
    })
    await expect(broken.get(resources.configMaps, cm)).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('not usable'),
    })
  })

  test('an authority that did not sign, a name that does not fit, and no verification', async () => {
    const tls = await secure()
    const other = testAuthority('other')
    await expect(
      connect({...tls, certificateAuthority: {data: Buffer.from(other.cert)}}).get(resources.configMaps, cm),
    ).rejects.toMatchObject({
      exitCode: 30,
      message: expect.stringContaining('signed by an unknown authority'),
      hints: expect.arrayContaining([expect.stringContaining('--certificate-authority')]),
    })
    await expect(
      connect({...tls, tlsServerName: 'wrong.example.org'}).get(resources.configMaps, cm),
    ).rejects.toMatchObject({
      message: expect.stringContaining('for another name'),
    })
    await connect({...tls, tlsServerName: 'kube.example.org'}).get(resources.configMaps, cm)
    await connect({server: server.url, insecureSkipTlsVerify: true}).get(resources.configMaps, cm)
    await expect(connect({server: server.url}).get(resources.configMaps, cm)).rejects.toMatchObject({exitCode: 30})
    await expect(
      connect({...tls, certificateAuthority: {file: join(folder, 'missing')}}).get(resources.configMaps, cm),
    ).rejects.toMatchObject({exitCode: 2})
  })

  test('a rotated CA file is used for new connections within a minute', async () => {
    await secure()
    const caFile = join(folder, 'ca.crt')
    await writeFile(caFile, authority.cert)
    let ahead = 0
    const clock = {...systemClock, now: () => systemClock.now() + ahead}
    const following = connect({server: server.url, certificateAuthority: {file: caFile}}, {clock})
    await following.get(resources.configMaps, cm)
    const next = testAuthority('next')
    const port = server.port
    await server.kill()
    const replaced = new FakeApiServer({tls: next.issue('kube', ['127.0.0.1'])})
    await writeFile(caFile, next.cert)
    server = await replaced.start(port)
    server.objects.put('/v1/configmaps', {metadata: cm, data: {}})
    await expect(following.get(resources.configMaps, cm)).rejects.toMatchObject({exitCode: 30})
    ahead = 61_000
    await following.get(resources.configMaps, cm)
    expect(server.requests).toHaveLength(1)
  })

  test('no failure shows a secret', async () => {
    const tls = await secure()
    server.faults.push((_, response) => (sendStatus(response, 401), true))
    for (const user of [{token: 'tok-secret'}, {username: 'u', password: 'pass-secret'}]) {
      const error: unknown = await connect({...tls, user})
        .get(resources.configMaps, cm)
        .catch((reason: unknown) => reason)
      expect(`${String(error)} ${JSON.stringify(error)} ${(error as Error).stack ?? ''}`).not.toMatch(/-secret|cGFzcy/)
    }
  })
})

function pairs(raw: readonly string[]): [string, string][] {
  return raw.flatMap((name, index) => (index % 2 === 0 ? [[name, raw[index + 1] ?? ''] as [string, string]] : []))
}
