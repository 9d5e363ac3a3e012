import type {CorednsPlan, CorednsResult, CorednsSource, CorednsTextChange} from '../model/coredns-plan.ts'
import {layoutTable, printable} from './table.ts'
import {unifiedDiff} from './unified-diff.ts'
import type {View, ViewOptions} from './view.ts'

/** Lines for stderr, one for each refused host: name, code, reason, what to do. */
export function refusalLines(plan: Pick<CorednsPlan, 'refused'>): string[] {
  return plan.refused.map(({name, code, reason, remedy}) =>
    printable(`refused: ${name === '*' || reason.startsWith(name) ? '' : `${name}: `}${reason} [${code}]; ${remedy}`),
  )
}

/** The diff of every text that a plan changes. */
export function textDiff(texts: readonly CorednsTextChange[], color: boolean): string {
  return texts
    .map(({source, key, before, after}) =>
      unifiedDiff(source === 'file' ? key.replace(/^\/+/, '') : `${source}:${key}`, before ?? '', after ?? '', color),
    )
    .join('')
}

/** How a plan looks; `texts` are what its diff is made from. A refused plan has no table: its reasons go to stderr. */
export function corednsPlanView(texts: readonly CorednsTextChange[]): View<CorednsPlan> {
  return {
    table: (plan, options) => (plan.hosts.length === 0 && plan.refused.length > 0 ? '' : planTable(plan, options)),
    name: (plan) => [...new Set(plan.hosts.map((host) => host.name))],
    diff: (_plan, options) => textDiff(texts, options.color),
  }
}

/** Where a text was read: the object and its key, or the file (which has no keys). */
export function sourceLine(source: CorednsSource): string {
  return `source: ${source.object === undefined ? (source.file ?? '') : `${source.object} key ${source.key}`}`
}

/** The release of CoreDNS, never as a fact where it is none. */
export function releaseLine({version, versionAssumed}: CorednsPlan['coredns']): string {
  return `CoreDNS ${version}${versionAssumed === true ? ' (assumed)' : ''}`
}

function planTable(plan: CorednsPlan, options: ViewOptions): string {
  const rows = plan.hosts.map(({name, target, form, block}) => [
    name,
    target,
    `${block.keys.join(' ')} (line ${block.line})`,
    form,
  ])
  const headers = ['HOST', 'TARGET', 'SERVER BLOCK', 'FORM']
  const table = rows.length === 0 ? '' : layoutTable(headers, rows, options.headers)
  if (!options.wide) return `${table}${summaryOf(plan)}\n`
  const wide = [
    ...plan.sources.map(
      (source) => `${sourceLine(source)}${source.resourceVersion === undefined ? '' : ` at ${source.resourceVersion}`}`,
    ),
    `${releaseLine(plan.coredns)}, cluster domain ${plan.coredns.clusterDomain}`,
    `reload hash: ${plan.hash.sha512 ?? `unknown${plan.hash.unknown.length === 0 ? '' : ` (${plan.hash.unknown.join(', ')})`}`}`,
  ]
  return `${table}${summaryOf(plan)}\n${wide.map(printable).join('\n')}\n`
}

function summaryOf(plan: CorednsPlan): string {
  const hosts = new Set(plan.hosts.map((host) => host.name)).size
  const parts = [
    `${hosts} ${hosts === 1 ? 'host' : 'hosts'}`,
    ...(plan.refused.length > 0 ? [`${plan.refused.length} refused`] : []),
  ]
  return `${parts.join(', ')}: ${plan.edits.length === 0 ? 'nothing to change' : `${plan.edits.length} ${plan.edits.length === 1 ? 'edit' : 'edits'} to make`}`
}

const outcomes: Readonly<Record<CorednsResult['outcome'], string>> = {
  'already-so': 'nothing to change',
  planned: 'would be written (dry run)',
  proved: 'written, and every CoreDNS pod answers so',
  unproved: 'written, but not every CoreDNS pod could be asked',
  undone: 'a CoreDNS pod did not take it: the previous bytes were put back',
  left: 'a CoreDNS pod did not take it, and the previous bytes could not be put back',
  refused: 'nothing was written',
}

/** How the result of `apply` and `clean` looks. */
export function corednsResultView(texts: readonly CorednsTextChange[]): View<CorednsResult> {
  return {
    table(result, options) {
      if (result.outcome === 'refused') return ''
      const pods = result.pods.map((pod) => [
        pod.name === '' ? '-' : `${pod.namespace}/${pod.name}`,
        pod.verdict,
        pod.afterMs === undefined ? '' : `${(pod.afterMs / 1000).toFixed(1)}s`,
        pod.reason ?? '',
      ])
      const table = pods.length === 0 ? '' : layoutTable(['POD', 'STATE', 'AFTER', 'REASON'], pods, options.headers)
      const hosts = options.wide ? planTable(result.plan, options) : ''
      return `${hosts}${table}${outcomes[result.outcome]}\n`
    },
    name: (result) => [...new Set(result.plan.sources.flatMap((source) => source.object ?? source.file ?? []))],
    diff: (_result, options) => textDiff(texts, options.color),
  }
}
