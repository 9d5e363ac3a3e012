import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import {Deadlines} from '../../../src/proxy/clock.ts'
import {ManualClock} from '../../support/manual-clock.ts'

describe('Deadlines', () => {
  test('expire in order, once, and not when stopped', async () => {
    const clock = new ManualClock()
    const expired: string[] = []
    const limit = new Deadlines<string>(clock, 1000, (item) => expired.push(`${item}@${clock.now()}`))
    limit.start('a')
    await clock.advance(400)
    limit.start('b')
    limit.start('c')
    limit.stop('b')
    await clock.advance(500)
    expect(expired).toEqual([])
    await clock.advance(5000)
    expect(expired).toEqual(['a@1000', 'c@1400'])
    expect(limit.size).toBe(0)
    expect(clock.pending).toBe(0)
  })

  test('starting anew puts the end off', async () => {
    const clock = new ManualClock()
    const expired: number[] = []
    const limit = new Deadlines<string>(clock, 1000, () => expired.push(clock.now()))
    limit.start('a')
    for (let step = 0; step < 10; step++) {
      await clock.advance(900)
      limit.start('a')
    }
    await clock.advance(2000)
    expect(expired).toEqual([10_000])
  })

  test('a limit of 0 is none, and costs no timer', async () => {
    const clock = new ManualClock()
    const limit = new Deadlines<string>(clock, 0, () => expect.unreachable())
    limit.start('a')
    expect(clock.pending).toBe(0)
    await clock.advance(1_000_000)
  })

  test('any order of starts and stops: each item that was left expires exactly its limit after its last start', async () => {
    const step = fc.record({item: fc.nat(5), wait: fc.nat(700), stop: fc.boolean()})
    await fc.assert(
      fc.asyncProperty(fc.array(step, {maxLength: 30}), async (steps) => {
        const clock = new ManualClock()
        const wanted = new Map<number, number>()
        const wrong: string[] = []
        const limit = new Deadlines<number>(clock, 1000, (item) => {
          if (wanted.get(item) !== clock.now()) wrong.push(`${item} at ${clock.now()}`)
          wanted.delete(item)
        })
        for (const {item, wait, stop} of steps) {
          if (stop) {
            limit.stop(item)
            wanted.delete(item)
          } else {
            limit.start(item)
            wanted.set(item, clock.now() + 1000)
          }
          await clock.advance(wait)
        }
        await clock.advance(2000)
        expect(wrong).toEqual([])
        expect(wanted.size).toBe(0)
      }),
      {numRuns: 60},
    )
  })
})
