import type {DoctorReport, Finding} from '../../model/doctor.ts'
import {layoutTable, printable} from '../table.ts'
import type {View, ViewOptions} from '../view.ts'

/** Verdicts of every way in, then findings with their cheapest remedy; wide adds hops, evidence and every remedy. */
export const doctorView: View<DoctorReport> = {
  table(report, options) {
    const rows = report.paths.map((path) => [
      path.id,
      [path.platform.balancer ?? '?', path.platform.receiver ?? 'application'].join(' > '),
      path.after === undefined ? path.outside.verdict : `${path.outside.verdict} > ${path.after.outside.verdict}`,
      path.after === undefined ? path.hairpin.verdict : `${path.hairpin.verdict} > ${path.after.hairpin.verdict}`,
      path.lostAt ?? '-',
    ])
    const table =
      rows.length === 0
        ? 'no way in: no Service of type LoadBalancer or NodePort or with externalIPs was read\n'
        : layoutTable(['WAY IN', 'THROUGH', 'OUTSIDE', 'HAIRPIN', 'LOST AT'], rows, options.headers)
    return [
      table,
      ...(options.wide ? report.paths.map(hops) : []),
      ...(report.findings.length === 0
        ? []
        : ['\n', ...report.findings.map((finding) => findingText(finding, options))]),
      ...notSeen(report),
    ].join('')
  },
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
