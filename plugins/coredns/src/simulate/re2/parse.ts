import {foldedSet, perlClass, posixClass, setOf, unicodeClass} from './classes.ts'
import type {AssertKind, CharSet, Node} from './syntax.ts'
import {inSet, PatternError, PatternUnknown} from './syntax.ts'
import {alternateOf, concatOf, countsOf, heightOf, literalOf, repeatFits} from './tree.ts'

interface Flags {
  fold: boolean
  multiline: boolean
  dotNewline: boolean
  swapGreed: boolean
}

/** Limits of regexp/syntax: repeat counts, and how deep groups may nest. */
const maxRepeat = 1000
const maxHeight = 1000

/** A parsed pattern: its tree, and the names of its groups (index 0 is the whole match). */
export interface ParsedPattern {
  readonly root: Node
  readonly names: readonly string[]
}

/**
 * In: a pattern as it stands in a Corefile token. Out: its tree.
 * Throws PatternError with Go's own words, PatternUnknown when Go's answer cannot be known.
 */
export function parsePattern(pattern: string): ParsedPattern {
  const parser = new PatternParser(pattern)
  return {root: parser.parse(), names: parser.names}
}

/** One level of open parentheses: finished alternatives, and the items of the one being read. */
interface Level {
  readonly alternatives: Node[]
  items: Node[]
  readonly group: {readonly index: number; readonly name: string} | null
  readonly flags: Flags
}

const octal = /^[0-7]$/

class PatternParser {
  readonly names: string[] = ['']
  private readonly text: readonly string[]
  private position = 0
  private flags: Flags = {fold: false, multiline: false, dotNewline: false, swapGreed: false}
  private readonly levels: Level[] = []
  private readonly pattern: string
  /** Where the repeat operator read last began, when nothing came after it. */
  private lastRepeat = -1

  constructor(pattern: string) {
    this.pattern = pattern
    this.text = Array.from(pattern)
    this.levels.push({alternatives: [], items: [], group: null, flags: {...this.flags}})
  }

  parse(): Node {
    while (this.position < this.text.length) this.step()
    if (this.levels.length > 1) throw new PatternError(`missing closing ): \`${this.pattern}\``)
    const root = alternateOf(this.top().alternatives, this.top().items)
    if (heightOf(root) > maxHeight) throw new PatternError(`expression nests too deeply: \`${this.pattern}\``)
    return root
  }

  private step(): void {
    const start = this.position
    const char = this.text[start] ?? ''
    const repeatBefore = this.lastRepeat
    this.lastRepeat = -1
    switch (char) {
      case '(':
        this.open()
        return
      case '|':
        this.position += 1
        this.top().alternatives.push(concatOf(this.top().items))
        this.top().items = []
        return
      case ')':
        this.close()
        return
      case '^':
        this.position += 1
        this.push({t: 'assert', kind: this.flags.multiline ? 'line-begin' : 'text-begin'})
        return
      case '$':
        this.position += 1
        this.push({t: 'assert', kind: this.flags.multiline ? 'line-end' : 'text-end'})
        return
      case '.':
        this.position += 1
        this.push({t: 'set', set: this.flags.dotNewline ? setOf([[0, 0x10ffff]]) : setOf([[0x0a, 0x0a]], true)})
        return
      case '[':
        this.push({t: 'set', set: this.readClass()})
        return
      case '*':
      case '+':
      case '?':
        this.position += 1
        this.repeat(start, repeatBefore, char === '+' ? 1 : 0, char === '?' ? 1 : -1)
        return
      case '{': {
        const counts = countsOf(this.text.slice(start, start + 40).join(''))
        if (counts === undefined) {
          this.position += 1
          this.literal('{')
          return
        }
        const {min, max, length} = counts
        this.position += length
        if (min > maxRepeat || max > maxRepeat || (max >= 0 && min > max)) {
          throw new PatternError(`invalid repeat count: \`${this.slice(start)}\``)
        }
        this.repeat(start, repeatBefore, min, max)
        return
      }
      case '\\':
        this.escape()
        return
      default:
        this.position += 1
        this.literal(char)
    }
  }

  private top(): Level {
    const level = this.levels.at(-1)
    if (level === undefined) throw new PatternError(`unexpected ): \`${this.pattern}\``)
    return level
  }

  private push(node: Node): void {
    this.top().items.push(node)
  }

  private literal(char: string): void {
    this.push(literalOf(char.codePointAt(0) ?? 0, this.flags.fold))
  }

  private slice(start: number): string {
    return this.text.slice(start, this.position).join('')
  }

  private open(): void {
    if (this.levels.length > maxHeight) throw new PatternError(`expression nests too deeply: \`${this.pattern}\``)
    if (this.text[this.position + 1] !== '?') {
      this.position += 1
      this.openGroup('')
      return
    }
    const rest = this.text.slice(this.position, this.position + 4).join('')
    if (rest === '(?P<' || rest.startsWith('(?<')) {
      this.openNamed(rest === '(?P<' ? 4 : 3)
      return
    }
    this.readFlags()
  }

  private openNamed(skip: number): void {
    const start = this.position
    const end = this.text.indexOf('>', start)
    if (end < 0) throw new PatternError(`invalid named capture: \`${this.text.slice(start).join('')}\``)
    const name = this.text.slice(start + skip, end).join('')
    this.position = end + 1
    // `(?<name>` is known since Go 1.22; `(?<=` and `(?<!` are wrong in every release, as they end up here as bad names.
    if (!/^\w+$/.test(name)) throw new PatternError(`invalid named capture: \`${this.slice(start)}\``)
    if (skip === 3) throw new PatternUnknown('group written (?<name>), which older Go releases refuse')
    this.openGroup(name)
  }

  private openGroup(name: string): void {
    this.levels.push({alternatives: [], items: [], group: {index: this.names.length, name}, flags: {...this.flags}})
    this.names.push(name)
  }

  private readFlags(): void {
    const start = this.position
    this.position += 2
    const flags = {...this.flags}
    let value = true
    let sawFlag = false
    for (;;) {
      const char = this.text[this.position]
      if (char === undefined) throw new PatternError(`invalid or unsupported Perl syntax: \`${this.slice(start)}\``)
      this.position += 1
      if (char === 'i') flags.fold = value
      else if (char === 'm') flags.multiline = value
      else if (char === 's') flags.dotNewline = value
      else if (char === 'U') flags.swapGreed = value
      else if (char === '-' && value) {
        value = false
        sawFlag = false
        continue
      } else if ((char === ':' || char === ')') && (value || sawFlag)) {
        if (char === ':') this.levels.push({alternatives: [], items: [], group: null, flags: {...this.flags}})
        this.flags = flags
        return
      } else {
        throw new PatternError(`invalid or unsupported Perl syntax: \`${this.slice(start)}\``)
      }
      sawFlag = true
    }
  }

  private close(): void {
    this.position += 1
    const level = this.levels.pop()
    if (level === undefined || this.levels.length === 0) throw new PatternError(`unexpected ): \`${this.pattern}\``)
    const node = alternateOf(level.alternatives, level.items)
    this.flags = level.flags
    this.push(level.group === null ? node : {t: 'group', index: level.group.index, name: level.group.name, item: node})
  }

  private repeat(start: number, repeatBefore: number, min: number, max: number): void {
    let greedy = !this.flags.swapGreed
    if (this.text[this.position] === '?') {
      this.position += 1
      greedy = !greedy
    }
    if (repeatBefore >= 0) {
      throw new PatternError(`invalid nested repetition operator: \`${this.slice(repeatBefore)}\``)
    }
    const item = this.top().items.pop()
    if (item === undefined) throw new PatternError(`missing argument to repetition operator: \`${this.slice(start)}\``)
    const node: Node = {t: 'repeat', min, max, greedy, item}
    if ((min >= 2 || max >= 2) && !repeatFits(node, maxRepeat)) {
      throw new PatternError(`invalid repeat count: \`${this.slice(start)}\``)
    }
    this.push(node)
    this.lastRepeat = start
  }

  private escape(): void {
    const next = this.text[this.position + 1]
    const asserts: Readonly<Record<string, AssertKind>> = {A: 'text-begin', z: 'text-end', b: 'word', B: 'not-word'}
    const kind = next === undefined ? undefined : asserts[next]
    if (kind !== undefined) {
      this.position += 2
      this.push({t: 'assert', kind})
      return
    }
    if (next === 'Q') {
      this.position += 2
      this.quoted()
      return
    }
    const set = this.escapedClass()
    if (set === undefined) this.push(literalOf(this.escapedChar(), this.flags.fold))
    else this.push({t: 'set', set})
  }

  private quoted(): void {
    while (this.position < this.text.length) {
      const char = this.text[this.position] ?? ''
      if (char === '\\' && this.text[this.position + 1] === 'E') {
        this.position += 2
        return
      }
      this.position += 1
      this.literal(char)
    }
  }

  /** Out: the set of `\d`, `\pN` and their like at the position; undefined (and no step) when another escape stands there. */
  private escapedClass(): CharSet | undefined {
    const letter = this.text[this.position + 1] ?? ''
    const simple = perlClass(letter)
    if (simple !== undefined) {
      this.position += 2
      return simple
    }
    if (letter !== 'p' && letter !== 'P') return undefined
    const start = this.position
    this.position += 2
    let name = this.text[this.position]
    if (name === undefined) throw new PatternError(`invalid character class range: \`${this.slice(start)}\``)
    this.position += 1
    if (name === '{') {
      const end = this.text.indexOf('}', this.position)
      if (end < 0) throw new PatternError(`invalid character class range: \`${this.text.slice(start).join('')}\``)
      name = this.text.slice(this.position, end).join('')
      this.position = end + 1
    }
    const inverted = name.startsWith('^')
    const set = unicodeClass(inverted ? name.slice(1) : name, (letter === 'P') !== inverted)
    return this.flags.fold ? foldedSet(set) : set
  }

  /** Out: the code point that an escape stands for. Throws PatternError for one that Go does not know. */
  private escapedChar(): number {
    const start = this.position
    this.position += 1
    const char = this.text[this.position]
    if (char === undefined) throw new PatternError('trailing backslash at end of expression: ``')
    this.position += 1
    const controls: Readonly<Record<string, number>> = {a: 7, f: 12, n: 10, r: 13, t: 9, v: 11}
    const control = controls[char]
    if (control !== undefined) return control
    if (octal.test(char)) {
      // A single digit other than 0 would be a back-reference, which RE2 does not have.
      if (char !== '0' && !octal.test(this.text[this.position] ?? '')) {
        throw new PatternError(`invalid escape sequence: \`${this.slice(start)}\``)
      }
      let digits = char
      while (digits.length < 3 && octal.test(this.text[this.position] ?? '')) {
        digits += this.text[this.position] ?? ''
        this.position += 1
      }
      return Number.parseInt(digits, 8)
    }
    if (char === 'x') return this.hexadecimal(start)
    if (char < '\u0080' && !/[0-9A-Za-z]/.test(char)) return char.codePointAt(0) ?? 0
    throw new PatternError(`invalid escape sequence: \`${this.slice(start)}\``)
  }

  private hexadecimal(start: number): number {
    const rest = this.text.slice(this.position, this.position + 12).join('')
    const match = /^\{([0-9A-Fa-f]+)\}|^([0-9A-Fa-f]{2})/.exec(rest)
    const digits = match?.[1] ?? match?.[2]
    const value = digits === undefined ? Number.NaN : Number.parseInt(digits, 16)
    if (match === null || Number.isNaN(value) || value > 0x10ffff) {
      this.position = Math.min(this.position + 1, this.text.length)
      throw new PatternError(`invalid escape sequence: \`${this.slice(start)}\``)
    }
    this.position += match[0].length
    return value
  }

  private readClass(): CharSet {
    const start = this.position
    this.position += 1
    const negated = this.text[this.position] === '^'
    if (negated) this.position += 1
    const ranges: [number, number][] = []
    const members: CharSet[] = []
    let first = true
    for (;;) {
      const char = this.text[this.position]
      if (char === undefined) throw new PatternError(`missing closing ]: \`${this.text.slice(start).join('')}\``)
      if (char === ']' && !first) break
      first = false
      const member = this.classMember(char)
      if (member !== undefined) {
        members.push(member)
        continue
      }
      ranges.push(this.classRange())
    }
    this.position += 1
    const plain: CharSet = {
      ranges,
      tests: members.map((member) => (codePoint: number) => inSet(member, codePoint)),
      negated: false,
    }
    const set = this.flags.fold ? foldedSet(plain) : plain
    return {...set, negated}
  }

  private classMember(char: string): CharSet | undefined {
    if (char === '[' && this.text[this.position + 1] === ':') {
      const rest = this.text.slice(this.position + 2)
      const end = rest.findIndex((other, index) => other === ':' && rest[index + 1] === ']')
      if (end >= 0) {
        const start = this.position
        this.position += end + 4
        const set = posixClass(rest.slice(0, end).join(''))
        if (set === undefined) throw new PatternError(`invalid character class range: \`${this.slice(start)}\``)
        return set
      }
    }
    return char === '\\' ? this.escapedClass() : undefined
  }

  private classRange(): [number, number] {
    const start = this.position
    const low = this.classChar()
    let high = low
    const after = this.text[this.position + 1]
    if (this.text[this.position] === '-' && after !== undefined && after !== ']') {
      this.position += 1
      high = this.classChar()
      if (high < low) throw new PatternError(`invalid character class range: \`${this.slice(start)}\``)
    }
    return [low, high]
  }

  private classChar(): number {
    const char = this.text[this.position]
    if (char === undefined) throw new PatternError(`missing closing ]: \`${this.pattern}\``)
    if (char === '\\') return this.escapedChar()
    this.position += 1
    return char.codePointAt(0) ?? 0
  }
}
