import fc from 'fast-check'
import {readFileSync} from 'node:fs'
import {describe, expect, test} from 'vitest'
import {compileRegex} from '../../../plugins/coredns/src/index.ts'

/** Pattern, text, and what Go's FindStringSubmatch gives (null: no match). */
const found: readonly (readonly [string, string, readonly string[] | null])[] = [
  [String.raw`^[^.]+\.apps\.example\.org\.$`, 'foo.apps.example.org.', ['foo.apps.example.org.']],
  [String.raw`^[^.]+\.apps\.example\.org\.$`, 'a.b.apps.example.org.', null],
  ['(a|ab)(c|bcd)(d*)', 'abcd', ['abcd', 'a', 'bcd', '']],
  ['(a*)*', 'aaa', ['aaa', 'aaa']],
  ['(|a)*', 'aa', ['', '']],
  ['(a+?)(a*)', 'aaa', ['aaa', 'a', 'aa']],
  ['x{2,3}?', 'xxxx', ['xx']],
  ['x{,2}', 'x{,2}', ['x{,2}']],
  ['(?U)a+', 'aaa', ['a']],
  ['(?i)^APP', 'app.example.', ['app']],
  ['(?i:s)', '\u017f', ['\u017f']],
  [String.raw`\pL+\PN`, 'abc1', ['abc']],
  [String.raw`\p{Lu}\p{^Lu}`, 'aBc', ['Bc']],
  ['[[:alpha:]][[:^alpha:]]', 'ab-', ['b-']],
  [String.raw`[\d-]+`, 'a1-2', ['1-2']],
  [String.raw`\Qa.b\E.`, 'a.bc', ['a.bc']],
  [String.raw`\A\x61\x{62}\07?\z`, 'ab', ['ab']],
  [String.raw`\bb\B.`, 'a b_', ['b_']],
  ['(?m)^b$', 'a\nb\nc', ['b']],
  ['(?s).b', '\nb', ['\nb']],
  ['.b', '\nb', null],
  ['(?P<host>a)(b)?', 'ac', ['a', 'a', '']],
  ['$^', '', ['']],
  ['$', 'ab', ['']],
  ['[]a]+', ']a', [']a']],
  ['[a-]', '-', ['-']],
]

/** Patterns Go refuses, with its words. */
const refused: readonly (readonly [string, string])[] = [
  ['^(?!api)', 'invalid or unsupported Perl syntax: `(?!`'],
  ['(?=a)', 'invalid or unsupported Perl syntax: `(?=`'],
  ['(?<!a)', 'invalid named capture: `(?<!a)`'],
  [String.raw`(a)\1`, String.raw`invalid escape sequence: ` + '`\\1`'],
  [String.raw`a\Z`, String.raw`invalid escape sequence: ` + '`\\Z`'],
  ['a**', 'invalid nested repetition operator: `**`'],
  ['*.svc.', 'missing argument to repetition operator: `*`'],
  ['(a', 'missing closing ): `(a`'],
  ['a)', 'unexpected ): `a)`'],
  ['[a', 'missing closing ]: `[a`'],
  ['[b-a]', 'invalid character class range: `b-a`'],
  ['[[:foo:]]', 'invalid character class range: `[:foo:]`'],
  ['a{1001}', 'invalid repeat count: `{1001}`'],
  ['(a{500}){3}', 'invalid repeat count: `{3}`'],
  ['a\\', 'trailing backslash at end of expression: ``'],
]

const recorded = JSON.parse(readFileSync(new URL('../../cases/go-regexp.json', import.meta.url), 'utf8')) as {
  found: [pattern: string, text: string, groups: string[] | null][]
  refused: [pattern: string, message: string][]
}

describe('patterns as Go has them', () => {
  test(`${recorded.found.length + recorded.refused.length} answers of Go itself`, () => {
    const ours = recorded.found.map(([pattern, text]) => {
      const result = compileRegex(pattern)
      return [pattern, text, result.kind === 'ok' ? result.regex.find(text) : result]
    })
    expect(ours).toEqual(recorded.found)
    const errors = recorded.refused.map(([pattern]) => {
      const result = compileRegex(pattern)
      return [pattern, result.kind === 'invalid' ? result.message.replace('error parsing regexp: ', '') : result.kind]
    })
    expect(errors).toEqual(recorded.refused)
  })

  test.each(found)('%s in %s', (pattern, text, groups) => {
    const result = compileRegex(pattern)
    if (result.kind !== 'ok') throw new Error(JSON.stringify(result))
    expect(result.regex.find(text)).toEqual(groups)
    expect(result.regex.test(text)).toBe(groups !== null)
  })

  test.each(refused)('%s is refused', (pattern, message) => {
    expect(compileRegex(pattern)).toEqual({kind: 'invalid', message: `error parsing regexp: ${message}`})
  })

  test.each(['(?<n>a)', String.raw`\p{Grek}`, '((((a{999}){1}b){1}c{999}){1})d{999}'.repeat(40)])(
    '%s is not guessed',
    (pattern) => {
      expect(compileRegex(pattern).kind).toBe('unknown')
    },
  )

  test('nested repeats do not take for ever', () => {
    const text = 'a'.repeat(253)
    for (const pattern of ['^(a+)+$x', '(a|aa)+$b', '(.*)*(.*)*(.*)*x$', '((a?){100}){10}b']) {
      const result = compileRegex(pattern)
      expect(result.kind).toBe('ok')
      if (result.kind === 'ok') expect(result.regex.find(text)).toBeNull()
    }
  })

  test('both matchers agree, whatever the pattern', () => {
    const piece = fc.constantFrom(
      'a',
      'b',
      '.',
      '\\.',
      '^',
      '$',
      '(',
      ')',
      '|',
      '*',
      '+?',
      '?',
      '{1,2}',
      '[ab]',
      '[^a]',
      '(?:',
      '\\b',
      '\\pL',
      '(?i)',
      '\\z',
    )
    const text = fc.array(fc.constantFrom('a', 'b', 'B', '.', '-', '1')).map((parts) => parts.join(''))
    fc.assert(
      fc.property(fc.array(piece, {maxLength: 10}), text, (pieces, subject) => {
        const result = compileRegex(pieces.join(''))
        if (result.kind !== 'ok') return
        const groups = result.regex.find(subject)
        expect(result.regex.test(subject)).toBe(groups !== null)
        if (groups !== null) {
          expect(groups).toHaveLength(result.regex.groups + 1)
          for (const group of groups) expect(subject).toContain(group)
        }
      }),
      {numRuns: 3000},
    )
  })

  test('any text is read without a crash', () => {
    fc.assert(
      fc.property(fc.string({unit: 'binary', maxLength: 60}), (pattern) => {
        expect(['ok', 'invalid', 'unknown']).toContain(compileRegex(pattern).kind)
      }),
      {numRuns: 3000},
    )
  })
})
