import {createHmac} from 'node:crypto'
import {expect, test} from 'vitest'
import {diagnose} from '../../../../src/diagnosis/diagnose.ts'
import {anonymiseSnapshot} from '../../../../src/model/anonymise/anonymise-snapshot.ts'
import {indexSnapshot, type Snapshot} from '../../../../src/model/snapshot.ts'
import {doctorCases, doctorObjects, snapshotOf} from '../../../support/doctor-cases.ts'

const digest = (text: string): string => createHmac('sha256', 'test').update(text).digest('hex')

/** What doctor says, without the names: one line a way in, one a finding. */
function said(snapshot: Snapshot): string[] {
  const index = indexSnapshot(snapshot)
  return (['enable', 'disable'] as const).flatMap((direction) => {
    const report = diagnose(index, {for: direction})
    return [
      ...report.paths.map(({port, protocol, outside, hairpin, lostAt, after, hops, platform}) =>
        JSON.stringify([
          port,
          protocol,
          [outside, hairpin, after?.outside, after?.hairpin].map((one) => [one?.verdict, one?.grade]),
          lostAt,
          hops.map(({at, source}) => [at, source]),
          platform,
        ]),
      ),
      ...report.findings.map(({id, severity}) => `${id} ${severity}`),
    ].toSorted()
  })
}

test.each(Object.entries(doctorCases()))('%s: doctor says the same with other names', (name, expected) => {
  const snapshot = snapshotOf(doctorObjects(name, expected))
  const anonymised = anonymiseSnapshot(snapshot, digest)
  expect(said(anonymised)).toEqual(said(snapshot))
})
