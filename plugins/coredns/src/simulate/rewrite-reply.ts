import {atLeast} from '../directives.ts'
import type {RewriteRule, RulePattern} from '../setup/plugins/rewrite-rule.ts'
import {escapeName} from './dns-name.ts'
import type {DnsMessage, DnsRecord, Question} from './message.ts'
import {optRecord} from './message.ts'
import {expandGroups, matches, renamed} from './rewrite-request.ts'
import type {Run} from './run.ts'
import {AnswerUnknown} from './run.ts'

type Mutable<Value> = {-readonly [Field in keyof Value]: Value[Field]}

/** A reply while rules work on it: records are shared objects that are changed in place. */
interface Draft {
  rcode: string
  answer: Mutable<DnsRecord>[]
}

/** One reply rule, as CoreDNS queues it when a rewrite rule matched. */
export interface ReplyRule {
  readonly what: 'name' | 'value' | 'ttl' | 'rcode' | 'cname'
  readonly apply: (draft: Draft, record: Mutable<DnsRecord> | undefined, run: Run) => void
}

/** The request as it is when the reply comes: later rules may have changed it. */
export interface LateQuestion {
  type: string
  edns: boolean
}

type Rewriter = (text: string) => string

/** In: a rule that matched, the question before and after it. Out: the reply rules it brings, in CoreDNS' order. Source: corefile.md 6.4. */
export function replyRulesOf(rule: RewriteRule, before: Question, after: Question, late: LateQuestion): ReplyRule[] {
  switch (rule.field) {
    case 'name':
      return nameReplyRules(rule, before, after)
    case 'ttl':
      return [
        {
          what: 'ttl',
          apply: (_, record) => {
            if (record !== undefined) record.ttl = Math.min(Math.max(record.ttl, rule.min), rule.max)
          },
        },
      ]
    case 'rcode':
      return [
        {
          what: 'rcode',
          apply: (draft) => {
            if (draft.rcode === rule.from) draft.rcode = rule.to
          },
        },
      ]
    case 'cname':
      return [{what: 'cname', apply: (draft, record, run) => retarget(rule, draft, record, late, run)}]
    default:
      return []
  }
}

function nameReplyRules(rule: RewriteRule & {field: 'name'}, before: Question, after: Question): ReplyRule[] {
  const rules: ReplyRule[] = []
  const pair = (rewrite: Rewriter) => rules.push(nameRule(rewrite), valueRule(rewrite))
  if (rule.match.type === 'suffix') {
    if (rule.auto)
      pair((text) => (text.endsWith(rule.to) ? text.slice(0, text.length - rule.to.length) + rule.match.from : text))
  } else if (rule.auto) {
    const from = after.name
    const to = escapeName(before.name).toLowerCase()
    pair((text) => {
      if (text === from) return to
      return text.endsWith(`.${from}`) ? text.slice(0, text.length - from.length) + to : text
    })
  }
  for (const answer of rule.answers) {
    const rewrite: Rewriter = (text) => rewriteByPattern(answer.pattern, answer.to, text)
    rules.push(answer.what === 'name' ? nameRule(rewrite) : valueRule(rewrite))
  }
  return rules
}

function rewriteByPattern(pattern: RulePattern, to: string, text: string): string {
  if (pattern.regex === undefined)
    throw new AnswerUnknown(`pattern ${pattern.source} of an answer option cannot be judged`)
  const groups = pattern.regex.find(text)
  return groups === null ? text : expandGroups(to, groups)
}

function nameRule(rewrite: Rewriter): ReplyRule {
  return {
    what: 'name',
    apply: (_, record) => {
      if (record !== undefined) record.name = rewrite(record.name)
    },
  }
}

function valueRule(rewrite: Rewriter): ReplyRule {
  return {
    what: 'value',
    apply: (_, record) => {
      if (record?.target !== undefined && record.target !== '') record.target = rewrite(record.target)
    },
  }
}

/** `rewrite cname`: the target is changed and asked anew; what the reply held behind the CNAME goes. */
function retarget(
  rule: RewriteRule & {field: 'cname'},
  draft: Draft,
  record: Mutable<DnsRecord> | undefined,
  late: LateQuestion,
  run: Run,
): void {
  if (record?.type !== 'CNAME' || record.target === undefined) return
  const from = record.target
  const hit = matches(rule.match, from)
  if (hit === undefined) throw new AnswerUnknown(`pattern ${rule.match.from} of a cname rule cannot be judged`)
  if (!hit) return
  const to = renamed(rule.match, rule.to, from)
  const found = run.lookup(to, late.type, late.edns, `rewrite cname, line ${rule.line}`)
  if (found === undefined) {
    if (atLeast(run.version, '1.14.2')) return
    throw new AnswerUnknown('the look-up of a cname rule gave no message, which older releases do not survive')
  }
  const kept: Mutable<DnsRecord>[] = []
  for (const other of draft.answer) {
    if (other.type !== 'CNAME') continue
    kept.push(other)
    if (atLeast(run.version, '1.14.2')) {
      if (other.target !== from) continue
      other.target = to
      break
    }
    other.target = to
  }
  const added = atLeast(run.version, '1.14.2') ? found.answer : found.answer.filter((other) => other.name === to)
  draft.answer = [...kept, ...added.map((other) => ({...other}))]
}

/**
 * In: a reply, the rules in the order of the matches, the question as it was asked. Out: the reply as it is sent.
 * The question is always put back; names, values, TTLs and codes follow the rules, last match first since 1.11.4.
 */
export function revertReply(message: DnsMessage, rules: readonly ReplyRule[], asked: Question, run: Run): DnsMessage {
  const order = atLeast(run.version, '1.11.4') ? rules.toReversed() : rules
  const authority = message.authority.map((record) => ({...record}))
  const additional = message.additional.map((record) => ({...record}))
  const first = message.answer.map((record) => ({...record}))
  const draft: Draft = {rcode: message.rcode, answer: first}
  for (const record of [...authority, ...first, ...additional]) {
    for (const rule of order) rule.apply(draft, record, run)
  }
  // Codes are message-wide: since 1.14.7 a reply without any record gets them too.
  if (authority.length + first.length + additional.length === 0 && atLeast(run.version, '1.14.7')) {
    for (const rule of order) if (rule.what === 'rcode') rule.apply(draft, undefined, run)
  }
  return {rcode: draft.rcode, question: asked, answer: draft.answer, authority, additional}
}

/** The owner a client gets for a record that the plugins behind `rewrite` named `seen`. */
export function ownerFor(seen: Question, rules: readonly ReplyRule[], asked: Question, run: Run): string {
  const names = rules.filter((rule) => rule.what === 'name')
  const message: DnsMessage = {
    rcode: 'NOERROR',
    question: seen,
    answer: [{name: escapeName(seen.name).toLowerCase(), type: 'A', ttl: 0, data: ''}],
    authority: [],
    additional: [],
  }
  return revertReply(message, names, asked, run).answer[0]?.name ?? ''
}

/** In: a request with or without OPT. Out: the records that an error reply of the server itself carries. */
export function errorAdditional(edns: boolean): readonly DnsRecord[] {
  return edns ? [optRecord] : []
}
