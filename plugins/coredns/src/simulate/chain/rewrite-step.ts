import {atLeast} from '../../directives.ts'
import type {RewriteRule} from '../../setup/plugins/rewrite-rule.ts'
import {unansweredRcodes} from '../dns-codes.ts'
import {isDomainName} from '../dns-name.ts'
import type {Question, Request} from '../message.ts'
import {replyTo} from '../message.ts'
import type {ReplyRule} from '../rewrite-reply.ts'
import {errorAdditional, replyRulesOf, revertReply} from '../rewrite-reply.ts'
import {applyRule} from '../rewrite-request.ts'
import type {Next, Run, Step, Writer} from '../run.ts'
import {AnswerUnknown} from '../run.ts'
import type {RuleTrace} from '../trace.ts'

/** What became of a question in a list of rules. */
export interface Rewritten {
  readonly traces: readonly RuleTrace[]
  readonly question: Question
  readonly replyRules: readonly ReplyRule[]
  /** `stop`: a matching rule ended the list. `end`: the list ran out. */
  readonly ended: 'stop' | 'end' | 'illegal' | 'unknown'
  /** Rules of `edns0` put an OPT record into the request. */
  readonly edns: boolean
}

/** In: the rules of a block in list order, a question. Out: every rule's part in it. Source: corefile.md 6.3. */
export function rewriteQuestion(rules: readonly RewriteRule[], asked: Question, edns: boolean): Rewritten {
  const traces: RuleTrace[] = []
  const replyRules: ReplyRule[] = []
  let question = asked
  let ended: Rewritten['ended'] | undefined
  const late = {type: asked.type, edns}
  for (const [index, rule] of rules.entries()) {
    if (ended !== undefined) {
      const would = rule.field === 'name' && applyRule(rule, asked).kind === 'rewrote'
      traces.push({
        index,
        rule,
        outcome: 'unreached',
        before: question,
        after: question,
        stopped: false,
        shadowed: would,
      })
      continue
    }
    const before = question
    const effect = applyRule(rule, before)
    if (rule.field === 'edns0') late.edns = true
    if (effect.kind === 'unknown') ended = 'unknown'
    let outcome: RuleTrace['outcome'] = effect.kind
    if (effect.kind === 'rewrote') {
      question = effect.question
      if (!isDomainName(question.name)) {
        outcome = 'illegal'
        ended = 'illegal'
      }
    }
    if (outcome === 'rewrote' || outcome === 'matched') {
      replyRules.push(...replyRulesOf(rule, before, question, late))
      if (rule.mode === 'stop') ended = 'stop'
    }
    traces.push({index, rule, outcome, before, after: question, stopped: ended !== undefined && outcome !== 'passed'})
  }
  late.type = question.type
  return {traces, question, replyRules, ended: ended ?? 'end', edns: late.edns}
}

/** The `rewrite` plugin of a block. */
export function rewriteStep(rules: readonly RewriteRule[], line: number, file: string): Step {
  return {plugin: 'rewrite', line, file, serve: (run, write, request, next) => serve(rules, run, write, request, next)}
}

function serve(rules: readonly RewriteRule[], run: Run, write: Writer, request: Request, next: Next): string {
  const asked = request.question
  const result = rewriteQuestion(rules, asked, request.edns)
  run.rules(result.traces)
  request.edns = result.edns
  if (result.ended === 'unknown') throw new AnswerUnknown('a rewrite pattern cannot be judged')
  if (result.ended === 'illegal') {
    run.fault.raised = true
    return 'SERVFAIL'
  }
  request.question = result.question
  if (result.ended === 'end' && result.replyRules.length === 0) return next(write, request)
  const revert: Writer = (message) => write(revertReply(message, result.replyRules, asked, run))
  const rcode = next(revert, request)
  if (!unansweredRcodes.has(rcode)) return rcode
  // Errors are written here, through the reply rules: since 1.9.0 after a stop rule, since 1.14.7 always.
  const through = result.ended === 'stop' ? '1.9.0' : '1.14.7'
  if (!atLeast(run.version, through)) return rcode
  revert(replyTo(request, rcode, {additional: errorAdditional(request.edns)}))
  return 'NOERROR'
}
