import {badPattern, cleanPath, globPaths, type GlobTree} from './glob.ts'
import {lex} from './lexer.ts'
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
    const paths = globPaths(pattern, this.tree)
    if (paths === badPattern) {
      return {kind: 'error', pattern, text: `Failed to use import pattern ${argument}: syntax error in pattern`}
    }
    if (paths.length > 0) return {kind: 'files', pattern, paths}
    if (this.complete && !this.complete.has(directoryOf(cleanPath(pattern)))) return {kind: 'unknown', pattern}
    return {kind: 'none', pattern, glob: isGlob(pattern)}
  }

  /** As the operating system walks a path: every part before the last slash is a directory that is there. */
  private readonly tree: GlobTree = {
    exists: (path) => this.reaches(path) && (this.files.has(cleanPath(path)) || this.entries.has(cleanPath(path))),
    names: (path) => (this.reaches(path) ? this.entries.get(cleanPath(path)) : undefined),
  }

  private reaches(path: string): boolean {
    if (path === cleanPath(path)) return true
    for (let slash = path.indexOf('/', 1); slash !== -1; slash = path.indexOf('/', slash + 1)) {
      if (!this.entries.has(cleanPath(path.slice(0, slash)))) return false
    }
    return true
  }

  /** Tokens of one file, each carrying its absolute path; undefined when the path is a directory. */
  tokens(path: string): readonly Token[] | undefined {
    const clean = cleanPath(path)
    const seen = this.lexed.get(clean)
    if (seen) return seen
    const bytes = this.files.get(clean)
    if (!bytes) return undefined
    const {tokens, problems} = lex(bytes, clean)
    for (const problem of problems) this.problems.push(problem)
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

/** Directory of an absolute path. */
export function directoryOf(path: string): string {
  const slash = path.lastIndexOf('/')
  return slash <= 0 ? '/' : path.slice(0, slash)
}

/** `path` made absolute and clean. */
export function absolutePath(path: string, workingDirectory: string): string {
  return cleanPath(path.startsWith('/') ? path : `${workingDirectory}/${path}`)
}
