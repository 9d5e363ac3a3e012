import {describe, expect, test} from 'vitest'
import {diagnose} from '../../../src/diagnosis/diagnose.ts'
import {indexSnapshot, type Snapshot} from '../../../src/model/snapshot.ts'
import {doctorCases, doctorObjects, snapshotOf} from '../../support/doctor-cases.ts'
import {guesses} from '../../support/doctor-guesses.ts'
import {propertySeed} from '../../support/property-seed.ts'
import {seeded} from '../../support/random.ts'

function hidden(snapshot: Snapshot, kinds: ReadonlySet<string>, state: 'denied' | 'unreachable' | 'partial'): Snapshot {
  return {
    ...snapshot,
    objects: snapshot.objects.filter(({kind}) => !kinds.has(kind ?? '')),
    readings: snapshot.readings.map((one) =>
      kinds.has(one.kind) ? {...one, state, message: `${one.resource}: ${state}`} : one,
    ),
  }
}

// Services are what is judged: without them there is nothing to say, which has its own tests.
const subject = new Set(['Service'])

describe('what was not read is never guessed', () => {
  const random = seeded(propertySeed)
  const cases = Object.entries(doctorCases()).filter(([, one]) => one.hidden === undefined)

  test.each(cases)('%s', (name, one) => {
    const snapshot = snapshotOf(doctorObjects(name, one))
    const all = diagnose(indexSnapshot(snapshot))
    const kinds = [...new Set(snapshot.objects.map(({kind}) => kind ?? ''))].filter((kind) => !subject.has(kind))
    const found: string[] = []
    const look = (chosen: readonly string[], state: 'denied' | 'unreachable' | 'partial'): void => {
      const less = diagnose(indexSnapshot(hidden(snapshot, new Set(chosen), state)))
      found.push(...guesses(all, less).map((text) => `${chosen.join(', ')} ${state}: ${text}`))
    }
    for (const kind of kinds) for (const state of ['denied', 'unreachable', 'partial'] as const) look([kind], state)
    for (let round = 0; round < 4; round++)
      look(
        kinds.filter(() => random.chance(0.5)),
        'denied',
      )
    expect(found).toEqual([])
  })
})
