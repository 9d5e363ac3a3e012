import {describe, expect, test} from 'vitest'
import {
  BlockChooser,
  checkListeners,
  dnsPortOf,
  inspectKeys,
  listenersOf,
  parseCorefile,
  parseVersion,
  readServerKey,
  type CorednsVersion,
} from '../../../plugins/coredns/src/index.ts'

const version = (text: string): CorednsVersion => parseVersion(text) as CorednsVersion
const latest = version('1.14.7')
const parse = (text: string, release = '1.14.7'): ReturnType<typeof parseCorefile> =>
  parseCorefile(new TextEncoder().encode(text), {version: version(release)})

describe('keys', () => {
  test.each([
    ['.', 'dns://.:53'],
    ['.:8053', 'dns://.:8053'],
    ['dns://.:053', 'dns://.:53'],
    ['.:+53', 'dns://.:53'],
    ['tls://Example.ORG', 'tls://example.org.:853'],
    ['quic://a', 'quic://a.:853'],
    ['grpc://a', 'grpc://a.:443'],
    ['https://a', 'https://a.:443'],
    ['https3://a', 'https3://a.:443'],
    ['DNS://x', 'dns://dns://x.:53'],
    ['example.org:53x', 'dns://example.org:53x.:53'],
    ['10.0.0.0/24', 'dns://0.0.10.in-addr.arpa.:53'],
    ['10.0.1.7/16:5353', 'dns://0.10.in-addr.arpa.:5353'],
    ['2001:db8::/32', 'dns://8.b.d.0.1.0.0.2.ip6.arpa.:53'],
    ['10.0.0.1', 'dns://10.0.0.1.:53'],
    ['_x.*.}', 'dns://_x.*.}.:53'],
  ])('%s serves %s', (key, expected) => {
    const read = readServerKey(key, latest)
    expect('zones' in read && `${read.transport}://${read.zones.join(',')}:${read.port}`).toBe(expected)
  })

  test.each([
    ['', 'expecting data after last colon: ""'],
    ['a:', 'expecting data after last colon: "a:"'],
    [':53', 'zone is not a valid domain name: '],
    ['a..b', 'zone is not a valid domain name: a..b'],
    [`${'a'.repeat(64)}.b`, `zone is not a valid domain name: ${'a'.repeat(64)}.b`],
    ['a.'.repeat(130), 'specified zone is too long: 260 > 255'],
    ['::/32', 'invalid CIDR ::/32'],
  ])('%j is refused', (key, error) => {
    expect(readServerKey(key, latest)).toEqual({error})
  })

  test('prefixes off the octet cover several zones since 1.8.4', () => {
    const zones = (release: string): unknown => {
      const read = readServerKey('10.0.0.0/23', version(release))
      return 'zones' in read && read.zones
    }
    expect(zones('1.8.4')).toEqual(['0.0.10.in-addr.arpa.', '1.0.10.in-addr.arpa.'])
    expect(zones('1.8.3')).toEqual(['0.0.10.in-addr.arpa.'])
    const many = readServerKey('10.0.0.0/25', latest)
    expect('zones' in many && many.zones.length).toBe(128)
  })

  test('capitals are kept before 1.14.7, and prefixes are names before their release', () => {
    expect(readServerKey('A.b', version('1.14.6'))).toMatchObject({zones: ['A.b.']})
    expect(readServerKey('quic://a', version('1.10.1'))).toMatchObject({transport: 'dns', zones: ['quic://a.']})
  })

  test('an error tells where the key stands', () => {
    expect(inspectKeys(parse('. {\n}\na,\nb..c {\n}\n')).error).toMatchObject({
      phase: 'inspect',
      message: 'error inspecting server blocks: zone is not a valid domain name: b..c',
      line: 4,
      block: 1,
    })
  })
})

describe('listeners', () => {
  const check = (text: string, release?: string): string | undefined => {
    const parsed = parse(text, release)
    expect(parsed.error).toBeUndefined()
    return checkListeners(parsed, inspectKeys(parsed))?.message
  }

  test.each([
    ['. {\n}\n.:53 {\n}\n', 'cannot serve dns://.:53 - it is already defined'],
    ['. . {\n}\n', 'cannot serve dns://.:53 - it is already defined'],
    ['. {\n}\ntls://. {\n}\n.:54 {\n}\n', undefined],
    ['. {\n bind 127.0.0.1 127.0.0.1\n}\n', 'cannot serve dns://.:53 on 127.0.0.1 - it is already defined'],
    ['. {\n bind 127.0.0.1\n}\n. {\n bind 127.0.0.2\n}\n', undefined],
    [
      '. {\n bind 127.0.0.1\n}\n. {\n}\n',
      'cannot serve dns://.:53 - zone overlap listener capacity with dns://.:53 on 127.0.0.1',
    ],
    ['. {\n bind 127.0.0.1 127.0.0.2 {\n  except 127.0.0.2\n }\n}\n. {\n bind 127.0.0.2\n}\n', undefined],
    ['.:70000 {\n}\n', 'address 70000: invalid port'],
    ['A. {\n}\na. {\n}\n', 'cannot serve dns://a.:53 - it is already defined'],
  ])('%j', (text, message) => {
    expect(check(text)).toBe(message)
  })

  test('spellings were different zones before 1.14.7', () => {
    expect(check('A. {\n}\na. {\n}\n', '1.14.6')).toBeUndefined()
  })

  test('a view may stand on either side of the unfiltered block since 1.14.3', () => {
    const view = 'a. {\n view v {\n  expr true\n }\n}\n'
    const bare = 'a. {\n}\n'
    expect(check(view + bare, '1.11.3')).toBeUndefined()
    expect(check(bare + view, '1.11.3')).toContain('already defined')
    expect(check(bare + view, '1.14.3')).toBeUndefined()
  })

  test('each listener has its own zones', () => {
    const parsed = parse('. {\n}\na.b {\n bind 127.0.0.2\n}\ntls://. {\n}\n')
    const shown = listenersOf(parsed, inspectKeys(parsed)).map(({transport, address, port, zones}) => [
      `${transport} ${address}:${port}`,
      zones.map(({zone}) => zone).join(' '),
    ])
    expect(shown).toEqual([
      ['dns :53', '.'],
      ['dns 127.0.0.2:53', 'a.b.'],
      ['tls :853', '.'],
    ])
  })
})

describe('choice of the block', () => {
  const choose = (text: string, name: string, port = '53'): number[] => {
    const parsed = parse(text)
    return new BlockChooser(parsed, inspectKeys(parsed), port).blocksFor(name)
  }
  const view = 'a.b {\n view v {\n  expr true\n }\n}\n'

  test.each<[string, string, number[]]>([
    ['. {\n}\nb {\n}\na.b {\n}\n', 'x.a.b', [2]],
    ['. {\n}\nb {\n}\na.b {\n}\n', 'A.B.', [2]],
    ['. {\n}\nb {\n}\na.b {\n}\n', 'xa.b', [1]],
    ['. {\n}\nb {\n}\n', 'c', [0]],
    ['b {\n}\n', 'c', []],
    [`. {\n}\n${view}`, 'x.a.b', [0, 1]],
    [`a.b {\n}\n. {\n}\n${view}`, 'x.a.b', [0]],
    [`. {\n}\n${view}a.b {\n}\n`, 'x.a.b', [1, 2]],
    ['. {\n}\na {\n bind 127.0.0.2\n}\n. {\n bind 127.0.0.3\n}\n', 'x.a', [0, 1, 2]],
    ['tls://a {\n}\n.:54 {\n}\n. {\n}\n', 'a', [2]],
  ])('%j for %s', (text, name, expected) => {
    expect(choose(text, name)).toEqual(expected)
  })

  test.each([
    ['. {\n}\n.:54 {\n}\n', '53'],
    ['.:8053 {\n}\n', '8053'],
    ['.:8053 {\n}\n.:54 {\n}\n', undefined],
    ['tls://.:53 {\n}\n', undefined],
  ])('the port of %j is %s', (text, port) => {
    expect(dnsPortOf(inspectKeys(parse(text)))).toBe(port)
  })
})

test('a million zones times addresses are refused at once', () => {
  const keys = Array.from({length: 2000}, (_, index) => `z${index}.example`).join(' ')
  const addresses = Array.from({length: 500}, (_, index) => `10.0.${index >> 8}.${index & 255}`).join(' ')
  const {error} = inspectKeys(parseCorefile(Buffer.from(`${keys} {\n    bind ${addresses}\n}\n`)))
  expect(error).toMatchObject({line: 1, message: expect.stringContaining('2000 zones on 501 addresses')})
})
