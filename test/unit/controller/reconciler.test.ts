import {describe, expect, test} from 'vitest'
import {projectIngress} from '../../../src/hosts/index.ts'
import type {IngressSource} from '../../../src/hosts/index.ts'
import {KubeFailure} from '../../../src/kube/index.ts'
import type {Log} from '../../../src/kube/index.ts'
import {AlteredWrite} from '../../../src/cluster-dns/altered-write.ts'
import {SrcipError} from '../../../src/model/errors.ts'
import {Reconciler} from '../../../src/controller/reconciler.ts'
import {Conditions} from '../../../src/controller/reports.ts'
import type {EventSinkPort} from '../../../src/controller/reports.ts'
import {ingress} from '../hosts/objects.ts'
import {MemoryOutput} from './fake-output.ts'
import {settle, VirtualClock} from './virtual-clock.ts'

/** A reconciler over sources and an output in memory, with everything it says written down. */
function setup(options: {allowEmpty?: boolean; dryRun?: boolean} = {}) {
  const clock = new VirtualClock()
  const output = new MemoryOutput()
  const objects = new Map<string, IngressSource>()
  const lost = new Set<string>()
  const lines: string[] = []
  const events: string[] = []
  const counted: string[] = []
  const state = {complete: true, relists: 0, onRelist: () => undefined as void, leader: true}
  const note = (message: string): void => void lines.push(message)
  const log: Log = {debug: () => undefined, info: note, warn: note, error: note}
  const sink: EventSinkPort = {emit: ({reason, note: text}) => void events.push(`${reason}: ${text}`)}
  const reconciler = new Reconciler({
    output,
    sources: {
      hostSources: () => ({ingresses: objects.values()}),
      proxies: () => [{target: 'srcip/p'}],
      get complete() {
        return state.complete
      },
      lostByList: (source) => lost.has(source),
      relist: () => {
        state.relists++
        state.onRelist()
        return Promise.resolve()
      },
    },
    hostOptions: {},
    allowEmpty: options.allowEmpty ?? false,
    dryRun: options.dryRun ?? false,
    clock,
    random: () => 0,
    log,
    conditions: new Conditions(log, sink),
    events: sink,
    assertLeader: () =>
      state.leader ? Promise.resolve() : Promise.reject(new SrcipError('Conflict', 'the Lease is held by another')),
    observer: {onWrite: (result) => void counted.push(result), onForeignRewrite: () => void counted.push('foreign')},
  })
  const signal = new AbortController().signal
  return {
    clock,
    output,
    lost,
    lines,
    events,
    counted,
    state,
    reconciler,
    add: (...hosts: string[]) => {
      for (const host of hosts) {
        const object = projectIngress(ingress({name: host.replaceAll('.', '-'), hosts: [host]}))
        if (object !== undefined) objects.set(host, object)
      }
    },
    /** Seen by a watch. */
    remove: (...hosts: string[]) => {
      for (const host of hosts) objects.delete(host)
    },
    /** Found missing by a list. */
    lose: (...hosts: string[]) => {
      for (const host of hosts) {
        objects.delete(host)
        lost.add(`ingress/demo/${host.replaceAll('.', '-')}`)
      }
    },
    pass: () => reconciler.reconcile(signal),
    names: () => output.names.map((entry) => entry.name),
  }
}

const many = (count: number): string[] =>
  Array.from({length: count}, (_, index) => `n${String(index).padStart(3, '0')}.org`)

describe('writing', () => {
  test('writes what is wanted, once, and says so', async () => {
    const rig = setup()
    rig.add('a.org', 'b.org')
    expect(await rig.pass()).toEqual({result: 'done'})
    expect(await rig.pass()).toEqual({result: 'done'})
    expect(rig.output.writes).toEqual([['a.org', 'b.org']])
    await settle()
    expect(rig.events).toEqual([
      'Applied: wrote 2 names to dns: 2 new, 0 gone',
      'Proved: dns is in effect: 0 of 0 pods answer so',
    ])
    expect(rig.counted).toEqual(['written', 'proved'])
  })

  test('an observed delete goes at once, also the last name', async () => {
    const rig = setup()
    rig.add('a.org', 'b.org')
    await rig.pass()
    rig.remove('a.org', 'b.org')
    await rig.pass()
    expect(rig.names()).toEqual([])
  })

  test('until every source is seen whole, names that stand there stay', async () => {
    const rig = setup()
    rig.output.edit([{name: 'old.org', kind: 'exact', target: 'srcip/p'}])
    rig.add('new.org')
    rig.state.complete = false
    await rig.pass()
    expect(rig.names()).toEqual(['new.org', 'old.org'])
    rig.state.complete = true
    await rig.pass()
    expect(rig.names()).toEqual(['new.org'])
  })

  test('a name that came and went while a source is out of sight does go', async () => {
    const rig = setup()
    rig.output.edit([{name: 'old.org', kind: 'exact', target: 'srcip/p'}])
    rig.state.complete = false
    rig.add('old.org', 'new.org')
    await rig.pass()
    rig.remove('old.org', 'new.org')
    await rig.pass()
    expect(rig.names()).toEqual(['old.org'])
  })

  test('B32 e: a true empty list after three hosts changes nothing, unless empty is allowed', async () => {
    for (const allowEmpty of [false, true]) {
      const rig = setup({allowEmpty})
      rig.add(...many(3))
      await rig.pass()
      rig.lose(...many(3))
      await rig.pass()
      await rig.pass()
      expect(rig.names()).toHaveLength(allowEmpty ? 0 : 3)
      expect(rig.events.filter((line) => line.startsWith('RemovalHeld'))).toHaveLength(allowEmpty ? 0 : 1)
    }
  })

  test('a list without over half of the names is believed only when a second one agrees', async () => {
    const rig = setup()
    rig.add(...many(30))
    await rig.pass()
    rig.lose(...many(20))
    // The second list has them again: nothing goes.
    rig.state.onRelist = () => rig.add(...many(20))
    await rig.pass()
    expect(rig.state.relists).toBe(1)
    expect(rig.names()).toHaveLength(30)
    rig.lose(...many(20))
    rig.state.onRelist = () => undefined
    await rig.pass()
    expect(rig.state.relists).toBe(2)
    expect(rig.names()).toHaveLength(10)
  })

  test('a second list that fails leaves everything as it is', async () => {
    const rig = setup()
    rig.add(...many(30))
    await rig.pass()
    rig.lose(...many(20))
    rig.state.onRelist = () => {
      throw new KubeFailure('the server is away', {kind: 'transport', code: 'Unreachable'})
    }
    expect(await rig.pass()).toEqual({result: 'again'})
    expect(rig.names()).toHaveLength(30)
  })

  test('a dry run writes nothing and says what it would', async () => {
    const rig = setup({dryRun: true})
    rig.add('a.org')
    await rig.pass()
    expect(rig.output.writes).toEqual([])
    expect(rig.lines).toEqual(['would write (dry run)'])
  })
})

describe('others at work', () => {
  test('a moving object is read and planned anew, five times at most', async () => {
    const rig = setup()
    rig.add('a.org')
    let edits = 2
    rig.output.beforeWrite = () => {
      if (edits-- > 0) rig.output.edit([{name: `foreign${edits}.org`, kind: 'exact', target: 'x/y'}])
    }
    const passing = rig.pass()
    await rig.clock.advance(100)
    expect(await passing).toEqual({result: 'done'})
    expect(rig.names()).toContain('a.org')
    expect(rig.counted.filter((entry) => entry === 'conflict')).toHaveLength(2)

    rig.add('b.org')
    rig.output.beforeWrite = () => rig.output.edit(rig.output.names)
    const failing = rig.pass().catch((error: unknown) => error)
    await rig.clock.advance(1000)
    expect(await failing).toMatchObject({code: 'Conflict'})
    expect(rig.counted.filter((entry) => entry === 'conflict')).toHaveLength(7)
  })

  test('nothing is written without the Lease', async () => {
    const rig = setup()
    rig.add('a.org')
    rig.state.leader = false
    const passing = rig.pass().catch((error: unknown) => error)
    await rig.clock.advance(1000)
    expect(await passing).toMatchObject({code: 'Conflict'})
    expect(rig.output.writes).toEqual([])
  })

  test('a foreign writer is put right three times in ten minutes, then named and left alone for ten', async () => {
    const rig = setup()
    rig.add('a.org')
    rig.output.managers = ['kube-addon-manager']
    await rig.pass()
    for (let round = 0; round < 3; round++) {
      rig.output.edit([])
      await rig.pass()
      expect(rig.names()).toEqual(['a.org'])
    }
    rig.output.edit([])
    expect(await rig.pass()).toEqual({result: 'again', afterMs: 600_000})
    expect(await rig.pass()).toEqual({result: 'again', afterMs: 600_000})
    expect(rig.names()).toEqual([])
    expect(rig.events.at(-1)).toBe(
      'ForeignWriter: another writer (kube-addon-manager) keeps taking our names out; staying away for 10 minutes',
    )
    await rig.clock.advance(600_000)
    await rig.pass()
    expect(rig.names()).toEqual(['a.org'])
    expect(rig.counted.filter((entry) => entry === 'foreign')).toHaveLength(4)
  })

  test('damaged markers: nothing is written, one event, and it goes on when they are whole again', async () => {
    const rig = setup()
    rig.add('a.org')
    rig.output.blocked = {code: 'MarkersDamaged', reason: 'END without BEGIN in line 7', remedy: 'repair it'}
    expect(await rig.pass()).toEqual({result: 'done'})
    expect(await rig.pass()).toEqual({result: 'done'})
    expect(rig.output.writes).toEqual([])
    expect(rig.events).toEqual(['MarkersDamaged: nothing is written to dns: END without BEGIN in line 7; repair it'])
    rig.output.blocked = undefined
    await rig.pass()
    expect(rig.names()).toEqual(['a.org'])
    expect(rig.lines).toContain('dns can be written again')
  })

  test('a refused name does not stop the others and is said once', async () => {
    const rig = setup()
    rig.add('a.org', 'b.org')
    rig.output.refuse = ({name}) => (name === 'a.org' ? {name, code: 'InClusterZone', reason: 'inside org'} : undefined)
    await rig.pass()
    await rig.pass()
    expect(rig.names()).toEqual(['b.org'])
    expect(rig.events.filter((line) => line.startsWith('NamesRefused'))).toEqual([
      'NamesRefused: 1 names are not taken: a.org (InClusterZone: inside org)',
    ])
  })
})

describe('failures', () => {
  const denied = new KubeFailure('may not patch configmaps', {kind: 'status', code: 'Denied', status: 403})

  test('a missing right is said once and tried again, every ten minutes in the end; sources go on', async () => {
    const rig = setup()
    rig.add('a.org')
    rig.output.beforeWrite = () => {
      throw denied
    }
    for (let attempt = 0; attempt < 8; attempt++) expect(await rig.pass()).toEqual({result: 'again'})
    expect(await rig.pass()).toEqual({result: 'again', afterMs: 540_000})
    expect(rig.events).toEqual(['WriteDenied: may not patch configmaps'])
    rig.output.beforeWrite = () => undefined
    await rig.pass()
    expect(rig.names()).toEqual(['a.org'])
    expect(rig.lines).toContain('the write is allowed again')
  })

  test('fault 11: a webhook’s denial is one whatever its status, 409 too; another text is said anew', async () => {
    const rig = setup()
    rig.add('a.org')
    let tries = 0
    rig.output.beforeWrite = () => {
      tries++
      const serverMessage = 'admission webhook "guard.example.org" denied the request: not today'
      throw new KubeFailure(serverMessage, {kind: 'status', code: 'Denied', status: 409, serverMessage})
    }
    expect(await rig.pass()).toEqual({result: 'again'})
    expect(tries).toBe(1)
    rig.output.beforeWrite = () => {
      throw denied
    }
    await rig.pass()
    expect(rig.events).toEqual([
      'WriteDenied: admission webhook "guard.example.org" denied the request: not today',
      'WriteDenied: may not patch configmaps',
    ])
    expect(rig.counted).toEqual(['denied', 'denied'])
  })

  test('fault 11: a set that comes out altered is named once and left alone for ten minutes; another set is tried at once', async () => {
    const rig = setup()
    rig.add('a.org')
    let tries = 0
    rig.output.beforeWrite = () => {
      tries++
      throw new AlteredWrite('configmap/kube-system/coredns', 'Corefile', undefined)
    }
    expect(await rig.pass()).toEqual({result: 'again', afterMs: 540_000})
    // What our own write and its undoing wake up does not hasten it.
    rig.output.edit([])
    expect(await rig.pass()).toEqual({result: 'again', afterMs: 540_000})
    expect(tries).toBe(1)
    expect(rig.events).toHaveLength(1)
    expect(rig.events[0]).toMatch(
      /^WriteAltered: configmap\/kube-system\/coredns: .*; the text of before stands again$/,
    )
    rig.add('b.org')
    await rig.pass()
    expect(tries).toBe(2)
    await rig.clock.advance(540_000)
    rig.output.beforeWrite = () => undefined
    await rig.pass()
    expect(rig.names()).toEqual(['a.org', 'b.org'])
    expect(rig.lines).toContain('the text is stored as it was sent again')
  })

  test('fault 12: Retry-After is kept', async () => {
    const rig = setup()
    rig.output.beforeRead = () => {
      throw new KubeFailure('too many', {kind: 'status', code: 'Unreachable', status: 429, retryAfterMs: 7000})
    }
    expect(await rig.pass()).toEqual({result: 'wait', afterMs: 7000})
  })
})

describe('proof', () => {
  test('a refuted write is put back and not tried again until the set changes', async () => {
    const rig = setup()
    rig.add('a.org')
    await rig.pass()
    await settle()
    rig.add('bad.org')
    rig.output.proof = () =>
      Promise.resolve({
        verdict: 'failed',
        details: [{subject: 'pod/kube-system/a', verdict: 'failed', reason: 'reload failed'}],
      })
    await rig.pass()
    await settle()
    expect(rig.names()).toEqual(['a.org'])
    expect(rig.counted).toEqual(['written', 'proved', 'written', 'reverted'])
    expect(rig.events.at(-1)).toBe(
      'Reverted: CoreDNS did not take the write, the previous text is back: pod/kube-system/a: reload failed',
    )
    await rig.pass()
    expect(rig.output.writes).toHaveLength(2)
    rig.output.proof = () => Promise.resolve({verdict: 'done', details: []})
    rig.remove('bad.org')
    rig.add('good.org')
    await rig.pass()
    await settle()
    expect(rig.names()).toEqual(['a.org', 'good.org'])
    expect(rig.counted.at(-1)).toBe('proved')
    expect(rig.counted).not.toContain('foreign')
  })

  test('a refuted write that somebody has written over is not put back', async () => {
    const rig = setup()
    rig.add('a.org')
    let refute = (): void => undefined
    rig.output.proof = () =>
      new Promise((resolve) => {
        refute = () => resolve({verdict: 'failed', details: []})
      })
    await rig.pass()
    rig.output.edit([...rig.output.names, {name: 'foreign.org', kind: 'exact', target: 'x/y'}])
    refute()
    await settle()
    expect(rig.names()).toEqual(['a.org', 'foreign.org'])
    expect(rig.reconciler.proofs.verdict).toBe('failed')
  })

  test('what could not be asked stays and is named', async () => {
    const rig = setup()
    rig.add('a.org')
    rig.output.proof = () =>
      Promise.resolve({
        verdict: 'unconfirmed',
        details: [{subject: 'pod/x', verdict: 'unconfirmed', reason: 'no right'}],
      })
    await rig.pass()
    await settle()
    expect(rig.names()).toEqual(['a.org'])
    expect(rig.events.at(-1)).toBe('Unconfirmed: the write stays, but is not confirmed: pod/x: no right')
  })

  test('a newer write ends the wait for the older one', async () => {
    const rig = setup()
    rig.add('a.org')
    rig.output.proof = () => new Promise(() => undefined)
    await rig.pass()
    expect(rig.reconciler.proofs.verdict).toBe('pending')
    rig.output.proof = () => Promise.resolve({verdict: 'done', details: []})
    rig.add('b.org')
    await rig.pass()
    await settle()
    expect(rig.reconciler.proofs.verdict).toBe('done')
    expect(rig.counted).toEqual(['written', 'written', 'proved'])
  })

  test('a write that was never confirmed and stands again is proved anew, and put back in its turn', async () => {
    const rig = setup()
    rig.add('a.org')
    await rig.pass()
    await settle()
    let asked = 0
    rig.output.proof = () => {
      asked++
      // Replaced before its proof came; when it stands again there is evidence against it, too.
      return asked === 1 ? new Promise(() => undefined) : Promise.resolve({verdict: 'failed', details: []})
    }
    rig.add('b.org')
    await rig.pass()
    rig.output.proof = () => Promise.resolve({verdict: 'failed', details: []})
    rig.add('c.org')
    await rig.pass()
    await settle()
    expect(asked).toBe(2)
    expect(rig.output.renewed).toBe(1)
    expect(rig.names()).toEqual(['a.org'])
    expect(rig.counted.slice(2)).toEqual(['written', 'written', 'reverted', 'reverted'])
    expect(rig.lines).toContain('the text that stands again was never confirmed, its proof begins anew')
    // Neither set is tried again.
    await rig.pass()
    rig.remove('c.org')
    await rig.pass()
    expect(rig.output.writes).toHaveLength(3)
  })
})
