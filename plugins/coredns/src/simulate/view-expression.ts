import {addressBits} from '../setup/go-values.ts'
import {inNetwork} from './chain/small-steps.ts'
import {compileRegex} from './re2/regex.ts'

/** What a view's expression may ask. Absent: not known. */
export interface ViewFacts {
  readonly name: string
  readonly type: string
  readonly class: string
  readonly proto: string
  readonly client_ip: string | undefined
  readonly server_ip: string | undefined
  readonly server_port: string | undefined
}

type Value = string | number | boolean | undefined | readonly Value[]

class NotFollowed extends Error {}

/**
 * In: an expression of `view … expr` and the facts of a query. Out: its truth, or undefined when it asks for something
 * unknown or uses a form that is not followed: strings, numbers, the functions of the plugin, `== != < > in not and or
 * && || ! matches contains startsWith endsWith ?:`. Source: plugin/pkg/expression, the language of expr-lang.
 */
export function viewTruth(expression: string, facts: ViewFacts): boolean | undefined {
  try {
    const value = new ExpressionReader(expression, facts).whole()
    return typeof value === 'boolean' ? value : undefined
  } catch (error) {
    if (error instanceof NotFollowed) return undefined
    throw error
  }
}

const tokenPattern = /\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\d+|[A-Za-z_]\w*|==|!=|<=|>=|&&|\|\||[()[\],!<>?:])/y

function tokensOf(text: string): string[] {
  const tokens: string[] = []
  let at = 0
  const source = text.trimEnd()
  while (at < source.length) {
    tokenPattern.lastIndex = at
    const match = tokenPattern.exec(source)
    if (match === null || tokens.length > 2000) throw new NotFollowed()
    tokens.push(match[1] ?? '')
    at = tokenPattern.lastIndex
  }
  return tokens
}

class ExpressionReader {
  private readonly tokens: readonly string[]
  private readonly facts: ViewFacts
  private at = 0
  private depth = 0

  constructor(text: string, facts: ViewFacts) {
    this.tokens = tokensOf(text)
    this.facts = facts
  }

  whole(): Value {
    const value = this.either()
    if (this.at < this.tokens.length) throw new NotFollowed()
    return value
  }

  private take(...words: readonly string[]): string | undefined {
    const word = this.tokens[this.at]
    if (word === undefined || !words.includes(word)) return undefined
    this.at += 1
    return word
  }

  private need(word: string): void {
    if (this.take(word) === undefined) throw new NotFollowed()
  }

  private either(): Value {
    let left = this.both()
    while (this.take('||', 'or') !== undefined) {
      const right = this.both()
      left = left === true || right === true ? true : left === false && right === false ? false : undefined
    }
    return left
  }

  private both(): Value {
    let left = this.negation()
    while (this.take('&&', 'and') !== undefined) {
      const right = this.negation()
      left = left === false || right === false ? false : left === true && right === true ? true : undefined
    }
    return left
  }

  private negation(): Value {
    this.depth += 1
    if (this.depth > 200) throw new NotFollowed()
    if (this.take('!', 'not') !== undefined) {
      const value = this.negation()
      return typeof value === 'boolean' ? !value : undefined
    }
    const value = this.comparison()
    this.depth -= 1
    return value
  }

  private comparison(): Value {
    const left = this.operand()
    const inverted = this.tokens[this.at] === 'not' && this.tokens[this.at + 1] === 'in'
    if (inverted) this.at += 1
    const operator = this.take('==', '!=', '<', '>', '<=', '>=', 'in', 'matches', 'contains', 'startsWith', 'endsWith')
    if (operator === undefined) return left
    const result = compare(operator, left, this.operand())
    return inverted && result !== undefined ? !result : result
  }

  private operand(): Value {
    const word = this.tokens[this.at]
    if (word === undefined) throw new NotFollowed()
    this.at += 1
    if (word === '(') {
      const value = this.either()
      this.need(')')
      return value
    }
    if (word === '[') return this.list(']')
    if (/^["']/.test(word)) return textOf(word)
    if (/^\d/.test(word)) return Number(word)
    if (word === 'true' || word === 'false') return word === 'true'
    if (!/^[A-Za-z_]/.test(word)) throw new NotFollowed()
    this.need('(')
    return this.call(word, this.list(')'))
  }

  private list(end: string): Value[] {
    const values: Value[] = []
    if (this.take(end) !== undefined) return values
    for (;;) {
      values.push(this.either())
      if (this.take(end) !== undefined) return values
      this.need(',')
    }
  }

  private call(name: string, args: readonly Value[]): Value {
    if (name === 'incidr') {
      const [address, network] = args
      if (typeof address !== 'string' || typeof network !== 'string') return undefined
      const bits = addressBits(address)
      return bits === undefined ? undefined : inNetwork(network, bits)
    }
    if (args.length > 0) return undefined
    const known: Readonly<Record<string, string | undefined>> = {...this.facts}
    if (Object.hasOwn(known, name)) return known[name]
    // size, id, do, opcode, bufsize, port, metadata: not known here.
    return undefined
  }
}

function textOf(word: string): string {
  const body = word.slice(1, -1)
  // Other escapes than these differ between quotes in expr.
  if (/\\[^\\"'.]/.test(body)) throw new NotFollowed()
  return body.replace(/\\(["'\\])/g, '$1')
}

function compare(operator: string, left: Value, right: Value): boolean | undefined {
  if (left === undefined || right === undefined) return undefined
  if (operator === 'in') {
    if (!Array.isArray(right)) return undefined
    if (right.includes(left)) return true
    return right.includes(undefined) ? undefined : false
  }
  if (operator === '==') return left === right
  if (operator === '!=') return left !== right
  if (typeof left === 'number' && typeof right === 'number') {
    if (operator === '<') return left < right
    if (operator === '>') return left > right
    if (operator === '<=') return left <= right
    return operator === '>=' ? left >= right : undefined
  }
  if (typeof left !== 'string' || typeof right !== 'string') return undefined
  if (operator === 'contains') return left.includes(right)
  if (operator === 'startsWith') return left.startsWith(right)
  if (operator === 'endsWith') return left.endsWith(right)
  if (operator !== 'matches') return undefined
  const pattern = compileRegex(right)
  return pattern.kind === 'ok' ? pattern.regex.test(left) : undefined
}
