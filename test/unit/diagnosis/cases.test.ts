import {describe, expect, test} from 'vitest'
import {diagnose} from '../../../src/diagnosis/diagnose.ts'
import type {DoctorReport, WayIn} from '../../../src/model/doctor.ts'
import {indexSnapshot} from '../../../src/model/snapshot.ts'
import {doctorCases, doctorObjects, snapshotOf, type ExpectedWay} from '../../support/doctor-cases.ts'

const cases = doctorCases()

function wayOf(report: DoctorReport, expected: ExpectedWay, port: number): WayIn {
  const found = report.paths.find((path) => `${path.namespace}/${path.service}` === expected.at && path.port === port)
  expect(found, `${expected.at}:${port} is a way in`).toBeDefined()
  return found!
}

/** The words of the cases for the hop that loses the address. */
function lostWord({outside, lostAt, hops}: WayIn): string {
  if (lostAt === undefined) return outside.verdict === 'fine' ? 'none' : 'unknown'
  if (lostAt !== 'service-proxy') return lostAt
  const proxy = hops.find((hop) => hop.at === 'service-proxy')?.name ?? ''
  return ['kube-proxy', 'unknown'].includes(proxy) ? 'node' : 'cni'
}

describe.each(Object.entries(cases))('%s', (name, expected) => {
  const index = indexSnapshot(snapshotOf(doctorObjects(name, expected)))

  test(`verdicts: ${expected.title}`, () => {
    const report = diagnose(index)
    const listed = expected.ways.flatMap((way) => way.ports.map((port) => `${way.at}:${port}`))
    expect(report.paths.map((path) => `${path.namespace}/${path.service}:${path.port}`).toSorted()).toEqual(
      listed.toSorted(),
    )
    for (const way of expected.ways) {
      for (const port of way.ports) {
        const path = wayOf(report, way, port)
        expect(
          {outside: path.outside.verdict, hairpin: path.hairpin.verdict, lost: lostWord(path)},
          `port ${port}: ${path.outside.why}; ${path.hairpin.why}`,
        ).toEqual({outside: way.outside, hairpin: way.hairpin, lost: way.lost})
      }
    }
  })

  for (const direction of ['enable', 'disable'] as const) {
    const ways = expected.ways.filter((way) => way[direction] !== undefined)
    if (ways.length === 0) continue
    test(`--for ${direction}`, () => {
      const report = diagnose(index, {for: direction})
      for (const way of ways) {
        for (const port of way.ports) {
          const after = wayOf(report, way, port).after
          expect(
            {outside: after?.outside.verdict, hairpin: after?.hairpin.verdict},
            `port ${port}: ${after?.outside.why}; ${after?.hairpin.why}`,
          ).toEqual(way[direction])
        }
      }
    })
  }
})
