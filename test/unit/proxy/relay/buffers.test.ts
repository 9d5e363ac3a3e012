import fc from 'fast-check'
import {expect, test} from 'vitest'
import {BufferPool, ownBytes} from '../../../../src/proxy/relay/buffers.ts'

test('grows step by step to 1 MiB and stays there', () => {
  const pool = new BufferPool(8 * 1024 * 1024)
  let buffer: Buffer = pool.shared
  const sizes = Array.from({length: 5}, () => (buffer = pool.grow(buffer)).length)
  expect(sizes).toEqual([64 * 1024, 256 * 1024, 1024 * 1024, 1024 * 1024, 1024 * 1024])
  expect(pool.inUse).toBe(1024 * 1024)
  pool.giveBack(buffer)
  expect(pool.inUse).toBe(0)
})

test('beyond the budget nobody grows', () => {
  const pool = new BufferPool(100 * 1024)
  const first = pool.grow(pool.shared)
  expect(pool.grow(pool.shared)).toBe(pool.shared)
  expect(pool.grow(first)).toBe(first)
  pool.giveBack(first)
  expect(pool.grow(pool.shared)).toBe(first)
})

test('any sequence: the budget holds, and no buffer is with two takers', () => {
  const action = fc.tuple(fc.nat(7), fc.boolean())
  fc.assert(
    fc.property(fc.array(action, {maxLength: 80}), fc.integer({min: 0, max: 3_000_000}), (actions, budget) => {
      const pool = new BufferPool(budget)
      const held = Array.from({length: 8}, (): Buffer => pool.shared)
      for (const [who, grows] of actions) {
        const current = held[who] ?? pool.shared
        if (grows) held[who] = pool.grow(current)
        else {
          pool.giveBack(current)
          held[who] = pool.shared
        }
        const own = held.filter((buffer) => buffer !== pool.shared)
        expect(new Set(own).size).toBe(own.length)
        expect(pool.inUse).toBe(own.reduce((sum, buffer) => sum + buffer.length, 0))
        expect(pool.inUse).toBeLessThanOrEqual(budget)
        expect(pool.kept).toBeLessThanOrEqual(4 * ownBytes.reduce((sum, bytes) => sum + bytes, 0))
      }
    }),
    {numRuns: 500},
  )
})
