import {beforeEach, describe, expect, test} from 'vitest'
import {resources} from '../../../../src/kube/index.ts'
import {ReflectorStage} from '../../../support/reflector-stage.ts'
import {networkTrouble, object, page, refusal} from '../../../support/scripted-client.ts'

const stage = new ReflectorStage()

describe('rights', () => {
  test('fault 5: 403 keeps the store, is said once, is tried at 30 s up to 5 min, and heals', async () => {
    stage.serveInitial('7', object('a', '3'))
    stage.start()
    await stage.clock.advance(0)
    stage.server.onWatch = (watch) => watch.fail(refusal(403))
    stage.server.watch.fail(refusal(403))
    await stage.clock.advance(40 * 60_000)
    expect(stage.reflector.state).toBe('forbidden')
    expect(stage.reflector.store.size).toBe(1)
    expect(stage.states).toEqual(['synced', 'forbidden'])
    expect(stage.lines.filter((line) => line.includes('forbidden'))).toHaveLength(1)
    const at = stage.server.watches.slice(1).map((entry) => entry.at)
    expect(at[0]).toBe(33_000)
    expect(Math.max(...at.slice(1).map((time, index) => time - (at[index] ?? 0)))).toBeLessThanOrEqual(360_000)
    stage.serveInitial('7', object('a', '3'))
    await stage.clock.advance(6 * 60_000)
    expect(stage.reflector.state).toBe('synced')
    expect(stage.changes).toEqual(['add edge/a'])
  })

  test('a periodic list that is refused makes the source forbidden although its watch goes on', async () => {
    stage.serveInitial('7', object('a', '3'))
    stage.start({relistMs: 60_000})
    await stage.clock.advance(0)
    stage.server.onList = () => refusal(403)
    await stage.clock.advance(70_000)
    stage.server.watch.bookmark('8')
    await stage.clock.advance(0)
    expect(stage.reflector.state).toBe('forbidden')
    expect(stage.reflector.status.listFailure?.status).toBe(403)
    stage.server.onList = () => [page('9', object('a', '3'))]
    await stage.clock.advance(61_000)
    expect(stage.reflector.state).toBe('synced')
    expect(stage.reflector.status.listFailure).toBeUndefined()
  })
})

describe('absent kinds', () => {
  const served = {incomplete: [], find: () => resources.ingresses}

  test('fault 6: 404 empties the store only when discovery has said so twice, 30 s apart', async () => {
    stage.serveInitial('7', object('a', '3'))
    stage.start()
    await stage.clock.advance(0)
    stage.server.onWatch = (watch) => watch.fail(refusal(404))
    stage.server.watch.fail(refusal(404))
    await stage.clock.advance(29_999)
    expect(stage.reflector.store.size).toBe(1)
    expect(stage.reflector.state).toBe('stale')
    await stage.clock.advance(2)
    expect(stage.reflector.state).toBe('absent')
    expect(stage.changes).toEqual(['add edge/a', 'delete edge/a tombstone'])
  })

  test('fault 6: a 404 while the API server starts removes nothing', async () => {
    stage.serveInitial('7', object('a', '3'))
    stage.start()
    await stage.clock.advance(0)
    stage.server.onWatch = (watch) => watch.fail(refusal(404))
    stage.server.watch.fail(refusal(404))
    await stage.clock.advance(20_000)
    stage.server.onDiscover = () => served
    stage.serveInitial('9', object('a', '3'))
    await stage.clock.advance(120_000)
    expect(stage.reflector.state).toBe('synced')
    expect(stage.changes).toEqual(['add edge/a'])
  })

  test.each([
    ['failed', () => networkTrouble('ECONNREFUSED')],
    ['was incomplete', () => ({incomplete: ['networking.k8s.io/v1'], find: () => undefined})],
  ])('discovery that %s proves nothing', async (_, answer) => {
    stage.serveInitial('7', object('a', '3'))
    stage.start()
    await stage.clock.advance(0)
    stage.server.onDiscover = answer
    stage.server.onWatch = (watch) => watch.fail(refusal(404))
    stage.server.watch.fail(refusal(404))
    await stage.clock.advance(600_000)
    expect(stage.reflector.store.size).toBe(1)
    expect(stage.reflector.state).toBe('stale')
  })

  test('fault 6: a kind that is installed later is found within 6 minutes', async () => {
    stage.server.onWatch = (watch) => watch.fail(refusal(404))
    stage.start()
    await stage.clock.advance(3_600_000)
    expect(stage.reflector.state).toBe('absent')
    stage.server.onDiscover = () => served
    stage.serveInitial('9', object('a', '3'))
    await stage.clock.advance(360_000)
    expect(stage.reflector.state).toBe('synced')
  })

  test('for one pass a kind is absent at once where the API server calls itself ready, after 30 s where it does not', async () => {
    stage.server.onWatch = (watch) => watch.fail(refusal(404))
    stage.server.onReadyz = () => 200
    stage.start({once: true})
    await stage.clock.advance(0)
    expect(stage.reflector.state).toBe('absent')
    await stage.reflector.stop()

    for (const status of [500, 403]) {
      stage.server.onReadyz = () => status
      stage.start({once: true})
      await stage.clock.advance(29_999)
      expect(stage.reflector.state).toBe('syncing')
      await stage.clock.advance(2)
      expect(stage.reflector.state).toBe('absent')
      await stage.reflector.stop()
    }
  })

  test('one pass over a kind that discovery cannot tell about goes on asking, ready or not', async () => {
    stage.server.onWatch = (watch) => watch.fail(refusal(404))
    stage.server.onReadyz = () => 200
    stage.server.onDiscover = () => ({incomplete: ['networking.k8s.io/v1'], find: () => undefined})
    stage.start({once: true})
    await stage.clock.advance(600_000)
    expect(stage.reflector.state).toBe('syncing')
  })

  test('another served version is taken', async () => {
    const alpha = {...resources.tlsRoutes, version: 'v1alpha2'}
    stage.server.onDiscover = () => ({
      incomplete: [],
      find: (_group, _plural, versions) => (versions?.includes('v1alpha2') === true ? alpha : undefined),
    })
    stage.server.onWatch = (watch, resource) => {
      if (resource.version === 'v1') watch.fail(refusal(404))
      else watch.headers().endMark('5')
    }
    stage.start({resource: resources.tlsRoutes, versions: ['v1', 'v1alpha3', 'v1alpha2']})
    await stage.clock.advance(0)
    expect(stage.reflector.state).toBe('synced')
    expect(stage.reflector.resource.version).toBe('v1alpha2')
  })

  test('waitForSync resolves for an absent kind', async () => {
    stage.server.onWatch = (watch) => watch.fail(refusal(404))
    stage.start()
    let done = false
    void stage.reflector.waitForSync().then(() => (done = true))
    await stage.clock.advance(29_000)
    expect(done).toBe(false)
    await stage.clock.advance(2000)
    expect(done).toBe(true)
  })
})

describe('the list beside the watch', () => {
  beforeEach(async () => {
    stage.serveInitial('7', object('a', '3'), object('b', '4'))
    stage.start({relistMs: 20_000})
    await stage.clock.advance(0)
    stage.changes = []
  })

  test('finds what a mute watch did not tell, replaces it and says so', async () => {
    stage.server.onList = () => [page('15', object('a', '3'), object('two', '12'))]
    await stage.clock.advance(21_000)
    expect(stage.changes).toEqual(['delete edge/b tombstone', 'add edge/two'])
    expect(stage.drift.toSorted()).toEqual(['edge/b', 'edge/two'])
    expect(stage.server.watches).toHaveLength(2)
    expect(stage.server.watch.options.resourceVersion).toBe('15')
    expect(stage.lines.filter((line) => line.includes('quiet watch was replaced'))).toHaveLength(1)
  })

  test('what the watch delivers meanwhile is no drift', async () => {
    stage.server.onList = () => {
      stage.clock.after(500, () =>
        stage.server.watch.send('ADDED', object('two', '12')).send('DELETED', object('b', '13')),
      )
      return [page('13', object('a', '3'), object('two', '12'))]
    }
    await stage.clock.advance(21_000)
    expect(stage.drift).toEqual([])
    expect(stage.server.watches).toHaveLength(1)
    expect([...stage.reflector.store.keys()]).toEqual(['edge/a', 'edge/two'])
  })

  test('an object that came after the list stays', async () => {
    stage.server.onList = () => {
      stage.server.watch.send('ADDED', object('late', '14'))
      return [page('13', object('a', '3'), object('b', '4'))]
    }
    await stage.clock.advance(21_000)
    expect([...stage.reflector.store.keys()]).toContain('edge/late')
    expect(stage.drift).toEqual([])
  })

  test('a list that fails removes nothing, and the status tells since when', async () => {
    stage.server.onList = () => refusal(503)
    await stage.clock.advance(25_000)
    expect(stage.reflector.status.listFailingSince).toBe(20_000)
    expect(stage.reflector.store.size).toBe(2)
    expect(stage.reflector.status.lastList).toBe(0)
    stage.server.onList = () => [page('8', object('a', '3'), object('b', '4'))]
    await stage.clock.advance(30_000)
    expect(stage.reflector.status.listFailingSince).toBeUndefined()
  })

  test('an etcd that was put back to an earlier state is read anew', async () => {
    stage.serveInitial('3', object('a', '2'))
    stage.server.onList = () => [page('3', object('a', '2'))]
    await stage.clock.advance(25_000)
    expect([...stage.reflector.store.values()].map(({key, resourceVersion}) => `${key} ${resourceVersion}`)).toEqual([
      'edge/a 2',
    ])
  })

  test('relist on request applies at once and rejects when it fails', async () => {
    stage.server.onList = () => [page('9', object('a', '3'))]
    await stage.reflector.relist()
    expect([...stage.reflector.store.keys()]).toEqual(['edge/a'])
    stage.server.onList = () => refusal(503)
    await expect(stage.reflector.relist()).rejects.toMatchObject({status: 503})
    expect(stage.reflector.store.size).toBe(1)
  })
})

test('fault 15: a handler that throws loses nothing', async () => {
  stage.serveInitial('7', object('a', '3'), object('b', '4'))
  stage.start({
    onChange: () => {
      throw new Error('broken handler')
    },
  })
  await stage.clock.advance(0)
  expect(stage.reflector.store.size).toBe(2)
  expect(stage.reflector.state).toBe('synced')
  expect(stage.lines).toContain('a change handler failed')
})

test('fault 7: a wall clock that jumps moves no timer', async () => {
  stage.serveInitial('7')
  stage.start()
  await stage.clock.advance(1000)
  stage.clock.setWall(stage.clock.wall() + 3_600_000)
  await stage.clock.advance(88_000)
  expect(stage.server.watches).toHaveLength(1)
  stage.clock.setWall(stage.clock.wall() - 7_200_000)
  await stage.clock.advance(1000)
  expect(stage.server.watches).toHaveLength(2)
})

test('fault 15: stop ends everything in any phase', async () => {
  for (const moment of [0, 5000, 12_000, 40_000]) {
    stage.server.onWatch = (watch) => {
      if (watch.options.sendInitialEvents !== true) watch.fail(networkTrouble())
    }
    stage.start()
    await stage.clock.advance(moment)
    await stage.reflector.stop()
    await stage.clock.advance(600_000)
    expect(stage.clock.pending).toBe(0)
  }
})
