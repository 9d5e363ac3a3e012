import fc from 'fast-check'
import {expect, test} from 'vitest'
import {formatDuration, parseDuration} from '../../../src/model/duration.ts'

test.each([
  ['0', 0],
  ['250ms', 250],
  ['1.5s', 1500],
  ['1h2m3s', 3_723_000],
  ['.5m', 30_000],
  ['5.s', 5000],
  ['10µs', 0.01],
])('%s is %d ms, as Go reads it', (text, milliseconds) => {
  expect(parseDuration(text)).toBeCloseTo(milliseconds, 9)
})

test.each(['', '5', '-3s', '+3s', '1d', 's', '1s2', ' 1s', '1e3s', '1_0s', 'NaN'])('%j is no duration', (text) => {
  expect(parseDuration(text)).toBeUndefined()
})

test('what is written in whole units is read back', () => {
  fc.assert(
    fc.property(fc.nat(99), fc.nat(59), fc.nat(59), (hours, minutes, seconds) => {
      expect(parseDuration(`${hours}h${minutes}m${seconds}s`)).toBe((hours * 3600 + minutes * 60 + seconds) * 1000)
    }),
  )
})

test.each([
  [0, '0ms'],
  [999, '999ms'],
  [3210, '3.2s'],
  [59_949, '59.9s'],
  [59_960, '1m00s'],
  [125_000, '2m05s'],
  [3_720_000, '1h02m'],
])('%d ms reads %s', (milliseconds, text) => {
  expect(formatDuration(milliseconds)).toBe(text)
})
