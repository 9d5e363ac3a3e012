import {afterEach, beforeEach, describe, expect, test} from 'vitest'
import {createReflector, resources} from '../../../../src/kube/index.ts'
import type {Log, Reflector, ReflectorOptions, SourceStatus, StoreChange} from '../../../../src/kube/index.ts'
import {ScriptedClient, garbage, networkTrouble, object, page, refusal} from '../../../support/scripted-client.ts'
import {VirtualClock} from '../../../support/virtual-clock.ts'

let clock: VirtualClock
let server: ScriptedClient
let reflector: Reflector<string>
let changes: string[]
let states: string[]
let lines: string[]
let listReasons: string[]
let drift: string[]

const log: Log = {
  debug: () => undefined,
  info: (message) => void lines.push(message),
  warn: (message) => void lines.push(message),
  error: (message) => void lines.push(message),
}

function start(options: Partial<ReflectorOptions<string>> = {}): void {
  reflector = createReflector<string>({
    client: server.client,
    resource: resources.ingresses,
    project: (item) => String((item['spec'] as {host: string}).host),
    clock,
    random: () => 0.5,
    onChange: (change: StoreChange<string>) =>
      void changes.push(`${change.type} ${change.key}${change.tombstone ? ' tombstone' : ''}`),
    onState: (status: SourceStatus) => void states.push(status.state),
    observer: {onList: (reason) => void listReasons.push(reason), onDrift: (keys) => void drift.push(...keys)},
    log,
    ...options,
  })
  reflector.start()
}

/** A server that does WatchList: every new watch is answered with these objects. */
function serveInitial(version: string, ...items: ReturnType<typeof object>[]): void {
  server.onWatch = (watch) => {
    watch.headers()
    if (watch.options.sendInitialEvents !== true) return
    for (const item of items) watch.send('ADDED', item)
    watch.endMark(version)
  }
}

beforeEach(() => {
  clock = new VirtualClock()
  server = new ScriptedClient(() => clock.now())
  changes = []
  states = []
  lines = []
  listReasons = []
  drift = []
})

afterEach(async () => {
  await reflector.stop()
  expect(clock.pending).toBe(0)
})

describe('first sync', () => {
  test('streams the initial objects and goes on with the same watch', async () => {
    serveInitial('7', object('a', '3'), object('b', '5'))
    start()
    await clock.advance(0)
    expect(server.watches).toHaveLength(1)
    expect(server.watch.options).toMatchObject({sendInitialEvents: true, resourceVersion: undefined})
    expect(server.watch.options.timeoutSeconds).toBe(450)
    expect([...reflector.store.values()].map(({value}) => value)).toEqual(['a.example.org', 'b.example.org'])
    expect(reflector.state).toBe('synced')
    server.watch.send('MODIFIED', object('a', '8', {host: 'new.example.org'})).send('DELETED', object('b', '9'))
    await clock.advance(0)
    expect(changes).toEqual(['add edge/a', 'add edge/b', 'update edge/a', 'delete edge/b'])
    expect(server.lists).toHaveLength(0)
  })

  test('shows nothing of a half-told set', async () => {
    server.onWatch = (watch) => void watch.headers().send('ADDED', object('a', '3'))
    start()
    await clock.advance(5000)
    expect(reflector.store.size).toBe(0)
    expect(reflector.state).toBe('syncing')
  })

  test.each([422, 400])(
    'lists when the server refuses initial events with %i, and never asks again',
    async (status) => {
      server.onWatch = (watch) => {
        if (watch.options.sendInitialEvents === true) watch.fail(refusal(status, {reason: 'Invalid'}))
        else watch.headers()
      }
      server.onList = () => [page('10', object('a', '3')), page('10', object('b', '4'))]
      start()
      await clock.advance(0)
      expect(reflector.store.size).toBe(2)
      expect(server.lists).toEqual([expect.objectContaining({at: 0})])
      // Consistent: neither a version nor a limit of its own, which means pages.
      expect(server.lists[0]?.options).not.toHaveProperty('resourceVersion')
      expect(server.watch.options).toMatchObject({resourceVersion: '10', sendInitialEvents: false})
      server.watch.fail(refusal(410, {reason: 'Expired'}))
      await clock.advance(0)
      expect(server.lists).toHaveLength(2)
      expect(server.lists[1]?.options).toMatchObject({resourceVersion: '10', limit: 0})
    },
  )

  test('lists when the request is swallowed in silence', async () => {
    server.onWatch = (watch) => void watch.headers()
    server.onList = () => [page('10', object('a', '3'))]
    start()
    await clock.advance(9999)
    expect(server.lists).toHaveLength(0)
    await clock.advance(1)
    expect(reflector.store.size).toBe(1)
  })

  test('a list that is cut (410 on continue) counts only from its one full page', async () => {
    server.onWatch = (watch) => {
      if (watch.options.sendInitialEvents === true) watch.end()
      else watch.headers()
    }
    server.onList = () => [page('10', object('gone', '3')), {...page('12', object('a', '4')), restarted: true}]
    start()
    await clock.advance(0)
    expect([...reflector.store.keys()]).toEqual(['edge/a'])
  })

  test('re-arms the idle limit at the phase change', async () => {
    serveInitial('7')
    start()
    await clock.advance(60_000)
    expect(server.watches).toHaveLength(1)
  })
})

test('lists when streaming the initial objects fails for a minute with 500', async () => {
  server.onWatch = (watch) => {
    if (watch.options.sendInitialEvents === true) watch.fail(refusal(500))
    else watch.headers()
  }
  server.onList = () => [page('10', object('a', '3'))]
  start()
  await clock.advance(130_000)
  expect(reflector.state).toBe('synced')
})

describe('resuming', () => {
  beforeEach(async () => {
    serveInitial('7', object('a', '3'))
    start()
    await clock.advance(0)
    changes = []
  })

  test('a clean end resumes at once from the last version, bookmarks included, without backoff', async () => {
    server.watch.bookmark('20')
    await clock.advance(1500)
    for (let round = 0; round < 6; round += 1) {
      server.watch.bookmark(`2${round + 1}`).end()
      await clock.advance(0)
    }
    expect(server.watches).toHaveLength(7)
    expect(server.watches.every(({at}) => at === 0 || at === 1500)).toBe(true)
    expect(server.watch.options.resourceVersion).toBe('26')
    expect(reflector.state).toBe('synced')
  })

  test('a watch that ends at once backs off', async () => {
    server.onWatch = (watch) => watch.headers().end()
    server.watch.end()
    await clock.advance(60_000)
    const at = server.watches.slice(1).map((entry) => entry.at)
    expect(at.length).toBeLessThan(10)
    expect(at.slice(0, 3)).toEqual([0, 1200, 3600])
  })

  test('a broken connection backs off with growing waits and resumes without a list', async () => {
    server.onWatch = (watch) => watch.fail(networkTrouble('ECONNREFUSED'))
    server.watch.fail(networkTrouble())
    await clock.advance(10_000)
    expect(reflector.state).toBe('stale')
    expect(server.watches.slice(1).map((entry) => entry.at)).toEqual([1200, 3600, 8400])
    server.onWatch = (watch) => void watch.headers()
    await clock.advance(20_000)
    expect(reflector.state).toBe('synced')
    expect(server.watch.options).toMatchObject({resourceVersion: '7', sendInitialEvents: false})
    expect(listReasons).toEqual(['first'])
    expect(changes).toEqual([])
  })

  test('the longest wait is 60 s', async () => {
    server.onWatch = (watch) => watch.fail(networkTrouble('ECONNREFUSED'))
    server.watch.fail(networkTrouble())
    await clock.advance(1_000_000)
    const gaps = server.watches.slice(2).map((entry, index) => entry.at - (server.watches[index + 1]?.at ?? 0))
    expect(Math.max(...gaps)).toBe(45_000)
  })

  test('429 waits as long as the server says, and does not list', async () => {
    server.watch.fail(refusal(429, {}, 17_000))
    await clock.advance(16_999)
    expect(server.watches).toHaveLength(1)
    await clock.advance(1)
    expect(server.watches).toHaveLength(2)
    expect(server.watch.options.resourceVersion).toBe('7')
  })

  test('429 as an ERROR event waits for details.retryAfterSeconds', async () => {
    server.watch.fail(refusal(429, {details: {retryAfterSeconds: 9}}))
    await clock.advance(8999)
    expect(server.watches).toHaveLength(1)
    await clock.advance(1)
    expect(server.watches).toHaveLength(2)
  })

  test('5xx backs off, and after a minute of nothing else lists anew', async () => {
    server.onWatch = (watch) => watch.fail(refusal(503))
    server.watch.fail(refusal(500))
    await clock.advance(59_000)
    expect(listReasons).toEqual(['first'])
    await clock.advance(65_000)
    expect(server.watch.options).toMatchObject({sendInitialEvents: true, resourceVersion: '7'})
    expect(listReasons).toContain('unavailable')
  })

  test('an unreadable event resumes from the last good version; the second one lists anew', async () => {
    server.watch.send('ADDED', object('b', '9')).fail(garbage())
    await clock.advance(0)
    expect(server.watch.options).toMatchObject({resourceVersion: '9', sendInitialEvents: false})
    server.watch.fail(garbage())
    await clock.advance(5000)
    expect(listReasons).toEqual(['first', 'damaged'])
  })

  test('a server that only ever sends garbage is not asked in a tight loop', async () => {
    server.onWatch = (watch) => watch.headers().send('ADDED', object('b', '9')).fail(garbage())
    server.watch.fail(garbage())
    await clock.advance(60_000)
    expect(server.watches.length).toBeLessThan(15)
  })

  test('401 backs off', async () => {
    server.watch.fail(refusal(401))
    await clock.advance(1199)
    expect(server.watches).toHaveLength(1)
    await clock.advance(1)
    expect(server.watches).toHaveLength(2)
  })
})

describe('410', () => {
  beforeEach(async () => {
    serveInitial('7', object('a', '3'), object('b', '4'))
    start()
    await clock.advance(0)
    changes = []
  })

  test.each([
    ['as HTTP status', refusal(410, {reason: 'Expired'})],
    ['as reason Gone', refusal(500, {reason: 'Gone'})],
  ])('%s: one relist, with tombstones for what went meanwhile', async (_, failure) => {
    serveInitial('30', object('a', '3'), object('c', '20'))
    server.watch.fail(failure)
    await clock.advance(0)
    expect(changes).toEqual(['delete edge/b tombstone', 'add edge/c'])
    expect(listReasons).toEqual(['first', 'expired'])
    expect(drift).toEqual([])
  })

  test('the relist asks for no older than what is known, and without a version when even that is gone', async () => {
    server.onWatch = (watch) => {
      if (watch.options.resourceVersion === '7') watch.fail(refusal(410, {reason: 'Expired'}))
      else watch.headers().endMark('40')
    }
    server.watch.fail(refusal(410, {reason: 'Expired'}))
    await clock.advance(10_000)
    expect(reflector.state).toBe('synced')
    expect(server.watch.options.resourceVersion).toBeUndefined()
  })

  test('a loop of 410 backs off', async () => {
    serveInitial('30')
    const answer = server.onWatch
    server.onWatch = (watch, resource) => {
      answer(watch, resource)
      watch.fail(refusal(410, {reason: 'Expired'}))
    }
    server.watch.fail(refusal(410, {reason: 'Expired'}))
    await clock.advance(60_000)
    expect(server.watches.length).toBeLessThan(12)
  })

  test('a uid that changed under one name is a delete and an add', async () => {
    server.watch.send('MODIFIED', object('a', '9', {uid: 'other'}))
    await clock.advance(0)
    expect(changes).toEqual(['delete edge/a tombstone', 'add edge/a'])
  })

  test('an event that was seen already changes nothing', async () => {
    server.watch.send('MODIFIED', object('a', '3')).send('MODIFIED', object('a', '2', {host: 'old.example.org'}))
    await clock.advance(0)
    expect(changes).toEqual([])
  })
})

describe('silence', () => {
  test('a quiet watch is replaced after 90 s, the idle connections with it; the second time it backs off', async () => {
    serveInitial('7')
    start()
    await clock.advance(89_999)
    expect(server.watches).toHaveLength(1)
    await clock.advance(1)
    expect(server.watches).toHaveLength(2)
    expect(server.droppedIdle).toBe(1)
    expect(server.watches[0]?.watch.open).toBe(false)
    expect(lines.filter((line) => line.includes('quiet watch'))).toHaveLength(1)
    await clock.advance(90_000)
    expect(server.watches).toHaveLength(2)
    await clock.advance(1200)
    expect(server.watches).toHaveLength(3)
  })

  test('bookmarks keep a quiet watch', async () => {
    serveInitial('7')
    start()
    for (let minute = 1; minute <= 4; minute += 1) {
      await clock.advance(60_000)
      server.watch.bookmark(String(100 + minute))
    }
    expect(server.watches).toHaveLength(1)
  })

  test('a source that never sends bookmarks is given the time that the server has', async () => {
    serveInitial('7')
    start()
    await clock.advance(300_000)
    const before = server.watches.length
    await clock.advance(300_000)
    expect(server.watches.length).toBe(before)
  })
})

describe('rights', () => {
  test('403 keeps the store, is said once, is tried at 30 s up to 5 min, and heals', async () => {
    serveInitial('7', object('a', '3'))
    start()
    await clock.advance(0)
    server.onWatch = (watch) => watch.fail(refusal(403))
    server.watch.fail(refusal(403))
    await clock.advance(40 * 60_000)
    expect(reflector.state).toBe('forbidden')
    expect(reflector.store.size).toBe(1)
    expect(states).toEqual(['synced', 'forbidden'])
    expect(lines.filter((line) => line.includes('forbidden'))).toHaveLength(1)
    const at = server.watches.slice(1).map((entry) => entry.at)
    expect(at[0]).toBe(33_000)
    expect(Math.max(...at.slice(1).map((time, index) => time - (at[index] ?? 0)))).toBeLessThanOrEqual(360_000)
    serveInitial('7', object('a', '3'))
    await clock.advance(6 * 60_000)
    expect(reflector.state).toBe('synced')
    expect(changes).toEqual(['add edge/a'])
  })

  test('a periodic list that is refused makes the source forbidden although its watch goes on', async () => {
    serveInitial('7', object('a', '3'))
    start({relistMs: 60_000})
    await clock.advance(0)
    server.onList = () => refusal(403)
    await clock.advance(70_000)
    server.watch.bookmark('8')
    await clock.advance(0)
    expect(reflector.state).toBe('forbidden')
    expect(reflector.status.listFailure?.status).toBe(403)
    server.onList = () => [page('9', object('a', '3'))]
    await clock.advance(61_000)
    expect(reflector.state).toBe('synced')
    expect(reflector.status.listFailure).toBeUndefined()
  })
})

describe('absent kinds', () => {
  const served = {incomplete: [], find: () => resources.ingresses}

  test('404 empties the store only when discovery has said so twice, 30 s apart', async () => {
    serveInitial('7', object('a', '3'))
    start()
    await clock.advance(0)
    server.onWatch = (watch) => watch.fail(refusal(404))
    server.watch.fail(refusal(404))
    await clock.advance(29_999)
    expect(reflector.store.size).toBe(1)
    expect(reflector.state).toBe('stale')
    await clock.advance(2)
    expect(reflector.state).toBe('absent')
    expect(changes).toEqual(['add edge/a', 'delete edge/a tombstone'])
  })

  test('a 404 while the API server starts removes nothing', async () => {
    serveInitial('7', object('a', '3'))
    start()
    await clock.advance(0)
    server.onWatch = (watch) => watch.fail(refusal(404))
    server.watch.fail(refusal(404))
    await clock.advance(20_000)
    server.onDiscover = () => served
    serveInitial('9', object('a', '3'))
    await clock.advance(120_000)
    expect(reflector.state).toBe('synced')
    expect(changes).toEqual(['add edge/a'])
  })

  test.each([
    ['failed', () => networkTrouble('ECONNREFUSED')],
    ['was incomplete', () => ({incomplete: ['networking.k8s.io/v1'], find: () => undefined})],
  ])('discovery that %s proves nothing', async (_, answer) => {
    serveInitial('7', object('a', '3'))
    start()
    await clock.advance(0)
    server.onDiscover = answer
    server.onWatch = (watch) => watch.fail(refusal(404))
    server.watch.fail(refusal(404))
    await clock.advance(600_000)
    expect(reflector.store.size).toBe(1)
    expect(reflector.state).toBe('stale')
  })

  test('a kind that is installed later is found within 6 minutes', async () => {
    server.onWatch = (watch) => watch.fail(refusal(404))
    start()
    await clock.advance(3_600_000)
    expect(reflector.state).toBe('absent')
    server.onDiscover = () => served
    serveInitial('9', object('a', '3'))
    await clock.advance(360_000)
    expect(reflector.state).toBe('synced')
  })

  test('another served version is taken', async () => {
    const alpha = {...resources.tlsRoutes, version: 'v1alpha2'}
    server.onDiscover = () => ({
      incomplete: [],
      find: (_group, _plural, versions) => (versions?.includes('v1alpha2') === true ? alpha : undefined),
    })
    server.onWatch = (watch, resource) => {
      if (resource.version === 'v1') watch.fail(refusal(404))
      else watch.headers().endMark('5')
    }
    start({resource: resources.tlsRoutes, versions: ['v1', 'v1alpha3', 'v1alpha2']})
    await clock.advance(0)
    expect(reflector.state).toBe('synced')
    expect(reflector.resource.version).toBe('v1alpha2')
  })

  test('waitForSync resolves for an absent kind', async () => {
    server.onWatch = (watch) => watch.fail(refusal(404))
    start()
    let done = false
    void reflector.waitForSync().then(() => (done = true))
    await clock.advance(29_000)
    expect(done).toBe(false)
    await clock.advance(2000)
    expect(done).toBe(true)
  })
})

describe('the list beside the watch', () => {
  beforeEach(async () => {
    serveInitial('7', object('a', '3'), object('b', '4'))
    start({relistMs: 20_000})
    await clock.advance(0)
    changes = []
  })

  test('finds what a mute watch did not tell, replaces it and says so', async () => {
    server.onList = () => [page('15', object('a', '3'), object('two', '12'))]
    await clock.advance(21_000)
    expect(changes).toEqual(['delete edge/b tombstone', 'add edge/two'])
    expect(drift.toSorted()).toEqual(['edge/b', 'edge/two'])
    expect(server.watches).toHaveLength(2)
    expect(server.watch.options.resourceVersion).toBe('15')
    expect(lines.filter((line) => line.includes('quiet watch was replaced'))).toHaveLength(1)
  })

  test('what the watch delivers meanwhile is no drift', async () => {
    server.onList = () => {
      clock.after(500, () => server.watch.send('ADDED', object('two', '12')).send('DELETED', object('b', '13')))
      return [page('13', object('a', '3'), object('two', '12'))]
    }
    await clock.advance(21_000)
    expect(drift).toEqual([])
    expect(server.watches).toHaveLength(1)
    expect([...reflector.store.keys()]).toEqual(['edge/a', 'edge/two'])
  })

  test('an object that came after the list stays', async () => {
    server.onList = () => {
      server.watch.send('ADDED', object('late', '14'))
      return [page('13', object('a', '3'), object('b', '4'))]
    }
    await clock.advance(21_000)
    expect([...reflector.store.keys()]).toContain('edge/late')
    expect(drift).toEqual([])
  })

  test('a list that fails removes nothing, and the status tells since when', async () => {
    server.onList = () => refusal(503)
    await clock.advance(25_000)
    expect(reflector.status.listFailingSince).toBe(20_000)
    expect(reflector.store.size).toBe(2)
    expect(reflector.status.lastList).toBe(0)
    server.onList = () => [page('8', object('a', '3'), object('b', '4'))]
    await clock.advance(30_000)
    expect(reflector.status.listFailingSince).toBeUndefined()
  })

  test('an etcd that was put back to an earlier state is read anew', async () => {
    serveInitial('3', object('a', '2'))
    server.onList = () => [page('3', object('a', '2'))]
    await clock.advance(25_000)
    expect([...reflector.store.values()].map(({key, resourceVersion}) => `${key} ${resourceVersion}`)).toEqual([
      'edge/a 2',
    ])
  })

  test('relist on request applies at once and rejects when it fails', async () => {
    server.onList = () => [page('9', object('a', '3'))]
    await reflector.relist()
    expect([...reflector.store.keys()]).toEqual(['edge/a'])
    server.onList = () => refusal(503)
    await expect(reflector.relist()).rejects.toMatchObject({status: 503})
    expect(reflector.store.size).toBe(1)
  })
})

test('a handler that throws loses nothing', async () => {
  serveInitial('7', object('a', '3'), object('b', '4'))
  start({
    onChange: () => {
      throw new Error('broken handler')
    },
  })
  await clock.advance(0)
  expect(reflector.store.size).toBe(2)
  expect(reflector.state).toBe('synced')
  expect(lines).toContain('a change handler failed')
})

test('a wall clock that jumps moves no timer', async () => {
  serveInitial('7')
  start()
  await clock.advance(1000)
  clock.setWall(clock.wall() + 3_600_000)
  await clock.advance(88_000)
  expect(server.watches).toHaveLength(1)
  clock.setWall(clock.wall() - 7_200_000)
  await clock.advance(1000)
  expect(server.watches).toHaveLength(2)
})

test('stop ends everything in any phase', async () => {
  for (const moment of [0, 5000, 12_000, 40_000]) {
    server.onWatch = (watch) => {
      if (watch.options.sendInitialEvents !== true) watch.fail(networkTrouble())
    }
    start()
    await clock.advance(moment)
    await reflector.stop()
    await clock.advance(600_000)
    expect(clock.pending).toBe(0)
  }
})
