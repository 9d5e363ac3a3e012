import type {NameMatch, RewriteRule} from '../setup/plugins/rewrite-rule.ts'
import {applyRule, matches} from './rewrite-request.ts'

/** A rule that never, or not for all its names, gets its turn because of one that stands before it. */
export interface Shadow {
  readonly earlier: RewriteRule
  readonly later: RewriteRule
  /** `never`: every name of the later rule is taken before. `partly`: `name` is an example. */
  readonly extent: 'never' | 'partly'
  readonly name: string
}

/** Pairs of rules that are compared at most: thousands of exact rules beside thousands of patterns would take minutes. */
const mostPairs = 2_000_000

/**
 * In: the rules of a block in list order. Out: which rule shadows which. Exact rules are followed by their name; two
 * rules of the same match type and text are the same names; an exact rule before a wider one takes one name of it.
 * Of a list with more than two million pairs to compare only the first are told.
 */
export function shadowsOf(rules: readonly RewriteRule[]): Shadow[] {
  const found: Shadow[] = []
  const wide: RewriteRule[] = []
  const exact = new Map<string, RewriteRule>()
  let pairs = 0
  for (const later of rules) {
    pairs += later.field === 'name' ? wide.length + (later.match.type === 'exact' ? 0 : exact.size) : 0
    if (pairs > mostPairs) break
    if (later.field === 'name') {
      for (const shadow of shadowsOn(later, wide, exact)) found.push(shadow)
      if (later.match.type === 'exact') {
        if (!exact.has(later.match.from)) exact.set(later.match.from, later)
        continue
      }
    }
    wide.push(later)
  }
  return found
}

function shadowsOn(
  later: RewriteRule & {field: 'name'},
  wide: readonly RewriteRule[],
  exact: ReadonlyMap<string, RewriteRule>,
): Shadow[] {
  const {match} = later
  if (match.type === 'exact') {
    const same = exact.get(match.from)
    const earlier = same ?? wide.find((rule) => takes(rule, match.from))
    return earlier === undefined ? [] : [{earlier, later, extent: 'never', name: match.from}]
  }
  const twin = wide.find((rule) => takesEverything(rule) || ('match' in rule && sameNames(rule, later)))
  if (twin !== undefined) return [{earlier: twin, later, extent: 'never', name: match.from}]
  return [...exact.values()]
    .filter((rule) => rule.field === 'name' && matches(match, rule.match.from) === true)
    .map((earlier) => ({earlier, later, extent: 'partly', name: earlier.field === 'name' ? earlier.match.from : ''}))
}

/** Whether a rule keeps an address query for a name from what stands behind it: it ends the list or changes the name. */
function takes(rule: RewriteRule, name: string): boolean {
  const effect = applyRule(rule, {name, type: 'A', class: 'IN'})
  if (effect.kind === 'rewrote') return rule.mode === 'stop' || effect.question.name !== name
  return effect.kind === 'matched' && rule.mode === 'stop'
}

function takesEverything(rule: RewriteRule): boolean {
  return rule.mode === 'stop' && (rule.field === 'cname' || (rule.field === 'edns0' && rule.action !== 'replace'))
}

function sameNames(earlier: Extract<RewriteRule, {match: NameMatch}>, later: RewriteRule & {field: 'name'}): boolean {
  if (earlier.field === 'cname') return false
  const same = earlier.match.type === later.match.type && earlier.match.from === later.match.from
  return same && (earlier.mode === 'stop' || earlier.field === 'name')
}
