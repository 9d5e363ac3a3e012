import {fqdn} from '../simulate/dns-name.ts'
import type {Directive} from '../types.ts'

/** A `rewrite` of names, read far enough to tell whose it is. */
export interface NameRule {
  readonly match: 'exact' | 'regex'
  /** Host (exact) or pattern as written. */
  readonly from: string
  /** Lower case, final dot. */
  readonly target: string
  /** Exactly as the editor writes such lines. */
  readonly ourForm: boolean
}

const exactForm = /^rewrite name exact [a-z0-9_.-]+ [a-z0-9_.-]+\.$/
const regexForm = /^rewrite name regex \^\S+\\\.\$ [a-z0-9_.-]+\. answer auto$/

/**
 * Reads `rewrite [stop] name [exact] HOST TARGET` and `rewrite [stop] name regex PATTERN TARGET [answer auto]`, the
 * shapes a managed line can have; undefined for every other directive.
 */
export function readNameRule(directive: Directive): NameRule | undefined {
  if (directive.name !== 'rewrite') return undefined
  const words = directive.tokens.map((token) => token.text)
  const ourForm = directive.tokens.every((token) => !token.quoted) && isOurForm(words.join(' '))
  let args = words.slice(1)
  if (args[0]?.toLowerCase() === 'stop') args = args.slice(1)
  if (args[0]?.toLowerCase() !== 'name') return undefined
  args = args.slice(1)
  const kind = args.length > 2 ? args.shift()?.toLowerCase() : 'exact'
  const [from, to, ...rest] = args
  if (from === undefined || to === undefined || (kind !== 'exact' && kind !== 'regex')) return undefined
  if (rest.length > 0 && rest.join(' ') !== 'answer auto') return undefined
  return {match: kind, from, target: fqdn(to).toLowerCase(), ourForm}
}

function isOurForm(text: string): boolean {
  return exactForm.test(text) || regexForm.test(text)
}

/** Whether a rule maps a name to itself: the way to spare it from a wildcard. */
export function isIdentity(rule: NameRule): boolean {
  return rule.match === 'exact' && fqdn(rule.from).toLowerCase() === rule.target
}

/** Whether a rule of ours answers a name (lower case, without final dot). */
export function answersName(rule: NameRule, name: string): boolean {
  if (rule.match === 'exact') return fqdn(rule.from).toLowerCase() === `${name}.`
  if (!rule.ourForm) return false
  try {
    return new RegExp(rule.from).test(`${name}.`)
  } catch {
    return false
  }
}

/** Directives of ours in one block, and those that stand between our markers and are not ours. */
export interface OurDirectives {
  readonly ours: ReadonlySet<Directive>
  readonly foreign: readonly Directive[]
}

/**
 * Tells whose rules are whose. Between markers: a rule with a known target is ours; when none of them has one, the
 * rules of our form with the commonest target are (another target was in use when they were written). Outside: only
 * rules with a known target. Identity rules are ours where a rule of ours follows them directly.
 *
 * @param inside directives between the markers, in order
 * @param outside the other directives of the block, in order, each with its own copy in the main file
 * @param targets known FQDNs, lower case with final dot
 */
export function ourDirectives(
  inside: readonly Directive[],
  outside: readonly Directive[],
  targets: ReadonlySet<string>,
): OurDirectives {
  const rules = inside.map(readNameRule)
  const known = rules.some((rule) => rule && targets.has(rule.target)) ? targets : commonest(rules)
  const ours = new Set<Directive>()
  collect(inside, rules, known, ours)
  const foreign = inside.filter((directive) => !ours.has(directive))
  collect(outside, outside.map(readNameRule), targets, ours)
  return {ours, foreign}
}

function collect(
  directives: readonly Directive[],
  rules: readonly (NameRule | undefined)[],
  targets: ReadonlySet<string>,
  ours: Set<Directive>,
): void {
  // Backwards, so that a run of identity rules is judged by what follows it.
  let followed = false
  for (let at = directives.length - 1; at >= 0; at--) {
    const rule = rules[at]
    const mine = rule !== undefined && (targets.has(rule.target) || (followed && rule.ourForm && isIdentity(rule)))
    if (mine) ours.add(directives[at] as Directive)
    followed = mine
  }
}

function commonest(rules: readonly (NameRule | undefined)[]): ReadonlySet<string> {
  const counts = new Map<string, number>()
  for (const rule of rules) {
    if (rule?.ourForm && !isIdentity(rule)) counts.set(rule.target, (counts.get(rule.target) ?? 0) + 1)
  }
  const most = Math.max(0, ...counts.values())
  return new Set([...counts].filter(([, count]) => count === most).map(([target]) => target))
}
