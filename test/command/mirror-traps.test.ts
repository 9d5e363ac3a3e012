import {createHash} from 'node:crypto'
import {createServer} from 'node:http'
import {afterEach, describe, expect, test} from 'vitest'
import {copyReferences} from '../cluster/mirror/copying.ts'
import {
  blob,
  document,
  image,
  multiArch,
  noise,
  pointer,
  push,
  referrer,
  types,
  type Document,
} from '../cluster/mirror/images.ts'
import {layoutRegistry, type LayoutRegistry, type LayoutRegistryOptions} from '../cluster/mirror/layout-registry.ts'
import {Sums} from '../../src/present/mirror/progress.ts'

const open: LayoutRegistry[] = []
async function registry(options: LayoutRegistryOptions = {}): Promise<LayoutRegistry> {
  const started = await layoutRegistry(options)
  open.push(started)
  return started
}
afterEach(async () => {
  for (const one of open.splice(0)) await one.close()
})

/** A source with one image tagged 1.0 in `a/b`. */
async function sourceWith(content: Document, options: LayoutRegistryOptions = {}): Promise<LayoutRegistry> {
  const source = await registry({sparse: true, ...options})
  await push(source.host, 'a/b', content, ['1.0'])
  source.log.length = 0
  return source
}
const from = (source: LayoutRegistry) => `${source.host}/a/b:1.0`
const whole = (target: LayoutRegistry, content: Document): boolean =>
  target.manifests.get(`a/b ${content.digest}`)?.bytes.equals(content.bytes) === true &&
  content.blobs.every((one) => target.blobs.get(one.digest)?.equals(one.bytes) === true) &&
  content.children.every((child) => whole(target, child))

test('trap 3: every manifest type is asked for, or an old registry answers 404 for an index', async () => {
  const accepts: string[] = []
  const content = multiArch('accept')
  const source = await sourceWith(content, {
    before: (request) => (
      accepts.push(`${request.method} ${request.url?.includes('/manifests/')} ${request.headers.accept}`),
      false
    ),
  })
  accepts.length = 0
  await copyReferences([from(source)], (await registry()).host)
  const manifests = accepts.filter((line) => / true /.test(line))
  expect(manifests.length).toBeGreaterThan(3)
  for (const line of manifests)
    for (const type of [types.index, types.manifest, types.dockerList, types.dockerManifest])
      expect(line).toContain(type)
})

test('trap 5, 6: odd spacing, escapes and large numbers arrive byte for byte', async () => {
  const config = blob('{}', types.config)
  const text = `{ "mediaType": "${types.manifest}",\n "schemaVersion":2, "n":123456789012345678901, "t":"\\u00e9\\/", "config": ${JSON.stringify(pointer(config))}, "layers":[] }\n\n`
  const content = document(types.manifest, {}, [config], [], text)
  const target = await registry()
  expect(await copyReferences([from(await sourceWith(content))], target.host)).toMatchObject({exitCode: 0})
  expect(whole(target, content)).toBe(true)
})

test('trap 9: a fallback tag that answers with the subject itself is none', async () => {
  const content = multiArch('alias')
  const [source, target] = [await sourceWith(content, {aliasDash: true}), await registry({aliasDash: true})]
  const {exitCode, items} = await copyReferences([from(source)], target.host)
  expect({exitCode, extras: items[0]?.extras, skipped: items[0]?.skippedExtras}).toEqual({
    exitCode: 0,
    extras: [],
    skipped: [],
  })
})

test('trap 10: a fallback index keeps the entries of others, and ours carry annotations', async () => {
  const content = image('fallback')
  const source = await sourceWith(content, {referrers: true})
  const ours = referrer(content, 'application/vnd.dev.sigstore.bundle.v0.3+json', '{"a":1}', {'org.example.a': 'b'})
  await push(source.host, 'a/b', ours)
  const target = await registry()
  const tag = content.digest.replace(':', '-')
  const foreign = {
    mediaType: types.manifest,
    digest: `sha256:${'f'.repeat(64)}`,
    size: 5,
    artifactType: 'x/y',
    annotations: {keep: 'me'},
  }
  await fetch(`http://${target.host}/v2/a/b/manifests/${tag}`, {
    method: 'PUT',
    headers: {'content-type': types.index},
    body: JSON.stringify({schemaVersion: 2, mediaType: types.index, manifests: []}),
  })
  const sparse = Buffer.from(
    JSON.stringify({schemaVersion: 2, mediaType: types.index, manifests: [foreign], annotations: {theirs: 'too'}}),
  )
  const digest = `sha256:${createHash('sha256').update(sparse).digest('hex')}`
  target.manifests.set(`a/b ${digest}`, {bytes: sparse, type: types.index})
  target.manifests.set(`a/b ${foreign.digest}`, {bytes: Buffer.from('{}'), type: types.manifest})
  target.tags.set(`a/b ${tag}`, digest)
  expect(await copyReferences([from(source)], target.host)).toMatchObject({exitCode: 0})
  const index = JSON.parse(target.manifests.get(`a/b ${target.tags.get(`a/b ${tag}`)}`)?.bytes.toString() ?? '{}')
  expect(index).toMatchObject({
    annotations: {theirs: 'too'},
    manifests: [
      foreign,
      {
        digest: ours.digest,
        artifactType: 'application/vnd.dev.sigstore.bundle.v0.3+json',
        annotations: {'org.example.a': 'b'},
      },
    ],
  })
})

test('trap 11: .sig, .att and .sbom tags travel for the index and for children, before the human tag', async () => {
  const content = multiArch('cosign')
  const child = content.children[1] as Document
  const [source, target] = [await sourceWith(content), await registry()]
  const attached = {
    [`${content.digest.replace(':', '-')}.sig`]: image('sig'),
    [`${child.digest.replace(':', '-')}.att`]: image('att'),
    [`${child.digest.replace(':', '-')}.sbom`]: image('sbom'),
  }
  for (const [tag, one] of Object.entries(attached)) await push(source.host, 'a/b', one, [tag])
  const {items} = await copyReferences([from(source)], target.host)
  expect(items[0]?.extras.map(({kind}) => kind).sort()).toEqual(['attestation', 'sbom', 'signature'])
  for (const [tag, one] of Object.entries(attached)) expect(target.tags.get(`a/b ${tag}`)).toBe(one.digest)
  const puts = target.log.filter((line) => line.startsWith('PUT') && line.includes('/manifests/'))
  expect(puts.at(-1)).toContain('/manifests/1.0')
  const first = await copyReferences([from(source)], (await registry()).host, {extras: 'none'})
  expect(first.items[0]?.extras).toEqual([])
})

test('trap 12, 13: an empty config is pushed; one blob as config and layer, and layers listed twice, go once', async () => {
  const empty = blob('{}', types.empty)
  const layer = blob('twice', types.layer)
  const content = document(
    types.manifest,
    {
      schemaVersion: 2,
      mediaType: types.manifest,
      config: pointer(empty),
      layers: [pointer(empty), pointer(layer), pointer(layer)],
    },
    [empty, layer],
  )
  const target = await registry()
  expect(await copyReferences([from(await sourceWith(content))], target.host)).toMatchObject({
    exitCode: 0,
    counts: {blobsMoved: 2},
  })
  expect(whole(target, content)).toBe(true)
})

test('a blob of no bytes is copied', async () => {
  const [empty, config] = [blob('', types.layer), blob('{"a":1}', types.config)]
  const content = document(
    types.manifest,
    {schemaVersion: 2, mediaType: types.manifest, config: pointer(config), layers: [pointer(empty)]},
    [config, empty],
  )
  const target = await registry()
  expect(await copyReferences([from(await sourceWith(content))], target.host)).toMatchObject({exitCode: 0})
  expect(whole(target, content)).toBe(true)
})

test('trap 14: a mount that is answered 202 is used as the upload it opened', async () => {
  const [one, two] = [image('mount'), image('mount')]
  const source = await sourceWith(one)
  await push(source.host, 'a/c', two, ['1.0'])
  const blobs = new Map<string, Set<string>>()
  const target = await registry({
    // Holds blobs by repository, as real registries do, and never mounts.
    before: (request, response) => {
      const match = /^\/v2\/(a\/[bc])\/blobs\/(sha256:[0-9a-f]+)$/.exec(request.url ?? '')
      const put = /^\/v2\/(a\/[bc])\/blobs\/uploads\/.*digest=(sha256%3A[0-9a-f]+)/.exec(request.url ?? '')
      if (put !== null)
        blobs.set(put[1] ?? '', (blobs.get(put[1] ?? '') ?? new Set()).add(decodeURIComponent(put[2] ?? '')))
      if (match === null || request.method !== 'HEAD' || blobs.get(match[1] ?? '')?.has(match[2] ?? '') === true)
        return false
      response.writeHead(404).end()
      return true
    },
  })
  const {exitCode} = await copyReferences([from(source), `${source.host}/a/c:1.0`], target.host)
  expect(exitCode).toBe(0)
  const mounts = target.log.filter((line) => line.includes('mount='))
  const posts = target.log.filter((line) => line.startsWith('POST'))
  const puts = target.log.filter((line) => line.startsWith('PUT') && line.includes('/uploads/'))
  expect(mounts).toHaveLength(3)
  expect(posts).toHaveLength(puts.length)
})

describe('upload locations and forms', () => {
  const content = image('locations', {layers: 1, layerSize: 9_000_000})

  test('trap 15, 16: relative and absolute locations with a state that changes are followed as they are', async () => {
    const target = await registry()
    await copyReferences([from(await sourceWith(content))], target.host)
    const puts = target.log.filter((line) => line.startsWith('PUT') && line.includes('/uploads/'))
    expect(puts.every((line) => /\?state=\d+-0&digest=sha256%3A[0-9a-f]{64} /.test(line))).toBe(true)
  })

  test('a body that is too large falls back to PATCH, then to chunks, and the host is remembered', async () => {
    const target = await registry({largestBody: 4 * 1024 * 1024})
    const {exitCode} = await copyReferences([from(await sourceWith(content))], target.host)
    expect(exitCode).toBe(0)
    expect(whole(target, content)).toBe(true)
    expect(target.log.filter((line) => line.startsWith('PATCH')).length).toBeGreaterThan(3)
  })

  test('chunks are halved once where they are too large, and never below what the registry asks for', async () => {
    const target = await registry({largestBody: 3 * 1024 * 1024})
    expect(await copyReferences([from(await sourceWith(content))], target.host)).toMatchObject({exitCode: 0})
    expect(whole(target, content)).toBe(true)
    const greedy = await registry({
      headers: (request) => (request.method === 'POST' ? {'oci-chunk-min-length': String(2 ** 40)} : {}),
    })
    expect(await copyReferences([from(await sourceWith(content))], greedy.host)).toMatchObject({
      exitCode: 32,
      items: [{error: {message: expect.stringContaining('asks for chunks')}}],
    })
  })

  test('trap 17: a registry that keeps the first chunk only is found out', async () => {
    let chunks = 0
    const target = await registry({
      largestBody: 4 * 1024 * 1024,
      before: (request, response) => {
        if (request.method !== 'PATCH' || request.headers['content-range'] === undefined || ++chunks < 2) return false
        request.resume()
        request.on('end', () => response.writeHead(202, {location: request.url ?? '', range: '0-4194303'}).end())
        return true
      },
    })
    const result = await copyReferences([from(await sourceWith(content))], target.host)
    expect(result).toMatchObject({
      exitCode: 22,
      items: [{error: {message: expect.stringContaining('holds 4194304 bytes after 8388608 were sent')}}],
    })
    expect(target.tags.size).toBe(0)
  })

  test('trap 15: a location on another origin gets the bytes and no login', async () => {
    const seen: (string | undefined)[] = []
    const blobs: Buffer[] = []
    const elsewhere = createServer((request, response) => {
      seen.push(request.headers.authorization)
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        blobs.push(Buffer.concat(chunks))
        response.writeHead(201).end()
      })
    })
    await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve))
    const {port} = elsewhere.address() as {port: number}
    const small = image('elsewhere', {layers: 1})
    const target = await registry({
      accounts: {a: 'u:p'},
      before: (request, response) => {
        if (request.method !== 'POST' || request.headers.authorization === undefined) return false
        response.writeHead(202, {location: `http://127.0.0.1:${port}/up?x=1`}).end()
        return true
      },
    })
    const credentials = [{candidates: async () => [{username: 'u', password: 'p', from: 'test'}]}]
    await copyReferences([from(await sourceWith(small))], target.host, {open: {credentials}})
    elsewhere.close()
    expect(seen.length).toBeGreaterThan(0)
    expect(seen.every((login) => login === undefined)).toBe(true)
    expect(new Set(blobs.map(({length}) => length))).toEqual(new Set(small.blobs.map(({bytes}) => bytes.length)))
  })
})

test('trap 27: a HEAD without digest and length is enough', async () => {
  const content = image('quiet')
  const quiet = {
    before: (
      request: {method?: string | undefined; url?: string | undefined},
      response: {writeHead: (status: number) => {end: () => void}},
    ) => {
      if (request.method !== 'HEAD' || !target.manifests.has(`a/b ${content.digest}`)) return false
      response.writeHead(200).end()
      return true
    },
  }
  const target: LayoutRegistry = await registry(quiet)
  const source = await sourceWith(content)
  expect(await copyReferences([from(source)], target.host, {extras: 'none'})).toMatchObject({exitCode: 0})
  expect(await copyReferences([from(source)], target.host, {extras: 'none'})).toMatchObject({
    exitCode: 0,
    changed: false,
  })
})

test('trap 28: POST says Content-Length 0, nothing is sent in chunks of unknown length', async () => {
  const headers: Record<string, string | undefined>[] = []
  const target = await registry({
    before: (request) => (
      headers.push({
        method: request.method,
        length: request.headers['content-length'],
        encoding: request.headers['transfer-encoding'],
      }),
      false
    ),
  })
  await copyReferences([from(await sourceWith(image('lengths', {layers: 2, layerSize: 2_000_000})))], target.host)
  expect(headers.filter(({method}) => method === 'POST').every(({length}) => length === '0')).toBe(true)
  expect(headers.filter(({method}) => method === 'PUT').every(({length}) => Number(length) > 0)).toBe(true)
  expect(headers.every(({encoding}) => encoding === undefined)).toBe(true)
})

test('trap 30: a copy without a tag says that it may be collected', async () => {
  const content = image('untagged')
  const {items} = await copyReferences(
    [`${(await sourceWith(content)).host}/a/b@${content.digest}`],
    (await registry()).host,
  )
  expect(items[0]?.notes).toEqual([expect.stringContaining('may remove it')])
})

test('trap 33: a repository that has to exist beforehand is named with what to do', async () => {
  const target = await registry({
    before: (request, response) => {
      if (request.method !== 'POST') return false
      response
        .writeHead(404, {'content-type': 'application/json'})
        .end('{"errors":[{"code":"NAME_UNKNOWN","message":"The repository does not exist"}]}')
      return true
    },
  })
  const {items, exitCode} = await copyReferences([from(await sourceWith(image('project')))], target.host)
  expect({exitCode, hints: items[0]?.error?.hints}).toEqual({
    exitCode: 32,
    hints: [expect.stringContaining('create a/b')],
  })
})

describe('types that a target refuses', () => {
  const content = multiArch('types')
  const bundle = 'application/vnd.dev.sigstore.bundle.v0.3+json'

  test('of the image or a child: nothing is tagged', async () => {
    for (const refused of [types.index, types.manifest]) {
      const target = await registry({refuses: (type) => type === refused})
      const result = await copyReferences([from(await sourceWith(content))], target.host)
      expect(result).toMatchObject({
        exitCode: 32,
        items: [
          {
            error: {
              message: expect.stringMatching(
                new RegExp(
                  `refuses sha256:[0-9a-f]{64} \\(${refused.replaceAll('.', '\\.').replaceAll('+', '\\+')}\\): it answered 415 UNSUPPORTED.*nothing was tagged`,
                ),
              ),
            },
          },
        ],
      })
      expect(target.tags.size).toBe(0)
    }
  })

  test('of an extra: the image is tagged, the extra named, exit 23', async () => {
    const source = await sourceWith(content, {referrers: true})
    const signature = referrer(content, bundle, '{"x":1}')
    await push(source.host, 'a/b', signature)
    const target = await registry({refuses: (_type, body) => body['artifactType'] === bundle})
    const result = await copyReferences([from(source)], target.host)
    expect(result).toMatchObject({
      exitCode: 23,
      items: [
        {
          status: 'copied',
          skippedExtras: [{name: signature.digest, reason: expect.stringContaining(`refuses ${bundle}`)}],
        },
      ],
    })
    expect(target.tags.get('a/b 1.0')).toBe(content.digest)
  })
})

test('trap 44: a registry at an IPv6 address', async () => {
  const server = await registry()
  const relay = createServer((request, response) => {
    void fetch(`http://${server.host}${request.url}`, {
      method: request.method ?? 'GET',
      headers: {accept: request.headers.accept ?? '*/*'},
    }).then(async (answer) => {
      response.writeHead(
        answer.status,
        Object.fromEntries([...answer.headers].filter(([name]) => name !== 'content-encoding')),
      )
      response.end(request.method === 'HEAD' ? undefined : Buffer.from(await answer.arrayBuffer()))
    })
  })
  const listening = await new Promise<boolean>((resolve) => {
    relay.once('error', () => resolve(false))
    relay.listen(0, '::1', () => resolve(true))
  })
  const content = image('six', {layers: 1})
  await push(server.host, 'a/b', content, ['1.0'])
  // Without IPv6 on this machine the name alone is proved: it parses and the connection is refused.
  const {port} = listening ? (relay.address() as {port: number}) : {port: 9}
  const target = await registry()
  const {exitCode} = await copyReferences([`[::1]:${port}/a/b:1.0`], target.host)
  expect(exitCode).toBe(listening ? 0 : 30)
  relay.closeAllConnections()
  relay.close()
})

test('hostile graphs: an index in an index in an index ends, as does one that names itself by a wrong digest', async () => {
  let content: Document = image('deep')
  for (let level = 0; level < 9; level++)
    content = document(
      types.index,
      {schemaVersion: 2, mediaType: types.index, manifests: [pointer(content)]},
      [],
      [content],
    )
  const target = await registry()
  expect(await copyReferences([from(await sourceWith(content))], target.host)).toMatchObject({
    exitCode: 32,
    items: [{error: {message: expect.stringContaining('nested deeper than 8')}}],
  })
  expect(target.tags.size).toBe(0)
})

test('trap 48: what progress counts never runs backwards', () => {
  const sums = new Sums()
  const seen: number[] = []
  const take = (event: Parameters<Sums['take']>[0]) => {
    sums.take(event)
    seen.push(sums.done)
  }
  const size = 10_000_000
  const where = {repository: 'r', digest: 'sha256:1', size}
  take({type: 'item.total', item: 'i', blobs: 1, bytes: size})
  take({type: 'blob.start', ...where})
  for (const done of [4_000_000, 8_000_000]) take({type: 'blob.progress', digest: where.digest, done, size})
  take({type: 'blob.retry', repository: 'r', digest: where.digest, reason: 'cut'})
  take({type: 'blob.progress', digest: where.digest, done: 4_000_000, size})
  expect(sums.active.get(where.digest)?.done).toBe(8_000_000)
  take({type: 'blob.done', ...where, ms: 1})
  take({type: 'blob.done', ...where, ms: 1})
  expect(seen).toEqual([...seen].sort((one, other) => one - other))
  expect(sums.done).toBe(size)
})

test('a large layer is not held in memory whole', async () => {
  const layer = blob(noise('memory', 60_000_000), types.layer)
  const config = blob('{"m":1}', types.config)
  const content = document(
    types.manifest,
    {schemaVersion: 2, mediaType: types.manifest, config: pointer(config), layers: [pointer(layer)]},
    [config, layer],
  )
  const target = await registry()
  const events: string[] = []
  const result = await copyReferences([from(await sourceWith(content))], target.host)
  for (const event of result.events) events.push(event.type)
  expect(result.exitCode).toBe(0)
  expect(events.filter((type) => type === 'blob.progress').length).toBeGreaterThan(5)
})
