import fc from 'fast-check'
import {expect, test} from 'vitest'
import {tarFile} from '../../cluster/mirror/images.ts'
import {SrcipError} from '../../../src/model/errors.ts'
import {padded, scanTar, tarEnd, tarHeader} from '../../../src/registry/layout/tar-format.ts'
import {parseToml, readRules} from '../../../src/registry/registries-conf.ts'
import {parseBytes} from '../../../src/model/bytes.ts'

const scan = (bytes: Buffer, size = bytes.length) =>
  scanTar('a.tar', async (offset, length) => bytes.subarray(offset, offset + length), size)

test('what is written is read again: names, sizes, places', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(
        fc.tuple(fc.stringMatching(/^[a-z0-9]{1,20}(\/[a-z0-9]{1,20})?$/), fc.uint8Array({maxLength: 2000})),
        {selector: ([name]) => name, maxLength: 8},
      ),
      async (files) => {
        const tar = Buffer.concat([
          ...files.flatMap(([name, content]) => [
            tarHeader(name, content.length),
            Buffer.from(content),
            Buffer.alloc(padded(content.length) - content.length),
          ]),
          tarEnd,
        ])
        const entries = await scan(tar)
        expect(
          entries.map(({name, size, offset}) => [name, tar.subarray(offset, offset + size).toString('hex')]),
        ).toEqual(files.map(([name, content]) => [name, Buffer.from(content).toString('hex')]))
      },
    ),
  )
})

test('trap 41: a header is the same bytes every time, and more than 8 GiB go into a pax record', async () => {
  expect(tarHeader('x', 5).equals(tarHeader('x', 5))).toBe(true)
  const size = 9 * 1024 ** 3
  const header = tarHeader('big', size)
  const total = header.length + padded(size) + tarEnd.length
  const read = async (offset: number, length: number) => {
    const out = Buffer.alloc(Math.min(length, total - offset))
    header.copy(out, 0, Math.min(offset, header.length))
    return out
  }
  expect(await scanTar('a.tar', read, total)).toEqual([{name: 'big', size, offset: header.length, folder: false}])
})

test.each([
  [
    'a pax bomb',
    Buffer.concat([tarFile('p', Buffer.alloc(0), {type: 'x', size: 70_000}), Buffer.alloc(71_000)]),
    'pax header of 70000',
  ],
  [
    'a sparse file',
    Buffer.concat([
      tarFile('p', Buffer.from('22 GNU.sparse.major=1\n'), {type: 'x'}),
      tarFile('x', Buffer.from('y')),
      tarEnd,
    ]),
    'sparse',
  ],
  ['GNU sparse', Buffer.concat([tarFile('x', Buffer.from('y'), {type: 'S'}), tarEnd]), 'sparse'],
  ['no header', Buffer.concat([Buffer.alloc(512, 'x'), tarEnd]), 'no tar header'],
  ['cut', tarFile('x', Buffer.alloc(10)).subarray(0, 400), 'ends early'],
  ['no end', tarFile('x', Buffer.alloc(10)), 'ends early'],
  ['NUL', Buffer.concat([tarFile('a\\b', Buffer.from('y')), tarEnd]), 'strange name'],
])('%s is refused', async (_name, bytes, reason) => {
  await expect(scan(bytes)).rejects.toThrow(reason)
  await expect(scan(bytes)).rejects.toThrow(SrcipError)
})

test('any bytes are read or refused', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({maxLength: 4096}), async (bytes) => {
      await scan(Buffer.from(bytes)).catch((error: unknown) => expect(error).toBeInstanceOf(SrcipError))
    }),
  )
})

test('registries.conf: longest prefix, mirrors first, blocked places are left out', () => {
  const conf = readRules(
    `unqualified-search-registries = ["docker.io"] # list\n[[registry]]\nprefix = "ghcr.io"\nlocation = 'ghcr.io'\nblocked = true\n[[registry.mirror]]\nlocation = "mirror.example.org/ghcr.io"\npull-from-mirror = "digest-only"\n[[registry]]\nprefix = "ghcr.io/team"\nlocation = "other.example.org/t" # comment\n[[registry]]\nprefix = "*.example.net"\n[[registry.mirror]]\nlocation = "m.example.org"\ninsecure = true\n`,
    'conf',
  )
  expect(conf.placesOf('ghcr.io', 'a/b')).toEqual([{host: 'mirror.example.org', repository: 'ghcr.io/a/b'}])
  expect(conf.placesOf('ghcr.io', 'team/b')).toEqual([{host: 'other.example.org', repository: 't/b'}])
  expect(conf.placesOf('x.example.net', 'b')).toEqual([
    {host: 'm.example.org', repository: 'b'},
    {host: 'x.example.net', repository: 'b'},
  ])
  expect(conf.placesOf('quay.io', 'b')).toEqual([{host: 'quay.io', repository: 'b'}])
  expect(conf.insecure).toEqual(['m.example.org'])
})

test('TOML faults name their line; nothing reaches prototypes', () => {
  expect(() => parseToml('a = 1\nb = {', 'conf')).toThrow('conf, line 2')
  expect(() => parseToml('[__proto__]\nx = 1', 'conf')).toThrow('line 1')
  expect(parseToml('a = [\n "x", # one\n "y"\n]\nb = "c\\"#d"', 'conf')).toEqual({a: ['x', 'y'], b: 'c"#d'})
  fc.assert(
    fc.property(fc.string(), (text) => {
      try {
        parseToml(text, 'conf')
      } catch (error) {
        expect(error).toBeInstanceOf(SrcipError)
      }
    }),
  )
})

test.each([
  ['4G', 4 * 1024 ** 3],
  ['700MiB', 700 * 1024 ** 2],
  ['1.5k', 1536],
  ['1000', 1000],
  ['0', undefined],
  ['-1', undefined],
  ['4X', undefined],
])('size %s', (text, expected) => expect(parseBytes(text)).toBe(expected))
