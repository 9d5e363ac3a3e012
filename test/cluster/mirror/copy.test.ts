import {afterAll, beforeAll, expect, test} from 'vitest'
import {copyReferences} from './copying.ts'
import {digestAt, image, missingAt, multiArch, push, referrer} from './images.ts'
import {describeWith} from './parts.ts'
import {Registries, type TestRegistry} from './registries.ts'

const all = ['registry-2.8', 'registry-3', 'registry-referrers'] as const

await describeWith('copy between real registries', all, (parts) => {
  const registries = new Registries()
  let old: TestRegistry
  let current: TestRegistry
  let referrers: TestRegistry

  beforeAll(async () => {
    ;[old, current, referrers] = await Promise.all([
      registries.start(parts['registry-2.8']),
      registries.start(parts['registry-3']),
      registries.startReferrers(parts['registry-referrers']),
    ])
  })
  afterAll(() => registries.stop())

  test('trap 7: a whole index with attestations keeps its digest from 2.8 to 3', async () => {
    const app = multiArch('whole')
    await push(old.host, 'acme/app', app, ['1.0'])
    const {items, exitCode, changed} = await copyReferences([`${old.host}/acme/app:1.0`], current.host)
    expect({exitCode, changed, error: items[0]?.error?.message}).toEqual({exitCode: 0, changed: true, error: undefined})
    expect(items[0]).toMatchObject({status: 'copied', sourceDigest: app.digest, targetDigest: app.digest})
    expect(await digestAt(current.host, 'acme/app', '1.0')).toBe(app.digest)
    expect(await missingAt(current.host, 'acme/app', app)).toEqual([])
  })

  test('a second run writes nothing and moves no byte', async () => {
    const app = multiArch('twice', {layerSize: 3_000_000})
    await push(old.host, 'acme/twice', app, ['1.0'])
    await copyReferences([`${old.host}/acme/twice:1.0`], current.host)
    const writes = current.requests(/"(?:PUT|POST|PATCH) /)
    const second = await copyReferences([`${old.host}/acme/twice:1.0`], current.host)
    expect(second).toMatchObject({exitCode: 0, changed: false, counts: {bytesMoved: 0, blobsMoved: 0}})
    expect(current.requests(/"(?:PUT|POST|PATCH) /)).toBe(writes)
  })

  test('an existing tag with another digest is refused and stays as it is', async () => {
    const [one, other] = [image('one'), image('other')]
    await push(current.host, 'acme/moved', one, ['1.0'])
    await push(old.host, 'acme/moved', other, ['1.0'])
    const refused = await copyReferences([`${old.host}/acme/moved:1.0`], current.host)
    expect(refused).toMatchObject({exitCode: 33, changed: false, items: [{status: 'conflict'}]})
    expect(await digestAt(current.host, 'acme/moved', '1.0')).toBe(one.digest)
    const moved = await copyReferences([`${old.host}/acme/moved:1.0`], current.host, {moveTags: true})
    expect(moved.exitCode).toBe(0)
    expect(await digestAt(current.host, 'acme/moved', '1.0')).toBe(other.digest)
  })

  test('referrers travel, by API and by fallback tag, to the index and to a child, and what is attached to them', async () => {
    const app = multiArch('signed')
    const child = app.children[0] as typeof app
    const signature = referrer(app, 'application/vnd.dev.sigstore.bundle.v0.3+json', '{"bundle":1}', {
      'org.example.note': 'kept',
    })
    const sbom = referrer(child, 'application/spdx+json', '{"spdx":1}')
    const sbomSignature = referrer(sbom, 'application/vnd.dev.sigstore.bundle.v0.3+json', '{"bundle":2}')
    await push(referrers.host, 'acme/signed', app, ['1.0'])
    for (const one of [signature, sbom, sbomSignature]) await push(referrers.host, 'acme/signed', one)
    const first = await copyReferences([`${referrers.host}/acme/signed:1.0`], old.host)
    expect(first).toMatchObject({exitCode: 0, items: [{skippedExtras: []}]})
    expect(first.items[0]?.extras.map(({digest, kind}) => `${kind} ${digest}`).sort()).toEqual(
      [`signature ${signature.digest}`, `sbom ${sbom.digest}`, `signature ${sbomSignature.digest}`].sort(),
    )
    const fallback = (await (
      await fetch(`http://${old.host}/v2/acme/signed/manifests/${app.digest.replace(':', '-')}`, {
        headers: {accept: 'application/vnd.oci.image.index.v1+json'},
      })
    ).json()) as {manifests: object[]}
    expect(fallback.manifests).toEqual([
      expect.objectContaining({
        digest: signature.digest,
        artifactType: 'application/vnd.dev.sigstore.bundle.v0.3+json',
        annotations: {'org.example.note': 'kept'},
      }),
    ])
    const again = await copyReferences([`${old.host}/acme/signed:1.0`], current.host)
    expect(again.items[0]?.extras).toHaveLength(3)
    for (const one of [signature, sbom, sbomSignature])
      expect(await missingAt(current.host, 'acme/signed', one)).toEqual([])
    const back = await copyReferences([`${current.host}/acme/signed:1.0`], `${referrers.host}/back`)
    expect(back.exitCode).toBe(0)
    const answer = (await (
      await fetch(`http://${referrers.host}/v2/back/acme/signed/referrers/${child.digest}`)
    ).json()) as {manifests: {digest: string}[]}
    expect(answer.manifests.map(({digest}) => digest)).toEqual([sbom.digest])
  })

  test('layers shared by repositories are mounted, not uploaded again', async () => {
    const base = image('base', {layers: 4, layerSize: 200_000})
    const child = image('child', {shared: base.blobs.slice(1)})
    await push(old.host, 'acme/base', base, ['1'])
    await push(old.host, 'acme/child', child, ['1'])
    const {counts, exitCode} = await copyReferences(
      [`${old.host}/acme/base:1`, `${old.host}/acme/child:1`],
      `${current.host}/mounts`,
    )
    expect(exitCode).toBe(0)
    expect(counts.blobsMounted).toBe(4)
    expect(await missingAt(current.host, 'mounts/acme/child', child)).toEqual([])
  })

  test('within one registry nothing is uploaded: every blob is mounted', async () => {
    const app = multiArch('same', {layerSize: 50_000})
    await push(current.host, 'acme/same', app, ['1.0'])
    const {exitCode, counts} = await copyReferences([`${current.host}/acme/same:1.0`], `${current.host}/within`)
    expect({exitCode, moved: counts.blobsMoved}).toEqual({exitCode: 0, moved: 0})
    expect(await missingAt(current.host, 'within/acme/same', app)).toEqual([])
    expect(await copyReferences([`${current.host}/acme/same:1.0`], current.host)).toMatchObject({
      exitCode: 0,
      changed: false,
    })
  })

  test('a half-filled target is repaired', async () => {
    const app = multiArch('repair')
    await push(old.host, 'acme/repair', app, ['1.0'])
    await copyReferences([`${old.host}/acme/repair:1.0`], current.host)
    const gone = app.children[1]?.blobs[1]
    await fetch(`http://${current.host}/v2/acme/repair/blobs/${gone?.digest}`, {method: 'DELETE'})
    expect(await missingAt(current.host, 'acme/repair', app)).toEqual([gone?.digest])
    const {exitCode, counts} = await copyReferences([`${old.host}/acme/repair:1.0`], current.host)
    expect({exitCode, moved: counts.blobsMoved}).toEqual({exitCode: 0, moved: 1})
    expect(await missingAt(current.host, 'acme/repair', app)).toEqual([])
  })

  test('a large layer streams and arrives whole', async () => {
    const big = image('big', {layers: 1, layerSize: 40_000_000})
    await push(old.host, 'acme/big', big, ['1.0'])
    const {exitCode, counts} = await copyReferences([`${old.host}/acme/big:1.0`], current.host)
    expect({exitCode, bytes: counts.bytesMoved}).toEqual({
      exitCode: 0,
      bytes: 40_000_000 + (big.blobs[0]?.bytes.length ?? 0),
    })
    expect(await missingAt(current.host, 'acme/big', big)).toEqual([])
  })
})
