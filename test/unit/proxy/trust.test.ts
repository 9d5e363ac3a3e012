import fc from 'fast-check'
import {expect, test} from 'vitest'
import {SrcipError} from '../../../src/model/errors.ts'
import {formatIP} from '../../../src/model/address.ts'
import {isTrusted, parseCidr} from '../../../src/proxy/trust.ts'

test.each([
  [['10.0.0.0/8'], '10.255.0.1', true],
  [['10.0.0.0/8'], '11.0.0.1', false],
  [['10.0.0.0/8'], '::ffff:10.1.2.3', true],
  [['192.0.2.8/29'], '192.0.2.15', true],
  [['192.0.2.8/29'], '192.0.2.16', false],
  [['192.0.2.8'], '192.0.2.8', true],
  [['192.0.2.8'], '192.0.2.9', false],
  [['0.0.0.0/0'], '203.0.113.1', true],
  [['0.0.0.0/0'], '2001:db8::1', false],
  [['2001:db8::/33'], '2001:db8:7fff::1', true],
  [['2001:db8::/33'], '2001:db8:8000::1', false],
  [[], '127.0.0.1', false],
  [['10.0.0.0/8'], 'nonsense', false],
])('%j trusts %s: %s', (ranges, address, wanted) => {
  expect(isTrusted(ranges.map(parseCidr), address)).toBe(wanted)
})

test.each([
  '',
  '10.0.0.0/33',
  '::/129',
  '10.0.0/8',
  '10.0.0.0/',
  '10.0.0.0/8/9',
  '10.0.0.0/-1',
  'host/8',
  'fe80::1%eth0/64',
])('refuses %j', (text) => {
  expect(() => parseCidr(text)).toThrow(SrcipError)
})

test('a range trusts exactly the addresses that share its first bits', () => {
  const bits = (bytes: Uint8Array) => [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  const quad = fc.uint8Array({minLength: 4, maxLength: 4})
  fc.assert(
    fc.property(quad, quad, fc.integer({min: 0, max: 32}), fc.boolean(), (one, other, length, isNear) => {
      // Half of the pairs share most of their bits, or hardly any would be inside.
      const address = isNear ? Uint8Array.from([one[0] ?? 0, one[1] ?? 0, ...other.subarray(2)]) : other
      const inside = bits(one).slice(0, length) === bits(address).slice(0, length)
      expect(isTrusted([parseCidr(`${formatIP(one)}/${length}`)], formatIP(address))).toBe(inside)
    }),
    {numRuns: 3000},
  )
})
