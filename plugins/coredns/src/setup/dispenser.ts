import type {Token} from '../types.ts'

/** A mistake that CoreDNS finds when it sets a plugin up. `message` is CoreDNS' text without the `plugin/NAME: ` prefix. */
export class SetupError extends Error {
  /** Line and file the mistake stands on, also where CoreDNS itself gives none. */
  readonly line: number
  readonly file: string

  constructor(message: string, token: {readonly line: number; readonly file: string} | undefined) {
    super(message)
    this.line = token?.line ?? 0
    this.file = token?.file ?? ''
  }
}

/**
 * The cursor that setup code walks over all tokens of one plugin in one server block. "Argument" means: same file, and
 * the line on which the token before ends, which is why copies of one snippet run together (corefile.md 2.4).
 * Source of the rules: coredns/caddy caddyfile/dispenser.go.
 */
export class Dispenser {
  private cursor = -1
  private nesting = 0
  private readonly tokens: readonly Token[]
  private readonly mainFile: string

  /** In: tokens of all equal directive names of a block, in order; the path that messages use for the main file. */
  constructor(tokens: readonly Token[], mainFile: string) {
    this.tokens = tokens
    this.mainFile = mainFile
  }

  get token(): Token | undefined {
    return this.tokens[this.cursor]
  }

  /** Text of the current token, '' before the first. */
  get value(): string {
    return this.token?.text ?? ''
  }

  next(): boolean {
    if (this.cursor >= this.tokens.length - 1) return false
    this.cursor += 1
    return true
  }

  nextArg(): boolean {
    if (this.cursor < 0) {
      this.cursor = 0
      return true
    }
    const here = this.tokens[this.cursor]
    const there = this.tokens[this.cursor + 1]
    if (here === undefined || there === undefined || here.file !== there.file) return false
    if (here.line + lineBreaks(here.text) !== there.line) return false
    this.cursor += 1
    return true
  }

  /** True while a token of the plugin's own `{ … }` is loaded; the brace must stand on the plugin's line. */
  nextBlock(): boolean {
    if (this.nesting > 0) {
      if (!this.next()) return false
      if (this.token?.text !== '}') return true
      this.nesting -= 1
      return false
    }
    if (!this.nextArg()) return false
    if (this.value !== '{') {
      this.cursor -= 1
      return false
    }
    if (!this.next()) return false
    // Opened and closed at once.
    if (this.token?.text === '}') return false
    this.nesting += 1
    return true
  }

  /** Out: the arguments left on the line; an opening brace ends them and stays. */
  remainingArgs(): string[] {
    return this.remainingTokens().map((token) => token.text)
  }

  /** As remainingArgs, with positions. */
  remainingTokens(): Token[] {
    const found: Token[] = []
    while (this.nextArg()) {
      if (this.value === '{') {
        this.cursor -= 1
        break
      }
      if (this.token !== undefined) found.push(this.token)
    }
    return found
  }

  /** CoreDNS' error for a missing or superfluous argument. */
  argumentError(): SetupError {
    if (this.value === '{') return this.error("Unexpected token '{', expecting argument")
    return this.error(`Wrong argument count or unexpected line ending after '${this.value}'`)
  }

  /** CoreDNS' error with a position in its text. */
  error(message: string): SetupError {
    return this.plain(`${this.position()} - Error during parsing: ${message}`)
  }

  syntaxError(expected: string): SetupError {
    return this.plain(`${this.position()} - Syntax error: Unexpected token '${this.value}', expecting '${expected}'`)
  }

  /** CoreDNS' error without a position in its text. */
  plain(message: string): SetupError {
    return new SetupError(message, this.token ?? this.tokens[0])
  }

  private position(): string {
    const token = this.token
    const file = token === undefined || token.file === '' ? this.mainFile : token.file
    return `${file}:${token?.line ?? 0}`
  }
}

function lineBreaks(text: string): number {
  let count = 0
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count += 1
  return count
}
