import {rcodeName, rcodes} from '../../simulate/dns-codes.ts'
import type {Regex} from '../../simulate/re2/regex.ts'
import type {Token} from '../../types.ts'
import type {SetupContext} from '../context.ts'

export type RewriteMode = 'stop' | 'continue'
export type MatchType = 'exact' | 'prefix' | 'suffix' | 'substring' | 'regex'

/** A pattern of a rule; `regex` is absent where we cannot tell what Go makes of it. */
export interface RulePattern {
  readonly source: string
  readonly regex?: Regex
}

/** `name REGEX TO` or `value REGEX TO` behind `answer`. */
export interface AnswerRewrite {
  readonly what: 'name' | 'value'
  readonly pattern: RulePattern
  readonly to: string
}

/** Which names a rule takes. */
export interface NameMatch {
  readonly type: MatchType
  /** Normalised as the rule compares it; the pattern's text for regex. */
  readonly from: string
  readonly pattern?: RulePattern
}

interface RuleBase {
  readonly mode: RewriteMode
  readonly line: number
  readonly file: string
  /** The rule as one line, for messages. */
  readonly text: string
  /** Every token of the rule, the word `rewrite` first. */
  readonly tokens: readonly Token[]
}

/** One rule as CoreDNS holds it after setup. Source of the fields: corefile.md 6.1, plugin/rewrite. */
export type RewriteRule =
  | (RuleBase & {
      readonly field: 'name'
      readonly match: NameMatch
      readonly to: string
      readonly auto: boolean
      readonly answers: readonly AnswerRewrite[]
    })
  | (RuleBase & {readonly field: 'type' | 'class'; readonly from: string; readonly to: string})
  | (RuleBase & {readonly field: 'ttl'; readonly match: NameMatch; readonly min: number; readonly max: number})
  | (RuleBase & {readonly field: 'rcode'; readonly match: NameMatch; readonly from: string; readonly to: string})
  | (RuleBase & {readonly field: 'cname'; readonly match: NameMatch; readonly to: string})
  | (RuleBase & {readonly field: 'edns0'; readonly action: string; readonly option: string})

/** A rule's content, before the common fields are put to it. */
export type RuleBody = RewriteRule extends infer Rule
  ? Rule extends RewriteRule
    ? Omit<Rule, keyof RuleBase>
    : never
  : never

/** Throws with CoreDNS' text (no position: rewrite gives none). */
export type Refuse = (message: string) => never

/** What the readers of the single fields share. */
export interface RuleReader {
  readonly context: SetupContext
  readonly refuse: Refuse
  /** In: a pattern. Out: it compiled; refuses what Go refuses through `wrong`. */
  readonly pattern: (source: string, wrong: (why: string) => string) => RulePattern
}

/** Longest pattern that a rule may have, since 1.14.0. */
export const longestPattern = 10_000

/** Out: the match type that a word names, undefined for any other word. */
export function matchTypeOf(word: string): MatchType | undefined {
  const lower = word.toLowerCase()
  return (['exact', 'prefix', 'suffix', 'substring', 'regex'] as const).find((type) => type === lower)
}

/** In: a word. Out: the reply code it names (number 0 to 23 or a name), undefined for anything else. */
export function rcodeOf(word: string): string | undefined {
  const code = /^\d+$/.test(word) && Number(word) <= 23 ? Number(word) : rcodes.get(word.toUpperCase())
  return code === undefined ? undefined : rcodeName(code)
}
