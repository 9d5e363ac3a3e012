/**
 * What a parsed Go regular expression (RE2) looks like, and what may be wrong with one.
 * Source of the grammar: the Go package regexp/syntax with the flags that `regexp.Compile` uses.
 */

/** A set of code points: sorted ranges, or a test where the set is too large to list. */
export interface CharSet {
  readonly ranges: readonly (readonly [number, number])[]
  readonly tests: readonly ((codePoint: number) => boolean)[]
  readonly negated: boolean
}

export type AssertKind = 'text-begin' | 'text-end' | 'line-begin' | 'line-end' | 'word' | 'not-word'

export type Node =
  | {readonly t: 'empty'}
  | {readonly t: 'char'; readonly codePoint: number}
  | {readonly t: 'set'; readonly set: CharSet}
  | {readonly t: 'assert'; readonly kind: AssertKind}
  | {readonly t: 'concat'; readonly items: readonly Node[]}
  | {readonly t: 'alternate'; readonly items: readonly Node[]}
  | {readonly t: 'repeat'; readonly min: number; readonly max: number; readonly greedy: boolean; readonly item: Node}
  | {readonly t: 'group'; readonly index: number; readonly name: string; readonly item: Node}

/** Go would refuse the pattern; the text is Go's without its prefix. */
export class PatternError extends Error {}

/** We cannot tell what Go does with the pattern. Never guessed: the caller reports "unknown". */
export class PatternUnknown extends Error {}

/** In: a set and a code point. Out: whether the set holds it. */
export function inSet(set: CharSet, codePoint: number): boolean {
  let found = false
  for (const [low, high] of set.ranges) {
    if (codePoint >= low && codePoint <= high) {
      found = true
      break
    }
  }
  if (!found) found = set.tests.some((test) => test(codePoint))
  return found !== set.negated
}

/** In: a code point. Out: every code point that simple case folding makes equal to it, itself included. */
export function foldOrbit(codePoint: number): readonly number[] {
  // The two folds that leave ASCII: U+017F (long s) and U+212A (Kelvin sign).
  if (codePoint === 0x73 || codePoint === 0x53 || codePoint === 0x17f) return [0x53, 0x73, 0x17f]
  if (codePoint === 0x6b || codePoint === 0x4b || codePoint === 0x212a) return [0x4b, 0x6b, 0x212a]
  const text = String.fromCodePoint(codePoint)
  const found = new Set([codePoint])
  for (const other of [text.toLowerCase(), text.toUpperCase()]) {
    const first = other.codePointAt(0)
    if (first !== undefined && String.fromCodePoint(first) === other) found.add(first)
  }
  return [...found]
}
