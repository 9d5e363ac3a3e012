import type {CorednsLint, CorednsQuery, CorednsShow} from '../model/coredns-view.ts'
import {releaseLine, sourceLine} from './coredns-plan.ts'
import {layoutTable, printable} from './table.ts'
import type {View} from './view.ts'

/** `coredns show`: one line a server block, then what is ours, then where it all lives. */
export const corednsShowView: View<CorednsShow> = {
  table(show, options) {
    const blocks = show.blocks.map((block) => [
      block.keys.join(' '),
      `${block.file === '' ? '' : `${block.file}:`}${block.line}`,
      block.plugins.join(','),
      String(block.rewrites.filter((rule) => rule.owner === 'srcip').length),
      String(block.rewrites.filter((rule) => rule.owner !== 'srcip').length),
    ])
    const rules = show.blocks.flatMap((block) =>
      block.rewrites.map((rule) => [
        block.keys.join(' '),
        `${rule.file === '' ? '' : `${rule.file}:`}${rule.line}`,
        rule.owner,
        rule.text,
      ]),
    )
    const facts = [
      ...show.sources.map(sourceLine),
      ...(show.service === undefined ? [] : [`service: ${show.service}`]),
      `${releaseLine(show.coredns)}, cluster domain ${show.coredns.clusterDomain === '' ? 'unknown' : show.coredns.clusterDomain}, reload ${show.reload ? 'on' : 'off'}`,
      ...(show.owner === undefined ? [] : [`owner: ${show.owner.title}, an edit lasts ${show.owner.lasts}`]),
      ...(show.nodeLocalDns === undefined
        ? []
        : [`NodeLocal DNSCache: ${show.nodeLocalDns.daemonSet} on ${show.nodeLocalDns.addresses.join(', ')}`]),
      ...(show.pods ?? []).map(
        (pod) => `pod: ${pod.name}${pod.reason === undefined ? '' : ` (does not count: ${pod.reason})`}`,
      ),
      ...(options.wide ? [`reload hash: ${show.hash.sha512 ?? 'unknown'}`] : []),
    ]
    return [
      layoutTable(['SERVER BLOCK', 'LINE', 'PLUGINS', 'OURS', 'OTHER RULES'], blocks, options.headers),
      rules.length === 0 ? '' : `\n${layoutTable(['SERVER BLOCK', 'LINE', 'OWNER', 'RULE'], rules, options.headers)}`,
      `\n${facts.map(printable).join('\n')}\n`,
    ].join('')
  },
  name: (show) => show.sources.map((source) => source.object ?? source.file ?? ''),
}

/** `coredns query`: the simulation in words, then one line a pod. */
export const corednsQueryView: View<CorednsQuery> = {
  table(query, options) {
    const {block, rules, seen, answeredBy, rcode, answers, unknown, notes} = query.simulated
    const met = rules.filter((rule) => rule.outcome !== 'passed' && rule.outcome !== 'unreached')
    const lines = [
      `${query.name} ${query.type}`,
      block === undefined ? 'no server block takes it' : `server block ${block.keys.join(' ')} (line ${block.line})`,
      ...(options.wide ? rules : met).map(
        (rule) => `${rule.file === '' ? '' : `${rule.file} `}line ${rule.line}: ${rule.text} (${rule.outcome})`,
      ),
      ...(seen === undefined ? [] : [`seen by the plugins behind rewrite as ${seen}`]),
      ...(answeredBy === undefined
        ? []
        : [`answered by ${answeredBy.plugin} (line ${answeredBy.line}: ${answeredBy.why})`]),
      ...notes,
    ]
    const simulated = ['(simulated)', rcode ?? 'unknown', answers.length > 0 ? answers.join('; ') : (unknown ?? '')]
    const pods = query.pods.map((pod) => [pod.pod, pod.rcode ?? 'no answer', pod.error ?? pod.answers.join('; ')])
    return `${lines.map(printable).join('\n')}\n\n${layoutTable(['POD', 'RCODE', 'ANSWER'], [simulated, ...pods], options.headers)}`
  },
  name: (query) => query.pods.map((pod) => `pod/${pod.pod}`),
}

/** `coredns lint`: one line a finding, as compilers print them, with what to do behind it. */
export const corednsLintView: View<CorednsLint> = {
  table(report, options) {
    if (report.findings.length === 0) return 'no findings\n'
    const rows = report.findings.map((finding) => [
      `${finding.file === '' ? '' : `${finding.file}:`}${finding.line === 0 ? '-' : finding.line}${finding.column === 0 ? '' : `:${finding.column}`}`,
      finding.severity,
      finding.id,
      finding.message,
      finding.remedy,
    ])
    return layoutTable(['LINE', 'SEVERITY', 'RULE', 'FINDING', 'REMEDY'], rows, options.headers)
  },
  name: (report) => report.findings.map((finding) => finding.id),
}
