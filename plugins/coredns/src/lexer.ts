import {decodeRune, isWideSpace, isZeroWidth} from './runes.ts'
import type {LexProblem, LexProblemKind, Token} from './types.ts'

/** Words of one file, and what is odd about its bytes. */
export interface LexResult {
  readonly tokens: readonly Token[]
  readonly problems: readonly LexProblem[]
}

const PLAIN = 0
const NEWLINE = 1
const RETURN = 2
const BLANK = 3
const HASH = 4
const WIDE = 5

/** What one byte means to an unquoted word. */
const meaning = new Uint8Array(256)
meaning.fill(WIDE, 0x80)
meaning[0x0a] = NEWLINE
meaning[0x0d] = RETURN
for (const blank of [0x09, 0x0b, 0x0c, 0x20]) meaning[blank] = BLANK
meaning[0x23] = HASH

const ascii = new TextDecoder('latin1')

/**
 * Splits a Corefile into tokens exactly as CoreDNS does (coredns/caddy caddyfile/lexer.go). Nothing is an error here.
 *
 * @param bytes the file as it is on disk; a leading U+FEFF is skipped
 * @param file `''` for the main Corefile, else the absolute path that tokens carry
 * @returns tokens in order with byte offsets into `bytes`, and the list of oddities that forbid an edit
 */
export function lex(bytes: Uint8Array, file = ''): LexResult {
  const reader = new Lexer(bytes, file)
  reader.run()
  return {tokens: reader.tokens, problems: reader.problems}
}

class Lexer {
  readonly tokens: Token[] = []
  readonly problems: LexProblem[] = []
  private readonly bytes: Uint8Array
  private readonly file: string
  /** The same bytes as a string: a slice of it is the text of a word that is pure ASCII. */
  private readonly source: string
  private line = 1

  constructor(bytes: Uint8Array, file: string) {
    this.bytes = bytes
    this.file = file
    this.source = ascii.decode(bytes)
  }

  run(): void {
    const {bytes} = this
    const length = bytes.length
    let at = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0
    this.inspect(at)
    while (at < length) {
      const byte = bytes[at] as number
      switch (meaning[byte]) {
        case NEWLINE:
          this.line++
          at++
          break
        case RETURN:
        case BLANK:
          at++
          break
        case HASH: {
          const end = bytes.indexOf(0x0a, at)
          at = end === -1 ? length : end
          break
        }
        case WIDE: {
          const rune = decodeRune(bytes, at)
          at = isWideSpace(rune.code) ? at + rune.size : this.slowWord(at)
          break
        }
        default:
          at = byte === 0x22 ? this.quotedWord(at) : this.word(at)
      }
    }
  }

  private push(text: string, line: number, start: number, end: number, quoted: boolean): void {
    this.tokens.push({raw: text, text, file: this.file, line, start, end, quoted})
  }

  private problem(kind: LexProblemKind, offset: number, line = this.line): void {
    this.problems.push({kind, file: this.file, line, offset})
  }

  /** An unquoted word of ASCII characters; anything rarer goes the slow way. */
  private word(start: number): number {
    const {bytes} = this
    const length = bytes.length
    let at = start + 1
    while (at < length && meaning[bytes[at] as number] === PLAIN) at++
    if (at < length) {
      const stop = meaning[bytes[at] as number] as number
      if (stop === HASH || stop === WIDE) return this.slowWord(start)
      // The return of a CRLF ends the line, and with it the word; one in the middle of a word is dropped.
      if (stop === RETURN && bytes[at + 1] !== 0x0a) return this.slowWord(start)
    }
    this.push(this.source.slice(start, at), this.line, start, at, false)
    return at
  }

  /** The whole rule for an unquoted word: returns vanish, a hash hides the rest up to white space, runes may be wide. */
  private slowWord(start: number): number {
    const {bytes} = this
    let text = ''
    let at = start
    let end = start
    let comment = false
    while (at < bytes.length) {
      const byte = bytes[at] as number
      const rune = byte < 0x80 ? undefined : decodeRune(bytes, at)
      const code = rune?.code ?? byte
      const size = rune?.size ?? 1
      if (byte === 0x0d) {
        at++
        continue
      }
      if (byte < 0x80 ? meaning[byte] === BLANK || meaning[byte] === NEWLINE : isWideSpace(code)) break
      if (byte === 0x23 && !comment) {
        comment = true
        this.problem('glued-comment', at)
      }
      at += size
      if (comment) continue
      if (isZeroWidth(code)) this.problem('zero-width-character', at - size)
      text += String.fromCodePoint(code)
      end = at
    }
    this.push(text, this.line, start, end, false)
    return at
  }

  /** A word in double quotes; an unclosed one runs to the end of the file and counts only if it is not empty. */
  private quotedWord(start: number): number {
    const {bytes} = this
    const length = bytes.length
    const line = this.line
    let at = start + 1
    while (at < length) {
      const byte = bytes[at] as number
      if (byte === 0x22) {
        this.push(this.source.slice(start + 1, at), line, start, at + 1, true)
        return at + 1
      }
      if (byte === 0x5c || byte >= 0x80) break
      if (byte === 0x0a) this.line++
      at++
    }
    let text = this.source.slice(start + 1, at)
    let escaped = false
    while (at < length) {
      const rune = decodeRune(bytes, at)
      const {code} = rune
      at += rune.size
      if (!escaped) {
        if (code === 0x5c) {
          escaped = true
          continue
        }
        if (code === 0x22) {
          this.push(text, line, start, at, true)
          return at
        }
      }
      if (code === 0x0a) this.line++
      if (escaped && code !== 0x22) text += '\\'
      if (isZeroWidth(code)) this.problem('zero-width-character', at - rune.size)
      text += String.fromCodePoint(code)
      escaped = false
    }
    this.problem('unterminated-quote', start, line)
    if (text !== '') this.push(text, line, start, length, true)
    return length
  }

  /** Finds bytes that no text file should hold, comments included. */
  private inspect(from: number): void {
    const {bytes} = this
    const length = bytes.length
    let line = 1
    for (let at = from; at < length; at++) {
      const byte = bytes[at] as number
      if (byte >= 0x20 && byte < 0x80) continue
      if (byte === 0x0a) line++
      else if (byte >= 0x80) {
        const rune = decodeRune(bytes, at)
        if (rune.code === 0xfffd && rune.size === 1) this.problem('invalid-utf8', at, line)
        at += rune.size - 1
      } else if (byte === 0x0d) {
        if (bytes[at + 1] !== 0x0a) this.problem('lone-carriage-return', at, line)
      } else if (byte !== 0x09) this.problem('control-character', at, line)
    }
  }
}
