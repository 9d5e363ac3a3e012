import {lint} from '../../../plugins/coredns/src/index.ts'
import type {CorednsLint} from '../../model/coredns-view.ts'
import {apiVersion} from '../../model/documents.ts'
import {exitCodes} from '../../model/errors.ts'
import type {DnsState} from '../types.ts'
import {parseOptionsOf} from './parsed-state.ts'
import {releaseOf, sourceOf} from './show.ts'

/** Findings of one rule that are listed; a file of bad bytes has a million of them. */
const mostOfARule = 100

/** Looks for every known trap in a Corefile and its imports. Pure. Of each rule the first findings are listed, the rest counted. */
export function lintState(state: DnsState): CorednsLint {
  const port = state.location === undefined ? {} : {dnsPort: String(state.location.dnsPort)}
  const {findings} = lint(state.corefile.bytes, {parse: parseOptionsOf(state), ...port})
  const counts = new Map<string, number>()
  const listed = findings.filter(({id}) => {
    const count = (counts.get(id) ?? 0) + 1
    counts.set(id, count)
    return count <= mostOfARule
  })
  return {
    apiVersion,
    kind: 'CorednsLint',
    sources: [sourceOf(state)],
    coredns: releaseOf(state),
    findings: listed,
    exitCode: findings.some((finding) => finding.severity === 'error') ? exitCodes.CheckFailed : exitCodes.Ok,
    changed: false,
    warnings: [...counts].flatMap(([id, count]) =>
      count > mostOfARule ? [`${id}: ${count - mostOfARule} more findings are not listed`] : [],
    ),
  }
}
