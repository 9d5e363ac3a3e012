import {mkdtemp, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {setTimeout as wait} from 'node:timers/promises'
import {afterEach, beforeEach, expect, test} from 'vitest'
import {createKubeClient, createReflector, resources} from '../../../../src/kube/index.ts'
import type {KubeClient, Reflector, ReflectorOptions, StoreChange} from '../../../../src/kube/index.ts'
import {testAuthority} from '../../../support/certificates.ts'
import {FakeApiServer, sendJson, sendStatus} from '../../../support/fake-api-server.ts'
import type {Fault} from '../../../support/fake-api-server.ts'
import {configFor} from '../../../support/kube-configs.ts'

// Faults on real sockets and the real clock, with short limits; the long ones run on a virtual clock in reflector.test.ts.
const collection = 'networking.k8s.io/v1/ingresses'
const key = (name: string): string => `edge/${name}`
let server: FakeApiServer
let client: KubeClient
let reflector: Reflector<string>
let changes: string[]
let lists: string[]

function put(name: string): void {
  server.objects.put(collection, {metadata: {namespace: 'edge', name}})
}

async function begin(options: Partial<ReflectorOptions<string>> = {}): Promise<void> {
  client = createKubeClient(configFor(server.url), {env: {}, rate: 'unlimited'})
  reflector = createReflector<string>({
    client,
    resource: resources.ingresses,
    project: (object) => object.metadata.name,
    random: () => 0,
    onChange: (change: StoreChange<string>) => void changes.push(`${change.type} ${change.key}`),
    observer: {onList: (reason) => void lists.push(reason)},
    ...options,
  })
  reflector.start()
  await reflector.waitForSync()
}

const keys = (): string[] => [...reflector.store.keys()].toSorted()

beforeEach(async () => {
  changes = []
  lists = []
  server = await new FakeApiServer().start()
  put('a')
})
afterEach(async () => {
  await reflector.stop()
  client.close()
  await expect.poll(() => server.sockets, {timeout: 3000}).toBe(0)
  await server.kill()
})

/** A fault for watches (or lists) only, until it is taken away. */
function disturb(which: 'watch' | 'list', fault: Fault): () => void {
  const guarded: Fault = (request, response) =>
    request.path.endsWith('/ingresses') && request.watch === (which === 'watch') && fault(request, response)
  server.faults.push(guarded)
  return () => void server.faults.splice(server.faults.indexOf(guarded), 1)
}

test('fault 1: the server is killed and comes back: resumed without a list, nothing missed', async () => {
  await begin()
  await server.kill()
  await expect.poll(() => reflector.state).toBe('stale')
  put('b')
  server.objects.delete(collection, 'edge', 'a')
  await server.start()
  await expect.poll(keys, {timeout: 8000}).toEqual([key('b')])
  expect(lists).toEqual(['first'])
  expect(changes).toEqual(['add edge/a', 'add edge/b', 'delete edge/a'])
})

test('fault 1: every connection is reset', async () => {
  await begin()
  server.reset()
  put('b')
  await expect.poll(keys, {timeout: 5000}).toEqual([key('a'), key('b')])
  expect(lists).toEqual(['first'])
})

test('fault 2: history is compacted while the watch is away: one list, tombstones', async () => {
  await begin()
  const heal = disturb('watch', (_, response) => (response.socket?.resetAndDestroy(), true))
  server.reset()
  put('b')
  server.objects.delete(collection, 'edge', 'a')
  server.objects.compacted = server.objects.version
  heal()
  await expect.poll(keys, {timeout: 8000}).toEqual([key('b')])
  expect(lists).toEqual(['first', 'expired'])
})

test('fault 2: 410 as an ERROR event', async () => {
  await begin()
  let once = true
  disturb('watch', (_, response) => {
    if (!once) return false
    once = false
    response.end(`${JSON.stringify({type: 'ERROR', object: {kind: 'Status', code: 410, reason: 'Expired'}})}\n`)
    return true
  })
  server.endWatches()
  await expect.poll(() => lists, {timeout: 5000}).toEqual(['first', 'expired'])
  expect(changes).toEqual(['add edge/a'])
})

test('fault 3: a watch that flows slowly lives, also where its bytes come one by one', async () => {
  disturb('watch', (request, response) => {
    if (request.query.get('sendInitialEvents') === 'true') return false
    response.writeHead(200)
    const line = `${JSON.stringify({type: 'ADDED', object: {metadata: {namespace: 'edge', name: 'slow', uid: 'u', resourceVersion: '500'}}})}\n`
    let at = 0
    const timer = setInterval(() => {
      response.write(line.slice(at, at + 1))
      at += 1
      if (at >= line.length) clearInterval(timer)
    }, 20)
    response.on('close', () => clearInterval(timer))
    return true
  })
  await begin({idleMs: 400})
  server.endWatches()
  await expect.poll(keys, {timeout: 10_000}).toContain(key('slow'))
  expect(server.count(({watch}) => watch)).toBe(2)
})

test('fault 4: a watch that says 200 and then nothing is replaced, and the event of the gap arrives', async () => {
  await begin({idleMs: 400})
  let mute = true
  disturb('watch', (_, response) => {
    if (!mute) return false
    response.writeHead(200).flushHeaders()
    return true
  })
  server.endWatches()
  await wait(100)
  put('b')
  mute = false
  await expect.poll(keys, {timeout: 5000}).toEqual([key('a'), key('b')])
  await expect.poll(() => server.sockets).toBeLessThanOrEqual(2)
})

test('fault 4: a server that holds the headers back, as a buffering proxy does, is waited for as long as a quiet watch', async () => {
  await begin({idleMs: 700})
  disturb('watch', (_, response) => {
    setTimeout(() => {
      response.writeHead(200)
      response.write(
        `${JSON.stringify({type: 'ADDED', object: {metadata: {namespace: 'edge', name: 'held', uid: 'u', resourceVersion: '500'}}})}\n`,
      )
    }, 500)
    return true
  })
  server.endWatches()
  await expect.poll(keys, {timeout: 5000}).toContain(key('held'))
  expect(server.count(({watch}) => watch)).toBe(2)
})

test('fault 5: 403 on list and watch keeps every name, and says whose right is missing', async () => {
  await begin()
  const heal = [
    disturb(
      'watch',
      (_, response) => (
        sendStatus(response, 403, {reason: 'Forbidden', message: 'User "srcip" cannot watch resource "ingresses"'}),
        true
      ),
    ),
    disturb('list', (_, response) => (sendStatus(response, 403, {reason: 'Forbidden'}), true)),
  ]
  server.endWatches()
  await expect.poll(() => reflector.state).toBe('forbidden')
  expect(reflector.status.failure).toMatchObject({
    exitCode: 31,
    message: expect.stringContaining('watch ingresses.networking.k8s.io'),
  })
  await expect(reflector.relist()).rejects.toMatchObject({status: 403})
  expect(keys()).toEqual([key('a')])
  for (const undo of heal) undo()
})

test('fault 12: 429 with Retry-After on a watch is waited for, once', async () => {
  await begin()
  let refused = 0
  disturb('watch', (_, response) => {
    if (refused > 0) return false
    refused += 1
    sendStatus(response, 429, {}, {'retry-after': '2'})
    return true
  })
  server.endWatches()
  await expect.poll(() => reflector.state).toBe('stale')
  await expect.poll(() => reflector.state, {timeout: 5000}).toBe('synced')
  const [first, second, third] = server.requests.filter(({watch}) => watch)
  expect(first).toBeDefined()
  expect((third?.at ?? 0) - (second?.at ?? 0)).toBeGreaterThanOrEqual(1990)
  expect(lists).toEqual(['first'])
})

test('fault 15: a malformed line loses nothing', async () => {
  await begin()
  let broken = true
  disturb('watch', (_, response) => {
    if (!broken) return false
    broken = false
    response.writeHead(200).write('{"type":"ADDED","obj\n')
    return true
  })
  server.endWatches()
  await wait(100)
  put('b')
  await expect.poll(keys, {timeout: 5000}).toEqual([key('a'), key('b')])
  expect(lists).toEqual(['first'])
})

test('fault 15: an object of some megabytes in one line is read; a line of more than 8 MiB is not', async () => {
  await begin()
  server.objects.put(collection, {
    metadata: {namespace: 'edge', name: 'large', annotations: {text: 'ü'.repeat(3 * 1024 * 1024)}},
  })
  await expect.poll(keys, {timeout: 5000}).toEqual([key('a'), key('large')])
  let huge = true
  disturb('watch', (_, response) => {
    if (!huge) return false
    huge = false
    response.writeHead(200).write(Buffer.alloc(9 * 1024 * 1024, 0x20))
    return true
  })
  server.endWatches()
  await wait(200)
  put('b')
  await expect.poll(keys, {timeout: 5000}).toContain(key('b'))
})

test.each([
  ['nothing', (): unknown => ({})],
  ['a Status', (): unknown => ({kind: 'Status', status: 'Failure'})],
  [
    'an empty page with a continue that leads nowhere',
    (): unknown => ({kind: 'IngressList', metadata: {resourceVersion: '1', continue: 'x'}, items: []}),
  ],
])('a list that answers %s removes nothing', async (_, body) => {
  await begin()
  disturb('list', (request, response) => {
    if (request.query.has('continue')) sendStatus(response, 410, {reason: 'Expired'})
    else sendJson(response, 200, body())
    return true
  })
  await expect(reflector.relist()).rejects.toThrow()
  expect(keys()).toEqual([key('a')])
})

test('fault 15: the token file is gone when the watch has to be opened anew', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'reflector-'))
  const authority = testAuthority('ca')
  await server.kill()
  server = await new FakeApiServer({tls: authority.issue('kube', ['127.0.0.1'])}).start()
  put('a')
  await writeFile(join(folder, 'token'), 'one')
  const own = createKubeClient(
    configFor(server.url, {
      certificateAuthority: {data: Buffer.from(authority.cert)},
      user: {tokenFile: join(folder, 'token')},
    }),
    {env: {}, rate: 'unlimited'},
  )
  await begin({client: own})
  await rm(folder, {recursive: true})
  server.reset()
  put('b')
  await expect.poll(keys, {timeout: 5000}).toEqual([key('a'), key('b')])
  await reflector.stop()
  own.close()
})
