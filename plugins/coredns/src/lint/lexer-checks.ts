import {environmentNames} from '../environment.ts'
import type {LexProblemKind, ParsedCorefile, Token} from '../types.ts'
import type {LintId} from './rule-table.ts'
import type {Check, Subject} from './subject.ts'
import {found} from './subject.ts'

const problems: Readonly<Record<LexProblemKind, readonly [LintId, string, string]>> = {
  'invalid-utf8': ['CF001', 'a byte that is not UTF-8 becomes U+FFFD', 'save the file as UTF-8'],
  'control-character': ['CF002', 'a control character becomes part of a word', 'take it out'],
  'zero-width-character': ['CF003', 'a character that cannot be seen becomes part of a word', 'type the word anew'],
  'unterminated-quote': ['CF005', 'the quote is never closed: it takes the rest of the file', 'close it'],
  'glued-comment': [
    'CF006',
    'a # directly behind a word ends it, and what follows the next blank is read as words again',
    'put a blank before the #, or quotes around a word that holds one',
  ],
  'lone-carriage-return': [
    'CF004',
    'a carriage return alone ends no line: words are glued together',
    'use LF or CRLF throughout',
  ],
}

const lexProblems: Check = ({parsed}) =>
  parsed.problems.map(({kind, file, line, offset}) => {
    const [id, message, remedy] = problems[kind]
    return found(id, {file, line, start: offset}, message, remedy)
  })

const tokensOf = new WeakMap<ParsedCorefile, readonly Token[]>()

/** Every token that counts, of the main file and of what it imports. */
function allTokens({parsed}: Subject): readonly Token[] {
  const known = tokensOf.get(parsed)
  if (known !== undefined) return known
  const tokens = new Set(parsed.mainTokens)
  for (const block of parsed.blocks) {
    for (const token of block.keyTokens) tokens.add(token)
    for (const directive of block.directives) for (const token of directive.tokens) tokens.add(token)
  }
  const seen = new Set<string>()
  const once = [...tokens].filter(({file, start}) => {
    const key = `${file} ${start}`
    if (seen.has(key)) return false
    seen.add(key)
    return true
  })
  tokensOf.set(parsed, once)
  return once
}

const gluedQuotes: Check = ({parsed}) => {
  const {mainTokens} = parsed
  return mainTokens.flatMap((token, index) => {
    const next = mainTokens[index + 1]
    if (!token.quoted || next === undefined || next.start !== token.end) return []
    const message = `the closing quote ends the word, so ${JSON.stringify(next.raw)} is a word of its own`
    return [found('CF007', next, message, 'put a blank between the words, or write them as one without quotes')]
  })
}

const quotedBraces: Check = (subject) =>
  allTokens(subject)
    .filter(({quoted, raw}) => quoted && (raw === '{' || raw === '}'))
    .map((token) =>
      found(
        'CF008',
        token,
        `"${token.raw}" opens or closes a block, quotes or not`,
        'put something else into the quotes, or take the word out',
      ),
    )

/** `errors{`, `.:53{`, `8.8.8.8}`: words. Braces inside words that belong there (patterns, templates, references) are left alone. */
const gluedBraces: Check = (subject) =>
  allTokens(subject).flatMap((token) => {
    const {raw, quoted} = token
    // Without line ends everything is glued: told once.
    if (subject.parsed.problems.some(({kind}) => kind === 'lone-carriage-return')) return []
    if (quoted || raw.length < 2) return []
    const opens = raw.endsWith('{') && raw.indexOf('{') === raw.length - 1 && !/[\\^$*+()]/.test(raw)
    const closes = raw.endsWith('}') && !raw.includes('{')
    if (!opens && !closes) return []
    const brace = raw.at(-1) ?? ''
    return [
      found(
        'CF009',
        token,
        `the ${brace} belongs to the word ${JSON.stringify(raw)}: no block begins or ends here`,
        `put a ${brace === '{' ? 'blank' : 'line end'} before the brace`,
      ),
    ]
  })

const backslashes: Check = ({parsed}) =>
  parsed.mainTokens.flatMap((token, index) => {
    const next = parsed.mainTokens[index + 1]
    if (token.raw !== '\\' || token.quoted || next?.line === token.line) return []
    return [
      found(
        'CF010',
        token,
        'CoreDNS knows no line continuation: the backslash is an argument',
        'write the whole directive on one line',
      ),
    ]
  })

const environment: Check = (subject) => {
  const {parsed, options} = subject
  const env = options.parse?.env ?? {known: new Map<string, string>(), others: 'unset' as const}
  return allTokens(subject).flatMap((token) =>
    environmentNames(token.raw).flatMap((name) => {
      if (name.includes(':')) {
        return [
          found(
            'CF012',
            token,
            `this asks for a variable called ${JSON.stringify(name)}: there are no default values`,
            'set the variable in the Pod, or write the value',
          ),
        ]
      }
      const value = env.known.get(name)
      if (value === undefined) {
        return env.others === 'unset'
          ? [
              found(
                'CF011',
                token,
                `${name} is not set: the reference becomes an empty word, silently`,
                `set ${name} in the Pod of CoreDNS`,
              ),
            ]
          : [
              found(
                'CF014',
                token,
                `what ${name} holds is seen in the Pod of CoreDNS only`,
                'check this line there, or write the value',
              ),
            ]
      }
      // Parsed text keeps the value in one word, whatever it holds.
      if (!/\s/.test(value) || parsed.mainTokens.length === 0) return []
      return [
        found('CF013', token, `the value of ${name} holds blanks and stays one word`, 'use one variable for each word'),
      ]
    }),
  )
}

/** Section 1 of the reference: what the lexer makes of the bytes. */
export const lexerChecks: readonly Check[] = [
  lexProblems,
  gluedQuotes,
  quotedBraces,
  gluedBraces,
  backslashes,
  environment,
]
