import fc from 'fast-check'
import {expect, test} from 'vitest'
import {isInRanges, readRange} from '../../../src/model/address-range.ts'

test.each([
  ['192.0.2.0/24', '192.0.2.255', true],
  ['192.0.2.0/24', '192.0.3.0', false],
  ['192.0.2.0/25', '::ffff:192.0.2.1', true],
  ['0.0.0.0/0', '2001:db8::1', false],
  ['::/0', '2001:db8::1', true],
  ['2001:db8::/33', '2001:db8:8000::1', false],
  ['192.0.2.7', '192.0.2.7', true],
])('%s holds %s: %s', (range, address, is) => {
  expect(isInRanges([readRange(range)!], address)).toBe(is)
})

test.each(['', 'nodes', '192.0.2.0/33', '192.0.2.0/-1', '192.0.2.0/24/1', '192.0.2/24', '2001:db8::/129'])(
  '%j is no range',
  (text) => {
    expect(readRange(text)).toBeUndefined()
  },
)

test('an address lies in every range that is made of its own first bits', () => {
  fc.assert(
    fc.property(fc.ipV4(), fc.integer({min: 0, max: 32}), (address, bits) => {
      expect(isInRanges([readRange(`${address}/${bits}`)!], address)).toBe(true)
    }),
  )
})
