import type {ImportUse, Token} from './types.ts'

/** Tokens waiting to be read, and the imports they came through. */
interface Frame {
  readonly tokens: readonly Token[]
  next: number
  readonly via: readonly ImportUse[]
}

const nowhere: readonly ImportUse[] = []

/** Words CoreDNS would have to hold at once before this reader gives up on a file of nested imports. */
const tokenLimit = 2_000_000

/** An expansion larger than any real file: CoreDNS would run out of memory. */
export class TooManyTokens extends Error {}

/**
 * The cursor of CoreDNS' dispenser over tokens that imports splice in. Where CoreDNS copies the token list at each
 * import, this keeps what was read on one stack and what is to come on another, so an import costs nothing.
 */
export class TokenStream {
  private readonly read: Token[] = []
  private readonly readVia: (readonly ImportUse[])[] = []
  private readonly frames: Frame[] = []
  private taken = 0
  /** The cursor stands behind the last token: there is no current one. */
  private past = false

  constructor(tokens: readonly Token[]) {
    this.frames.push({tokens, next: 0, via: nowhere})
  }

  /** The current token, if any. */
  get current(): Token | undefined {
    return this.past ? undefined : this.read[this.read.length - 1]
  }

  /** Imports through which the current token came, outermost first. */
  get via(): readonly ImportUse[] {
    return this.readVia[this.readVia.length - 1] ?? nowhere
  }

  private top(): Frame | undefined {
    for (;;) {
      const frame = this.frames[this.frames.length - 1]
      if (!frame || frame.next < frame.tokens.length) return frame
      this.frames.pop()
    }
  }

  private peek(): Token | undefined {
    const frame = this.top()
    return frame?.tokens[frame.next]
  }

  /** Loads the next token; false at the end, where the current one stays. */
  next(): boolean {
    if (this.past) return false
    const frame = this.top()
    if (!frame) return false
    if (++this.taken > tokenLimit) throw new TooManyTokens()
    this.read.push(frame.tokens[frame.next++] as Token)
    this.readVia.push(frame.via)
    return true
  }

  /** Loads the next token only if it stands on the line of the current one. */
  nextOnLine(): boolean {
    const {current} = this
    const following = this.peek()
    if (!current || !following || !sameLine(current, following)) return false
    return this.next()
  }

  /** Gives the current token back to be read again. */
  back(): void {
    if (this.past) {
      this.past = false
      return
    }
    const token = this.read.pop()
    const via = this.readVia.pop()
    if (token && via) this.frames.push({tokens: [token], next: 0, via})
  }

  /** Puts another token (its text expanded) in the place of the current one. */
  replaceCurrent(token: Token): void {
    this.read[this.read.length - 1] = token
  }

  /** Whether the current token begins a line: other file or greater line than the one before it. */
  get startsLine(): boolean {
    if (this.past) return false
    const {length} = this.read
    if (length < 2) return true
    const before = this.read[length - 2] as Token
    const current = this.read[length - 1] as Token
    return before.file !== current.file || before.line + lineBreaks(before.text) < current.line
  }

  /** Takes the `import` and its argument (the current token) out and puts `tokens` in their place, none of them read yet. */
  splice(tokens: readonly Token[], via: readonly ImportUse[]): void {
    this.read.length -= 2
    this.readVia.length -= 2
    if (tokens.length > 0) this.frames.push({tokens, next: 0, via})
  }

  /** After a splice: moves onto the first token behind it, or behind the end. */
  enter(): void {
    if (!this.next()) this.past = true
  }
}

/** Line feeds inside a token. */
function lineBreaks(text: string): number {
  let breaks = 0
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) breaks++
  return breaks
}

/** Whether setup code takes `right` for an argument behind `left`: same file, same line (line feeds in `left` counted). */
export function sameLine(left: Token, right: Token): boolean {
  return left.file === right.file && left.line + lineBreaks(left.text) === right.line
}
