import {checkListeners} from '../listeners.ts'
import {parseCorefile} from '../parser.ts'
import {columnReader} from '../runes.ts'
import type {CorefileError, ParsedCorefile} from '../types.ts'
import {blockChecks} from './block-checks.ts'
import {importChecks} from './import-checks.ts'
import {interplayChecks} from './interplay-checks.ts'
import {keyChecks} from './key-checks.ts'
import {lexerChecks} from './lexer-checks.ts'
import {parserChecks} from './parser-checks.ts'
import {pluginChecks, setupFinding} from './plugin-checks.ts'
import {rewriteChecks} from './rewrite-checks.ts'
import {rewriteLineChecks} from './rewrite-line-checks.ts'
import type {LintId, LintRule, Severity} from './rule-table.ts'
import {lintRules} from './rule-table.ts'
import type {Check, Found, LintOptions, Subject} from './subject.ts'
import {found, subjectOf} from './subject.ts'

/** Something in a Corefile that a person should look at. */
export interface LintFinding {
  readonly id: LintId
  readonly severity: Severity
  readonly title: string
  /** `''` is the main Corefile. */
  readonly file: string
  /** 1-based; 0 where the whole file is meant. */
  readonly line: number
  /** 1-based, in characters; 0 where only the line is known. */
  readonly column: number
  readonly message: string
  readonly remedy: string
}

export interface LintReport {
  readonly parsed: ParsedCorefile
  /** By file, line, column, id. */
  readonly findings: readonly LintFinding[]
}

const checks: readonly Check[] = [
  ...lexerChecks,
  ...parserChecks,
  ...importChecks,
  ...keyChecks,
  ...blockChecks,
  ...pluginChecks,
  ...rewriteLineChecks,
  ...rewriteChecks,
  ...interplayChecks,
]

/** In: the id of a rule. Out: its line in the table. */
export function lintRule(id: LintId): LintRule {
  return lintRules[id]
}

/**
 * Looks for every known trap. In: the text of a Corefile and what is known around it. Out: findings, sorted. An error
 * of CoreDNS itself is reported once: by the rule that explains it, else as what it is.
 */
export function lint(bytes: Uint8Array, options: LintOptions = {}): LintReport {
  const parsed = parseCorefile(bytes, options.parse)
  const subject = subjectOf(bytes, parsed, options)
  const all = checks.flatMap((check) => check(subject))
  const explained = all.some(({id}) => lintRule(id).refused === true)
  const refusal = explained ? undefined : loadError(subject)
  const distinct = [...unique(all), ...(refusal === undefined ? [] : [refusal])]
  return {parsed, findings: withColumns(distinct, bytes, options).toSorted(compare)}
}

/** The load error that no rule of its own explains. */
function loadError({parsed, inspected, setup}: Subject): Found | undefined {
  const {error} = parsed
  const fileOf = (other: CorefileError) => (other.file === parsed.path ? '' : other.file)
  if (error !== undefined) {
    return found(
      'CF020',
      {file: fileOf(error), line: error.line},
      error.message,
      'mend this line: CoreDNS refuses the file',
    )
  }
  if (inspected.error !== undefined) {
    return found(
      'CF053',
      {file: fileOf(inspected.error), line: inspected.error.line},
      inspected.error.message,
      'write the key as a zone name with an optional port',
    )
  }
  const [first] = setup.errors
  if (first !== undefined) return setupFinding(first)
  const servers = checkListeners(parsed, inspected)
  if (servers === undefined) return undefined
  const remedy = 'give each zone, port and address to one block only'
  return found('CF054', {file: fileOf(servers), line: servers.line}, servers.message, remedy)
}

function unique(all: readonly Found[]): Found[] {
  const seen = new Set<string>()
  return all.filter(({id, file, line, start}) => {
    const key = `${id} ${file} ${line} ${start ?? ''}`
    if (seen.has(key)) return false
    seen.add(key)
    return true
  })
}

/** Columns are read in the order of the text: a line of a million characters is then walked once, not once for each finding. */
function withColumns(all: readonly Found[], bytes: Uint8Array, options: LintOptions): LintFinding[] {
  const readers = new Map<string, (offset: number) => number>()
  return all
    .toSorted((one, other) => (one.start ?? 0) - (other.start ?? 0))
    .map(({id, file, line, start, message, remedy}) => {
      const {title, severity} = lintRule(id)
      const text = file === '' ? bytes : options.parse?.files?.get(file)
      if (text !== undefined && !readers.has(file)) readers.set(file, columnReader(text))
      const column = start === undefined ? 0 : (readers.get(file)?.(start) ?? 0)
      return {id, severity, title, file, line, column, message, remedy}
    })
}

function compare(one: LintFinding, other: LintFinding): number {
  if (one.file !== other.file) return one.file < other.file ? -1 : 1
  return one.line - other.line || one.column - other.column || (one.id < other.id ? -1 : 1)
}
