import {types} from './dns-codes.ts'
import {questionName} from './dns-name.ts'
import type {NameMatch, RewriteRule} from '../setup/plugins/rewrite-rule.ts'
import type {Question} from './message.ts'

/** In: what a rule compares, a name as request.Name() gives it. Out: whether it takes it; undefined where the pattern cannot be judged. */
export function matches(match: NameMatch, name: string): boolean | undefined {
  switch (match.type) {
    case 'exact':
      return name === match.from
    case 'prefix':
      return name.startsWith(match.from)
    case 'suffix':
      return name.endsWith(match.from)
    case 'substring':
      return name.includes(match.from)
    case 'regex':
      return match.pattern?.regex?.test(name)
  }
}

const longestText = 1 << 20

/** In: a replacement with `{0}`…`{N}`, the groups of the match. Out: the text, groups put in one after the other as CoreDNS does. */
export function expandGroups(replacement: string, groups: readonly string[]): string {
  let text = replacement
  // Later groups are replaced in what earlier ones put in: a loop on purpose. Groups that hold references can make it grow
  // without end; what is far too long to be a name stays so.
  for (const [index, group] of groups.entries()) {
    if (text.length > longestText) return text
    text = text.replaceAll(`{${index}}`, () => group)
  }
  return text
}

/** What a rule does to a question. */
export type RuleEffect =
  | {readonly kind: 'passed'}
  | {readonly kind: 'unknown'}
  | {readonly kind: 'matched'}
  | {readonly kind: 'rewrote'; readonly question: Question}

/** In: a rule and the question as it stands. Out: what the rule makes of it. Source: corefile.md 6.2, plugin/rewrite. */
export function applyRule(rule: RewriteRule, question: Question): RuleEffect {
  switch (rule.field) {
    case 'name': {
      const name = questionName(question.name)
      const hit = matches(rule.match, name)
      if (hit === undefined) return {kind: 'unknown'}
      return hit
        ? {kind: 'rewrote', question: {...question, name: renamed(rule.match, rule.to, name)}}
        : {kind: 'passed'}
    }
    case 'type':
      return question.type === rule.from && types.has(rule.from) && rule.from !== 'Reserved'
        ? {kind: 'rewrote', question: {...question, type: rule.to}}
        : {kind: 'passed'}
    case 'class':
      return question.class === rule.from
        ? {kind: 'rewrote', question: {...question, class: rule.to}}
        : {kind: 'passed'}
    case 'ttl':
    case 'rcode': {
      const hit = matches(rule.match, questionName(question.name))
      return {kind: hit === undefined ? 'unknown' : hit ? 'matched' : 'passed'}
    }
    case 'cname':
      // A cname rule takes every query; it looks at the CNAMEs of the reply.
      return {kind: rule.match.from !== '' && rule.to !== '' ? 'matched' : 'passed'}
    case 'edns0':
      return {kind: rule.action === 'replace' ? 'passed' : 'matched'}
  }
}

/** In: what a rule compares, its TO, a name or target it takes. Out: the new name. */
export function renamed(match: NameMatch, to: string, name: string): string {
  switch (match.type) {
    case 'exact':
      return to
    case 'prefix':
      return to + name.slice(match.from.length)
    case 'suffix':
      return name.slice(0, name.length - match.from.length) + to
    case 'substring':
      return name.replaceAll(match.from, () => to)
    case 'regex':
      // Groups cost far more than the match: they are asked for only where the target names one.
      return !to.includes('{') ? to : expandGroups(to, match.pattern?.regex?.find(name) ?? [])
  }
}
