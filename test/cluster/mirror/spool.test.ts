import {existsSync, mkdirSync, readdirSync} from 'node:fs'
import {join} from 'node:path'
import {afterAll, beforeAll, expect, test} from 'vitest'
import {copyReferences} from './copying.ts'
import {blobGet, faultProxy, type Fault, type FaultProxy} from './fault-proxy.ts'
import {image, missingAt, push} from './images.ts'
import {describeWith} from './parts.ts'
import {Registries, type TestRegistry} from './registries.ts'

await describeWith('blobs on their way over the disk', ['registry-3'], (parts) => {
  const registries = new Registries()
  const proxies: FaultProxy[] = []
  const big = image('spooled', {layers: 1, layerSize: 6_000_000})
  const layer = big.blobs.at(-1)?.digest ?? ''
  let source: TestRegistry
  let target: TestRegistry
  let count = 0

  beforeAll(async () => {
    ;[source, target] = await Promise.all([
      registries.start(parts['registry-3']),
      registries.start(parts['registry-3']),
    ])
    await push(source.host, 'acme/big', big, ['1.0'])
  })
  afterAll(async () => {
    await Promise.all(proxies.map((proxy) => proxy.close()))
    registries.stop()
  })

  const before = async (registry: TestRegistry, faults: Fault[]): Promise<FaultProxy> => {
    const proxy = await faultProxy(registry.host, faults)
    proxies.push(proxy)
    return proxy
  }
  const folder = (): string => {
    const path = join(registries.path, `spool-${count++}`)
    mkdirSync(path)
    return path
  }
  /** An upload that breaks after half a megabyte, `times` times. */
  const broken = (times: number): Fault => ({
    when: ({method, path, hit}) => method === 'PUT' && path.includes(encodeURIComponent(layer)) && hit < times,
    cutUploadAfter: 500_000,
  })
  const downloads = (proxy: FaultProxy): number =>
    proxy.log.filter((line) => line.startsWith(`GET /v2/acme/big/blobs/${layer}`)).length

  test('always: one download however often the upload breaks, and nothing is left on the disk', async () => {
    const [from, to, spoolFolder] = [await before(source, []), await before(target, [broken(3)]), folder()]
    const report = await copyReferences([`${from.host}/acme/big:1.0`], `${to.host}/always`, {
      spool: 'always',
      spoolFolder,
    })
    expect(report).toMatchObject({exitCode: 0})
    expect(await missingAt(target.host, 'always/acme/big', big)).toEqual([])
    expect(downloads(from)).toBe(1)
    expect(readdirSync(spoolFolder)).toEqual([])
  })

  test('auto: the first try streams, a broken one is the last that is paid for twice', async () => {
    const [from, to, spoolFolder] = [await before(source, []), await before(target, [broken(3)]), folder()]
    const report = await copyReferences([`${from.host}/acme/big:1.0`], `${to.host}/auto`, {spool: 'auto', spoolFolder})
    expect(report).toMatchObject({exitCode: 0})
    expect(await missingAt(target.host, 'auto/acme/big', big)).toEqual([])
    expect(downloads(from)).toBe(2)
    expect(readdirSync(spoolFolder)).toEqual([])
  })

  test('never: every try reads the source again', async () => {
    const [from, to] = [await before(source, []), await before(target, [broken(2)])]
    const report = await copyReferences([`${from.host}/acme/big:1.0`], `${to.host}/never`, {spool: 'never'})
    expect(report).toMatchObject({exitCode: 0})
    expect(downloads(from)).toBe(3)
  })

  test('what lies on the disk is checked: a flipped byte never reaches the target', async () => {
    const from = await before(source, [
      {
        when: blobGet(layer, Number.POSITIVE_INFINITY),
        bytes: (body) => {
          const changed = Buffer.from(body)
          changed[1000] = (changed[1000] ?? 0) ^ 1
          return changed
        },
      },
    ])
    const to = await before(target, [])
    const report = await copyReferences([`${from.host}/acme/big:1.0`], `${to.host}/flipped`, {
      spool: 'always',
      spoolFolder: folder(),
    })
    expect(report).toMatchObject({exitCode: 22, items: [{status: 'failed'}]})
    expect(report.items[0]?.error?.message).toContain(layer)
    // The layer's upload was not even opened: the only POST and PUT are those of the config.
    for (const method of ['POST', 'PUT'])
      expect(
        to.log.filter((line) => line.startsWith(method) && line.includes('/uploads/')),
        method,
      ).toHaveLength(1)
  })

  test('a folder that is not there is named', async () => {
    const spoolFolder = join(registries.path, 'not-there')
    const report = await copyReferences([`${source.host}/acme/big:1.0`], `${target.host}/nowhere`, {
      spool: 'always',
      spoolFolder,
    })
    expect(report).toMatchObject({exitCode: 32})
    expect(report.items[0]?.error?.message).toContain(spoolFolder)
    expect(existsSync(spoolFolder)).toBe(false)
  })
})
