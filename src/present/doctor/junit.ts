import type {DoctorReport, Verdict} from '../../model/doctor.ts'
import {printable} from '../table.ts'

/**
 * The report as JUnit XML, for CI systems: two test cases for each way in (outside, hairpin) and one for each error finding. Broken is a
 * failure, open is skipped with what would settle it.
 */
export function doctorJunit(report: DoctorReport): string {
  const cases = [
    ...report.paths.flatMap((path) => {
      const verdicts = path.after ?? path
      return [testCase(path.id, 'outside', verdicts.outside), testCase(path.id, 'hairpin', verdicts.hairpin)]
    }),
    ...report.findings
      .filter(({severity}) => severity === 'error')
      .map(({id, title, object, path}) => ({
        text: `    <testcase classname="${xml(path ?? object)}" name="${xml(`${id} ${title}`)}"><failure message="${xml(title)}"/></testcase>\n`,
        state: 'failed' as const,
      })),
  ]
  const count = (state: string): number => cases.filter((one) => one.state === state).length
  const counts = `tests="${cases.length}" failures="${count('failed')}" skipped="${count('open')}"`
  return [
    '<?xml version="1.0" encoding="UTF-8"?>\n',
    `<testsuites ${counts}>\n  <testsuite name="kubectl srcip doctor" ${counts}>\n`,
    ...cases.map(({text}) => text),
    '  </testsuite>\n</testsuites>\n',
  ].join('')
}

function testCase(
  id: string,
  name: string,
  {verdict, why, check}: Verdict,
): {text: string; state: 'passed' | 'failed' | 'open'} {
  const head = `    <testcase classname="${xml(id)}" name="${name}"`
  if (verdict === 'fine' || verdict === 'not-needed') return {text: `${head}/>\n`, state: 'passed'}
  const message = xml(`${verdict}: ${why}${check === undefined ? '' : `; settle it: ${check}`}`)
  if (verdict === 'broken' || verdict === 'half-broken')
    return {text: `${head}><failure message="${message}"/></testcase>\n`, state: 'failed'}
  return {text: `${head}><skipped message="${message}"/></testcase>\n`, state: 'open'}
}

/** Escapes for attributes; characters that XML 1.0 cannot hold are shown as a replacement character, what steers a terminal by its code. */
function xml(text: string): string {
  const escaped = text
    .replaceAll(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '\ufffd')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll(/[\n\r\t]/g, ' ')
  return printable(escaped)
}
