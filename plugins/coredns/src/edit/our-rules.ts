import {compileRegex} from '../simulate/re2/regex.ts'
import {fqdn} from '../simulate/dns-name.ts'
import type {Directive} from '../types.ts'
import type {MarkerOwner} from './request.ts'

/** A `rewrite` of names, read far enough to tell whose it is. */
export interface NameRule {
  readonly match: 'exact' | 'regex'
  /** Host (exact) or pattern as written. */
  readonly from: string
  /** Lower case, final dot. */
  readonly target: string
  /** Exactly as the editor writes such lines. */
  readonly ourForm: boolean
  /** As ouroboros writes them: `rewrite name HOST TARGET.` */
  readonly shortForm: boolean
}

const exactForm = /^rewrite name exact [a-z0-9_.-]+ [a-z0-9_.-]+\.$/
const shortForm = /^rewrite name [a-z0-9_.-]+ [a-z0-9_.-]+\.$/
const regexForm = /^rewrite name regex \^\S+\\\.\$ [a-z0-9_.-]+\. answer auto$/

/**
 * Reads `rewrite [stop] name [exact] HOST TARGET` and `rewrite [stop] name regex PATTERN TARGET [answer auto]`, the
 * shapes a managed line can have; undefined for every other directive.
 */
export function readNameRule(directive: Directive): NameRule | undefined {
  if (directive.name !== 'rewrite') return undefined
  const words = directive.tokens.map((token) => token.text)
  const line = directive.tokens.some((token) => token.quoted) ? '' : words.join(' ')
  let args = words.slice(1)
  if (args[0]?.toLowerCase() === 'stop') args = args.slice(1)
  if (args[0]?.toLowerCase() !== 'name') return undefined
  args = args.slice(1)
  const kind = args.length > 2 ? args.shift()?.toLowerCase() : 'exact'
  const [from, to, ...rest] = args
  if (from === undefined || to === undefined || (kind !== 'exact' && kind !== 'regex')) return undefined
  if (rest.length > 0 && rest.join(' ') !== 'answer auto') return undefined
  return {match: kind, from, target: fqdn(to).toLowerCase(), ourForm: isOurForm(line), shortForm: shortForm.test(line)}
}

function isOurForm(text: string): boolean {
  return exactForm.test(text) || regexForm.test(text)
}

/** Whether a rule maps a name to itself: the way to spare it from a wildcard. */
function isIdentity(rule: NameRule): boolean {
  return rule.match === 'exact' && fqdn(rule.from).toLowerCase() === rule.target
}

/** Whether a rule of ours answers a name (lower case, without final dot). */
export function answersName(rule: NameRule, name: string): boolean {
  if (rule.match === 'exact') return fqdn(rule.from).toLowerCase() === `${name}.`
  const compiled = compileRegex(rule.from)
  return compiled.kind === 'ok' && compiled.regex.test(`${name}.`)
}

/**
 * Directives between markers that are ours: rules with a known target; when none has one, the rules of our form with
 * the commonest target (another target was in use when they were written). The others are an operator's.
 *
 * @param inside directives between the markers, in order
 * @param targets known FQDNs, lower case with final dot
 * @param owner whose markers they are: ouroboros writes a shorter line
 */
export function oursBetweenMarkers(
  inside: readonly Directive[],
  targets: ReadonlySet<string>,
  owner: MarkerOwner,
): Set<Directive> {
  const rules = inside.map(readNameRule)
  const known = rules.some((rule) => rule && targets.has(rule.target)) ? targets : commonest(rules, owner)
  return collect(inside, rules, known)
}

/** Directives outside any markers that are ours: rules with a known target, and identity rules directly before such a rule. */
export function oursUnmarked(outside: readonly Directive[], targets: ReadonlySet<string>): Set<Directive> {
  return collect(outside, outside.map(readNameRule), targets)
}

function collect(
  directives: readonly Directive[],
  rules: readonly (NameRule | undefined)[],
  targets: ReadonlySet<string>,
): Set<Directive> {
  const ours = new Set<Directive>()
  // Backwards, so that a run of identity rules is judged by what follows it.
  let followed = false
  for (let at = directives.length - 1; at >= 0; at--) {
    const rule = rules[at]
    const mine: boolean =
      rule !== undefined && (targets.has(rule.target) || (followed && rule.ourForm && isIdentity(rule)))
    if (mine) ours.add(directives[at] as Directive)
    followed = mine
  }
  return ours
}

function commonest(rules: readonly (NameRule | undefined)[], owner: MarkerOwner): ReadonlySet<string> {
  const counts = new Map<string, number>()
  for (const rule of rules) {
    const written = rule?.ourForm || (owner === 'ouroboros' && rule?.shortForm)
    if (rule && written && !isIdentity(rule)) counts.set(rule.target, (counts.get(rule.target) ?? 0) + 1)
  }
  const most = Math.max(0, ...counts.values())
  return new Set([...counts].filter(([, count]) => count === most).map(([target]) => target))
}
