import {readFileSync} from 'node:fs'
import {expect, test} from 'vitest'
import {
  hashOfParsed,
  parseCorefile,
  parseVersion,
  reloadHash,
  type ParseOptions,
} from '../../../plugins/coredns/src/index.ts'

const folder = new URL('../../cases/reload-hash/', import.meta.url)
const read = (name: string): Uint8Array => readFileSync(new URL(name, folder))
const files = new Map(
  ['a.override', 'b.override'].map((name) => [`/etc/coredns/custom/${name}`, read(`custom/${name}`)]),
)
const known = new Map([
  ['DNSPORT', '5399'],
  ['METRICS', '9399'],
  ['NAME', 'x.example'],
])
const options: ParseOptions = {files, env: {known, others: 'unset'}}

// Both values are from the log of CoreDNS 1.14.7 ("Running configuration SHA512 = …").
const plain = '.:5399 {\n    reload 2s 1s\n    whoami\n}\n'
const plainHash =
  '719f7e67c8746c8e0d5719867c05ea4f81c00ad6506d317a439d27920647ab36554dd65c77ee260c31d26b0eb9c5951e113ef55add2a0ae54a0d7ed550ebdc70'
const importedHash =
  'cff16f2922d9f3e6c5c378eb393b1ad5da5a71ca5d4d8961b0c7908c0465a8f97f708dc029648eb80dab6f793eaa0b2dadbdfb0c6da004bbbe86ca950540b3fd'

const hash = (text: string, more: ParseOptions = {}): string | null =>
  reloadHash(new TextEncoder().encode(text), more).value

test('a plain file has the hash that CoreDNS logs', () => {
  expect(hash(plain)).toBe(plainHash)
})

test('snippets, imported files, environment, quotes and escapes have the hash that CoreDNS logs', () => {
  expect(reloadHash(read('Corefile'), options)).toEqual({value: importedHash, algorithm: 'sha512', unknown: []})
  expect(hashOfParsed(parseCorefile(read('Corefile'), options)).value).toBe(importedHash)
})

test('line numbers count, comments that shift none do not', () => {
  expect(hash(`${plain}# the end\n`)).toBe(plainHash)
  expect(hash(plain.replace('whoami', 'whoami # who'))).toBe(plainHash)
  expect(hash(`# first\n${plain}`)).not.toBe(plainHash)
})

test('a file that does not parse without the directive list has no hash', () => {
  expect(reloadHash(new TextEncoder().encode('. {\n errors\n'))).toMatchObject({value: null, error: {line: 2}})
  expect(hash('. {\n nosuchplugin\n}\n')).not.toBeNull()
})

test('what cannot be seen is listed and leaves the value open', () => {
  const imports = reloadHash(read('Corefile'), {...options, files: new Map(), imports: 'unknown'})
  expect(imports).toMatchObject({value: null, unknown: [{kind: 'import', name: 'custom/*.override', line: 7}]})
  const env = reloadHash(read('Corefile'), {...options, env: {known: new Map(), others: 'unknown'}})
  expect(env.value).toBeNull()
  expect(new Set(env.unknown.map(({name}) => name))).toEqual(new Set(['DNSPORT', 'METRICS', 'NAME']))
})

test('older releases log MD5, and an empty list is null', () => {
  const version = parseVersion('1.9.0') as NonNullable<ParseOptions['version']>
  expect(reloadHash(new Uint8Array(), {version})).toMatchObject({
    algorithm: 'md5',
    value: '37a6259cc0c1dae299a7866489dff0bd',
  })
})
