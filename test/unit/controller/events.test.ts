import {describe, expect, test} from 'vitest'
import {EventRecorder, microTime} from '../../../src/controller/events.ts'
import {KubeFailure} from '../../../src/kube/index.ts'
import type {KubeClient, Log} from '../../../src/kube/index.ts'
import type {KubeObject} from '../../../src/model/kubernetes.ts'
import {VirtualClock, settle} from './virtual-clock.ts'

function setup() {
  const clock = new VirtualClock()
  const created: KubeObject[] = []
  const patched: object[] = []
  const lines: string[] = []
  const state: {fail: KubeFailure | undefined; tries: number} = {fail: undefined, tries: 0}
  const answer = <T>(value: T): Promise<T> => {
    state.tries++
    return state.fail === undefined ? Promise.resolve(value) : Promise.reject(state.fail)
  }
  const client = {
    create: (_resource: unknown, object: KubeObject) => answer(object).then((made) => void created.push(made)),
    mergePatch: (_resource: unknown, key: object, patch: object) =>
      answer(patch).then(() => void patched.push({...key, ...patch})),
  } as unknown as Pick<KubeClient, 'create' | 'mergePatch'>
  const note = (line: string): void => void lines.push(line)
  const log: Log = {debug: note, info: note, warn: note, error: note}
  const recorder = new EventRecorder({
    client,
    instance: 'srcip-0',
    self: {apiVersion: 'v1', kind: 'Pod', namespace: 'srcip', name: 'srcip-0'},
    clock,
    log,
  })
  const emit = (text = 'x', regarding?: {apiVersion: string; kind: string; namespace: string; name: string}) =>
    recorder.emit({regarding, type: 'Warning', reason: 'Drift', action: 'Reconcile', note: text})
  return {clock, recorder, created, patched, lines, state, emit}
}

describe('events', () => {
  test('an event has what events.k8s.io/v1 asks for, in the namespace of what it regards', async () => {
    const rig = setup()
    rig.emit('says so', {apiVersion: 'v1', kind: 'ConfigMap', namespace: 'kube-system', name: 'coredns'})
    rig.emit('about us')
    await settle()
    expect(rig.created[0]).toMatchObject({
      metadata: {namespace: 'kube-system'},
      eventTime: '2026-01-01T00:00:01.000000Z',
      reportingController: 'srcip.dev/run',
      reportingInstance: 'srcip-0',
      action: 'Reconcile',
      reason: 'Drift',
      type: 'Warning',
      note: 'says so',
    })
    expect(rig.created[1]).toMatchObject({metadata: {namespace: 'srcip'}, regarding: {kind: 'Pod', name: 'srcip-0'}})
    expect(rig.created[0]?.metadata.name).not.toBe(rig.created[1]?.metadata.name)
  })

  test('a repeat within six minutes is counted on the first, later it is a new one', async () => {
    const rig = setup()
    rig.emit()
    await settle()
    rig.emit()
    rig.emit()
    await settle()
    expect(rig.created).toHaveLength(1)
    expect(rig.patched.at(-1)).toMatchObject({
      name: rig.created[0]?.metadata.name,
      series: {count: 3, lastObservedTime: '2026-01-01T00:00:01.000000Z'},
    })
    await rig.clock.advance(361_000)
    rig.emit()
    await settle()
    expect(rig.created).toHaveLength(2)
  })

  test('a series whose event is gone begins anew', async () => {
    const rig = setup()
    rig.emit()
    await settle()
    rig.state.fail = new KubeFailure('gone', {kind: 'status', code: 'Unreachable', status: 404})
    rig.emit()
    await settle()
    rig.state.fail = undefined
    rig.emit()
    await settle()
    expect(rig.created).toHaveLength(2)
  })

  test('a missing right is said once and not tried again; a server that is away is tried 12 times', async () => {
    const rig = setup()
    rig.state.fail = new KubeFailure('no', {kind: 'status', code: 'Denied', status: 403})
    rig.emit('a')
    rig.emit('b')
    await settle()
    expect(rig.state.tries).toBe(2)
    expect(rig.lines).toEqual(['events are not written'])
    rig.state.fail = new KubeFailure('away', {kind: 'transport', code: 'Unreachable'})
    rig.emit('c')
    await rig.clock.advance(600_000)
    expect(rig.state.tries).toBe(2 + 12)
  })

  test('over 1000 waiting the oldest go; closing gives up in time', async () => {
    const rig = setup()
    rig.state.fail = new KubeFailure('away', {kind: 'transport', code: 'Unreachable'})
    for (let index = 0; index < 1500; index++) rig.emit(`n${index}`)
    await settle()
    const closing = rig.recorder.close(2000)
    await rig.clock.advance(2000)
    await closing
    expect(rig.state.tries).toBe(1)
    rig.emit('late')
    await rig.clock.advance(60_000)
    expect(rig.state.tries).toBe(1)
    expect(rig.clock.pending).toBe(0)
  })

  test('a long note is cut to 1 kB without half a character', async () => {
    const rig = setup()
    rig.emit('ü'.repeat(2000))
    await settle()
    const note = String(rig.created[0]?.['note'])
    expect(Buffer.byteLength(note)).toBeLessThanOrEqual(1024)
    expect(note).toMatch(/^ü+\.\.\.$/)
  })
})

test('MicroTime has six fraction digits', () => {
  expect(microTime(Date.UTC(2026, 10, 30, 1, 2, 3, 4))).toBe('2026-11-30T01:02:03.004000Z')
})
