import {lex} from './lexer.ts'
import {compareBytewise} from './runes.ts'
import type {LexProblem, Token} from './types.ts'

/** What an import pattern stands for. */
export type ImportMatch =
  | {readonly kind: 'files'; readonly pattern: string; readonly paths: readonly string[]}
  | {readonly kind: 'unknown'; readonly pattern: string}
  | {readonly kind: 'none'; readonly pattern: string; readonly glob: boolean}
  | {readonly kind: 'error'; readonly pattern: string; readonly text: string}

/** The files that imports can reach: given from outside, read by nobody here. */
export class ImportFiles {
  readonly problems: LexProblem[] = []
  private readonly files: ReadonlyMap<string, Uint8Array>
  /** Every directory that is known to exist, with the names in it. */
  private readonly entries = new Map<string, Set<string>>()
  /** Directories whose whole content is known; undefined when everything is. */
  private readonly complete: ReadonlySet<string> | undefined
  private readonly lexed = new Map<string, readonly Token[]>()

  constructor(
    files: ReadonlyMap<string, Uint8Array>,
    directories: ReadonlySet<string>,
    complete: ReadonlySet<string> | undefined,
  ) {
    this.files = files
    this.complete = complete
    for (const path of files.keys()) this.enter(path)
    for (const path of directories) {
      this.enter(path)
      if (!this.entries.has(path)) this.entries.set(path, new Set())
    }
  }

  private enter(path: string): void {
    let child = path
    while (child !== '/' && child !== '.') {
      const parent = directoryOf(child)
      const names = this.entries.get(parent)
      const name = child.slice(parent === '/' ? 1 : parent.length + 1)
      if (names?.has(name)) return
      if (names) names.add(name)
      else this.entries.set(parent, new Set([name]))
      child = parent
    }
  }

  /**
   * Finds what `import ARGUMENT` in a file of `directory` means: absolute, or relative to that directory; at most one
   * `*` and one `?`, no `[…]`; names sorted bytewise (Go's filepath.Glob).
   */
  match(argument: string, directory: string): ImportMatch {
    const pattern = argument.startsWith('/') ? argument : cleanPath(`${directory}/${argument}`)
    if (count(pattern, '*') > 1 || count(pattern, '?') > 1 || (pattern.includes('[') && pattern.includes(']'))) {
      return {
        kind: 'error',
        pattern,
        text: `Glob pattern may only contain one wildcard (*), but has others: ${pattern}`,
      }
    }
    if (pattern.includes('[') || endsInLoneBackslash(pattern)) {
      return {kind: 'error', pattern, text: `Failed to use import pattern ${argument}: syntax error in pattern`}
    }
    const paths = this.glob(pattern)
    if (paths.length > 0) return {kind: 'files', pattern, paths}
    if (this.complete && !this.complete.has(directoryOf(cleanPath(pattern)))) return {kind: 'unknown', pattern}
    return {kind: 'none', pattern, glob: isGlob(pattern)}
  }

  private glob(pattern: string): string[] {
    if (!hasMeta(pattern)) return this.exists(cleanPath(pattern)) ? [pattern] : []
    const slash = pattern.lastIndexOf('/')
    const parent = slash <= 0 ? '/' : pattern.slice(0, slash)
    const parents = hasMeta(parent) ? this.glob(parent) : [parent]
    const matches = segmentMatcher(pattern.slice(slash + 1))
    const found: string[] = []
    for (const one of parents) {
      const names = [...(this.entries.get(cleanPath(one)) ?? [])].filter(matches).sort(compareBytewise)
      for (const name of names) found.push(cleanPath(`${one}/${name}`))
    }
    return found
  }

  private exists(path: string): boolean {
    return this.files.has(path) || this.entries.has(path)
  }

  /** Tokens of one file, each carrying its absolute path; undefined when the path is a directory. */
  tokens(path: string): readonly Token[] | undefined {
    const clean = cleanPath(path)
    const seen = this.lexed.get(clean)
    if (seen) return seen
    const bytes = this.files.get(clean)
    if (!bytes) return undefined
    const {tokens, problems} = lex(bytes, clean)
    this.problems.push(...problems)
    this.lexed.set(clean, tokens)
    return tokens
  }
}

/** Whether an absolute import pattern takes in a file of that path, were it there. */
export function patternTakes(pattern: string, path: string): boolean {
  const alone = new ImportFiles(new Map([[path, new Uint8Array()]]), new Set(), undefined)
  return alone.match(pattern, '/').kind === 'files'
}

/** Whether a pattern may match nothing without an error. */
export function isGlob(pattern: string): boolean {
  return /[*?[\]]/.test(pattern)
}

function count(text: string, character: string): number {
  return text.split(character).length - 1
}

function hasMeta(pattern: string): boolean {
  return /[*?[\\]/.test(pattern)
}

function endsInLoneBackslash(pattern: string): boolean {
  let slashes = 0
  while (pattern.charAt(pattern.length - 1 - slashes) === '\\') slashes++
  return slashes % 2 === 1
}

/** Matches one path segment: `*` any run, `?` one character, `\x` the character itself. */
function segmentMatcher(pattern: string): (name: string) => boolean {
  const parts: (string | '*' | '?')[] = []
  const wild: boolean[] = []
  const characters = [...pattern]
  for (let at = 0; at < characters.length; at++) {
    const character = characters[at] as string
    const escaped = character === '\\'
    parts.push(escaped ? (characters[++at] as string) : character)
    wild.push(!escaped && (character === '*' || character === '?'))
  }
  return (name) => matchSegment(parts, wild, [...name])
}

/** At most one `*` can occur, so the text before and behind it decides. */
function matchSegment(parts: readonly string[], wild: readonly boolean[], name: readonly string[]): boolean {
  const star = parts.findIndex((part, index) => wild[index] && part === '*')
  const same = (part: number, at: number): boolean =>
    at >= 0 && at < name.length && (wild[part] ? parts[part] === '?' : parts[part] === name[at])
  if (star === -1) return parts.length === name.length && parts.every((_, index) => same(index, index))
  const behind = parts.length - star - 1
  if (name.length < star + behind) return false
  for (let index = 0; index < star; index++) if (!same(index, index)) return false
  for (let index = 1; index <= behind; index++) if (!same(parts.length - index, name.length - index)) return false
  return true
}

/** Directory of an absolute path. */
export function directoryOf(path: string): string {
  const slash = path.lastIndexOf('/')
  return slash <= 0 ? '/' : path.slice(0, slash)
}

/** Lexically cleaned absolute path: no `.`, `..`, doubled or final slashes. */
function cleanPath(path: string): string {
  const parts: string[] = []
  for (const part of path.split('/')) {
    if (part === '..') parts.pop()
    else if (part !== '' && part !== '.') parts.push(part)
  }
  return `/${parts.join('/')}`
}

/** `path` made absolute and clean. */
export function absolutePath(path: string, workingDirectory: string): string {
  return cleanPath(path.startsWith('/') ? path : `${workingDirectory}/${path}`)
}
