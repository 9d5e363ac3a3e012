import type {RewriteRule} from '../setup/plugins/rewrite-rule.ts'
import {isDomainName, questionName} from './dns-name.ts'
import type {Question} from './message.ts'
import {applyRule, matches} from './rewrite-request.ts'
import type {RuleTrace} from './trace.ts'

/**
 * The rules of a block, with the exact name rules in a table: what a name meets is found without looking at ten
 * thousand others.
 */
export class RuleIndex {
  private readonly rules: readonly RewriteRule[]
  private readonly exact = new Map<string, number[]>()
  private readonly others: number[] = []

  constructor(rules: readonly RewriteRule[]) {
    this.rules = rules
    for (const [index, rule] of rules.entries()) {
      const named = rule.field === 'name' && rule.match.type === 'exact'
      if (!named) {
        this.others.push(index)
        continue
      }
      const list = this.exact.get(rule.match.from)
      if (list === undefined) this.exact.set(rule.match.from, [index])
      else list.push(index)
    }
  }

  /** Rules whose exact name fits a test, in list order. */
  exactWhere(fits: (name: string) => boolean): readonly RewriteRule[] {
    const found: number[] = []
    for (const [name, indexes] of this.exact) if (fits(name)) for (const index of indexes) found.push(index)
    return found.sort((one, other) => one - other).flatMap((index) => this.rules[index] ?? [])
  }

  /**
   * In: a question, rules to pass over. Out: the rules that have a part in it, in list order: those that change the
   * question, that end the list, or that cannot be judged.
   */
  met(asked: Question, passed: (rule: RewriteRule) => boolean): readonly RuleTrace[] {
    const traces: RuleTrace[] = []
    let question = asked
    let from = 0
    for (;;) {
      const index = this.nextMeeting(question, from, passed)
      const rule = index === undefined ? undefined : this.rules[index]
      if (index === undefined || rule === undefined) return traces
      const effect = applyRule(rule, question)
      const after = effect.kind === 'rewrote' ? effect.question : question
      // A rule that makes no name ends the list as a stop does.
      const illegal = effect.kind === 'rewrote' && !isDomainName(after.name)
      const stopped = rule.mode === 'stop' || effect.kind === 'unknown' || illegal
      traces.push({index, rule, outcome: illegal ? 'illegal' : effect.kind, before: question, after, stopped})
      if (stopped) return traces
      question = after
      from = index + 1
    }
  }

  private nextMeeting(question: Question, from: number, passed: (rule: RewriteRule) => boolean): number | undefined {
    const named = this.exact
      .get(questionName(question.name))
      ?.find((index) => index >= from && !this.skips(index, passed))
    // The rules before `from` are behind us: thousands of them are not looked at again for each that follows.
    const other = this.others.slice(firstFrom(this.others, from)).find((index) => {
      if ((named !== undefined && index > named) || this.skips(index, passed)) return false
      const rule = this.rules[index]
      return rule !== undefined && meets(rule, question)
    })
    return other ?? named
  }

  private skips(index: number, passed: (rule: RewriteRule) => boolean): boolean {
    const rule = this.rules[index]
    return rule === undefined || passed(rule)
  }
}

/** In: numbers in rising order. Out: where those from `least` on begin. */
function firstFrom(sorted: readonly number[], least: number): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((sorted[middle] as number) < least) low = middle + 1
    else high = middle
  }
  return low
}

/** Whether a rule has a part in a question; cheaper than to apply it. */
function meets(rule: RewriteRule, question: Question): boolean {
  if (rule.field === 'name') return matches(rule.match, questionName(question.name)) !== false
  return applyRule(rule, question).kind !== 'passed'
}
