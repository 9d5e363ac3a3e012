import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import type {SrcipError} from '../../../../src/model/errors.ts'
import type {Plan} from '../../../../src/model/plan.ts'
import {resumeRun, rollBackRun, runPlan} from '../../../../src/workflows/engine/run-plan.ts'
import {FakeCluster, Killed, manualStep, options, planOf, setStep} from './fake-cluster.ts'

const id = '20260101-000000-abcdef'

/** Three writes, the third over the first, with a manual step between. */
function threeWrites(): Plan {
  return planOf(
    setStep('one', 'a', {key: 'k', after: 'half'}),
    setStep('two', 'b', {key: 'k', before: 'old', after: 'new'}),
    manualStep('gate'),
    setStep('three', 'a', {key: 'k', before: 'half', after: 'full'}),
  )
}
const before = {a: {other: '1'}, b: {k: 'old'}}
const after = {a: {other: '1', k: 'full'}, b: {k: 'new'}}

function cluster(): FakeCluster {
  const made = new FakeCluster(before)
  made.verdicts.set('gate was done', true)
  made.verdicts.set('gate was undone', true)
  return made
}

describe('a plan that is carried out', () => {
  test('each step is made and proved; the record is there before the first write and says done at the end', async () => {
    const it = cluster()
    const result = await runPlan(it.ports(), threeWrites(), options())
    expect(result).toMatchObject({outcome: 'done', exitCode: 0, changed: true, run: id})
    expect(result.steps.map(({state}) => state)).toEqual(['done', 'done', 'already-so', 'done'])
    expect(it.data()).toEqual(after)
    expect(it.writes).toEqual([
      ...['record running 0', 'patch a', 'record running 1', 'patch b'],
      ...['record running 3', 'patch a', 'record done 3'],
    ])
    expect(it.held).toBe(false)
  })

  test('a plan without steps: nothing to do, no lock, no record, nothing written', async () => {
    const it = cluster()
    it.held = true
    expect(await runPlan(it.ports(), planOf(), options())).toMatchObject({
      outcome: 'already-so',
      exitCode: 0,
      changed: false,
    })
    expect(it.writes).toEqual([])
  })

  test.each(['client', 'server'] as const)('--dry-run=%s writes nothing and takes no lock', async (dryRun) => {
    const it = cluster()
    it.held = true
    const result = await runPlan(it.ports(), threeWrites(), options({dryRun}))
    expect(result).toMatchObject({outcome: 'planned', exitCode: 0, changed: true})
    expect(it.writes).toEqual([])
    expect(result.steps[0]?.evidence).toEqual(dryRun === 'server' ? ['a checked'] : [])
  })

  test('what moved since the plan is named before the first write (32)', async () => {
    const it = new FakeCluster({...before, b: {k: 'somebody else'}})
    const error = (await runPlan(it.ports(), threeWrites(), options()).catch((one: unknown) => one)) as SrcipError
    expect(error.exitCode).toBe(32)
    expect(error.message).toContain('configmap/x/b: data.k is "somebody else", not "old" as planned')
    expect(it.writes).toEqual([])
  })

  test('another object of the same name is another object (32)', async () => {
    const it = cluster()
    it.objects.set('b', {kind: 'ConfigMap', metadata: {name: 'b', namespace: 'x', uid: 'new'}, data: {k: 'old'}})
    await expect(runPlan(it.ports(), threeWrites(), options())).rejects.toThrow('replaced by another object')
    expect(it.writes).toEqual([])
  })

  test('a missing right ends it before the first write (31), a foreign lock names its holder (33)', async () => {
    const it = cluster()
    it.denied.add('b')
    await expect(runPlan(it.ports(), threeWrites(), options())).rejects.toMatchObject({exitCode: 31})
    it.denied.clear()
    it.held = true
    await expect(runPlan(it.ports(), threeWrites(), options())).rejects.toMatchObject({exitCode: 33})
    expect(it.writes).toEqual([])
  })

  test('no is no: nothing written, the lock given back', async () => {
    const it = cluster()
    await expect(runPlan(it.ports(), threeWrites(), options({approve: async () => false}))).rejects.toMatchObject({
      exitCode: 2,
    })
    expect([it.writes, it.held]).toEqual([[], false])
  })

  test('an object edited while the run is on is not overwritten: it ends with 32, names what is left, and offers the way back', async () => {
    const it = cluster()
    it.beforeWrite = (text) => {
      if (text === 'record running 3') it.objects.set('a', {...it.objects.get('a')!, data: {k: 'theirs'}})
    }
    const result = await runPlan(it.ports(), threeWrites(), options())
    expect(result).toMatchObject({outcome: 'failed', exitCode: 33, changed: true})
    expect(result.reason).toContain('data.k is "theirs"')
    expect(result.next.join()).toContain(`rollback ${id}`)
    expect(it.data()).toMatchObject({a: {k: 'theirs'}})
  })
})

describe('a proof that fails', () => {
  test('onFailure undo: the step is put back and proved; alone it leaves nothing (22)', async () => {
    const it = cluster()
    it.verdicts.set('two holds', false)
    const result = await runPlan(
      it.ports(),
      planOf(setStep('two', 'b', {key: 'k', before: 'old', after: 'new'}, {onFailure: 'undo'})),
      options(),
    )
    expect(result).toMatchObject({outcome: 'undone', exitCode: 22, changed: false})
    expect(it.data()).toEqual(before)
  })

  test('with earlier steps written it is 23, and both ways on are named', async () => {
    const it = cluster()
    it.verdicts.set('two holds', false)
    const plan = planOf(
      setStep('one', 'a', {key: 'k', after: 'half'}),
      setStep('two', 'b', {key: 'k', before: 'old', after: 'new'}, {onFailure: 'undo'}),
    )
    const result = await runPlan(it.ports(), plan, options())
    expect(result).toMatchObject({outcome: 'undone', exitCode: 23})
    expect(result.next).toEqual([`kubectl srcip resume ${id}`, `kubectl srcip rollback ${id}`])
    expect(it.data()).toEqual({a: {other: '1', k: 'half'}, b: {k: 'old'}})
    it.verdicts.clear()
    expect(await resumeRun(it.ports(), it.records.get(id)!, options())).toMatchObject({outcome: 'done', exitCode: 0})
    expect(it.data()).toEqual({a: {other: '1', k: 'half'}, b: {k: 'new'}})
  })

  test('a way back that cannot be proved is said to be left (23)', async () => {
    const it = cluster()
    it.verdicts.set('two holds', false)
    it.verdicts.set('two is back', false)
    const plan = planOf(setStep('two', 'b', {key: 'k', before: 'old', after: 'new'}, {onFailure: 'undo'}))
    const result = await runPlan(it.ports(), plan, options())
    expect(result).toMatchObject({outcome: 'failed', exitCode: 23})
    expect(result.steps[0]).toMatchObject({state: 'left', changed: true})
  })

  test('a gate ends with 21, what to do and both commands; resume goes on behind it', async () => {
    const it = cluster()
    it.verdicts.set('gate was done', false)
    const result = await runPlan(it.ports(), threeWrites(), options())
    expect(result).toMatchObject({outcome: 'waiting', exitCode: 21})
    expect(result.next).toEqual(['please do gate', `kubectl srcip resume ${id}`, `kubectl srcip rollback ${id}`])
    expect(it.records.get(id)).toMatchObject({status: 'waiting', cursor: 1})
    it.verdicts.set('gate was done', true)
    const writes = it.writes.length
    expect(await resumeRun(it.ports(), it.records.get(id)!, options())).toMatchObject({outcome: 'done', exitCode: 0})
    expect(it.writes.slice(writes)).toEqual(['record running 1', 'record running 3', 'patch a', 'record done 3'])
    expect(it.data()).toEqual(after)
  })

  test('a gate is waited for as long as --wait-manual says, on the clock of the engine', async () => {
    const it = cluster()
    it.verdicts.set('gate was done', false)
    const ports = it.ports()
    const result = await runPlan(ports, threeWrites(), options({manualWaitMs: 90_000}))
    expect(result.exitCode).toBe(21)
    expect(ports.now()).toBeGreaterThanOrEqual(90_000)
    expect(ports.now()).toBeLessThan(93_000)
  })
})

describe('a process that is killed', () => {
  const writes = 7
  const places = Array.from({length: writes}, (_, index) => index + 1).flatMap((nth) =>
    (['before', 'after'] as const).map((when) => ({nth, when})),
  )

  async function killed(place: (typeof places)[number]): Promise<FakeCluster> {
    const it = cluster()
    it.killAt = place
    await expect(runPlan(it.ports(), threeWrites(), options())).rejects.toThrow(Killed)
    it.afterDeath()
    return it
  }

  test('the places are all the writes there are', async () => {
    const it = cluster()
    await runPlan(it.ports(), threeWrites(), options())
    expect(it.writes).toHaveLength(writes)
  })

  test.each(places)('$when write $nth: resume converges', async (place) => {
    const it = await killed(place)
    const record = it.records.get(id)
    if (record === undefined) return expect(it.data()).toEqual(before)
    expect(await resumeRun(it.ports(), record, options())).toMatchObject({exitCode: 0})
    expect(it.data()).toEqual(after)
    expect(it.records.get(id)).toMatchObject({status: 'done'})
  })

  test.each(places)('$when write $nth: rollback converges', async (place) => {
    const it = await killed(place)
    const record = it.records.get(id)
    if (record === undefined) return expect(it.data()).toEqual(before)
    expect(await rollBackRun(it.ports(), record, options())).toMatchObject({exitCode: 0, outcome: 'rolled-back'})
    expect(it.data()).toEqual(before)
  })

  test('again and again, on the way there and on the way back, at random places', async () => {
    const kill = fc.record({
      nth: fc.integer({min: 1, max: 9}),
      when: fc.constantFrom('before' as const, 'after' as const),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(kill, {maxLength: 6}), fc.boolean(), async (kills, goesBack) => {
        const it = cluster()
        const mayDie = async (
          work: () => Promise<unknown>,
          place: (typeof kills)[number] | undefined,
        ): Promise<void> => {
          it.killAt = place
          await work().catch((error: unknown) => {
            if (!(error instanceof Killed)) throw error
          })
          it.afterDeath()
        }
        await mayDie(() => runPlan(it.ports(), threeWrites(), options()), kills[0])
        if (!it.records.has(id)) {
          expect(it.data()).toEqual(before)
          return
        }
        const go = () => (goesBack ? rollBackRun : resumeRun)(it.ports(), it.records.get(id)!, options())
        for (const place of kills.slice(1)) await mayDie(go, place)
        expect(await go()).toMatchObject({exitCode: 0})
        expect(it.data()).toEqual(goesBack ? before : after)
      }),
    )
  })
})

describe('a signal', () => {
  test('between two steps: nothing more is written, the lock is free, the command that goes on is named', async () => {
    const it = cluster()
    const controller = new AbortController()
    it.beforeWrite = (text) => {
      if (text === 'patch b') controller.abort(new Error('SIGTERM'))
    }
    await expect(runPlan(it.ports(), threeWrites(), options({signal: controller.signal}))).rejects.toThrow('SIGTERM')
    expect(it.writes.filter((text) => text.startsWith('patch'))).toEqual(['patch a', 'patch b'])
    expect(it.held).toBe(false)
    expect(await resumeRun(it.ports(), it.records.get(id)!, options())).toMatchObject({exitCode: 0})
    expect(it.data()).toEqual(after)
  })
})

describe('resume', () => {
  test('asks before it carries out what stands in a record; no is no', async () => {
    const it = cluster()
    it.verdicts.set('gate was done', false)
    await runPlan(it.ports(), threeWrites(), options())
    const writes = it.writes.length
    const refused = resumeRun(it.ports(), it.records.get(id)!, options({approve: async () => false}))
    await expect(refused).rejects.toMatchObject({exitCode: 2})
    expect([it.writes.length, it.held]).toEqual([writes, false])
  })
})

describe('rollback', () => {
  test('a value that somebody changed since is not overwritten (32), and what is left is named', async () => {
    const it = cluster()
    await runPlan(it.ports(), threeWrites(), options())
    it.objects.set('b', {...it.objects.get('b')!, data: {k: 'theirs'}})
    const result = await rollBackRun(it.ports(), it.records.get(id)!, options())
    expect(result.exitCode).toBe(32)
    expect(result.reason).toContain('data.k is "theirs"')
    expect(it.data()).toMatchObject({b: {k: 'theirs'}})
  })

  test('twice is once', async () => {
    const it = cluster()
    await runPlan(it.ports(), threeWrites(), options())
    await rollBackRun(it.ports(), it.records.get(id)!, options())
    const count = it.writes.length
    expect(await rollBackRun(it.ports(), it.records.get(id)!, options())).toMatchObject({exitCode: 0, changed: false})
    expect(it.writes).toHaveLength(count)
  })

  test('a gate on the way back waits for a person, too, and the next rollback goes on there', async () => {
    const it = cluster()
    await runPlan(it.ports(), threeWrites(), options())
    it.verdicts.set('gate was undone', false)
    expect(await rollBackRun(it.ports(), it.records.get(id)!, options())).toMatchObject({
      exitCode: 21,
      outcome: 'waiting',
    })
    expect(it.data()).toMatchObject({a: {k: 'half'}, b: {k: 'new'}})
    it.verdicts.set('gate was undone', true)
    expect(await rollBackRun(it.ports(), it.records.get(id)!, options())).toMatchObject({exitCode: 0})
    expect(it.data()).toEqual(before)
  })
})
