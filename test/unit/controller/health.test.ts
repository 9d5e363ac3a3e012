import {describe, expect, test} from 'vitest'
import type {SourceStatus} from '../../../src/kube/index.ts'
import {liveness, readiness, renderChecks, splitAddress, startHealthServer} from '../../../src/controller/health.ts'
import type {HealthInput} from '../../../src/controller/health.ts'
import {VirtualClock} from './virtual-clock.ts'

const status = (more: Partial<SourceStatus> = {}): SourceStatus => ({
  state: 'synced',
  everSynced: true,
  since: 0,
  lastSeen: 0,
  lastList: 0,
  ...more,
})

const input = (more: Partial<HealthInput> = {}): HealthInput => ({
  sources: new Map([['ingresses', status()]]),
  required: ['ingresses'],
  relistMs: 20_000,
  now: 1000,
  shuttingDown: false,
  leading: false,
  outputs: [{name: 'dns', note: 'in-step, 3 names'}],
  ...more,
})

const ok = (more: Partial<HealthInput>) => readiness(input(more)).every((check) => check.ok)

describe('readiness', () => {
  test('needs each required source seen whole once, and no other', () => {
    expect(ok({sources: new Map([['ingresses', status({state: 'syncing', everSynced: false})]])})).toBe(false)
    expect(
      ok({
        sources: new Map([
          ['ingresses', status()],
          ['httproutes', status({state: 'forbidden', everSynced: false})],
        ]),
      }),
    ).toBe(true)
  })

  test('stays while the API server is away, until two relist intervals have passed', () => {
    const stale = new Map([['ingresses' as const, status({state: 'stale', lastList: 0})]])
    expect(ok({sources: stale, now: 40_000})).toBe(true)
    expect(ok({sources: stale, now: 40_001})).toBe(false)
    // A watch that seems alive proves nothing while lists fail.
    expect(ok({sources: new Map([['ingresses', status({lastList: 0})]]), now: 40_001})).toBe(false)
    expect(ok({sources: new Map([['ingresses', status({lastList: 20_000})]]), now: 44_000})).toBe(true)
  })

  test('is off once we shut down, and names the cause', () => {
    const checks = readiness(input({shuttingDown: true}))
    expect(renderChecks('readyz', checks, false)).toBe(
      '[+]source ingresses ok: synced for 1s\n[+]leader ok: another process writes\n' +
        '[+]output dns ok: in-step, 3 names\n[-]shutdown failed: shutting down\nreadyz check failed\n',
    )
    expect(renderChecks('readyz', readiness(input()), false)).toBe('ok')
    expect(renderChecks('readyz', readiness(input()), true)).toContain('readyz check passed')
  })
})

describe('liveness', () => {
  test('looks at our own loop and pass', () => {
    const verdicts = (now: number, reconcilingMs: number) =>
      liveness({now, lastBeat: 0, reconcilingMs, sources: new Map()}).map((check) => check.ok)
    expect(verdicts(9000, 119_999)).toEqual([true, true, true])
    expect(verdicts(10_000, 120_000)).toEqual([false, false, true])
  })

  test('names a source loop that is five minutes behind its own timers; its state is no matter', () => {
    const at = (now: number) =>
      liveness({
        now,
        lastBeat: now,
        reconcilingMs: undefined,
        sources: new Map([
          ['ingresses', status({dueBy: 1000})],
          // Waits for its right, as it should.
          ['httproutes', status({state: 'forbidden', everSynced: false, dueBy: 290_000})],
          // Stopped, or not yet started.
          ['tlsroutes', status({state: 'stale', since: -1e9, lastSeen: -1e9})],
        ]),
      }).at(-1)
    expect(at(300_999)).toEqual({name: 'source-loops', ok: true, note: 'all move'})
    expect(at(301_000)).toEqual({name: 'source-loops', ok: false, note: 'ingresses has stood still for 300s'})
  })
})

test('the server answers probes and metrics and nothing else', async () => {
  const server = await startHealthServer({
    address: '127.0.0.1:0',
    clock: new VirtualClock(),
    livez: () => [{name: 'event-loop', ok: true, note: ''}],
    readyz: () => [{name: 'source ingresses', ok: false, note: 'syncing'}],
    metrics: () => 'srcip_hosts 3\n',
  })
  const get = async (path: string, method = 'GET') => {
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`, {method})
    return `${response.status} ${await response.text()}`
  }
  try {
    expect(await get('/livez')).toBe('200 ok')
    expect(await get('/readyz?verbose')).toBe('503 [-]source ingresses failed: syncing\nreadyz check failed\n')
    expect(await get('/metrics')).toBe('200 srcip_hosts 3\n')
    expect(await get('/nothing')).toBe('404 try /livez, /readyz or /metrics\n')
    expect(await get('/livez', 'POST')).toBe('405 only GET\n')
  } finally {
    await server.close()
  }
})

test('addresses', () => {
  expect(splitAddress(':8080')).toEqual({host: '', port: 8080})
  expect(splitAddress('[::1]:80')).toEqual({host: '::1', port: 80})
  for (const bad of ['8080', 'a:b', 'a:99999', '::1:80']) expect(() => splitAddress(bad)).toThrow(RangeError)
})
