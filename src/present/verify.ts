import type {VerifyReport} from '../model/verify.ts'
import {layoutTable} from './table.ts'
import type {View} from './view.ts'

const words = {held: 'held', failed: 'FAILED', unknown: 'unknown'} as const

/** One row a question, then one line that says whether all held. */
export const verifyView: View<VerifyReport> = {
  table(report, options) {
    const rows = report.checks.map(({check, subject, verdict, seen, wanted, why}) => [
      check,
      subject,
      words[verdict],
      seen ?? '',
      wanted ?? '',
      why,
    ])
    const held = report.checks.filter(({verdict}) => verdict === 'held').length
    const table = layoutTable(['CHECK', 'SUBJECT', 'VERDICT', 'SEEN', 'WANTED', 'WHY'], rows, options.headers)
    return `${table}${held} of ${rows.length} held\n`
  },
  name: (report) =>
    report.checks.filter(({verdict}) => verdict !== 'held').map(({check, subject}) => `${check}/${subject}`),
}
