import type {RewriteRule} from '../setup/plugins/rewrite-rule.ts'
import type {Question} from './message.ts'

/** What one rewrite rule did. */
export interface RuleTrace {
  /** Position in the block's list. */
  readonly index: number
  readonly rule: RewriteRule
  /**
   * `passed`: looked at, does not match. `rewrote`: matched and changed the question. `matched`: matched, works on the reply only.
   * `illegal`: the new name is no domain name. `unreached`: an earlier rule ended the list. `unknown`: cannot be told.
   */
  readonly outcome: 'passed' | 'rewrote' | 'matched' | 'illegal' | 'unreached' | 'unknown'
  readonly before: Question
  readonly after: Question
  /** The rule ended the list. */
  readonly stopped: boolean
  /** For unreached rules: whether it would match the name as asked, so that an earlier rule shadows it. */
  readonly shadowed?: boolean
}
