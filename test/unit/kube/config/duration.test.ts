import {expect, test} from 'vitest'
import {parseGoDuration, parseRequestTimeout} from '../../../../src/kube/index.ts'

// Verdicts and values of Go's time.ParseDuration.
test.each([
  ['0', 0],
  ['-0', 0],
  ['5s', 5000],
  ['1m30s', 90_000],
  ['1.5h', 5_400_000],
  ['.5s', 500],
  ['1.s', 1000],
  ['-2s', -2000],
  ['+1ms', 1],
  ['100us', 0.1],
  ['100µs', 0.1],
  ['1h2m3s4ms', 3_723_004],
  ['3ns', 3e-6],
])('%s is %d ms', (text, ms) => {
  expect(parseGoDuration(text)).toBeCloseTo(ms, 9)
})

test.each(['', '5', 's', '-', '.s', '1x', '1s ', ' 1s', '1d', '300000h0m0s1y', '99999999999h', '1s5', '--1s'])(
  '"%s" is no duration',
  (text) => {
    expect(parseGoDuration(text)).toBeUndefined()
  },
)

test('a bare number for --request-timeout is seconds, 0 is none, and less than that is refused', () => {
  expect(parseRequestTimeout('30')).toBe(30_000)
  expect(parseRequestTimeout('0')).toBe(0)
  expect(parseRequestTimeout('1m')).toBe(60_000)
  expect(parseRequestTimeout('-1s')).toBeUndefined()
  expect(parseRequestTimeout('soon')).toBeUndefined()
})
