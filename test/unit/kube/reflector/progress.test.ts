import {describe, expect, test} from 'vitest'
import {networkTrouble, object, page, refusal} from '../../../support/scripted-client.ts'
import {ReflectorStage} from '../../../support/reflector-stage.ts'

const stage = new ReflectorStage()

/** Milliseconds from now until the loop has to move; negative when it is behind. */
const due = (): number => (stage.reflector.status.dueBy ?? Number.NaN) - stage.clock.now()

/** The furthest that the loop is ever behind its own timers while this much time passes. */
async function furthestBehind(ms: number): Promise<number> {
  let behind = 0
  for (let passed = 0; passed < ms; passed += 5000) {
    await stage.clock.advance(5000)
    behind = Math.max(behind, -due())
  }
  return behind
}

describe('by when a source loop moves (liveness, controller.md 3.8)', () => {
  test('a silent server is no standstill: the idle limit is due, also the long one of a source without bookmarks', async () => {
    stage.server.onWatch = (watch) => {
      watch.headers()
      if (watch.options.sendInitialEvents === true) watch.bookmark('1', {'k8s.io/initial-events-end': 'true'})
    }
    stage.start()
    await stage.clock.advance(0)
    expect(due()).toBe(90_000)
    expect(await furthestBehind(3_600_000)).toBe(0)
  })

  test.each([
    ['no connection', networkTrouble()],
    ['403', refusal(403)],
    ['404', refusal(404)],
    ['500', refusal(500)],
    ['429 with a long Retry-After', refusal(429, {}, 1_200_000)],
  ])('an API server that only fails is no standstill: %s', async (_name, failure) => {
    stage.server.onList = () => failure
    stage.server.onWatch = (watch) => watch.fail(failure)
    stage.server.onDiscover = () => failure
    stage.start()
    expect(await furthestBehind(3_600_000)).toBe(0)
    expect(stage.reflector.status.everSynced).toBe(false)
  })

  test('each page of a list is a step', async () => {
    const second = Promise.withResolvers<void>()
    stage.server.onWatch = (watch) => watch.fail(refusal(422, {reason: 'Invalid'}))
    stage.start()
    const {client} = stage.server
    await stage.reflector.stop()
    const pages = async function* () {
      yield page('1', object('a', '1'))
      await second.promise
      yield page('1', object('b', '1'))
    }
    stage.start({client: {...client, pages: pages as typeof client.pages, watch: client.watch.bind(client)}})
    await stage.clock.advance(200_000)
    expect(due()).toBe(-200_000)
    stage.server.onWatch = (watch) => void watch.headers()
    second.resolve()
    await stage.clock.advance(1000)
    expect(due()).toBeGreaterThan(0)
    expect(stage.reflector.store.size).toBe(2)
  })

  test('a loop that hangs falls behind; one that was stopped is not awaited', async () => {
    const never = Promise.withResolvers<never>()
    stage.server.onWatch = (watch) => watch.fail(refusal(422, {reason: 'Invalid'}))
    stage.server.onList = () => never.promise
    stage.start()
    await stage.clock.advance(400_000)
    expect(due()).toBe(-400_000)
    never.reject(networkTrouble())
    await stage.clock.advance(0)
    expect(due()).toBeGreaterThan(0)
    await stage.reflector.stop()
    expect(stage.reflector.status.dueBy).toBeUndefined()
  })
})
