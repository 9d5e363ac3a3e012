import {StateCache} from './state-cache.ts'
import {findSubmatch} from './match.ts'
import {parsePattern} from './parse.ts'
import {compileProgram} from './program.ts'
import {PatternError, PatternUnknown} from './syntax.ts'

/** A pattern that Go would compile, with a matcher whose time is linear in the text. */
export interface Regex {
  readonly source: string
  /** Groups without the whole match: Go's NumSubexp. */
  readonly groups: number
  /** Names of the groups, '' for nameless ones, index 0 for the whole match. */
  readonly names: readonly string[]
  /** Out: whether the pattern is found anywhere in the text. */
  readonly test: (text: string) => boolean
  /** Out: whole match and groups ('' for those without part), or null. */
  readonly find: (text: string) => string[] | null
}

/** `invalid`: Go refuses the pattern (`message` in Go's words). `unknown`: we cannot tell; never guessed. */
export type RegexResult =
  | {readonly kind: 'ok'; readonly regex: Regex}
  | {readonly kind: 'invalid'; readonly message: string}
  | {readonly kind: 'unknown'; readonly message: string}

const remembered = new Map<string, RegexResult>()
const rememberedLimit = 2000

/**
 * In: a pattern in Go's RE2 syntax, as `regexp.Compile` takes it. Out: a matcher, Go's error, or "unknown".
 * Source of the rules: regexp/syntax; corefile.md 6.2. Results are kept (patterns repeat a lot), which no caller can see.
 */
export function compileRegex(pattern: string): RegexResult {
  const known = remembered.get(pattern)
  if (known !== undefined) return known
  const result = compileAnew(pattern)
  if (remembered.size >= rememberedLimit) remembered.clear()
  remembered.set(pattern, result)
  return result
}

function compileAnew(pattern: string): RegexResult {
  try {
    const {root, names} = parsePattern(pattern)
    const program = compileProgram(root)
    const cache = new StateCache(program)
    const regex: Regex = {
      source: pattern,
      groups: names.length - 1,
      names,
      test: (text) => cache.test(text) ?? findSubmatch(program, text, names.length) !== null,
      find: (text) => (cache.test(text) === false ? null : findSubmatch(program, text, names.length)),
    }
    return {kind: 'ok', regex}
  } catch (error) {
    if (error instanceof PatternError) return {kind: 'invalid', message: `error parsing regexp: ${error.message}`}
    if (error instanceof PatternUnknown) return {kind: 'unknown', message: error.message}
    throw error
  }
}
