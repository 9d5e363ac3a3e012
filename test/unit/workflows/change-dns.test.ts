import {describe, expect, it} from 'vitest'
import type {CorednsPlan, DnsProof} from '../../../src/model/coredns-plan.ts'
import {apiVersion} from '../../../src/model/documents.ts'
import {SrcipError} from '../../../src/model/errors.ts'
import type {SrcipEvent} from '../../../src/model/events.ts'
import {changeDns, type ChangeDnsOptions} from '../../../src/workflows/coredns/change-dns.ts'
import type {CorednsPorts} from '../../../src/workflows/coredns/ports.ts'

const plan = (more: Partial<CorednsPlan> = {}): CorednsPlan => ({
  apiVersion,
  kind: 'CorednsPlan',
  sources: [],
  targets: [],
  coredns: {version: '1.14.7', clusterDomain: 'cluster.local'},
  hosts: [{name: 'a.example.org', kind: 'exact', target: 't.', form: 'exact', block: {keys: ['.:53'], line: 1}}],
  refused: [],
  edits: [{source: 's', key: 'Corefile', offset: 7, removed: '', inserted: 'x'}],
  hash: {sha512: null, unknown: []},
  exitCode: 0,
  changed: true,
  warnings: [],
  ...more,
})

const refused = {name: 'b.example.org', code: 'InClusterZone', reason: 'r', remedy: 'm'}
const proof = (verdict: DnsProof['verdict']): DnsProof => ({
  verdict,
  pods: [{namespace: 'kube-system', name: 'coredns-a', verdict}],
})

interface Setting {
  document?: CorednsPlan
  change?: string | undefined
  verdict?: DnsProof['verdict'] | Error
  restored?: boolean
  approve?: boolean
  fail?: Partial<Record<'check' | 'lock' | 'write' | 'load', Error>>
  options?: Partial<ChangeDnsOptions>
  lockLost?: boolean
}

/** Runs the workflow over ports that write down what they were asked for. */
async function run(setting: Setting = {}) {
  const calls: string[] = []
  const events: SrcipEvent[] = []
  const say = (name: string): void => {
    calls.push(name)
    const error = setting.fail?.[name as 'check']
    if (error !== undefined) throw error
  }
  const ports: CorednsPorts<string, string, string, string> = {
    load: async () => (say('load'), 'state'),
    plan: () => ({document: setting.document ?? plan(), change: 'change' in setting ? setting.change : 'change'}),
    check: async () => say('check'),
    lock: async () => {
      say('lock')
      return {signal: new AbortController().signal, release: async () => say('release')}
    },
    baseline: async () => (say('baseline'), 'baseline'),
    write: async (_change, dryRun) => (say(dryRun === 'server' ? 'write dry' : 'write'), 'written'),
    prove: async (_state, _change, written) => {
      say(written === undefined ? 'look' : 'prove')
      const verdict = setting.verdict ?? 'done'
      if (verdict instanceof Error) throw verdict
      return proof(verdict)
    },
    undo: async () => (
      say('undo'),
      setting.restored === false ? {restored: false, reason: 'somebody wrote since'} : {restored: true}
    ),
    standing: () => 'standing',
  }
  const promise = changeDns(ports, {
    operation: 'apply',
    dryRun: 'none',
    approve: async () => (calls.push('approve'), setting.approve ?? true),
    signal: new AbortController().signal,
    onEvent: (event) => events.push(event),
    ...setting.options,
  })
  const result = await promise.catch((error: unknown) => error as SrcipError)
  return {calls, events, result}
}

describe('changing cluster DNS', () => {
  it('checks, locks, asks, writes, proves and gives the lock back, in this order', async () => {
    const {calls, result} = await run()
    expect(calls).toEqual(['load', 'check', 'lock', 'approve', 'baseline', 'write', 'prove', 'release'])
    expect(result).toMatchObject({kind: 'CorednsResult', outcome: 'proved', exitCode: 0, changed: true})
  })

  it.each([
    ['evidence against it: put back', {verdict: 'failed'}, 'undone', 22, false],
    ['evidence, and the way back is blocked', {verdict: 'failed', restored: false}, 'left', 23, true],
    ['pods that could not be asked: written, no undo', {verdict: 'unconfirmed'}, 'unproved', 21, true],
    ['some hosts refused, the rest proved', {document: plan({refused: [refused], exitCode: 23})}, 'proved', 23, true],
    [
      'some refused and some pods silent',
      {document: plan({refused: [refused], exitCode: 23}), verdict: 'unconfirmed'},
      'unproved',
      21,
      true,
    ],
    [
      'some refused and a pod against it',
      {document: plan({refused: [refused], exitCode: 23}), verdict: 'failed'},
      'undone',
      22,
      false,
    ],
  ] as const)('%s', async (_name, setting, outcome, exitCode, changed) => {
    const {calls, result} = await run(setting)
    expect(result).toMatchObject({outcome, exitCode, changed})
    expect(calls.includes('undo')).toBe(outcome === 'undone' || outcome === 'left')
    expect(calls.at(-1)).toBe('release')
  })

  it.each([
    [32, plan({hosts: [], edits: [], refused: [refused], exitCode: 32, changed: false})],
    [33, plan({hosts: [], edits: [], refused: [refused], exitCode: 33, changed: false})],
  ])('writes and locks nothing when nothing could be taken (%i)', async (exitCode, document) => {
    const {calls, result} = await run({document, change: undefined})
    expect(calls).toEqual(['load'])
    expect(result).toMatchObject({outcome: 'refused', exitCode, changed: false})
  })

  it('looks at the pods when there is nothing to write: what stands must be answered too', async () => {
    const document = plan({edits: [], changed: false})
    expect(await run({document, change: undefined})).toMatchObject({
      calls: ['load', 'look'],
      result: {outcome: 'already-so', exitCode: 0, changed: false},
    })
    expect((await run({document, change: undefined, verdict: 'failed'})).result).toMatchObject({
      outcome: 'already-so',
      exitCode: 22,
      changed: false,
    })
    expect((await run({document, change: undefined, verdict: 'unconfirmed'})).result).toMatchObject({exitCode: 21})
  })

  it('--dry-run=client sends nothing, --dry-run=server one write that is not stored; neither locks or asks', async () => {
    expect(await run({options: {dryRun: 'client'}})).toMatchObject({
      calls: ['load'],
      result: {outcome: 'planned', changed: true, exitCode: 0},
    })
    expect(await run({options: {dryRun: 'server'}})).toMatchObject({
      calls: ['load', 'check', 'write dry'],
      result: {outcome: 'planned'},
    })
  })

  it('a no leaves everything as it was', async () => {
    const {calls, result} = await run({approve: false})
    expect(calls).toEqual(['load', 'check', 'lock', 'approve', 'release'])
    expect(result).toMatchObject({code: 'Usage'})
  })

  it.each(['check', 'lock', 'write'] as const)(
    'an error of %s is passed on, and the lock is given back if it was taken',
    async (step) => {
      const error = new SrcipError('Denied', 'no')
      const {calls, result} = await run({fail: {[step]: error}})
      expect(result).toBe(error)
      expect(calls.includes('release')).toBe(step === 'write')
      expect(calls).not.toContain('prove')
    },
  )

  it('interrupted while it proves: the write stays, a warning says so, the signal decides the exit code', async () => {
    const controller = new AbortController()
    const timeout = new SrcipError('Timeout', 'gave up')
    controller.abort(timeout)
    const {calls, events, result} = await run({verdict: new Error('stopped'), options: {signal: controller.signal}})
    expect(result).toBe(timeout)
    expect(calls).not.toContain('undo')
    expect(events).toContainEqual({type: 'warning', message: expect.stringContaining('written and not proved')})
    expect(calls.at(-1)).toBe('release')
  })
})
