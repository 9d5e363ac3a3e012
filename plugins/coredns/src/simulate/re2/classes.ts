import type {CharSet} from './syntax.ts'
import {foldOrbit, inSet, PatternError, PatternUnknown} from './syntax.ts'

type Ranges = readonly (readonly [number, number])[]

const digit: Ranges = [[0x30, 0x39]]
const space: Ranges = [
  [0x09, 0x0a],
  [0x0c, 0x0d],
  [0x20, 0x20],
]
const word: Ranges = [
  [0x30, 0x39],
  [0x41, 0x5a],
  [0x5f, 0x5f],
  [0x61, 0x7a],
]

const perl: Readonly<Record<string, Ranges>> = {d: digit, s: space, w: word}

const posix: Readonly<Record<string, Ranges>> = {
  alnum: [
    [0x30, 0x39],
    [0x41, 0x5a],
    [0x61, 0x7a],
  ],
  alpha: [
    [0x41, 0x5a],
    [0x61, 0x7a],
  ],
  ascii: [[0, 0x7f]],
  blank: [
    [0x09, 0x09],
    [0x20, 0x20],
  ],
  cntrl: [
    [0, 0x1f],
    [0x7f, 0x7f],
  ],
  digit,
  graph: [[0x21, 0x7e]],
  lower: [[0x61, 0x7a]],
  print: [[0x20, 0x7e]],
  punct: [
    [0x21, 0x2f],
    [0x3a, 0x40],
    [0x5b, 0x60],
    [0x7b, 0x7e],
  ],
  space: [
    [0x09, 0x0d],
    [0x20, 0x20],
  ],
  upper: [[0x41, 0x5a]],
  word,
  xdigit: [
    [0x30, 0x39],
    [0x41, 0x46],
    [0x61, 0x66],
  ],
}

/** General categories that every Go release knows by these short names. */
const categories = new Set(
  'C Cc Cf Co Cs L Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So Z Zl Zp Zs'.split(' '),
)

/** In: ranges. Out: a set of them, negated on request. */
export function setOf(ranges: Ranges, negated = false): CharSet {
  return {ranges, tests: [], negated}
}

/** In: the letter of `\d \s \w \D \S \W`. Out: its set, or undefined for any other letter. ASCII only, as in Go. */
export function perlClass(letter: string): CharSet | undefined {
  const ranges = perl[letter.toLowerCase()]
  return ranges === undefined ? undefined : setOf(ranges, letter !== letter.toLowerCase())
}

/** In: the name between `[:` and `:]`, with its `^` if there is one. Out: its set, or undefined for a wrong name. */
export function posixClass(name: string): CharSet | undefined {
  const negated = name.startsWith('^')
  const ranges = posix[negated ? name.slice(1) : name]
  return ranges === undefined ? undefined : setOf(ranges, negated)
}

/**
 * In: the name of `\pN` or `\p{Greek}`. Out: its set.
 * Throws PatternUnknown where Go releases differ (category aliases came with Go 1.25), PatternError never: an unknown
 * name may be a script of a newer Unicode than ours.
 */
export function unicodeClass(name: string, negated: boolean): CharSet {
  if (name === 'Any') return setOf([[0, 0x10ffff]], negated)
  const property = categories.has(name) ? `gc=${name}` : `sc=${name}`
  if (!/^[A-Z][A-Za-z_]*$/.test(name)) throw new PatternError(`invalid character class range: \`\\p{${name}}\``)
  // Four-letter script codes (Grek) are known here but not to Go; other short names may be new in Go.
  const short = !categories.has(name) && (name.length < 3 || (name.length === 4 && !fourLetterScripts.has(name)))
  if (short) throw new PatternUnknown(`unicode class ${name}`)
  let expression: RegExp
  try {
    expression = new RegExp(`^\\p{${property}}$`, 'u')
  } catch {
    throw new PatternUnknown(`unicode class ${name}`)
  }
  return {ranges: [], tests: [(codePoint) => expression.test(String.fromCodePoint(codePoint))], negated}
}

const fourLetterScripts = new Set(['Cham', 'Kawi', 'Lisu', 'Miao', 'Thai', 'Vai', 'Yezi', 'Lao', 'Mro', 'Nko'])

/** In: a set. Out: it with every other case of its members, as the flag i wants it. */
export function foldedSet({negated, ...plain}: CharSet): CharSet {
  const inner: CharSet = {...plain, negated: false}
  return {ranges: [], tests: [(codePoint) => foldOrbit(codePoint).some((other) => inSet(inner, other))], negated}
}
