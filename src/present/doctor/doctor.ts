import type {DoctorReport, Finding} from '../../model/doctor.ts'
import {printable} from '../table.ts'
import type {View, ViewOptions} from '../view.ts'
import {doctorHtml} from './html.ts'
import {doctorJunit} from './junit.ts'
import {drawWays, summary} from './picture.ts'

/** A picture of every way in with its verdicts, then findings with their cheapest remedy; wide adds settings, evidence and every remedy. */
export const doctorView: View<DoctorReport> = {
  table(report, options) {
    return [
      `${summary(report)}\n`,
      ...drawWays(report.paths, options).map((text) => `\n${text}`),
      ...(options.wide ? report.paths.map(hops) : []),
      ...(report.findings.length === 0
        ? []
        : ['\n', ...report.findings.map((finding) => findingText(finding, options))]),
      ...notSeen(report),
    ].join('')
  },
  html: doctorHtml,
  junit: doctorJunit,
  name: (report) =>
    [
      ...report.paths.map((path) => `service/${path.namespace}/${path.service}`),
      ...report.findings.map((finding) => finding.id),
    ].filter((line, at, all) => all.indexOf(line) === at),
}

function hops(path: DoctorReport['paths'][number]): string {
  const lines = path.hops.map(
    (hop) => `  ${hop.at} ${hop.name}: ${hop.source}${hop.lost ? ' (lost here)' : ''}, ${hop.how}`,
  )
  const after = (path.after?.breaks ?? []).map((text) => `  the switch would break: ${text}`)
  return ['', path.id, ...lines, ...after].map(printable).join('\n') + '\n'
}

function findingText(finding: Finding, options: ViewOptions): string {
  const [first] = finding.remedies
  const shown = options.wide ? finding.remedies : first === undefined ? [] : [first]
  return [
    `${finding.severity} ${finding.id} ${finding.path ?? finding.object}: ${finding.title}`,
    ...(options.wide
      ? finding.evidence.map((one) => `  seen: ${one.object} ${one.field ?? ''} ${one.value ?? ''}`.trimEnd())
      : []),
    ...shown.map((remedy) => `  ${remedy.id}: ${remedy.text} (${remedy.why})`),
  ]
    .map((line) => `${printable(line)}\n`)
    .join('')
}

function notSeen(report: DoctorReport): string[] {
  return report.notSeen.map(
    ({verb, resource, namespace, reason}) =>
      `${printable(`not seen: ${verb} ${resource}${namespace === undefined ? '' : ` in ${namespace}`}: ${reason}`)}\n`,
  )
}
