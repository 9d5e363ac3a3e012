import {atLeast} from '../../directives.ts'
import {normalizeName} from '../../simulate/dns-name.ts'
import {classes, types} from '../../simulate/dns-codes.ts'
import {compileRegex} from '../../simulate/re2/regex.ts'
import type {Token} from '../../types.ts'
import type {SetupContext} from '../context.ts'
import type {Dispenser} from '../dispenser.ts'
import {readEdnsRule} from './rewrite-edns.ts'
import {readCnameRule, readRcodeRule, readTtlRule} from './rewrite-reply.ts'
import type {AnswerRewrite, Refuse, RewriteRule, RuleBody, RulePattern, RuleReader} from './rewrite-rule.ts'
import {longestPattern, matchTypeOf} from './rewrite-rule.ts'

/** In: the tokens of all rewrite directives of a block. Out: its rules in list order. Throws SetupError. */
export function readRewriteRules(dispenser: Dispenser, context: SetupContext): RewriteRule[] {
  const rules: RewriteRule[] = []
  while (dispenser.next()) {
    const head = dispenser.token
    const args = dispenser.remainingTokens()
    const inline = args.length
    if (inline < 2) {
      while (dispenser.nextBlock()) if (dispenser.token !== undefined) args.push(dispenser.token)
    }
    if (head !== undefined) rules.push(readRule(head, args, inline, dispenser, context))
  }
  return rules
}

function readRule(
  head: Token,
  args: readonly Token[],
  inline: number,
  dispenser: Dispenser,
  context: SetupContext,
): RewriteRule {
  const refuse: Refuse = (message) => {
    throw dispenser.plain(message)
  }
  const reader: RuleReader = {
    context,
    refuse,
    pattern: (source, wrong) => readPattern(source, wrong, head, context, refuse),
  }
  const words = args.map((token) => token.text)
  const first = words[0]
  if (first === undefined) return refuse('no rule type specified for rewrite')
  const explicit = first.toLowerCase()
  const hasMode = explicit === 'stop' || explicit === 'continue'
  if (hasMode && words.length < 2) return refuse(`${explicit} rule must begin with a rule type`)
  const rest = hasMode ? words.slice(1) : words
  const body = readBody(rest, first, reader)
  const text = `rewrite ${words.slice(0, inline).join(' ')}${words.length > inline ? ` { ${words.slice(inline).join(' ')} }` : ''}`
  return {
    ...body,
    mode: explicit === 'continue' ? 'continue' : 'stop',
    line: head.line,
    file: head.file,
    text: text.replace(/ {2,}/g, ' '),
    tokens: [head, ...args],
  }
}

function readBody(words: readonly string[], first: string, reader: RuleReader): RuleBody {
  const field = (words[0] ?? '').toLowerCase()
  const args = words.slice(1)
  const {version} = reader.context
  switch (field) {
    case 'answer':
      return reader.refuse('response rewrites must begin with a name rule')
    case 'name':
      return readNameRule(args, reader)
    case 'class':
    case 'type':
      return readCodeRule(field, args, reader)
    case 'edns0':
      return readEdnsRule(args, reader)
    case 'ttl':
      return readTtlRule(args, reader)
    case 'cname':
      if (atLeast(version, '1.11.0')) return readCnameRule(args, reader)
      break
    case 'rcode':
      if (atLeast(version, '1.11.3')) return readRcodeRule(args, reader)
      break
    default:
  }
  return reader.refuse(`invalid rule type ${JSON.stringify(first)}`)
}

function readCodeRule(field: 'type' | 'class', args: readonly string[], reader: RuleReader): RuleBody {
  if (args.length !== 2) return reader.refuse(`${field} rules must have exactly two arguments`)
  const known = field === 'type' ? types : classes
  const [from = '', to = ''] = args.map((arg) => arg.toUpperCase())
  for (const code of [from, to]) if (!known.has(code)) return reader.refuse(`invalid ${field} ${JSON.stringify(code)}`)
  return {field, from, to}
}

function readNameRule(args: readonly string[], reader: RuleReader): RuleBody {
  const [first = '', second = '', third = ''] = args
  if (args.length < 2) return reader.refuse('too few arguments for a name rule')
  if (args.length === 2) return exactRule(normalizeName(first), normalizeName(second), [], reader)
  const type = matchTypeOf(first)
  const {auto, answers} =
    args.length > 3 ? readAnswers(first.toLowerCase(), args.slice(3), reader) : {auto: false, answers: []}
  if (type === undefined) {
    return reader.refuse(
      `name rule supports only exact, prefix, suffix, substring, and regex name matching, received: ${first.toLowerCase()}`,
    )
  }
  if (type === 'exact') return exactRule(normalizeName(second), normalizeName(third), answers, reader)
  const to = normalizeName(third)
  if (type === 'regex') {
    const pattern = readGroupedPattern(second, third, reader)
    return {field: 'name', match: {type, from: second, pattern}, to, auto, answers}
  }
  return {field: 'name', match: {type, from: normalizeName(second)}, to, auto, answers}
}

function exactRule(from: string, to: string, answers: readonly AnswerRewrite[], reader: RuleReader): RuleBody {
  // CoreDNS compiles the TARGET, and counts group references in the name to match. Kept as it is: V53.
  readGroupedPattern(to, from, reader)
  return {field: 'name', match: {type: 'exact', from}, to, auto: true, answers}
}

/** The check that CoreDNS makes of every pattern with a replacement. */
function readGroupedPattern(source: string, replacement: string, reader: RuleReader): RulePattern {
  const pattern = reader.pattern(source, () => `invalid regex matching pattern: ${source}`)
  let used = 0
  const grouped = replacement.includes('{')
  for (let group = 0; grouped && group <= 100; group += 1) if (replacement.includes(`{${group}}`)) used += 1
  if (pattern.regex !== undefined && used > pattern.regex.groups) {
    return reader.refuse(
      `the rewrite regex pattern (${replacement}) uses more subexpressions than its corresponding matching regex pattern (${source})`,
    )
  }
  return pattern
}

function readPattern(
  source: string,
  wrong: (why: string) => string,
  head: Token,
  context: SetupContext,
  refuse: Refuse,
): RulePattern {
  if (
    source.length * 3 > longestPattern &&
    atLeast(context.version, '1.14.0') &&
    new TextEncoder().encode(source).length > longestPattern
  ) {
    return refuse(`regex pattern too long: ${new TextEncoder().encode(source).length} > ${longestPattern}`)
  }
  const result = compileRegex(source)
  if (result.kind === 'invalid') return refuse(wrong(result.message))
  if (result.kind === 'ok') return {source, regex: result.regex}
  context.unclear(`pattern ${source}: ${result.message}`, head.line, head.file)
  return {source}
}

/** Reads what stands behind FROM and TO: `answer auto`, `answer name A B`, `answer value A B` (corefile.md 6.1). */
function readAnswers(
  name: string,
  args: readonly string[],
  reader: RuleReader,
): {auto: boolean; answers: AnswerRewrite[]} {
  if (!atLeast(reader.context.version, '1.8.4')) return readOldAnswer(name, args, reader)
  const answers: AnswerRewrite[] = []
  let auto = false
  if (args.length < 2) return reader.refuse(`invalid arguments for ${name} rule`)
  for (let at = 0; at < args.length;) {
    if (at === 0 && args[at] !== 'answer') {
      return reader.refuse(`exceeded the number of arguments for a non-answer rule argument for ${name} rule`)
    }
    if (args[at] === 'answer') at += 1
    const what = args[at]
    if (what === undefined) return reader.refuse(`type missing for answer rule for ${name} rule`)
    at += 1
    if (what === 'auto') {
      auto = true
      continue
    }
    if (what !== 'name' && what !== 'value') {
      return reader.refuse(`invalid type ${JSON.stringify(what)} for answer rule for ${name} rule`)
    }
    answers.push(readAnswer(name, what, args.slice(at, at + 2), reader))
    at += 2
  }
  if (auto && answers.some((answer) => answer.what === 'name')) {
    return reader.refuse('auto name answer rule cannot be combined with explicit name anwer rules')
  }
  return {auto, answers}
}

function readAnswer(name: string, what: 'name' | 'value', args: readonly string[], reader: RuleReader): AnswerRewrite {
  const prefix = `${what} answer rule for ${name} rule: `
  const [from, to] = args
  if (from === undefined || to === undefined) return reader.refuse(`${prefix}2 arguments required`)
  const inner: RuleReader = {...reader, refuse: (message) => reader.refuse(prefix + message)}
  const prefixed: RuleReader = {
    ...inner,
    pattern: (source, wrong) => reader.pattern(source, (why) => prefix + wrong(why)),
  }
  return {what, pattern: readGroupedPattern(from, to, prefixed), to: normalizeName(to)}
}

/** Up to 1.8.3 only `regex FROM TO answer name A B` exists. */
function readOldAnswer(
  name: string,
  args: readonly string[],
  reader: RuleReader,
): {auto: boolean; answers: AnswerRewrite[]} {
  const [answer, what, from, to] = args
  if (
    name !== 'regex' ||
    args.length !== 4 ||
    answer !== 'answer' ||
    what !== 'name' ||
    from === undefined ||
    to === undefined
  ) {
    return reader.refuse(`exceeded the number of arguments for a ${name} rule`)
  }
  return {auto: false, answers: [{what: 'name', pattern: readGroupedPattern(from, to, reader), to: normalizeName(to)}]}
}
