import {beforeEach, describe, expect, test} from 'vitest'
import {createLeaseLock} from '../../../../src/kube/index.ts'
import type {KubeClient, LeaseLock, LeaseOptions} from '../../../../src/kube/index.ts'
import {microTime} from '../../../../src/kube/lease/micro-time.ts'
import type {LeaseObject} from '../../../../src/kube/lease/record.ts'
import {networkTrouble, refusal} from '../../../support/scripted-client.ts'
import {VirtualClock} from '../../../support/virtual-clock.ts'

/** One Lease with the API server's optimistic locking, and a switch to be away. */
class LeaseServer {
  lease: LeaseObject | undefined
  writes: string[] = []
  away = false
  #version = 0

  get client(): KubeClient {
    const parts: Partial<KubeClient> = {
      find: <T>() => this.#answer(() => structuredClone(this.lease) as T | undefined),
      create: <T>(_: unknown, object: object) =>
        this.#answer(() => {
          if (this.lease !== undefined) throw refusal(409, {reason: 'AlreadyExists'})
          return this.#store(object as LeaseObject) as T
        }),
      update: <T>(_: unknown, object: object) =>
        this.#answer(() => {
          const given = object as LeaseObject
          if (this.lease === undefined) throw refusal(404)
          if (given.metadata.resourceVersion !== this.lease.metadata.resourceVersion)
            throw refusal(409, {reason: 'Conflict'})
          return this.#store(given) as T
        }),
    }
    return parts as KubeClient
  }

  #store(given: LeaseObject): LeaseObject {
    this.#version += 1
    this.lease = structuredClone({...given, metadata: {...given.metadata, resourceVersion: String(this.#version)}})
    this.writes.push(given.spec?.holderIdentity ?? '')
    return structuredClone(this.lease)
  }

  #answer<T>(run: () => T): Promise<T> {
    return Promise.resolve().then(() => {
      if (this.away) throw networkTrouble('ECONNREFUSED')
      return run()
    })
  }
}

let clock: VirtualClock
let server: LeaseServer

beforeEach(() => {
  clock = new VirtualClock()
  server = new LeaseServer()
})

function lock(identity: string, options: Partial<LeaseOptions> = {}): LeaseLock {
  return createLeaseLock({
    client: server.client,
    namespace: 'kube-system',
    name: 'srcip-dns',
    identity,
    clock,
    random: () => 0.5,
    ...options,
  })
}

/** Settles a promise on the virtual clock. */
async function within<T>(ms: number, promise: Promise<T>): Promise<T | 'pending'> {
  let result: {value: T} | {error: unknown} | undefined
  promise.then(
    (value) => (result = {value}),
    (error: unknown) => (result = {error}),
  )
  await clock.advance(ms)
  if (result === undefined) return 'pending'
  if ('error' in result) throw result.error
  return result.value
}

test('MicroTime has exactly six fraction digits', () => {
  expect(microTime(0)).toBe('1970-01-01T00:00:00.000000Z')
  expect(microTime(Date.UTC(2026, 10, 30, 1, 2, 3, 45))).toBe('2026-11-30T01:02:03.045000Z')
})

describe('a lock', () => {
  test('free: taken at once, renewed every 2 s, given back as nobody’s', async () => {
    const ours = lock('us')
    await within(0, ours.acquire())
    expect(ours.held).toBe(true)
    expect(server.lease?.spec).toMatchObject({
      holderIdentity: 'us',
      leaseDurationSeconds: 15,
      leaseTransitions: 0,
      acquireTime: '2026-01-01T00:00:00.000000Z',
    })
    await clock.advance(10_000)
    expect(server.writes).toHaveLength(6)
    expect(server.lease?.spec).toMatchObject({
      renewTime: '2026-01-01T00:00:10.000000Z',
      acquireTime: '2026-01-01T00:00:00.000000Z',
    })
    await within(0, ours.release())
    expect(server.lease?.spec).toMatchObject({holderIdentity: '', leaseDurationSeconds: 1, leaseTransitions: 0})
    expect(ours.held).toBe(false)
    expect(clock.pending).toBe(0)
  })

  test('held by a living holder: refused with its name as soon as it is seen alive', async () => {
    const theirs = lock('run-pod_1')
    await within(0, theirs.acquire())
    const ours = lock('me@laptop')
    await expect(within(5000, ours.acquire())).rejects.toMatchObject({
      exitCode: 33,
      message: expect.stringContaining('lease kube-system/srcip-dns is held by run-pod_1'),
    })
    expect(ours.held).toBe(false)
    expect(ours.holder?.identity).toBe('run-pod_1')
    await within(0, theirs.release())
  })

  test('waits as long as it is told, and takes it when it is given back', async () => {
    const theirs = lock('them')
    await within(0, theirs.acquire())
    const ours = lock('us')
    const waiting = ours.acquire({waitMs: 60_000})
    expect(
      await within(
        30_000,
        waiting.then(() => 'ours'),
      ),
    ).toBe('pending')
    await within(0, theirs.release())
    await clock.advance(5000)
    expect(ours.held).toBe(true)
    expect(server.lease?.spec).toMatchObject({holderIdentity: 'us', leaseTransitions: 1})
    await within(0, ours.release())
  })

  test('a dead holder is waited out by observation, whatever its clock says', async () => {
    server.lease = {
      metadata: {name: 'srcip-dns', namespace: 'kube-system', resourceVersion: '0'},
      // From a machine whose clock is a day ahead.
      spec: {
        holderIdentity: 'dead',
        leaseDurationSeconds: 15,
        renewTime: '2026-01-02T00:00:00.000000Z',
        acquireTime: '2026-01-02T00:00:00.000000Z',
        leaseTransitions: 4,
        strategy: 'OldestEmulationVersion',
      },
    }
    const ours = lock('us')
    const acquired = ours.acquire().then(() => 'ours')
    expect(await within(15_000, acquired)).toBe('pending')
    expect(await within(5000, acquired)).toBe('ours')
    expect(server.lease.spec).toMatchObject({
      holderIdentity: 'us',
      leaseTransitions: 5,
      strategy: 'OldestEmulationVersion',
    })
    await within(0, ours.release())
  })

  test('two at once: one gets it, the other is told', async () => {
    const one = lock('one')
    const two = lock('two')
    const outcomes = Promise.allSettled([one.acquire(), two.acquire()])
    await clock.advance(10_000)
    const results = await outcomes
    expect(results.map(({status}) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    expect([one.held, two.held].toSorted()).toEqual([false, true])
    await within(0, one.release())
    await within(0, two.release())
  })

  test('a missing right is 31 and not waited for', async () => {
    const denied = lock('us', {client: {find: () => Promise.reject(refusal(403))} as Partial<KubeClient> as KubeClient})
    await expect(within(0, denied.acquire())).rejects.toMatchObject({exitCode: 31})
  })

  test('an interrupted wait ends at once', async () => {
    await within(0, lock('them').acquire())
    const interrupt = new AbortController()
    const waiting = lock('us').acquire({waitMs: 60_000, signal: interrupt.signal})
    await clock.advance(1000)
    interrupt.abort(new Error('SIGINT'))
    await expect(within(0, waiting)).rejects.toThrow('SIGINT')
  })
})

describe('holding', () => {
  test('is over 10 s after the last success; the signal says so', async () => {
    const ours = lock('us')
    const lost = (await within(0, ours.acquire())) as AbortSignal
    await clock.advance(2000)
    server.away = true
    await clock.advance(9000)
    expect(ours.held).toBe(true)
    expect(lost.aborted).toBe(false)
    await clock.advance(1100)
    expect(ours.held).toBe(false)
    expect(lost.aborted).toBe(true)
    await within(0, ours.release())
  })

  test('fault 8: is over for a blocked event loop before any timer runs', async () => {
    const ours = lock('us')
    await within(0, ours.acquire())
    clock.block(12_000)
    expect(ours.held).toBe(false)
    await expect(ours.assertHeld()).rejects.toMatchObject({exitCode: 33})
    await clock.advance(0)
    await within(0, ours.release())
  })

  test('survives a short outage', async () => {
    const ours = lock('us')
    const lost = (await within(0, ours.acquire())) as AbortSignal
    server.away = true
    await clock.advance(7000)
    server.away = false
    await clock.advance(60_000)
    expect(ours.held).toBe(true)
    expect(lost.aborted).toBe(false)
    await within(0, ours.release())
  })

  test('a take-over seen by a conflict ends it at once', async () => {
    const ours = lock('us')
    const lost = (await within(0, ours.acquire())) as AbortSignal
    server.lease = {
      metadata: {name: 'srcip-dns', resourceVersion: '99'},
      spec: {holderIdentity: 'thief', leaseDurationSeconds: 15},
    }
    await clock.advance(2000)
    expect(lost.aborted).toBe(true)
    await expect(ours.assertHeld()).rejects.toMatchObject({exitCode: 33, message: expect.stringContaining('thief')})
    await within(0, ours.release())
    expect(server.lease.spec?.holderIdentity).toBe('thief')
  })

  test('fault 7: a wall clock that jumped makes the record be read before the next write', async () => {
    const ours = lock('us')
    await within(0, ours.acquire())
    clock.setWall(clock.wall() + 3_600_000)
    await ours.assertHeld()
    server.lease = {
      metadata: {name: 'srcip-dns', resourceVersion: '99'},
      spec: {holderIdentity: 'thief', leaseDurationSeconds: 15},
    }
    clock.setWall(clock.wall() - 7_200_000)
    await expect(ours.assertHeld()).rejects.toMatchObject({exitCode: 33})
    await within(0, ours.release())
  })
})

describe('election', () => {
  async function candidate(name: string, stop: AbortSignal, events: string[]): Promise<void> {
    await lock(name).elect(async (signal) => {
      events.push(`${name} leads`)
      await new Promise((resolve) => signal.addEventListener('abort', resolve, {once: true}))
      events.push(`${name} ends`)
    }, stop)
  }

  test('fault 8: a stop hands over within 5 s, after the leader’s last word', async () => {
    const events: string[] = []
    const [first, second] = [new AbortController(), new AbortController()]
    const one = candidate('one', first.signal, events)
    await clock.advance(100)
    const two = candidate('two', second.signal, events)
    await clock.advance(60_000)
    expect(events).toEqual(['one leads'])
    first.abort(new Error('SIGTERM'))
    await clock.advance(5000)
    expect(events).toEqual(['one leads', 'one ends', 'two leads'])
    second.abort(new Error('SIGTERM'))
    await clock.advance(5000)
    await Promise.all([one, two])
    expect(clock.pending).toBe(0)
  })

  test('fault 8: a killed leader is followed after 15 to 20 s', async () => {
    const events: string[] = []
    let killed = false
    const {client} = server
    const update: KubeClient['update'] = (...call) => (killed ? new Promise(() => undefined) : client.update(...call))
    const dead = lock('dead', {client: {...client, update}})
    await within(0, dead.acquire())
    const stop = new AbortController()
    const two = candidate('two', stop.signal, events)
    await clock.advance(10_000)
    killed = true
    await clock.advance(14_000)
    expect(events).toEqual([])
    await clock.advance(6000)
    expect(events).toEqual(['two leads'])
    // The dead one’s own process, if it still ran, would know.
    expect(dead.held).toBe(false)
    stop.abort(new Error('stop'))
    await clock.advance(5000)
    await two
  })

  test('a leader that loses the lease becomes a follower again', async () => {
    const events: string[] = []
    const stop = new AbortController()
    const one = candidate('one', stop.signal, events)
    await clock.advance(4000)
    server.away = true
    await clock.advance(20_000)
    expect(events).toEqual(['one leads', 'one ends'])
    server.away = false
    await clock.advance(30_000)
    expect(events).toEqual(['one leads', 'one ends', 'one leads'])
    stop.abort(new Error('stop'))
    await clock.advance(5000)
    await one
  })

  test('never two at once, whatever is lost on the way', async () => {
    const stop = new AbortController()
    let leading = 0
    let terms = 0
    const everybody = ['a', 'b', 'c'].map((name) =>
      lock(name, {random: () => (0.1 * name.charCodeAt(0)) % 1}).elect(async (signal) => {
        leading += 1
        terms += 1
        expect(leading).toBe(1)
        await new Promise((resolve) => signal.addEventListener('abort', resolve, {once: true}))
        leading -= 1
      }, stop.signal),
    )
    for (let minute = 0; minute < 20; minute += 1) {
      await clock.advance(20_000)
      server.away = true
      await clock.advance(minute * 1500)
      server.away = false
    }
    stop.abort(new Error('stop'))
    await clock.advance(30_000)
    await Promise.all(everybody)
    expect(terms).toBeGreaterThan(3)
  })
})
