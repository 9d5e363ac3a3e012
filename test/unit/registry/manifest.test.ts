import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import {SrcipError} from '../../../src/model/errors.ts'
import {digestOf} from '../../../src/registry/digest.ts'
import {platformMatches, readManifest} from '../../../src/registry/manifest.ts'

const oci = 'application/vnd.oci.image.manifest.v1+json'
const ociIndex = 'application/vnd.oci.image.index.v1+json'
const blob = {mediaType: 'application/x', digest: digestOf(Buffer.from('x')), size: 1}
const read = (value: object | string, more: object = {}) =>
  readManifest(Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)), {
    name: 'r/a:1',
    contentType: oci,
    ...more,
  })

test('trap 5, 6: bytes are kept and hashed as they came: odd spacing, unicode escapes, unknown fields, large numbers', () => {
  const text = `{ "schemaVersion":2,\n\t"x": 12345678901234567890, "u":"\\u00e9\\/", "config":${JSON.stringify(blob)}, "layers":[] }\n`
  const manifest = read(text)
  expect(manifest.bytes.toString()).toBe(text)
  expect(manifest.digest).toBe(digestOf(Buffer.from(text)))
})

test('a digest that was asked for must be the one of the bytes', () => {
  expect(() => read({schemaVersion: 2, config: blob, layers: []}, {digest: blob.digest})).toThrow(
    'the content hashes to',
  )
  const bytes = Buffer.from(JSON.stringify({schemaVersion: 2, config: blob, layers: []}))
  const sha512 = digestOf(bytes, 'sha512')
  expect(readManifest(bytes, {name: 'r', digest: sha512, descriptorType: oci}).digest).toBe(sha512)
})

describe('the media type', () => {
  const document = {schemaVersion: 2, config: blob, layers: []}
  test('trap 4: comes from inside, else the pointer, else the header without its parameters', () => {
    expect(read({...document, mediaType: oci}, {contentType: undefined}).mediaType).toBe(oci)
    expect(read(document, {descriptorType: oci, contentType: 'text/plain'}).mediaType).toBe(oci)
    expect(read(document, {contentType: `${oci}; charset=utf-8`}).mediaType).toBe(oci)
    expect(read({schemaVersion: 2, manifests: []}, {contentType: undefined}).mediaType).toBe(ociIndex)
  })
  test('two names are refused for a tag and only noted for a digest', () => {
    const docker = 'application/vnd.docker.distribution.manifest.v2+json'
    expect(() => read({...document, mediaType: docker})).toThrow('at once')
    const digest = digestOf(Buffer.from(JSON.stringify({...document, mediaType: docker})))
    expect(read({...document, mediaType: docker}, {digest}).warnings).toHaveLength(1)
  })
})

test.each([
  ['both kinds at once', {schemaVersion: 2, manifests: [], config: blob}, 'CVE-2021-41190'],
  [
    'another letter case',
    {schemaVersion: 2, Manifests: [], config: blob, layers: []},
    'some readers take for manifests',
  ],
  ['schema 1', {schemaVersion: 1, fsLayers: []}, 'schema 1'],
  ['a negative size', {schemaVersion: 2, config: {...blob, size: -1}}, 'no valid size'],
  ['a fraction', {schemaVersion: 2, config: {...blob, size: 1.5}}, 'no valid size'],
  [
    'a size beyond doubles',
    '{"schemaVersion":2,"config":{"mediaType":"x","digest":"' + blob.digest + '","size":9007199254740993}}',
    'no valid size',
  ],
  ['a size bomb', {schemaVersion: 2, config: {...blob, size: 2 ** 50}}, 'more than the limit'],
  ['a path as digest', {schemaVersion: 2, config: {...blob, digest: 'sha256:../../../etc/passwd'}}, 'digest'],
  ['one blob, two sizes', {schemaVersion: 2, config: blob, layers: [{...blob, size: 2}]}, 'two sizes'],
  [
    'too many entries',
    {schemaVersion: 2, manifests: Array.from({length: 10_001}, () => blob), mediaType: ociIndex},
    'more than 10000',
  ],
  ['no list', {schemaVersion: 2, manifests: 'x', mediaType: ociIndex}, 'not a list'],
  ['no JSON', '{', 'not JSON'],
  ['a list', '[]', 'not a JSON object'],
  ['deep nesting', `${'['.repeat(100_000)}${']'.repeat(100_000)}`, 'not'],
])('%s is refused by name', (_case, value, reason) => {
  const attempt = () => read(value, {contentType: undefined})
  expect(attempt).toThrow(SrcipError)
  expect(attempt).toThrow(reason)
  expect(attempt).toThrow('r/a:1')
})

test('4 MiB pass, one byte more does not', () => {
  const text = JSON.stringify({schemaVersion: 2, config: blob, layers: [], pad: ''})
  const fill = (size: number) => text.replace('"pad":""', `"pad":"${'x'.repeat(size - text.length)}"`)
  expect(read(fill(4 * 1024 * 1024)).bytes).toHaveLength(4 * 1024 * 1024)
  expect(() => read(fill(4 * 1024 * 1024 + 1))).toThrow('larger than')
})

test('any JSON is read or refused with a SrcipError', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      try {
        expect(read(text).digest).toBe(digestOf(Buffer.from(text)))
      } catch (error) {
        expect(error).toBeInstanceOf(SrcipError)
      }
    }),
  )
})

test.each([
  [{os: 'linux', architecture: 'arm64'}, 'linux/arm64', true],
  [{os: 'linux', architecture: 'arm64', variant: 'v8'}, 'linux/arm64', true],
  [{os: 'linux', architecture: 'arm64'}, 'linux/arm64/v8', true],
  [{os: 'linux', architecture: 'arm', variant: 'v6'}, 'linux/arm/v7', false],
  [{os: 'linux', architecture: 'arm'}, 'linux/arm/v7', true],
  [{os: 'windows', architecture: 'amd64', osVersion: '10.0.20348.1'}, 'windows/amd64:10.0.20348', true],
  [{os: 'windows', architecture: 'amd64', osVersion: '10.0.17763.1'}, 'windows/amd64:10.0.20348', false],
  [{os: 'unknown', architecture: 'unknown'}, 'linux/amd64', false],
])('trap 8: %j and %s: %s', (platform, wish, expected) => {
  expect(platformMatches(platform, wish)).toBe(expected)
})
