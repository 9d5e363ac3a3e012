import {afterEach, beforeEach, expect, test, vi} from 'vitest'
import {createListTrim} from '../../../src/controller/heap-trim.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('lists that begin together are followed by one collection, a later one by another', () => {
  let trims = 0
  const listed = createListTrim(() => trims++)
  for (let source = 0; source < 7; source++) listed()
  expect(trims).toBe(0)
  vi.advanceTimersByTime(10_000)
  expect(trims).toBe(1)
  listed()
  vi.advanceTimersByTime(10_000)
  expect(trims).toBe(2)
})
