import {lex, type EditPlan} from '../../../plugins/coredns/src/index.ts'
import type {CorednsTarget} from '../../model/coredns-plan.ts'
import type {DnsProbe} from '../types.ts'

/** Names that each pod is asked for; more would prove no more, and every answer costs a round trip through the API server. */
const probesOfEachSort = 3

/** Label under a wildcard that no one has a host for; it must not begin with `_`, which our patterns leave out. */
const wildcardLabel = 'srcip-probe'

/**
 * What each pod must answer afterwards: some hosts the target's addresses, new ones first; some names that were taken out none of
 * them. Targets that were not read give no probes.
 *
 * @param addresses of every proxy Service of ours
 */
export function probesFor(
  plan: EditPlan,
  targets: ReadonlyMap<string, CorednsTarget>,
  addresses: readonly string[],
): DnsProbe[] {
  const inserted = new Set(plan.edits.flatMap((edit) => edit.inserted.split(/[^a-z0-9_-]+/)))
  const taken = plan.taken.flatMap((host) => {
    const found = targets.get(dotted(host.target))?.addresses ?? []
    const name = host.kind === 'exact' ? host.name : host.name.replace('*', wildcardLabel)
    return found.length === 0 ? [] : [{name, addresses: found}]
  })
  // packed rules hold the first label only; a wrong guess here only changes which of the hosts are asked for
  const fresh: typeof taken = []
  for (const host of taken) {
    if (fresh.length === probesOfEachSort) break
    if (inserted.has(host.name.slice(0, host.name.indexOf('.')))) fresh.push(host)
  }
  const first = [...new Set([...fresh, ...taken.slice(0, probesOfEachSort)])]
  const wanted = new Set(plan.taken.map((host) => host.name))
  const gone = addresses.length === 0 ? [] : removedNames(plan).filter((name) => !wanted.has(name))
  return [
    ...first.slice(0, probesOfEachSort).map(({name, addresses: of}): DnsProbe => ({name, expect: 'is', addresses: of})),
    ...gone.slice(0, probesOfEachSort).map((name): DnsProbe => ({name, expect: 'is-not', addresses})),
  ]
}

/** Hosts of the exact lines that the edits take out; packed rules give none, the hash alone proves those. */
function removedNames(plan: EditPlan): string[] {
  return plan.edits.flatMap((edit) => {
    const words = lex(Buffer.from(edit.removed, 'utf8')).tokens.map((token) => token.text)
    return words
      .flatMap((word, at) =>
        word === 'rewrite' && words[at + 1] === 'name' ? [exactName(words.slice(at + 2, at + 5))] : [],
      )
      .filter((name) => name !== '')
  })
}

function exactName([first = '', second = '']: readonly string[]): string {
  const name = first === 'exact' ? second : first
  return ['regex', 'prefix', 'suffix', 'substring'].includes(name) ? '' : name.replace(/\.$/, '')
}

function dotted(name: string): string {
  return name.endsWith('.') ? name : `${name}.`
}
