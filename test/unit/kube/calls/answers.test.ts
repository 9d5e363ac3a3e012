import {gzipSync} from 'node:zlib'
import {beforeEach, describe, expect, test} from 'vitest'
import {resources} from '../../../../src/kube/index.ts'
import {sendJson, sendStatus} from '../../../support/fake-api-server.ts'
import {KubeStage, corednsMap} from '../../../support/kube-stage.ts'

const stage = new KubeStage()

describe('answers that are not what they should be', () => {
  const answer = (body: unknown): void => stage.once((_, response) => (sendJson(response, 200, body), true))

  test.each([
    ['a login page', '<html>log in</html>'],
    ['half a document', '{"kind": "ConfigMapList", "items": ['],
  ])('%s is no JSON, and is not quoted', async (_, text) => {
    stage.once((__, response) => (response.writeHead(200).end(text), true))
    const error: unknown = await stage.client.list(resources.configMaps).catch((reason: unknown) => reason)
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
    await expect(stage.client.list(resources.configMaps)).rejects.toMatchObject({kind: 'decode'})
  })

  test('items: null is one, as Go writes it', async () => {
    answer({kind: 'ConfigMapList', metadata: {resourceVersion: '1'}, items: null})
    expect(await stage.client.list(resources.configMaps)).toEqual({items: [], resourceVersion: '1'})
  })

  test('more bytes than are wanted, also when they come compressed', async () => {
    const big = Buffer.alloc(3 * 1024 * 1024, 0x20)
    stage.once((_, response) => (response.writeHead(200).end(big), true))
    const request = {path: '/version', maxBytes: 1024 * 1024}
    await expect(stage.client.request(request)).rejects.toMatchObject({
      kind: 'decode',
      message: expect.stringContaining('more than 1 MiB'),
    })
    stage.once((_, response) => (response.writeHead(200, {'content-encoding': 'gzip'}).end(gzipSync(big)), true))
    await expect(stage.client.request(request)).rejects.toMatchObject({
      kind: 'decode',
      message: expect.stringContaining('more than 1 MiB'),
    })
  })

  test('a server that speaks something else', async () => {
    stage.once((_, response) => (response.socket?.end('SSH-2.0-OpenSSH\r\n'), true))
    await expect(stage.client.get(resources.configMaps, corednsMap)).rejects.toMatchObject({
      kind: 'decode',
      exitCode: 30,
    })
  })
})

describe('lists', () => {
  beforeEach(() => {
    for (let index = 0; index < 7; index += 1) {
      stage.server.objects.put('networking.k8s.io/v1/ingresses', {metadata: {namespace: 'edge', name: `i${index}`}})
    }
  })

  test('come in pages of 500, or as asked', async () => {
    expect((await stage.client.list(resources.ingresses, {limit: 3})).items).toHaveLength(7)
    const queries = stage.server.requests.map(({query}) => query.toString())
    expect(queries).toEqual([
      'limit=3',
      expect.stringMatching(/^limit=3&continue=/),
      expect.stringMatching(/^limit=3&continue=/),
    ])
  })

  test('410 on continue: once more without pages, and the first page does not count', async () => {
    let pages = 0
    stage.server.faults.push(() => {
      pages += 1
      if (pages === 2) {
        stage.server.objects.put('/v1/services', {metadata: {name: 'x', namespace: 'y'}})
        stage.server.objects.compacted = stage.server.objects.version
      }
      return false
    })
    stage.server.objects.delete('networking.k8s.io/v1/ingresses', 'edge', 'i0')
    expect((await stage.client.list(resources.ingresses, {limit: 3})).items.map(({metadata}) => metadata.name)).toEqual(
      ['i1', 'i2', 'i3', 'i4', 'i5', 'i6'],
    )
    expect(stage.server.requests.at(-1)?.query.toString()).toBe('')
  })

  test('a server that answers 410 to every continue gives no list at all', async () => {
    stage.server.faults.push((request, response) => {
      if (request.query.has('continue')) sendStatus(response, 410, {reason: 'Expired'})
      else sendJson(response, 200, {kind: 'IngressList', metadata: {resourceVersion: '9', continue: 'more'}, items: []})
      return true
    })
    await expect(stage.client.list(resources.ingresses)).rejects.toMatchObject({status: 410})
  })
})

describe('watches', () => {
  const at = {resourceVersion: '100'}
  async function first(text: string | Buffer, end = false): Promise<unknown> {
    stage.once((_, response) => {
      response.writeHead(200, {'content-type': 'application/json'})
      const bytes = Buffer.from(text)
      // One byte at a time: every character is cut somewhere.
      for (const byte of bytes) response.write(Buffer.from([byte]))
      if (end) response.end()
      return true
    })
    for await (const event of stage.client.watch(resources.ingresses, at)) return event
    return 'end'
  }

  test('fault 15: a line cut in the middle of a character', async () => {
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
    stage.once((_, response) => {
      response.writeHead(200)
      const chunk = Buffer.alloc(1024 * 1024, 0x61)
      for (let index = 0; index < 9; index += 1) response.write(chunk)
      return true
    })
    const events = stage.client.watch(resources.ingresses, at)
    await expect(events[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      kind: 'decode',
      message: expect.stringContaining('8388608'),
    })
  })

  test('leaving the loop closes the connection', async () => {
    stage.server.objects.put('networking.k8s.io/v1/ingresses', {metadata: {namespace: 'edge', name: 'a'}})
    for await (const event of stage.client.watch(resources.ingresses, at)) {
      expect(event.type).toBe('ADDED')
      break
    }
    await expect.poll(() => stage.server.sockets).toBe(0)
  })

  test('asks for bookmarks', async () => {
    await first('\n', true)
    expect(stage.server.requests[0]?.query.get('allowWatchBookmarks')).toBe('true')
  })
})
