import {readFileSync} from 'node:fs'
import {afterAll, afterEach, beforeAll, expect, test} from 'vitest'
import {copyReferences} from './copying.ts'
import {digestAt, image, missingAt, push} from './images.ts'
import {describeWith} from './parts.ts'
import {Registries, type TestRegistry} from './registries.ts'
import {type RelayFaults, type TcpRelay, tcpRelay} from './tcp-relay.ts'

await describeWith('slow and silent servers', ['registry-3'], (parts) => {
  const registries = new Registries()
  const relays: TcpRelay[] = []
  // One of each way of reading: on a connection of its own from 4 MiB on, else as a response.
  const large = image('slow large', {layers: 1, layerSize: 6_000_000})
  const middle = image('slow middle', {layers: 1, layerSize: 2_000_000})
  const huge = image('slow huge', {layers: 1, layerSize: 30_000_000})
  let source: TestRegistry
  let target: TestRegistry
  let count = 0

  beforeAll(async () => {
    ;[source, target] = await Promise.all([
      registries.start(parts['registry-3']),
      registries.start(parts['registry-3']),
    ])
    await push(source.host, 'acme/large', large, ['1.0'])
    await push(source.host, 'acme/middle', middle, ['1.0'])
    await push(source.host, 'acme/huge', huge, ['1.0'])
  })
  afterEach(async () => {
    for (const relay of relays.splice(0)) await relay.close()
  })
  afterAll(() => registries.stop())

  async function through(registry: TestRegistry, faults: RelayFaults): Promise<string> {
    const relay = await tcpRelay(registry.host, faults)
    relays.push(relay)
    return relay.host
  }
  const copy = async (name: string, from: string, to: string) => {
    const place = `slow${++count}`
    const copied = await copyReferences([`${from}/acme/${name}:1.0`], `${to}/${place}`, {
      extras: 'none',
      spool: 'never',
      open: {stallTimeout: 1500},
    })
    const retries = copied.events.flatMap((event) => (event.type === 'blob.retry' ? [event.reason] : []))
    return {copied, retries, repository: `${place}/acme/${name}`}
  }

  test.each([
    ['large', large],
    ['middle', middle],
  ] as const)(
    'a source that falls silent within a %s layer is left after the limit, and resumed by Range',
    async (name, content) => {
      const from = await through(source, {silentAfter: 1_500_000})
      const {copied, retries, repository} = await copy(name, from, target.host)
      expect(copied).toMatchObject({exitCode: 0})
      expect(retries).toEqual([expect.stringContaining('no byte for 1.5 s')])
      expect(await missingAt(target.host, repository, content)).toEqual([])
      // What had come was not fetched again: the second answer is a part.
      const answers = readFileSync(source.log, 'utf8')
        .split('\n')
        .filter((line) => line.includes(`GET /v2/acme/${name}/blobs/${content.blobs.at(-1)?.digest}`))
      expect(answers.some((line) => / 206 /.test(line))).toBe(true)
    },
  )

  test('a source that falls silent again and again is given up: 30, with the blob, the limit and what to do', async () => {
    const from = await through(source, {silentAfter: 100_000, silences: Number.POSITIVE_INFINITY})
    const {copied, repository} = await copy('large', from, target.host)
    expect(copied).toMatchObject({exitCode: 30})
    const [item] = copied.items
    expect(item?.error?.message).toContain(large.blobs.at(-1)?.digest)
    expect(item?.error?.message).toContain('no byte for 1.5 s')
    expect(item?.error?.hints.join()).toContain('run the same command again')
    expect(await digestAt(target.host, repository, '1.0')).toBeUndefined()
  })

  test('a slow source is no silent one', async () => {
    const from = await through(source, {rate: 600_000})
    const {copied, retries, repository} = await copy('middle', from, target.host)
    expect(copied).toMatchObject({exitCode: 0})
    expect(retries).toEqual([])
    expect(await missingAt(target.host, repository, middle)).toEqual([])
  })

  test('a target that takes no more bytes is left after the limit, and the upload starts over', async () => {
    const to = await through(target, {deafAfter: 3_000_000})
    const {copied, retries, repository} = await copy('huge', source.host, to)
    expect(copied).toMatchObject({exitCode: 0})
    expect(retries).toEqual([expect.stringContaining('the target took no byte for 1.5 s')])
    expect(await missingAt(target.host, repository, huge)).toEqual([])
  })
})
