import {lint} from '../../../plugins/coredns/src/index.ts'
import type {CorednsLint} from '../../model/coredns-view.ts'
import {apiVersion} from '../../model/documents.ts'
import {exitCodes} from '../../model/errors.ts'
import type {DnsState} from '../types.ts'
import {parseOptionsOf} from './parsed-state.ts'
import {releaseOf, sourceOf} from './show.ts'

/** Looks for every known trap in a Corefile and its imports. Pure. */
export function lintState(state: DnsState): CorednsLint {
  const port = state.location === undefined ? {} : {dnsPort: String(state.location.dnsPort)}
  const {findings} = lint(state.corefile.bytes, {parse: parseOptionsOf(state), ...port})
  return {
    apiVersion,
    kind: 'CorednsLint',
    sources: [sourceOf(state)],
    coredns: releaseOf(state),
    findings,
    exitCode: findings.some((finding) => finding.severity === 'error') ? exitCodes.CheckFailed : exitCodes.Ok,
    changed: false,
    warnings: [],
  }
}
