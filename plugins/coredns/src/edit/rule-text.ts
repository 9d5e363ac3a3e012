import {SuffixTree} from './suffix-tree.ts'
import type {WantedHost, WantedKind} from '../types.ts'

/** One rewrite rule of ours, without indent and line end. */
export interface RuleText {
  readonly text: string
  readonly form: 'exact' | 'packed' | 'wildcard' | 'spared'
}

/** CoreDNS refuses longer patterns since 1.14.0. */
export const patternLimit = 10_000

/** Up to this many names each has a line of its own. */
export const exactLimit = 100

/** How a name under a wildcard looks, up to the dot before its parent. No label may begin with `_` (ACME, SRV, DKIM). */
const fronts: Readonly<Record<Exclude<WantedKind, 'exact'>, string>> = {
  'wildcard-one-label': '[^._][^.]*\\.',
  'wildcard-any-depth': '(?:[^._][^.]*\\.)+',
}

/** What the lines of one block are made from; names lower case without final dot, targets with it. */
export interface RuleSet {
  readonly hosts: readonly WantedHost[]
  readonly spared: readonly string[]
  /** Whether `answer auto` exists (>= 1.8.4); otherwise names are never packed. */
  readonly mayPack: boolean
}

/**
 * The rules for one server block, in the order in which they must stand: exact names, then names that keep their own
 * answer, then wildcards, the most specific first.
 */
export function ruleTexts({hosts, spared, mayPack}: RuleSet): RuleText[] {
  const pack = mayPack && hosts.length > exactLimit
  const exact = hosts.filter(({kind}) => kind === 'exact')
  const wild = hosts.filter(({kind}) => kind !== 'exact').sort(mostSpecificFirst)
  const rules = pack ? packed(exact, '', 'packed') : exact.sort(byName).map(exactRule)
  if (wild.length > 0) {
    for (const name of [...spared].sort()) rules.push({text: `rewrite name exact ${name} ${name}.`, form: 'spared'})
  }
  return [...rules, ...wildcardRules(wild, pack)]
}

function exactRule({name, target}: WantedHost): RuleText {
  return {text: `rewrite name exact ${name} ${target}`, form: 'exact'}
}

function byName(left: WantedHost, right: WantedHost): number {
  return left.name < right.name ? -1 : 1
}

function mostSpecificFirst(left: WantedHost, right: WantedHost): number {
  const depth = right.name.split('.').length - left.name.split('.').length
  return depth === 0 ? byName(left, right) : depth
}

/** Wildcards of one depth and kind for one target cannot overlap with each other, so they may share a rule. */
function wildcardRules(wild: readonly WantedHost[], pack: boolean): RuleText[] {
  const rules: RuleText[] = []
  for (let from = 0; from < wild.length;) {
    const first = wild[from] as WantedHost
    const depth = first.name.split('.').length
    let to = from + 1
    while (pack && to < wild.length && (wild[to] as WantedHost).name.split('.').length === depth) to++
    const run = wild.slice(from, to)
    for (const kind of ['wildcard-one-label', 'wildcard-any-depth'] as const) {
      const parents = run.filter((host) => host.kind === kind).map((host) => ({...host, name: host.name.slice(2)}))
      rules.push(...packed(parents, fronts[kind], 'wildcard'))
    }
    from = to
  }
  return rules
}

/** As few anchored alternations as the length of a pattern allows, per target. */
function packed(hosts: readonly WantedHost[], front: string, form: RuleText['form']): RuleText[] {
  const targets = [...new Set(hosts.map(({target}) => target))].sort()
  return targets.flatMap((target) => {
    const names = hosts.filter((host) => host.target === target).map(({name}) => name.split('.'))
    return patterns(names, front).map((pattern): RuleText => {
      return {text: `rewrite name regex ${pattern} ${target} answer auto`, form}
    })
  })
}

function patterns(names: string[][], front: string): string[] {
  const open = `^${front}`
  const close = '\\.$'
  // One alternative needs no group; the room for it is kept free all the same.
  const room = patternLimit - open.length - close.length - 4
  // Read from the right, so that names of one parent stand together.
  const byKey = new Map(names.map((labels) => [labels.toReversed().join('\0'), labels]))
  const trees: SuffixTree[] = []
  for (const key of [...byKey.keys()].sort()) {
    const labels = byKey.get(key) as string[]
    if (trees.at(-1)?.add(labels, room)) continue
    const tree = new SuffixTree()
    tree.add(labels, room)
    trees.push(tree)
  }
  return trees.map((tree) => {
    const pattern = tree.pattern()
    return `${open}${tree.alternatives > 1 ? `(?:${pattern})` : pattern}${close}`
  })
}
