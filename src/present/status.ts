import type {StatusReport} from '../model/status.ts'
import {layoutTable, printable} from './table.ts'
import type {View} from './view.ts'

const colours: Readonly<Record<string, string>> = {ok: '32', warning: '33', error: '31', unknown: '33', off: '2'}

/** One line that says whether it is on, then one row for each thing that has to be in step. */
export const statusView: View<StatusReport> = {
  table(report, options) {
    const {state, since, hosts, rows} = report
    const head = `srcip is ${state}${since === undefined ? '' : ` since ${printable(since)}`}: ${hosts.written} of ${hosts.wanted} names written`
    const table = layoutTable(
      ['ROW', 'OBJECT', 'STATE', 'DETAIL'],
      rows.map((row) => [row.row, row.object, row.state, row.detail]),
      options.headers,
    )
    return `${head}\n${options.color ? coloured(table) : table}`
  },
  name: (report) =>
    report.rows.filter(({state}) => state !== 'ok' && state !== 'off').map(({row, object}) => `${row}/${object}`),
}

function coloured(table: string): string {
  return table.replaceAll(
    /^(\S+ +\S+ +)(ok|warning|error|unknown|off)( )/gm,
    (_, before: string, word: string, after: string) => `${before}\u001b[${colours[word]}m${word}\u001b[0m${after}`,
  )
}
