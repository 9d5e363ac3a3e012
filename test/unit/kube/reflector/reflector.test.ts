import {beforeEach, describe, expect, test} from 'vitest'
import {ReflectorStage} from '../../../support/reflector-stage.ts'
import {garbage, networkTrouble, object, page, refusal} from '../../../support/scripted-client.ts'

const stage = new ReflectorStage()

describe('first sync', () => {
  test('streams the initial objects and goes on with the same watch', async () => {
    stage.serveInitial('7', object('a', '3'), object('b', '5'))
    stage.start()
    await stage.clock.advance(0)
    expect(stage.server.watches).toHaveLength(1)
    expect(stage.server.watch.options).toMatchObject({sendInitialEvents: true, resourceVersion: undefined})
    expect(stage.server.watch.options.timeoutSeconds).toBe(450)
    expect([...stage.reflector.store.values()].map(({value}) => value)).toEqual(['a.example.org', 'b.example.org'])
    expect(stage.reflector.state).toBe('synced')
    stage.server.watch.send('MODIFIED', object('a', '8', {host: 'new.example.org'})).send('DELETED', object('b', '9'))
    await stage.clock.advance(0)
    expect(stage.changes).toEqual(['add edge/a', 'add edge/b', 'update edge/a', 'delete edge/b'])
    expect(stage.server.lists).toHaveLength(0)
  })

  test('shows nothing of a half-told set', async () => {
    stage.server.onWatch = (watch) => void watch.headers().send('ADDED', object('a', '3'))
    stage.start()
    await stage.clock.advance(5000)
    expect(stage.reflector.store.size).toBe(0)
    expect(stage.reflector.state).toBe('syncing')
  })

  test.each([422, 400])(
    'lists when the server refuses initial events with %i, and never asks again',
    async (status) => {
      stage.server.onWatch = (watch) => {
        if (watch.options.sendInitialEvents === true) watch.fail(refusal(status, {reason: 'Invalid'}))
        else watch.headers()
      }
      stage.server.onList = () => [page('10', object('a', '3')), page('10', object('b', '4'))]
      stage.start()
      await stage.clock.advance(0)
      expect(stage.reflector.store.size).toBe(2)
      expect(stage.server.lists).toEqual([expect.objectContaining({at: 0})])
      // Consistent: neither a version nor a limit of its own, which means pages.
      expect(stage.server.lists[0]?.options).not.toHaveProperty('resourceVersion')
      expect(stage.server.watch.options).toMatchObject({resourceVersion: '10', sendInitialEvents: false})
      stage.server.watch.fail(refusal(410, {reason: 'Expired'}))
      await stage.clock.advance(0)
      expect(stage.server.lists).toHaveLength(2)
      expect(stage.server.lists[1]?.options).toMatchObject({resourceVersion: '10', limit: 0})
    },
  )

  test('lists when the request is swallowed in silence', async () => {
    stage.server.onWatch = (watch) => void watch.headers()
    stage.server.onList = () => [page('10', object('a', '3'))]
    stage.start()
    await stage.clock.advance(9999)
    expect(stage.server.lists).toHaveLength(0)
    await stage.clock.advance(1)
    expect(stage.reflector.store.size).toBe(1)
  })

  test('a list that is cut (410 on continue) counts only from its one full page', async () => {
    stage.server.onWatch = (watch) => {
      if (watch.options.sendInitialEvents === true) watch.end()
      else watch.headers()
    }
    stage.server.onList = () => [page('10', object('gone', '3')), {...page('12', object('a', '4')), restarted: true}]
    stage.start()
    await stage.clock.advance(0)
    expect([...stage.reflector.store.keys()]).toEqual(['edge/a'])
  })

  test('re-arms the idle limit at the phase change', async () => {
    stage.serveInitial('7')
    stage.start()
    await stage.clock.advance(60_000)
    expect(stage.server.watches).toHaveLength(1)
  })
})

test('lists when streaming the initial objects fails for a minute with 500', async () => {
  stage.server.onWatch = (watch) => {
    if (watch.options.sendInitialEvents === true) watch.fail(refusal(500))
    else watch.headers()
  }
  stage.server.onList = () => [page('10', object('a', '3'))]
  stage.start()
  await stage.clock.advance(130_000)
  expect(stage.reflector.state).toBe('synced')
})

describe('resuming', () => {
  beforeEach(async () => {
    stage.serveInitial('7', object('a', '3'))
    stage.start()
    await stage.clock.advance(0)
    stage.changes = []
  })

  test('a clean end resumes at once from the last version, bookmarks included, without backoff', async () => {
    stage.server.watch.bookmark('20')
    await stage.clock.advance(1500)
    for (let round = 0; round < 6; round += 1) {
      stage.server.watch.bookmark(`2${round + 1}`).end()
      await stage.clock.advance(0)
    }
    expect(stage.server.watches).toHaveLength(7)
    expect(stage.server.watches.every(({at}) => at === 0 || at === 1500)).toBe(true)
    expect(stage.server.watch.options.resourceVersion).toBe('26')
    expect(stage.reflector.state).toBe('synced')
  })

  test('a watch that ends at once backs off', async () => {
    stage.server.onWatch = (watch) => watch.headers().end()
    stage.server.watch.end()
    await stage.clock.advance(60_000)
    const at = stage.server.watches.slice(1).map((entry) => entry.at)
    expect(at.length).toBeLessThan(10)
    expect(at.slice(0, 3)).toEqual([0, 1200, 3600])
  })

  test('a broken connection backs off with growing waits and resumes without a list', async () => {
    stage.server.onWatch = (watch) => watch.fail(networkTrouble('ECONNREFUSED'))
    stage.server.watch.fail(networkTrouble())
    await stage.clock.advance(10_000)
    expect(stage.reflector.state).toBe('stale')
    expect(stage.server.watches.slice(1).map((entry) => entry.at)).toEqual([0, 1200, 3600, 8400])
    stage.server.onWatch = (watch) => void watch.headers()
    await stage.clock.advance(20_000)
    expect(stage.reflector.state).toBe('synced')
    expect(stage.server.watch.options).toMatchObject({resourceVersion: '7', sendInitialEvents: false})
    expect(stage.listReasons).toEqual(['first'])
    expect(stage.changes).toEqual([])
  })

  test('a watch that had lived is resumed at once when it is cut, however often; one that is cut as it opens backs off', async () => {
    for (let cut = 1; cut <= 20; cut++) {
      await stage.clock.advance(1000)
      stage.server.watch.fail(networkTrouble())
      await stage.clock.advance(0)
      expect(stage.server.watches).toHaveLength(1 + cut)
      expect(stage.server.watch.options.resourceVersion).toBe('7')
    }
    expect(stage.states).toEqual(['synced'])
    expect(stage.listReasons).toEqual(['first'])
    // An event is a sign of life too.
    stage.server.watch.send('ADDED', object('b', '8')).fail(networkTrouble())
    await stage.clock.advance(0)
    expect(stage.server.watches).toHaveLength(22)
    await stage.clock.advance(999)
    stage.server.watch.fail(networkTrouble())
    await stage.clock.advance(1000)
    expect(stage.server.watches).toHaveLength(22)
    expect(stage.reflector.state).toBe('stale')
  })

  test('the longest wait is 60 s', async () => {
    stage.server.onWatch = (watch) => watch.fail(networkTrouble('ECONNREFUSED'))
    stage.server.watch.fail(networkTrouble())
    await stage.clock.advance(1_000_000)
    const gaps = stage.server.watches
      .slice(2)
      .map((entry, index) => entry.at - (stage.server.watches[index + 1]?.at ?? 0))
    expect(Math.max(...gaps)).toBe(45_000)
  })

  test('fault 12: 429 waits as long as the server says, and does not list', async () => {
    stage.server.watch.fail(refusal(429, {}, 17_000))
    await stage.clock.advance(16_999)
    expect(stage.server.watches).toHaveLength(1)
    await stage.clock.advance(1)
    expect(stage.server.watches).toHaveLength(2)
    expect(stage.server.watch.options.resourceVersion).toBe('7')
  })

  test('fault 12: 429 as an ERROR event waits for details.retryAfterSeconds', async () => {
    stage.server.watch.fail(refusal(429, {details: {retryAfterSeconds: 9}}))
    await stage.clock.advance(8999)
    expect(stage.server.watches).toHaveLength(1)
    await stage.clock.advance(1)
    expect(stage.server.watches).toHaveLength(2)
  })

  test('5xx backs off, and after a minute of nothing else lists anew', async () => {
    stage.server.onWatch = (watch) => watch.fail(refusal(503))
    stage.server.watch.fail(refusal(500))
    await stage.clock.advance(59_000)
    expect(stage.listReasons).toEqual(['first'])
    await stage.clock.advance(65_000)
    expect(stage.server.watch.options).toMatchObject({sendInitialEvents: true, resourceVersion: '7'})
    expect(stage.listReasons).toContain('unavailable')
  })

  test('fault 15: an unreadable event resumes from the last good version; the second one lists anew', async () => {
    stage.server.watch.send('ADDED', object('b', '9')).fail(garbage())
    await stage.clock.advance(0)
    expect(stage.server.watch.options).toMatchObject({resourceVersion: '9', sendInitialEvents: false})
    stage.server.watch.fail(garbage())
    await stage.clock.advance(5000)
    expect(stage.listReasons).toEqual(['first', 'damaged'])
  })

  test('a server that only ever sends garbage is not asked in a tight loop', async () => {
    stage.server.onWatch = (watch) => watch.headers().send('ADDED', object('b', '9')).fail(garbage())
    stage.server.watch.fail(garbage())
    await stage.clock.advance(60_000)
    expect(stage.server.watches.length).toBeLessThan(15)
  })

  test('401 backs off', async () => {
    stage.server.watch.fail(refusal(401))
    await stage.clock.advance(1199)
    expect(stage.server.watches).toHaveLength(1)
    await stage.clock.advance(1)
    expect(stage.server.watches).toHaveLength(2)
  })
})

describe('410', () => {
  beforeEach(async () => {
    stage.serveInitial('7', object('a', '3'), object('b', '4'))
    stage.start()
    await stage.clock.advance(0)
    stage.changes = []
  })

  test.each([
    ['as HTTP status', refusal(410, {reason: 'Expired'})],
    ['as reason Gone', refusal(500, {reason: 'Gone'})],
  ])('%s: one relist, with tombstones for what went meanwhile', async (_, failure) => {
    stage.serveInitial('30', object('a', '3'), object('c', '20'))
    stage.server.watch.fail(failure)
    await stage.clock.advance(0)
    expect(stage.changes).toEqual(['delete edge/b tombstone', 'add edge/c'])
    expect(stage.listReasons).toEqual(['first', 'expired'])
    expect(stage.drift).toEqual([])
  })

  test('the relist asks for no older than what is known, and without a version when even that is gone', async () => {
    stage.server.onWatch = (watch) => {
      if (watch.options.resourceVersion === '7') watch.fail(refusal(410, {reason: 'Expired'}))
      else watch.headers().endMark('40')
    }
    stage.server.watch.fail(refusal(410, {reason: 'Expired'}))
    await stage.clock.advance(10_000)
    expect(stage.reflector.state).toBe('synced')
    expect(stage.server.watch.options.resourceVersion).toBeUndefined()
  })

  test('fault 2: a loop of 410 backs off', async () => {
    stage.serveInitial('30')
    const answer = stage.server.onWatch
    stage.server.onWatch = (watch, resource) => {
      answer(watch, resource)
      watch.fail(refusal(410, {reason: 'Expired'}))
    }
    stage.server.watch.fail(refusal(410, {reason: 'Expired'}))
    await stage.clock.advance(60_000)
    expect(stage.server.watches.length).toBeLessThan(12)
  })

  test('a uid that changed under one name is a delete and an add', async () => {
    stage.server.watch.send('MODIFIED', object('a', '9', {uid: 'other'}))
    await stage.clock.advance(0)
    expect(stage.changes).toEqual(['delete edge/a tombstone', 'add edge/a'])
  })

  test('an event that was seen already stage.changes nothing', async () => {
    stage.server.watch.send('MODIFIED', object('a', '3')).send('MODIFIED', object('a', '2', {host: 'old.example.org'}))
    await stage.clock.advance(0)
    expect(stage.changes).toEqual([])
  })
})

describe('silence', () => {
  test('fault 4: a quiet watch is replaced after 90 s, the idle connections with it; the second time it backs off', async () => {
    stage.serveInitial('7')
    stage.start()
    await stage.clock.advance(89_999)
    expect(stage.server.watches).toHaveLength(1)
    await stage.clock.advance(1)
    expect(stage.server.watches).toHaveLength(2)
    expect(stage.server.droppedIdle).toBe(1)
    expect(stage.server.watches[0]?.watch.open).toBe(false)
    expect(stage.lines.filter((line) => line.includes('quiet watch'))).toHaveLength(1)
    await stage.clock.advance(90_000)
    expect(stage.server.watches).toHaveLength(2)
    await stage.clock.advance(1200)
    expect(stage.server.watches).toHaveLength(3)
  })

  test('bookmarks keep a quiet watch', async () => {
    stage.serveInitial('7')
    stage.start()
    for (let minute = 1; minute <= 4; minute += 1) {
      await stage.clock.advance(60_000)
      stage.server.watch.bookmark(String(100 + minute))
    }
    expect(stage.server.watches).toHaveLength(1)
  })

  test('a source that never sends bookmarks is given the time that the server has', async () => {
    stage.serveInitial('7')
    stage.start()
    await stage.clock.advance(300_000)
    const before = stage.server.watches.length
    await stage.clock.advance(300_000)
    expect(stage.server.watches.length).toBe(before)
  })
})
