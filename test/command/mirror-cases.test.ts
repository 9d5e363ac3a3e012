import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {afterAll, afterEach, describe, expect, test} from 'vitest'
import {parse} from 'yaml'
import {layoutRegistry, type LayoutRegistry, type LayoutRegistryOptions} from '../cluster/mirror/layout-registry.ts'
import {srcip} from '../support/srcip.ts'

const cases = fileURLToPath(new URL('../cases/', import.meta.url))
const b58 = join(cases, 'B58-index-digest-versus-platform-digest/layout')
const b60 = join(cases, 'B60-index-names-a-child-that-is-not-there')
const index = 'sha256:4684be5efa0513f4b84988ef61f89a9ab2f185b900edaf5bc629e8a70046fdb8'
const chart = 'sha256:86129040db04a06715bf364ef7e86a5fb0f7bf9821f37911fa07ed9a4a843ca1'
const amd64 = 'sha256:500cfdc169533aca853244c5f0ce582d4ed4e48499eef21c00643ac1fc262979'
const arm64 = 'sha256:96df011661abd461d004e30a27d966649ffa421ebed751189acfe2b4ec465e46'
const attestation = 'sha256:f87690b663f5903d33fc14b43379af37707b3d329f77818c6888903d8d7e4e16'

const folder = mkdtempSync(join(tmpdir(), 'srcip-mirror-'))
const open: LayoutRegistry[] = []

async function registry(options: LayoutRegistryOptions = {}): Promise<LayoutRegistry> {
  const started = await layoutRegistry(options)
  open.push(started)
  return started
}

afterEach(async () => {
  for (const one of open.splice(0)) await one.close()
})
afterAll(() => rmSync(folder, {recursive: true, force: true}))

/** Runs `mirror …` with both registries allowed in plain http. */
function mirror(argv: readonly string[], options: Parameters<typeof srcip>[1] = {}) {
  return srcip(['mirror', ...argv, ...open.flatMap(({host}) => ['--plain-http', host])], options)
}

const writes = (log: readonly string[]) => log.filter((line) => /^(PUT|POST|PATCH) /.test(line))

describe('B58: the digest of the index, not of one platform', () => {
  test('image and chart arrive under their own digests, with every child, and a second run uploads nothing', async () => {
    const [source, target] = [await registry({layout: b58, repository: 'srcip/srcip'}), await registry()]
    const references = [`${source.host}/srcip/srcip:1.0.0`, `${source.host}/srcip/srcip:chart-1.0.0`]
    const first = await mirror(['copy', ...references, '--to', target.host])
    expect(first.exitCode).toBe(0)
    expect(target.tags.get('srcip/srcip 1.0.0')).toBe(index)
    expect(target.tags.get('srcip/srcip chart-1.0.0')).toBe(chart)
    for (const digest of [index, chart, amd64, arm64, attestation])
      expect(target.manifests.has(`srcip/srcip ${digest}`), digest).toBe(true)
    for (const digest of [index, chart]) expect(first.stdout.replace(/ +/g, ' ')).toContain(`${digest} = ${digest}`)
    const before = writes(target.log).length
    const second = await mirror(['copy', ...references, '--to', target.host])
    expect({code: second.exitCode, writes: writes(target.log).length}).toEqual({code: 0, writes: before})
    expect(second.stdout).toContain('0 B moved')
  })

  test('--platform says that the digest changes, copies that child and writes it into the values', async () => {
    const [source, target] = [await registry({layout: b58, repository: 'srcip/srcip'}), await registry()]
    const copied = await mirror([
      'copy',
      `${source.host}/srcip/srcip:1.0.0`,
      '--platform',
      'linux/amd64',
      '--to',
      target.host,
      '-o',
      'json',
    ])
    expect(JSON.parse(copied.stdout)).toMatchObject({
      exitCode: 0,
      items: [{sourceDigest: amd64, targetDigest: amd64, indexDigest: index}],
    })
    expect(copied.stderr).toContain(`the digest becomes ${amd64} instead of ${index}`)
    expect(target.tags.get('srcip/srcip 1.0.0')).toBe(amd64)
    const lock = join(folder, 'platform.yaml')
    await mirror(['plan', `${source.host}/srcip/srcip:1.0.0`, '--platform', 'linux/amd64', '--output-file', lock])
    const values = join(folder, 'values.yaml')
    writeFileSync(values, `image:\n  repository: ${source.host}/srcip/srcip\n  tag: 1.0.0@${index}\n`)
    const rewritten = await srcip(['mirror', 'values', '-f', values, '--plan-file', lock, '--to', target.host])
    expect(parse(rewritten.stdout)).toEqual({image: {repository: `${target.host}/srcip/srcip`, tag: `1.0.0@${amd64}`}})
    expect(rewritten.stderr).toContain(`the digest becomes ${amd64} instead of ${index}`)
  })

  test('--dry-run=server asks by HEAD only and client asks nobody', async () => {
    const [source, target] = [await registry({layout: b58, repository: 'srcip/srcip'}), await registry()]
    const server = await mirror([
      'copy',
      `${source.host}/srcip/srcip:1.0.0`,
      '--to',
      target.host,
      '--dry-run=server',
      '-o',
      'json',
    ])
    expect(JSON.parse(server.stdout)).toMatchObject({
      dryRun: 'server',
      changed: false,
      items: [{status: 'planned'}],
      summary: {blobsMoved: 6},
    })
    expect(target.log.every((line) => line.startsWith('HEAD '))).toBe(true)
    const asked = source.log.length + target.log.length
    const client = await mirror(['copy', `${source.host}/srcip/srcip:1.0.0`, '--to', target.host, '--dry-run=client'])
    expect({code: client.exitCode, asked: source.log.length + target.log.length}).toEqual({code: 0, asked})
  })

  test('the preview tells the rate limit of the source, and warns when the copy needs more', async () => {
    let left = 3
    const source = await registry({
      layout: b58,
      repository: 'srcip/srcip',
      headers: () => ({'ratelimit-limit': '100;w=21600', 'ratelimit-remaining': `${left};w=21600`}),
    })
    const target = await registry()
    const ask = (output: string) =>
      mirror(['copy', `${source.host}/srcip/srcip:1.0.0`, '--to', target.host, '--dry-run=server', '-o', output])
    expect(JSON.parse((await ask('json')).stdout)).toMatchObject({
      quotas: [{host: source.host, remaining: 3, limit: 100, windowSeconds: 21600, needed: 4}],
      warnings: [expect.stringContaining('3 more manifests')],
    })
    left = 50
    const plenty = await ask('table')
    expect(plenty.stdout).toContain(
      `${source.host} lets 50 of 100 more manifests be read in 360 min; this copy reads 4`,
    )
    expect(plenty.stderr).not.toContain('log in there')
  })

  test('the same for import of the layout, and verify proves it', async () => {
    const target = await registry()
    const imported = await mirror([
      'import',
      b58,
      '--repository',
      'registry.example.org/srcip/srcip',
      '--to',
      `${target.host}/site`,
    ])
    expect(imported).toMatchObject({exitCode: 0})
    expect(target.tags.get('site/srcip/srcip 1.0.0')).toBe(index)
    const verified = await mirror([
      'verify',
      `registry.example.org/srcip/srcip:1.0.0@${index}`,
      '--to',
      `${target.host}/site`,
      '-o',
      'json',
    ])
    expect(JSON.parse(verified.stdout)).toMatchObject({
      exitCode: 0,
      items: [{status: 'ok', manifests: 4, blobs: 6}],
      inCluster: {status: 'not checked'},
    })
    target.blobs.delete(
      JSON.parse(target.manifests.get(`site/srcip/srcip ${arm64}`)?.bytes.toString() ?? '').layers[0].digest,
    )
    const broken = await mirror([
      'verify',
      `registry.example.org/srcip/srcip:1.0.0@${index}`,
      '--to',
      `${target.host}/site`,
    ])
    expect(broken).toMatchObject({exitCode: 22, stdout: expect.stringContaining('is not there')})
  })
})

describe('B60: an index names a child that is not there', () => {
  test('a: a missing attestation is named as one, and nothing is tagged', async () => {
    const [source, target] = [
      await registry({layout: join(b60, 'a-attestation/layout'), repository: 'srcip/srcip'}),
      await registry(),
    ]
    const result = await mirror(['copy', `${source.host}/srcip/srcip:1.0.0`, '--to', target.host])
    expect(result.exitCode).toBe(32)
    expect(result.stdout).toContain(
      `${attestation} (attestation of linux/amd64) is listed but not served by the source`,
    )
    expect(result.stdout).toContain('--skip-attestations')
    expect(target.tags.size).toBe(0)
  })

  test('a with --skip-attestations: says what it costs, tries, and reports the answer', async () => {
    const [source, target, sparse] = [
      await registry({layout: join(b60, 'a-attestation/layout'), repository: 'srcip/srcip'}),
      await registry(),
      await registry({sparse: true}),
    ]
    const refused = await mirror([
      'copy',
      `${source.host}/srcip/srcip:1.0.0`,
      '--to',
      target.host,
      '--skip-attestations',
    ])
    expect(refused.exitCode).toBe(32)
    expect(refused.stdout).toContain('keeps its digest only on a target that takes sparse indexes')
    expect(refused.stdout).toContain('answered 404 MANIFEST_BLOB_UNKNOWN')
    expect(target.tags.size).toBe(0)
    const taken = await mirror(['copy', `${source.host}/srcip/srcip:1.0.0`, '--to', sparse.host, '--skip-attestations'])
    expect({code: taken.exitCode, digest: sparse.tags.get('srcip/srcip 1.0.0')}).toEqual({code: 0, digest: index})
    expect(taken.stdout).toContain('left out: attestation of linux/amd64')
  })

  test('b: a missing platform fails by name; once it is there a rerun goes on', async () => {
    const [source, target] = [
      await registry({layout: join(b60, 'b-arm64/layout'), repository: 'srcip/srcip'}),
      await registry(),
    ]
    const reference = `${source.host}/srcip/srcip:1.0.0`
    const result = await mirror(['copy', reference, '--to', target.host])
    expect(result.exitCode).toBe(32)
    expect(result.stdout).toContain(`${arm64} (linux/arm64) is listed but not served by the source`)
    expect(target.tags.size).toBe(0)
    const skipping = await mirror(['copy', reference, '--to', target.host, '--skip-attestations'])
    expect({code: skipping.exitCode, tags: target.tags.size}).toEqual({code: 32, tags: 0})
    const bytes = readFileSync(join(b58, 'blobs/sha256', arm64.slice(7)))
    source.manifests.set(`srcip/srcip ${arm64}`, {bytes, type: 'application/vnd.oci.image.manifest.v1+json'})
    expect(await mirror(['copy', reference, '--to', target.host])).toMatchObject({exitCode: 0})
    expect(target.tags.get('srcip/srcip 1.0.0')).toBe(index)
  })
})

describe('B61: repo:tag@digest', () => {
  const values = readFileSync(join(cases, 'B61-tag-and-digest-in-one-reference/values.yaml'), 'utf8')

  test('trap 1: pulled by digest, the moved tag is said, both resolve at the target, values say repository@digest', async () => {
    const [source, target] = [await registry({layout: b58, repository: 'srcip/srcip'}), await registry()]
    source.tags.set('srcip/srcip 1.0.0', amd64)
    const file = join(folder, 'b61.yaml')
    writeFileSync(file, values)
    const map = ['--source-map', `registry.example.org=${source.host}`]
    const lock = join(folder, 'b61.lock.yaml')
    const planned = await mirror(['plan', '-f', file, ...map, '--output-file', lock, '-o', 'json'])
    expect(JSON.parse(planned.stdout)).toMatchObject({
      items: [
        {
          source: 'registry.example.org/srcip/srcip',
          tag: '1.0.0',
          digest: index,
          notes: [`tag 1.0.0 names ${amd64} now; the digest decides`],
        },
      ],
    })
    const copied = await mirror(['copy', '-f', file, ...map, '--to', target.host])
    expect(copied.exitCode).toBe(0)
    expect(copied.stderr).toContain(`tag 1.0.0 names ${amd64} now`)
    expect(target.tags.get('srcip/srcip 1.0.0')).toBe(index)
    expect(target.manifests.has(`srcip/srcip ${index}`)).toBe(true)
    const rewritten = await srcip(['mirror', 'values', '-f', file, '--plan-file', lock, '--to', target.host])
    expect(parse(rewritten.stdout)).toEqual({image: {repository: `${target.host}/srcip/srcip`, digest: index}})
  })

  test('every line of the list is read or refused by name', async () => {
    const lines = readFileSync(join(cases, 'B61-tag-and-digest-in-one-reference/refs.txt'), 'utf8').trim().split('\n')
    const results = await Promise.all(
      lines.map((line) =>
        srcip(['mirror', 'copy', line, '--to', 'mirror.example.org', '--dry-run=client'], {
          env: {https_proxy: 'http://127.0.0.1:9'},
        }),
      ),
    )
    expect(results.map(({exitCode}) => exitCode)).toEqual([0, 0, 0, 0, 2, 0, 2, 0, 2])
    // a chart is named; what it renders is known to its registry, which a preview on the client does not ask
    expect(`${results[5]?.stdout}${results[5]?.stderr}`).toContain('are not listed: --dry-run=client asks no registry')
    expect(results[3]?.stdout).toContain('no registry in "srcip/srcip:1.0.0": read as docker.io/srcip/srcip')
    expect(results[4]?.stderr).toContain('latest is not assumed')
    expect(results[6]?.stderr).toContain('too short: 4 of 64')
    expect(results[8]?.stderr).toContain('upper-case letters')
  })
})
