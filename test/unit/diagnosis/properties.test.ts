import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import {diagnose} from '../../../src/diagnosis/diagnose.ts'
import type {KubeObject} from '../../../src/model/kubernetes.ts'
import {indexSnapshot, type Snapshot} from '../../../src/model/snapshot.ts'
import {doctorCases, doctorObjects, snapshotOf} from '../../support/doctor-cases.ts'

const cases = Object.entries(doctorCases())

/** Takes the value at a random place of an object out, or puts nonsense there. */
function damage(object: KubeObject, seed: number, nonsense: unknown): KubeObject {
  const copy = structuredClone(object) as unknown as Record<string, unknown>
  let at: Record<string, unknown> = copy
  let left = seed
  for (;;) {
    const keys = Object.keys(at).filter((key) => at !== copy || !['kind', 'metadata', 'apiVersion'].includes(key))
    const key = keys[left % Math.max(1, keys.length)]
    if (key === undefined) return copy as unknown as KubeObject
    left = Math.floor(left / keys.length)
    const next = at[key]
    if (typeof next === 'object' && next !== null && left % 3 !== 0) {
      at = next as Record<string, unknown>
      continue
    }
    at[key] = nonsense
    return copy as unknown as KubeObject
  }
}

const nonsense = fc.oneof(
  fc.constant(null),
  fc.constant(undefined),
  fc.string(),
  fc.integer(),
  fc.array(fc.string(), {maxLength: 2}),
  fc.constant({__proto__: null, toString: 'x'}),
)

describe('whatever a snapshot holds', () => {
  test('a report comes out: no verdict without its check or ground, nothing unconfirmed is fine', () => {
    fc.assert(
      fc.property(
        fc.nat(cases.length - 1),
        fc.array(fc.tuple(fc.nat(), fc.nat(), nonsense), {minLength: 1, maxLength: 4}),
        (at, wounds) => {
          const [name, expected] = cases[at]!
          const objects = doctorObjects(name, expected)
          for (const [which, where, what] of objects.length === 0 ? [] : wounds) {
            const index = which % objects.length
            objects[index] = damage(objects[index]!, where, what)
          }
          const report = diagnose(indexSnapshot(snapshotOf(objects)), {for: 'enable'})
          expect([0, 21, 22]).toContain(report.exitCode)
          for (const path of report.paths) {
            for (const verdict of [
              path.outside,
              path.hairpin,
              ...(path.after === undefined ? [] : [path.after.outside, path.after.hairpin]),
            ]) {
              expect(verdict.why).not.toBe('')
              if (verdict.grade === 'unconfirmed') expect(['fine', 'not-needed']).not.toContain(verdict.verdict)
              if (verdict.verdict === 'depends' || verdict.verdict === 'unknown')
                expect(verdict.check ?? '', verdict.why).not.toBe('')
            }
          }
        },
      ),
      {numRuns: 150},
    )
  })

  test('the same objects in another order give the same report', () => {
    fc.assert(
      fc.property(fc.nat(cases.length - 1), fc.array(fc.nat(), {minLength: 5, maxLength: 60}), (at, keys) => {
        const [name, expected] = cases[at]!
        const objects = doctorObjects(name, expected)
        const mixed = objects
          .map((object, index) => ({object, key: keys[index % keys.length]! + index * 7}))
          .toSorted((a, b) => (a.key % 13) - (b.key % 13))
          .map(({object}) => object)
        const report = (all: readonly KubeObject[]): string => JSON.stringify(diagnose(indexSnapshot(snapshotOf(all))))
        expect(report(mixed)).toBe(report(objects))
      }),
      {numRuns: 40},
    )
  })

  test('with nothing readable everything is open, and nothing is called fine', () => {
    for (const [name, expected] of cases.slice(0, 40)) {
      const whole = snapshotOf(doctorObjects(name, expected))
      const blind: Snapshot = {
        ...whole,
        objects: whole.objects.filter(({kind}) => kind === 'Service'),
        readings: whole.readings.map((reading) =>
          reading.kind === 'Service' ? reading : {...reading, state: 'denied' as const},
        ),
      }
      const report = diagnose(indexSnapshot(blind))
      // the class in the Service itself tells what an NLB does with UDP
      for (const path of report.paths.filter(({protocol}) => protocol === 'TCP'))
        expect(path.outside.verdict, `${name}: ${path.outside.why}`).not.toBe('fine')
      expect(report.notSeen.length).toBeGreaterThan(5)
    }
  })

  test('no Service at all: no way in, nothing found, exit 0', () => {
    const report = diagnose(indexSnapshot(snapshotOf([])))
    expect({paths: report.paths, exitCode: report.exitCode}).toEqual({paths: [], exitCode: 0})
  })
})
