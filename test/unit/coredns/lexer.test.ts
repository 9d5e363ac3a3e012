import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import {columnOf, lex} from '../../../plugins/coredns/src/index.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const words = (text: string): string[] => lex(bytes(text)).tokens.map(({text: word}) => word)
const kinds = (input: string | Uint8Array): string[] =>
  lex(typeof input === 'string' ? bytes(input) : input).problems.map(({kind, line}) => `${kind} ${line}`)

describe('words', () => {
  test.each([
    ['a "b c" d', ['a', 'b c', 'd']],
    ['"a""b"', ['a', 'b']],
    ['"x"{', ['x', '{']],
    ['"" a', ['', 'a']],
    ['a"b c"', ['a"b', 'c"']],
    ['"a\\"b\\\\c\\n"', ['a"b\\\\c\\n']],
    ['"open\\', ['open']],
    ['"', []],
    ['a #b c\nd', ['a', 'd']],
    ['a#b c\nd', ['a', 'c', 'd']],
    ['}#end of block\n', ['}', 'of', 'block']],
    ['# "x\ny', ['y']],
    ['a\rb\r\nc\r', ['ab', 'c']],
    ['a\u00a0b\u0085c\u2028d\u3000e', ['a', 'b', 'c', 'd', 'e']],
    ['a\u200bb', ['a\u200bb']],
    ['\ufeff.:53 {', ['.:53', '{']],
    ['a \ufeffb', ['a', '\ufeffb']],
    ['.:53{ errors{', ['.:53{', 'errors{']],
    ['', []],
  ])('%j', (text, expected) => {
    expect(words(text)).toEqual(expected)
  })

  test('a word keeps its line, its bytes and whether it was quoted', () => {
    const text = '\ufeffé "x\ny" z'
    const tokens = lex(bytes(text), '/f').tokens
    expect(tokens.map(({line, start, end, quoted, file}) => [line, start, end, quoted, file])).toEqual([
      [1, 3, 5, false, '/f'],
      [1, 6, 11, true, '/f'],
      [2, 12, 13, false, '/f'],
    ])
  })

  test('invalid UTF-8 gives one replacement character for every byte, as Go does', () => {
    const input = Uint8Array.from([0x61, 0xe2, 0x82, 0x20, 0xed, 0xa0, 0x80, 0x20, 0xc0, 0xaf, 0x20, 0xf0, 0x9f])
    expect(lex(input).tokens.map(({text}) => text)).toEqual([
      'a\ufffd\ufffd',
      '\ufffd\ufffd\ufffd',
      '\ufffd\ufffd',
      '\ufffd\ufffd',
    ])
    expect(lex(Uint8Array.from([0xef, 0xbf, 0xbd])).problems).toEqual([])
  })
})

describe('oddities that forbid an edit', () => {
  test.each<[string | Uint8Array, string[]]>([
    ['a\n# b\u200b\n', []],
    ['a\nb\u200b\n', ['zero-width-character 2']],
    ['"a\u2066"', ['zero-width-character 1']],
    ['a\n#\u0000', ['control-character 2']],
    ['a\u000bb', ['control-character 1']],
    ['a\rb', ['lone-carriage-return 1']],
    ['a\r\nb\r\n', []],
    ['a\n"b\nc', ['unterminated-quote 2']],
    ['a\nb#c', ['glued-comment 2']],
    [Uint8Array.from([0x23, 0xff, 0x0a, 0x80]), ['invalid-utf8 1', 'invalid-utf8 2']],
    ['\ttext = é\n', []],
  ])('%j', (input, expected) => {
    expect(kinds(input)).toEqual(expected)
  })
})

test('every word can be found again at its bytes', () => {
  const piece = fc.constantFrom(
    'a',
    'é',
    '日本',
    '{',
    '}',
    '\n',
    ' ',
    '\t',
    '"',
    '\\',
    '#',
    '\r\n',
    '\u00a0',
    '😀',
    'word',
  )
  fc.assert(
    fc.property(fc.array(piece, {maxLength: 40}), (pieces) => {
      const input = bytes(pieces.join(''))
      const newlines = (end: number): number => input.subarray(0, end).filter((byte) => byte === 0x0a).length
      let behind = 0
      for (const {text, raw, start, end, line, quoted} of lex(input).tokens) {
        expect(start).toBeGreaterThanOrEqual(behind)
        expect(line).toBe(newlines(start) + 1)
        expect(raw).toBe(text)
        const source = new TextDecoder('utf-8', {ignoreBOM: true}).decode(input.subarray(start, end))
        if (quoted) expect(source.startsWith('"')).toBe(true)
        else expect(source.replaceAll('\r', '')).toBe(text)
        behind = end
      }
    }),
  )
})

test('a column counts characters, not bytes', () => {
  expect(columnOf(bytes('a\né x'), 5)).toBe(3)
  expect(columnOf(bytes('abc'), 0)).toBe(1)
})
