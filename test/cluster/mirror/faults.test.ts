import {afterAll, afterEach, beforeAll, expect, test} from 'vitest'
import {copyReferences} from './copying.ts'
import {blobGet, type Fault, faultProxy, type FaultProxy} from './fault-proxy.ts'
import {digestAt, image, missingAt, multiArch, push} from './images.ts'
import {describeWith} from './parts.ts'
import {Registries, type TestRegistry} from './registries.ts'

await describeWith('copy through faults', ['registry-2.8', 'registry-3'], (parts) => {
  const registries = new Registries()
  const proxies: FaultProxy[] = []
  let source: TestRegistry
  let target: TestRegistry
  const small = multiArch('faults small', {layerSize: 30_000})
  const big = image('faults big', {layers: 1, layerSize: 12_000_000})
  const layer = big.blobs[1] as (typeof big.blobs)[number]
  let run = 0

  beforeAll(async () => {
    ;[source, target] = await Promise.all([
      registries.start(parts['registry-2.8']),
      registries.start(parts['registry-3']),
    ])
    await push(source.host, 'acme/small', small, ['1.0'])
    await push(source.host, 'acme/big', big, ['1.0'])
  })
  afterEach(async () => {
    for (const proxy of proxies.splice(0)) await proxy.close()
  })
  afterAll(() => registries.stop())

  async function before(registry: TestRegistry, faults: Fault[]): Promise<FaultProxy> {
    const proxy = await faultProxy(registry.host, faults)
    proxies.push(proxy)
    return proxy
  }
  const place = () => `faults${run++}`

  test('a blob cut in the middle is resumed by Range: no byte twice', async () => {
    const cut = await before(source, [{when: blobGet(layer.digest, 3), cutAfter: 3_500_000}])
    const to = place()
    const {exitCode} = await copyReferences([`${cut.host}/acme/big:1.0`], `${target.host}/${to}`)
    expect(exitCode).toBe(0)
    expect(await missingAt(target.host, `${to}/acme/big`, big)).toEqual([])
    const ranges = cut.log.filter((line) => line.includes(layer.digest) && line.includes('bytes='))
    expect(ranges).toHaveLength(3)
    expect(
      ranges.every(
        (line, at) =>
          at === 0 ||
          Number(line.split('bytes=')[1]?.slice(0, -1)) > Number(ranges[at - 1]?.split('bytes=')[1]?.slice(0, -1)),
      ),
    ).toBe(true)
  })

  test('trap 25: a server that ignores Range, or offers another one, never makes a wrong blob', async () => {
    const ignores = await before(source, [
      {when: blobGet(layer.digest), cutAfter: 3_000_000},
      {
        when: ({method, path, request}) =>
          method === 'GET' && path.includes(layer.digest) && request.headers.range !== undefined,
        answer: {status: 200, headers: {'content-length': '5'}, body: 'other'},
      },
    ])
    const to = place()
    const wrong = await copyReferences([`${ignores.host}/acme/big:1.0`], `${target.host}/${to}`)
    expect(wrong).toMatchObject({exitCode: 22, items: [{error: {message: expect.stringContaining(layer.digest)}}]})
    expect(await digestAt(target.host, `${to}/acme/big`, '1.0')).toBeUndefined()
    const lies = await before(source, [
      {when: blobGet(layer.digest), cutAfter: 3_000_000},
      {
        when: ({path, request}) => path.includes(layer.digest) && request.headers.range !== undefined,
        headers: (headers) => ({...headers, 'content-range': 'bytes 0-11999999/12000000'}),
      },
    ])
    expect(await copyReferences([`${lies.host}/acme/big:1.0`], `${target.host}/${place()}`)).toMatchObject({
      exitCode: 22,
    })
  })

  test.each([
    [
      'one byte flipped',
      (body: Buffer) => Buffer.concat([body.subarray(0, 100), Buffer.from([(body[100] ?? 0) ^ 1]), body.subarray(101)]),
    ],
    ['truncated under a right header', (body: Buffer) => body.subarray(0, body.length - 1)],
  ])('%s: named, nothing committed, nothing tagged', async (_name, bytes) => {
    for (const [repository, content, blob] of [
      ['big', big, layer],
      ['small', small, small.children[0]?.blobs[1]],
    ] as const) {
      const bad = await before(source, [
        {when: blobGet(blob?.digest ?? '', 99), bytes, headers: (headers) => ({...headers, connection: 'close'})},
      ])
      const watched = await before(target, [])
      const to = place()
      const {exitCode, items} = await copyReferences([`${bad.host}/acme/${repository}:1.0`], `${watched.host}/${to}`)
      expect([22, 30]).toContain(exitCode)
      expect(items[0]?.error?.message).toContain(blob?.digest)
      expect(watched.log.filter((line) => line.startsWith('PUT') && line.includes('/manifests/'))).toEqual(
        expect.not.arrayContaining([expect.stringContaining('1.0')]),
      )
      expect(await digestAt(target.host, `${to}/acme/${repository}`, '1.0')).toBeUndefined()
      expect(await missingAt(target.host, `${to}/acme/${repository}`, content)).toContain(blob?.digest)
    }
  })

  test('a lying Content-Length of a blob is refused before a byte is sent on', async () => {
    const lies = await before(source, [
      {
        when: blobGet(layer.digest, 99),
        bytes: (body) => body.subarray(0, 1000),
        headers: (headers) => ({...headers, 'content-length': '1000'}),
      },
    ])
    const result = await copyReferences([`${lies.host}/acme/big:1.0`], `${target.host}/${place()}`)
    expect(result).toMatchObject({
      exitCode: 22,
      items: [{error: {message: expect.stringContaining('announces 1000 bytes')}}],
    })
  })

  test('a manifest whose bytes changed on the way is refused by its digest', async () => {
    const child = small.children[0] as typeof small
    const bad = await before(source, [
      {
        when: ({method, path}) => method === 'GET' && path.endsWith(child.digest),
        bytes: (body) => Buffer.concat([body, Buffer.from(' ')]),
        headers: (headers) => ({...headers, 'content-length': String(child.bytes.length + 1)}),
      },
    ])
    expect(await copyReferences([`${bad.host}/acme/small:1.0`], `${target.host}/${place()}`)).toMatchObject({
      exitCode: 22,
      items: [{error: {message: expect.stringContaining('the content hashes to')}}],
    })
  })

  test.each(['HEAD', 'GET', 'POST', 'PUT'])('500, 502 and a lost answer on %s are got over', async (method) => {
    const faultOnce: Fault[] = [
      {when: ({method: one, hit}) => one === method && hit < 2, answer: {status: 500}},
      {
        when: ({method: one, hit}) => one === method && hit < 1,
        answer: {status: 502, body: '<html>bad gateway</html>'},
      },
      {when: ({method: one, hit}) => one === method && hit < 1, loseAnswer: true},
    ]
    const [from, into] = [
      await before(source, method === 'GET' || method === 'HEAD' ? faultOnce : []),
      await before(target, method === 'GET' ? [] : faultOnce),
    ]
    const to = place()
    const {exitCode} = await copyReferences([`${from.host}/acme/small:1.0`], `${into.host}/${to}`)
    expect(exitCode).toBe(0)
    expect(await missingAt(target.host, `${to}/acme/small`, small)).toEqual([])
  })

  test('429 with Retry-After pauses the host once for all, and then goes on', async () => {
    const limited = await before(source, [
      {
        when: ({method, path, hit}) => method === 'GET' && path.includes('/blobs/') && hit < 1,
        answer: {status: 429, headers: {'retry-after': '1'}},
      },
    ])
    const started = performance.now()
    const {exitCode, events} = await copyReferences([`${limited.host}/acme/small:1.0`], `${target.host}/${place()}`)
    expect(exitCode).toBe(0)
    expect(performance.now() - started).toBeGreaterThan(950)
    expect(events.filter(({type}) => type === 'host.wait')).toHaveLength(1)
  })

  test('429 for ever ends with 30 and says that a rerun goes on', async () => {
    const limited = await before(source, [
      {when: ({path}) => path.includes('/blobs/'), answer: {status: 429, headers: {'retry-after': '3600'}}},
    ])
    const {exitCode, items} = await copyReferences([`${limited.host}/acme/small:1.0`], `${target.host}/${place()}`)
    expect({exitCode, hints: items[0]?.error?.hints}).toEqual({
      exitCode: 30,
      hints: [expect.stringContaining('goes on where it stopped')],
    })
  })

  test('trap 18: an upload cut in the middle starts over; an answer lost after the commit is found by HEAD', async () => {
    const isPut = ({method, path}: {method: string; path: string}) =>
      method === 'PUT' && path.includes('/blobs/uploads/')
    const cut = await before(target, [{when: (passing) => isPut(passing) && passing.hit < 1, cutUploadAfter: 100_000}])
    const to = place()
    expect(await copyReferences([`${source.host}/acme/big:1.0`], `${cut.host}/${to}`)).toMatchObject({exitCode: 0})
    expect(await missingAt(target.host, `${to}/acme/big`, big)).toEqual([])
    const lost = await before(target, [{when: (passing) => isPut(passing) && passing.hit < 1, loseAnswer: true}])
    const other = place()
    expect(await copyReferences([`${source.host}/acme/big:1.0`], `${lost.host}/${other}`)).toMatchObject({exitCode: 0})
    expect(lost.log.filter((line) => line.startsWith('PUT') && line.includes('/uploads/'))).toHaveLength(2)
  })

  test('a target that claims a blob and then does not know it is healed once', async () => {
    const blob = small.children[0]?.blobs[1]?.digest ?? ''
    const claims = await before(target, [
      {when: ({method, path}) => method === 'HEAD' && path.includes(`/blobs/${blob}`), answer: {status: 200}},
    ])
    const to = place()
    expect(await copyReferences([`${source.host}/acme/small:1.0`], `${claims.host}/${to}`)).toMatchObject({exitCode: 0})
    expect(await missingAt(target.host, `${to}/acme/small`, small)).toEqual([])
  })

  test('a read-only target is called one', async () => {
    const readOnly = await before(target, [
      {
        when: ({method}) => method === 'POST',
        answer: {
          status: 405,
          headers: {'content-type': 'application/json'},
          body: '{"errors":[{"code":"UNSUPPORTED","message":"The operation is unsupported."}]}',
        },
      },
    ])
    const {exitCode, items} = await copyReferences([`${source.host}/acme/small:1.0`], `${readOnly.host}/${place()}`)
    expect({exitCode, message: items[0]?.error?.message}).toEqual({
      exitCode: 32,
      message: expect.stringContaining('takes no uploads'),
    })
  })

  test('trap 26: a proxy that unpacks or packs what it carries is found out', async () => {
    const helpful = await before(source, [
      {
        when: blobGet(small.children[0]?.blobs[1]?.digest ?? '', 9),
        headers: (headers) => ({...headers, 'content-encoding': 'gzip'}),
      },
    ])
    expect(await copyReferences([`${helpful.host}/acme/small:1.0`], `${target.host}/${place()}`)).toMatchObject({
      exitCode: 22,
      items: [{error: {message: expect.stringContaining('Content-Encoding gzip')}}],
    })
  })
})
