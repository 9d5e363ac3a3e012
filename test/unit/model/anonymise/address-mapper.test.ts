import {createHmac} from 'node:crypto'
import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import {formatIP, parseIP} from '../../../../src/model/address.ts'
import {isInRanges, readRange} from '../../../../src/model/address-range.ts'
import {AddressMapper} from '../../../../src/model/anonymise/address-mapper.ts'
import {propertySeed} from '../../../support/property-seed.ts'

const mapper = (key = 'test'): AddressMapper =>
  new AddressMapper((text) => createHmac('sha256', key).update(text).digest('hex'))
const bytesOf = (length: 4 | 16) => fc.uint8Array({minLength: length, maxLength: length})
const address = fc.oneof(bytesOf(4), bytesOf(16)).map((bytes) => formatIP(bytes))

/** Special blocks (RFC 1918, 6598, 3927, 4193, 4291) that decide verdicts. */
const classes = [
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '100.64.0.0/10',
  '169.254.0.0/16',
  '127.0.0.0/8',
  '224.0.0.0/3',
  'fc00::/7',
  'fe80::/10',
  'ff00::/8',
].map((text) => ({text, range: readRange(text)!}))
const classOf = (text: string): string | undefined => classes.find(({range}) => isInRanges([range], text))?.text

describe('the class stays', () => {
  test('for any address', () => {
    fc.assert(
      fc.property(address, (text) => {
        const mapped = mapper().map(text)
        expect(parseIP(mapped ?? '')?.length).toBe(parseIP(text)?.length)
        expect(classOf(mapped ?? '')).toBe(classOf(text))
      }),
      {seed: propertySeed, numRuns: 2000},
    )
  })

  test.each([
    '0.0.0.0',
    '0.0.0.0/0',
    '::',
    '::/0',
    '::1',
    '127.0.0.1',
    '169.254.20.10',
    '255.255.255.255',
    '10.0.0.0/8',
    'fc00::/7',
  ])('%s stays as it is', (text) => expect(mapper().map(text)).toBe(text))
})

test('what shares N bits shares them afterwards, and no more: ranges hold what they held', () => {
  const shared = (a: Uint8Array, b: Uint8Array): number => {
    for (let bit = 0; bit < a.length * 8; bit++) {
      const mask = 0x80 >> (bit & 7)
      if (((a[bit >> 3] ?? 0) & mask) !== ((b[bit >> 3] ?? 0) & mask)) return bit
    }
    return a.length * 8
  }
  const pair = fc.oneof(fc.tuple(bytesOf(4), bytesOf(4)), fc.tuple(bytesOf(16), bytesOf(16)))
  fc.assert(
    fc.property(pair, fc.nat(128), ([one, other], keep) => {
      // Neighbours are what matters: the second begins as the first does.
      const near = other.map((byte, index) => (index * 8 < keep % (one.length * 8) ? (one[index] ?? byte) : byte))
      const same = mapper()
      const [a, b] = [one, near].map((bytes) => parseIP(same.map(formatIP(bytes)) ?? '')!)
      expect(shared(a!, b!)).toBe(shared(one, near))
    }),
    {seed: propertySeed, numRuns: 2000},
  )
})

test('ranges stay ranges, also those written FIRST-LAST', () => {
  const one = mapper()
  const network = one.map('203.0.113.0/24')
  expect(network).toMatch(/^203\.0\.\d+\.0\/24$/)
  expect(network).not.toBe('203.0.113.0/24')
  expect(isInRanges([readRange(network ?? '')!], one.map('203.0.113.77') ?? '')).toBe(true)
  expect(isInRanges([readRange(network ?? '')!], one.map('203.0.114.77') ?? '')).toBe(false)
  expect([one.map('203.0.113.60'), one.map('203.0.113.69')].map((text) => text?.split('.')[3])).toEqual(['60', '69'])
  expect(one.map('10.96.0.0/12')).toMatch(/^10\.\d+\.0\.0\/12$/)
})

test('another key gives other addresses, the same key the same', () => {
  expect(mapper('a').map('10.1.2.3')).toBe(mapper('a').map('10.1.2.3'))
  expect(new Set([...'abcdefgh'].map((key) => mapper(key).map('10.1.2.3'))).size).toBeGreaterThan(4)
})

test.each(['', 'x', '1.2.3', '10.0.0.0/33', 'fe80::1%eth0', '12:30:45'])('%j is no address', (text) =>
  expect(mapper().map(text)).toBeUndefined(),
)
