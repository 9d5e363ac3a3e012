import fc from 'fast-check'
import {expect, test} from 'vitest'
import {propertySeed, seedFrom} from '../../support/property-seed.ts'

test('without SRCIP_SEED every run draws the same', () => {
  expect(seedFrom(undefined)).toBe(seedFrom(''))
  expect(seedFrom('0')).toBe(0)
  expect(seedFrom('798122200')).toBe(798_122_200)
  expect(seedFrom('random')).toBeLessThan(2 ** 31)
})

test.each(['x', '-1', '1.5', '2147483648', ' '])('SRCIP_SEED=%j is refused', (text) => {
  expect(() => seedFrom(text)).toThrow('SRCIP_SEED')
})

test('properties that name no seed draw from the seed of the run', () => {
  expect(fc.readConfigureGlobal().seed).toBe(propertySeed)
  expect(process.env['SRCIP_SEED']).toBe(String(propertySeed))
})
