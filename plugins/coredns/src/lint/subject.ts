import type {InspectedKeys} from '../server-keys.ts'
import {inspectKeys} from '../server-keys.ts'
import type {SetupReport} from '../setup/check-setup.ts'
import {checkSetup} from '../setup/check-setup.ts'
import type {RewriteRule} from '../setup/plugins/rewrite-rule.ts'
import type {CompiledBlock} from '../simulate/chain/compile-block.ts'
import {compileBlock, isSetupError} from '../simulate/chain/compile-block.ts'
import {compileServer} from '../simulate/server.ts'
import type {CompiledServer} from '../simulate/server.ts'
import type {LiveCluster} from '../simulate/world.ts'
import type {ParsedCorefile, ParseOptions, ServerBlock} from '../types.ts'
import type {LintId} from './rule-table.ts'

/** What lint knows beside the text. */
export interface LintOptions {
  /** How the file is parsed: version, other files, environment. */
  readonly parse?: ParseOptions
  /** Services and namespaces, for the rules that ask for live targets. */
  readonly cluster?: LiveCluster
  /** Port of the cluster's queries. Default: 53, or the only one there is. */
  readonly dnsPort?: string
}

/** A finding before table and position are put to it. */
export interface Found {
  readonly id: LintId
  readonly file: string
  readonly line: number
  /** Byte offset in that file, where there is a token. */
  readonly start?: number
  readonly message: string
  readonly remedy: string
}

/** Everything a check may look at. */
export interface Subject {
  readonly bytes: Uint8Array
  readonly parsed: ParsedCorefile
  readonly options: LintOptions
  readonly inspected: InspectedKeys
  readonly setup: SetupReport
  /** Blocks that compile, whatever is wrong with the others. */
  readonly blocks: readonly CompiledBlock[]
  /** Undefined when CoreDNS would not load the file. */
  readonly server: CompiledServer | undefined
}

/** One idea of lint: looks at the subject, says what it found. */
export type Check = (subject: Subject) => readonly Found[]

/** In: text, parse result, options. Out: what the checks look at. */
export function subjectOf(bytes: Uint8Array, parsed: ParsedCorefile, options: LintOptions): Subject {
  const blocks = parsed.blocks.flatMap((block) => compiled(parsed, block))
  const setup = parsed.error === undefined ? checkSetup(parsed) : {errors: [], notChecked: [], unclear: []}
  return {bytes, parsed, options, inspected: inspectKeys(parsed), setup, blocks, server: compileServer(parsed)}
}

function compiled(parsed: ParsedCorefile, block: ServerBlock): CompiledBlock[] {
  try {
    return [compileBlock(parsed, block)]
  } catch (error) {
    if (isSetupError(error)) return []
    throw error
  }
}

/** In: a place. Out: a finding there. */
export function found(
  id: LintId,
  at: {readonly file: string; readonly line: number; readonly start?: number},
  message: string,
  remedy: string,
): Found {
  return {id, file: at.file, line: at.line, message, remedy, ...(at.start === undefined ? {} : {start: at.start})}
}

/** Rules of all blocks that rewrite names, with their block. */
export function nameRules(
  subject: Subject,
): {readonly block: CompiledBlock; readonly rule: RewriteRule & {field: 'name'}}[] {
  return subject.blocks.flatMap((block) =>
    block.rules.flatMap((rule) => (rule.field === 'name' ? [{block, rule}] : [])),
  )
}

/** Position of a rule: its word `rewrite`. */
export function placeOf(rule: RewriteRule): {readonly file: string; readonly line: number; readonly start?: number} {
  const [head] = rule.tokens
  return head ?? {file: rule.file, line: rule.line}
}
