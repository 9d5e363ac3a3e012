import {atLeast} from './directives.ts'
import {expandEnvironment} from './environment.ts'
import {directoryOf, ImportFiles} from './imports.ts'
import {TokenStream} from './token-stream.ts'
import type {
  CorefileError,
  CorednsVersion,
  Directive,
  Environment,
  ImportUse,
  LexProblem,
  ServerBlock,
  Snippet,
  Token,
  Unknown,
} from './types.ts'

/** Options with every default filled in. */
export interface BlockParserOptions {
  readonly path: string
  readonly absolutePath: string
  readonly version: CorednsVersion
  readonly files: ReadonlyMap<string, Uint8Array>
  readonly directories: ReadonlySet<string>
  readonly onlyGivenFiles: boolean
  readonly environment: Environment
  /** Undefined: any name is taken (P0). */
  readonly directives: ReadonlySet<string> | undefined
}

/** Carries an error of the grammar out of the recursion. */
export class ParseFailure extends Error {
  readonly error: CorefileError
  constructor(error: CorefileError) {
    super(error.message)
    this.error = error
  }
}

type Writable<T> = {-readonly [K in keyof T]: T[K]}

interface OpenBlock {
  keys: string[]
  keyTokens: Token[]
  open?: Token
  close?: Token
  directives: Directive[]
  tokens: Map<string, Token[]>
  imports: Writable<ImportUse>[]
}

/** Both messages of the limits name the smaller one, as CoreDNS' do. */
const snippetLimit = 10_000
const fileLimit = 100_000

/** Nested imports a directive remembers; a cycle would otherwise cost the square of its length. */
const viaLimit = 64

/** The grammar of server blocks; one instance reads one file. */
export class BlockParser {
  readonly blocks: ServerBlock[] = []
  readonly snippets = new Map<string, Snippet>()
  readonly imports: ImportUse[] = []
  readonly keyless: Token[] = []
  readonly unknowns: Unknown[] = []
  readonly warnings: string[] = []
  private readonly options: BlockParserOptions
  private readonly stream: TokenStream
  private readonly files: ImportFiles
  private block: OpenBlock = emptyBlock()
  private inKeys = false
  private endOfFile = false
  private snippetExpansions = 0
  private fileExpansions = 0

  constructor(tokens: readonly Token[], options: BlockParserOptions) {
    this.options = options
    this.stream = new TokenStream(tokens)
    const {files, directories} = options
    this.files = new ImportFiles(files, directories, options.onlyGivenFiles ? undefined : directories)
  }

  get problems(): readonly LexProblem[] {
    return this.files.problems
  }

  /** Reads until the end. @throws ParseFailure at the first error; `blocks` then holds what was complete before it */
  parseAll(): void {
    while (this.stream.next()) {
      this.block = emptyBlock()
      const first = this.stream.current as Token
      this.addresses()
      if (!this.endOfFile && this.snippetDefinition()) continue
      if (!this.endOfFile) this.blockContents()
      this.closeBlock(first)
    }
  }

  /** An error for what CoreDNS would never finish. */
  hang(text: string): CorefileError {
    const {file, line} = this.position
    return {phase: 'hang', message: `${file}:${line} - CoreDNS never finishes reading this file: ${text}`, file, line}
  }

  private closeBlock(first: Token): void {
    const {block} = this
    if (block.keys.length === 0) {
      if (block.open || block.directives.length > 0) this.keyless.push(block.open ?? first)
      return
    }
    for (const use of block.imports) use.block = this.blocks.length
    const {keys, keyTokens, directives, tokens, open, close} = block
    const index = this.blocks.length
    this.blocks.push({index, keys, keyTokens, directives, tokens, ...(open && {open}), ...(close && {close})})
  }

  private addresses(): void {
    const {stream} = this
    let announced = false
    this.inKeys = true
    for (;;) {
      const text = this.expand(stream.current)
      if (text === 'import' && stream.startsLine) {
        this.expandImport()
        stream.enter()
        continue
      }
      if (text === '{') {
        if (announced) this.fail("Expected another address but had '{' - check for extra comma")
        break
      }
      if (text !== '') {
        announced = text.endsWith(',')
        this.block.keys.push(announced ? text.slice(0, -1) : text)
        this.block.keyTokens.push(stream.current as Token)
      }
      const more = stream.next()
      if (!more && announced) this.fail('Unexpected EOF')
      if (!more) {
        this.endOfFile = true
        break
      }
      if (!announced && stream.startsLine) break
    }
    this.inKeys = false
  }

  /** `(name) { … }`: kept for imports, and no server block. */
  private snippetDefinition(): boolean {
    const {keys, keyTokens} = this.block
    const key = keys[0]
    if (keys.length !== 1 || key === undefined || !key.startsWith('(') || !key.endsWith(')')) return false
    const name = key.slice(1, -1)
    if (this.snippets.has(name)) this.fail(`redeclaration of previously declared snippet ${name}`)
    const open = this.stream.current
    if (open?.text !== '{') this.failSyntax('{')
    const {tokens, close} = this.snippetTokens()
    if (atLeast(this.options.version, '1.13.0')) this.refuseSelfImport(name, tokens)
    this.snippets.set(name, {name, key: keyTokens[0] as Token, open, close, tokens})
    return true
  }

  private snippetTokens(): {tokens: Token[]; close: Token} {
    const {stream} = this
    const tokens: Token[] = []
    let depth = 1
    while (stream.next()) {
      const token = stream.current as Token
      if (token.text === '}' && --depth === 0) return {tokens, close: token}
      if (token.text === '{') depth++
      tokens.push(token)
    }
    return this.failSyntax('}')
  }

  private refuseSelfImport(name: string, tokens: readonly Token[]): void {
    tokens.forEach((token, index) => {
      const argument = tokens[index + 1]
      if (token.text !== 'import' || !argument) return
      const before = tokens[index - 1]
      if (before && before.file === token.file && before.line === token.line) return
      if (this.expand(argument) === name) this.fail(`maximum snippet import depth (${snippetLimit}) exceeded`)
    })
  }

  private blockContents(): void {
    const {stream, block} = this
    const open = stream.current
    const braced = open?.text === '{'
    if (braced) block.open = open
    else stream.back()
    this.directives()
    if (braced && stream.current?.text !== '}') this.failSyntax('}')
  }

  private directives(): void {
    const {stream} = this
    while (stream.next()) {
      const token = stream.current as Token
      if (token.text === '}') {
        this.block.close = token
        return
      }
      if (token.text === 'import') this.expandImport()
      else this.directive(token)
    }
  }

  /** One plugin's tokens, up to the end of the line or of its own block. */
  private directive(first: Token): void {
    const {stream} = this
    const name = this.expand(first)
    const known = this.options.directives
    if (known && !known.has(name)) this.fail(`Unknown directive '${name}'`)
    const via = stream.via
    const tokens: Token[] = [first]
    let depth = 0
    while (stream.next()) {
      let token = stream.current as Token
      const {text} = token
      if (text === '{') depth++
      else if (depth === 0 && stream.startsLine) {
        stream.back()
        break
      } else if (text === '}') {
        if (depth === 0) this.fail("Unexpected '}' because no matching opening brace")
        depth--
      } else if (text === 'import' && stream.startsLine) {
        this.expandImport()
        continue
      }
      const expanded = this.expand(token)
      if (expanded !== text) {
        token = {...token, text: expanded}
        stream.replaceCurrent(token)
      }
      tokens.push(token)
    }
    if (depth > 0) this.fail('Unexpected EOF')
    this.block.directives.push({name, tokens, via})
    const list = this.block.tokens.get(name)
    if (list) for (const token of tokens) list.push(token)
    else this.block.tokens.set(name, tokens.slice())
  }

  /** Puts the tokens of a snippet or of files in the place of `import ARGUMENT`; the cursor then stands before them. */
  private expandImport(): void {
    const {stream} = this
    const statement = stream.current as Token
    const outer = stream.via
    if (!stream.nextOnLine()) this.fail(`Wrong argument count or unexpected line ending after '${statement.text}'`)
    const argument = stream.current as Token
    const pattern = this.expand(argument)
    if (pattern === '') this.fail('Import requires a non-empty filepath')
    if (stream.nextOnLine()) this.fail('Import takes only one argument (glob pattern or file)')
    const use = {
      pattern,
      file: statement.file,
      line: statement.line,
      start: statement.start,
      end: argument.end,
      block: -1,
    }
    const snippet = this.snippets.get(pattern)
    if (snippet) {
      this.countExpansion('snippet')
      this.splice(snippet.tokens, {...use, kind: 'snippet', files: [], resolved: pattern}, outer)
      return
    }
    this.countExpansion('file')
    this.importFiles(use, argument, outer)
  }

  private importFiles(
    use: Omit<ImportUse, 'kind' | 'files' | 'resolved'>,
    argument: Token,
    outer: readonly ImportUse[],
  ): void {
    const {pattern} = use
    const match = this.files.match(pattern, directoryOf(argument.file || this.options.absolutePath))
    if (match.kind === 'error') this.fail(match.text)
    if (match.kind === 'unknown') {
      this.unknowns.push({kind: 'import', name: pattern, file: use.file, line: use.line})
      this.splice([], {...use, kind: 'unknown', files: [], resolved: match.pattern}, outer)
      return
    }
    if (match.kind === 'none') {
      if (!match.glob) this.fail(`File to import not found: ${pattern}`)
      this.warnings.push(`No files matching import glob pattern: ${pattern}`)
    }
    const paths = match.kind === 'files' ? match.paths : []
    const tokens: Token[] = []
    for (const path of paths) {
      const found = this.files.tokens(path)
      if (!found) this.fail(`Could not import ${path}: is a directory`)
      for (const token of found) tokens.push(token)
    }
    this.splice(tokens, {...use, kind: 'file', files: paths, resolved: match.pattern}, outer)
  }

  private splice(tokens: readonly Token[], use: ImportUse, outer: readonly ImportUse[]): void {
    this.imports.push(use)
    if (!this.inKeys) this.block.imports.push(use)
    this.stream.splice(tokens, outer.length < viaLimit ? [...outer, use] : outer)
  }

  /** The limits came with 1.13.0; older releases read a cycle for ever, so the same count ends it here as a hang. */
  private countExpansion(kind: 'snippet' | 'file'): void {
    const limited = atLeast(this.options.version, '1.13.0')
    const limit = kind === 'snippet' && limited ? snippetLimit : fileLimit
    const count = kind === 'snippet' ? this.snippetExpansions++ : this.fileExpansions++
    if (count < limit) return
    if (limited) this.fail(`maximum ${kind} import depth (${snippetLimit}) exceeded`)
    throw new ParseFailure(this.hang('its imports form a cycle'))
  }

  private expand(token: Token | undefined): string {
    if (!token) return ''
    return expandEnvironment(token.raw, this.options.environment, (name) => {
      const {file, line} = token
      const seen = this.unknowns.some(
        (one) => one.kind === 'env' && one.name === name && one.file === file && one.line === line,
      )
      if (!seen) this.unknowns.push({kind: 'env', name, file, line})
    })
  }

  private get position(): {file: string; line: number} {
    const token = this.stream.current
    return {file: token?.file || this.options.path, line: token?.line ?? 0}
  }

  private fail(text: string): never {
    const {file, line} = this.position
    throw new ParseFailure({phase: 'parse', message: `${file}:${line} - Error during parsing: ${text}`, file, line})
  }

  private failSyntax(expected: string): never {
    const {file, line} = this.position
    const text = `Syntax error: Unexpected token '${this.stream.current?.text ?? ''}', expecting '${expected}'`
    throw new ParseFailure({phase: 'parse', message: `${file}:${line} - ${text}`, file, line})
  }
}

function emptyBlock(): OpenBlock {
  return {keys: [], keyTokens: [], directives: [], tokens: new Map(), imports: []}
}
