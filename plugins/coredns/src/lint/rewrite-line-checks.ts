import {atLeast} from '../directives.ts'
import {longestPattern, matchTypeOf} from '../setup/plugins/rewrite-rule.ts'
import {compileRegex} from '../simulate/re2/regex.ts'
import {normalizeName} from '../simulate/dns-name.ts'
import type {Directive, Token} from '../types.ts'
import type {Check, Subject} from './subject.ts'
import {found} from './subject.ts'

interface Line {
  readonly directive: Directive
  /** Words behind `rewrite` and the mode, braces left out. */
  readonly words: readonly Token[]
  readonly head: Token
}

function rewriteLines({parsed}: Subject): Line[] {
  return parsed.blocks.flatMap((block) =>
    block.directives.flatMap((directive) => {
      const [head, ...rest] = directive.tokens
      if (directive.name !== 'rewrite' || head === undefined) return []
      const words = rest.filter(({text, quoted}) => quoted || (text !== '{' && text !== '}'))
      const mode = words[0]?.text.toLowerCase()
      return [{directive, head, words: mode === 'stop' || mode === 'continue' ? words.slice(1) : words}]
    }),
  )
}

const isName = ({words}: Line) => words[0]?.text.toLowerCase() === 'name'

const typeAsName: Check = (subject) =>
  rewriteLines(subject).flatMap((line) => {
    const [, first, second, third] = line.words
    if (!isName(line) || first === undefined || second === undefined || third !== undefined) return []
    if (matchTypeOf(first.text) === undefined) return []
    return [
      found(
        'CF100',
        first,
        `with two words only, ${JSON.stringify(first.text)} is the name to match, and ${second.text} the target`,
        `write what to match and the target behind ${first.text}`,
      ),
    ]
  })

const answerWithoutType: Check = (subject) =>
  rewriteLines(subject).flatMap((line) => {
    const [, first, , third] = line.words
    if (!isName(line) || first === undefined || third?.text !== 'answer' || matchTypeOf(first.text) !== undefined)
      return []
    return [found('CF101', third, 'answer options need the match type written out', 'write "exact" before the name')]
  })

const inlineAndBlock: Check = (subject) =>
  rewriteLines(subject).flatMap(({directive, head}) => {
    const brace = directive.tokens.find(({text, quoted}) => text === '{' && !quoted)
    const before = directive.tokens.filter(({line, text}) => line === head.line && text !== '{').length
    if (brace === undefined || before < 3) return []
    return [
      found(
        'CF102',
        brace,
        'a rule stands on one line or in a block, not in both: CoreDNS reads the block as another rule',
        'write the whole rule into the block',
      ),
    ]
  })

const patternTarget: Check = (subject) =>
  rewriteLines(subject).flatMap((line) => {
    const [, first, second, third] = line.words
    if (!isName(line) || first === undefined || second === undefined) return []
    const exact = third === undefined || matchTypeOf(first.text) === 'exact'
    const target = third ?? second
    if (!exact || compileRegex(normalizeName(target.text)).kind !== 'invalid') return []
    return [
      found(
        'CF103',
        target,
        `CoreDNS compiles the target of an exact rule as a pattern, and ${JSON.stringify(target.text)} is none`,
        'name one host as the target',
      ),
    ]
  })

/** Words that are compiled as patterns: behind `regex`, and behind the answer options `name` and `value`. */
function patternsOf({words}: Line): Token[] {
  const field = words[0]?.text.toLowerCase()
  const found: Token[] = []
  const regex = words[1]?.text.toLowerCase() === 'regex' && words.length > 3
  if (regex && ['name', 'ttl', 'rcode', 'cname'].includes(field ?? '') && words[2] !== undefined) found.push(words[2])
  for (const [index, word] of words.entries()) {
    const option = index > 3 && (word.text === 'name' || word.text === 'value') && field === 'name'
    const pattern = words[index + 1]
    if (option && pattern !== undefined && words[index - 1]?.text === 'answer') found.push(pattern)
  }
  return found
}

/** Patterns that stand elsewhere: `match` of template. */
function templatePatterns({parsed}: Subject): Token[] {
  return parsed.blocks.flatMap((block) => {
    const tokens = block.tokens.get('template') ?? []
    let line = -1
    let behindMatch = false
    return tokens.filter((token) => {
      if (token.line !== line) behindMatch = false
      line = token.line
      const found = behindMatch && token.text !== '{' && token.text !== '}'
      behindMatch ||= token.text === 'match'
      return found
    })
  })
}

function allPatterns(subject: Subject): Token[] {
  return [...rewriteLines(subject).flatMap(patternsOf), ...templatePatterns(subject)]
}

const notRe2: Check = (subject) =>
  allPatterns(subject).flatMap((token) => {
    const result = compileRegex(token.text)
    if (result.kind !== 'invalid') return []
    return [
      found(
        'CF104',
        token,
        `${result.message} (Go's RE2: no look-around, no back-references)`,
        'write the pattern without it; exceptions are exact rules placed before',
      ),
    ]
  })

const unclear: Check = (subject) =>
  allPatterns(subject).flatMap((token) => {
    const result = compileRegex(token.text)
    if (result.kind !== 'unknown') return []
    return [
      found(
        'CF125',
        token,
        `whether this pattern does what it should is not known: ${result.message}`,
        'use a simpler pattern',
      ),
    ]
  })

const longPattern: Check = (subject) => {
  if (!atLeast(subject.parsed.version, '1.14.0')) return []
  return allPatterns(subject).flatMap((token) => {
    const {length} = new TextEncoder().encode(token.text)
    if (length <= longestPattern) return []
    return [
      found(
        'CF121',
        token,
        `the pattern has ${length} characters; CoreDNS takes ${longestPattern}`,
        'split it into several rules',
      ),
    ]
  })
}

const newerOptions: Check = (subject) => {
  if (atLeast(subject.parsed.version, '1.8.4')) return []
  return rewriteLines(subject).flatMap((line) => {
    const answer = line.words.find(({text}, index) => index > 2 && text === 'answer')
    const option = answer === undefined ? undefined : line.words[line.words.indexOf(answer) + 1]
    const old = line.words[1]?.text.toLowerCase() === 'regex' && option?.text === 'name' && line.words.length === 8
    if (answer === undefined || old) return []
    return [
      found(
        'CF116',
        answer,
        '"answer auto" and its like came with 1.8.4: this version refuses the file',
        'upgrade CoreDNS, or use a template',
      ),
    ]
  })
}

/** Section 6.1 and 6.2 of the reference, by the words of the line: works also where setup refuses the rule. */
export const rewriteLineChecks: readonly Check[] = [
  typeAsName,
  answerWithoutType,
  inlineAndBlock,
  patternTarget,
  notRe2,
  unclear,
  longPattern,
  newerOptions,
]
