import fc from 'fast-check'
import {expect, test} from 'vitest'
import {Backoff} from '../../../src/controller/backoff.ts'
import {Pace} from '../../../src/controller/pace.ts'
import {WorkQueue} from '../../../src/controller/queue.ts'
import type {Outcome} from '../../../src/controller/queue.ts'
import {VirtualClock} from './virtual-clock.ts'

function setup(work: (run: number) => Promise<Outcome> | Outcome = () => ({result: 'done'}), paceDelay = () => 0) {
  const clock = new VirtualClock()
  const runs: number[] = []
  const errors: unknown[] = []
  const queue = new WorkQueue({
    clock,
    random: () => 0,
    work: async () => {
      runs.push(clock.now() - 1000)
      return await work(runs.length)
    },
    paceDelay,
    onError: (error) => errors.push(error),
  })
  return {clock, queue, runs, errors}
}

test('works 250 ms after the last mark and 2 s after the first at the latest', async () => {
  const {clock, queue, runs} = setup()
  queue.mark()
  await clock.advance(249)
  expect(runs).toEqual([])
  await clock.advance(1)
  expect(runs).toEqual([250])
  for (let at = 0; at < 30; at++) {
    queue.mark()
    await clock.advance(100)
  }
  // First mark at 250, so the pass is due at 2250 although marks go on; the rest comes 250 ms after the last one.
  await clock.advance(1000)
  expect(runs).toEqual([250, 2250, 3400])
})

test('a mark while the work runs makes it run once more, never two at once', async () => {
  let release = (): void => undefined
  const {clock, queue, runs} = setup((run) =>
    run === 1
      ? new Promise<Outcome>((resolve) => {
          release = () => resolve({result: 'done'})
        })
      : {result: 'done'},
  )
  queue.mark()
  await clock.advance(300)
  expect(queue.runningMs).toBe(50)
  queue.mark()
  queue.mark()
  await clock.advance(5000)
  expect(runs).toEqual([250])
  release()
  await clock.advance(0)
  expect(runs).toEqual([250, 5300])
  await clock.advance(60_000)
  expect(runs).toEqual([250, 5300])
})

test('a failure comes again 200 ms doubled to 60 s; success starts over', async () => {
  const {clock, queue, runs, errors} = setup((run) => {
    if (run <= 12) throw new Error('no')
    return {result: 'done'}
  })
  queue.mark()
  await clock.advance(600_000)
  const gaps = runs.slice(1).map((at, index) => at - (runs[index] ?? 0))
  expect(gaps).toEqual([200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 51_200, 60_000, 60_000, 60_000])
  expect(errors).toHaveLength(12)
  expect(queue.dirty).toBe(false)
})

test('a pause that the server asks for is kept, whatever changes meanwhile', async () => {
  const {clock, queue, runs} = setup((run) => (run === 1 ? {result: 'wait', afterMs: 9000} : {result: 'done'}))
  queue.mark()
  await clock.advance(250)
  queue.mark()
  await clock.advance(8999)
  expect(runs).toEqual([250])
  await clock.advance(1)
  expect(runs).toEqual([250, 9250])
})

test('a pass that wants to come again later is hastened by a change', async () => {
  const {clock, queue, runs} = setup((run) => (run === 1 ? {result: 'again', afterMs: 60_000} : {result: 'done'}))
  queue.mark()
  await clock.advance(1000)
  queue.mark()
  await clock.advance(1000)
  expect(runs).toEqual([250, 1250])
})

test('close waits for the pass under way and starts none', async () => {
  let release = (): void => undefined
  const {clock, queue, runs} = setup(
    () =>
      new Promise<Outcome>((resolve) => {
        release = () => resolve({result: 'again'})
      }),
  )
  queue.mark()
  await clock.advance(250)
  let closed = false
  const closing = queue.close().then(() => (closed = true))
  await clock.advance(1000)
  expect(closed).toBe(false)
  release()
  await closing
  queue.mark()
  await clock.advance(600_000)
  expect(runs).toEqual([250])
  expect(clock.pending).toBe(0)
})

test('pace: a burst of three, then one per five seconds', async () => {
  const clock = new VirtualClock()
  const pace = new Pace(clock, 5000, 3)
  const delays: number[] = []
  for (let write = 0; write < 5; write++) {
    const delay = pace.delay()
    delays.push(delay)
    await clock.advance(delay)
    pace.spend()
  }
  expect(delays).toEqual([0, 0, 0, 5000, 5000])
  await clock.advance(60_000)
  expect(pace.delay()).toBe(0)
})

test('queue and pace together: whatever the marks, at most burst + time / interval writes, and the last mark is served', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({min: 0, max: 3000}), {minLength: 1, maxLength: 40}), async (gaps) => {
      const clock = new VirtualClock()
      const pace = new Pace(clock, 5000, 3)
      const writes: number[] = []
      const queue = new WorkQueue({
        clock,
        random: () => 0.5,
        work: async () => {
          pace.spend()
          writes.push(clock.now())
          return await Promise.resolve({result: 'done' as const})
        },
        paceDelay: () => pace.delay(),
      })
      let last = 0
      for (const gap of gaps) {
        await clock.advance(gap)
        queue.mark()
        last = clock.now()
      }
      await clock.advance(30_000)
      for (const [index, from] of writes.entries()) {
        const within = writes.slice(index).filter((at) => at - from < 10_000)
        expect(within.length).toBeLessThanOrEqual(3 + 2)
      }
      expect(writes.at(-1)).toBeGreaterThanOrEqual(last)
    }),
    {numRuns: 60},
  )
})

test('fault 14: 5,000 changes in ten seconds are at most five writes, the last change among them', async () => {
  const clock = new VirtualClock()
  const pace = new Pace(clock, 5000, 3)
  const writes: number[] = []
  let changes = 0
  let written = 0
  const queue = new WorkQueue({
    clock,
    random: () => 0.5,
    work: () => {
      pace.spend()
      written = changes
      writes.push(clock.now())
      return Promise.resolve({result: 'done' as const})
    },
    paceDelay: () => pace.delay(),
  })
  const change = async (count: number): Promise<void> => {
    for (const end = changes + count; changes < end;) {
      changes++
      queue.mark()
      await clock.advance(2)
    }
  }
  await change(5000)
  expect(writes.length).toBeLessThanOrEqual(5)
  // Gathering alone would do so much; going on at this rate, only the pace holds.
  await change(10_000)
  await clock.advance(60_000)
  expect(written).toBe(15_000)
  expect(writes.length).toBeLessThanOrEqual(3 + 30 / 5)
})

test('backoff is doubled, spread by chance, and never above its limit', () => {
  const backoff = new Backoff(800, 30_000, () => 0.5)
  expect([1, 2, 3, 4, 5, 6, 7].map(() => backoff.step())).toEqual([1200, 2400, 4800, 9600, 19_200, 30_000, 30_000])
  backoff.reset()
  expect(backoff.step()).toBe(1200)
})
