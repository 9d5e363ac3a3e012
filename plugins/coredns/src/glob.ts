import {compareBytewise} from './runes.ts'

/** What a glob asks of a file system. Paths are absolute, but not cleaned: `/a/../b/` is asked for as it stands. */
export interface GlobTree {
  /** Whether something is there. */
  exists(path: string): boolean
  /** Names in a directory; undefined when there is no such directory. */
  names(path: string): Iterable<string> | undefined
}

/** Go's filepath.ErrBadPattern. */
export const badPattern = Symbol('syntax error in pattern')

/** More slashes than this behind a wildcard are refused as a bad pattern (CVE-2022-30632). */
const depthLimit = 10_000

/**
 * Paths that a pattern stands for, or that it is malformed, as Go's filepath.Glob says it (path/filepath/match.go, on
 * Unix). Only what stands before the first `*` is always checked; the rest of a segment is checked against the names of
 * its directory, so an empty or missing directory hides what is wrong there.
 */
export function globPaths(pattern: string, tree: GlobTree): string[] | typeof badPattern {
  // From the longest part to the shortest: every part is checked before any directory is read.
  const segments: string[] = []
  let rest = pattern
  for (;;) {
    if (segments.length === depthLimit || matchName(rest, '') === badPattern) return badPattern
    if (!hasMeta(rest)) break
    const slash = rest.lastIndexOf('/')
    segments.unshift(rest.slice(slash + 1))
    rest = slash <= 0 ? '/' : rest.slice(0, slash)
  }
  if (segments.length === 0) return tree.exists(rest) ? [rest] : []
  // The directory before the first wildcard is opened as it stands; nothing more is asked of it.
  let found: string[] = [rest]
  for (const segment of segments) {
    const next: string[] = []
    for (const directory of found) {
      for (const name of [...(tree.names(directory) ?? [])].sort(compareBytewise)) {
        const matched = matchName(segment, name)
        if (matched === badPattern) return badPattern
        if (matched) next.push(cleanPath(`${directory}/${name}`))
      }
    }
    found = next
  }
  return found
}

function hasMeta(pattern: string): boolean {
  return /[*?[\\]/.test(pattern)
}

/** Lexically cleaned absolute path: no `.`, `..`, doubled or final slashes. */
export function cleanPath(path: string): string {
  const parts: string[] = []
  for (const part of path.split('/')) {
    if (part === '..') parts.pop()
    else if (part !== '' && part !== '.') parts.push(part)
  }
  return `/${parts.join('/')}`
}

/** A piece of a pattern: what may be skipped before it, and its characters. */
interface Chunk {
  readonly star: boolean
  readonly text: string
  readonly rest: string
}

/**
 * Whether a pattern matches the whole name. A class is never complete here: CoreDNS refuses patterns with both brackets
 * before it asks, so `[` is always malformed. Matching by characters equals Go's by bytes, as names are valid UTF-8.
 */
function matchName(whole: string, wholeName: string): boolean | typeof badPattern {
  let pattern = whole
  let name = wholeName
  while (pattern !== '') {
    const {star, text, rest} = nextChunk(pattern)
    pattern = rest
    if (star && text === '') return !name.includes('/')
    const last = pattern === ''
    const first = matchChunk(text, name)
    if (first === badPattern) return badPattern
    let left = first !== undefined && (first === '' || !last) ? first : undefined
    for (let at = 0; left === undefined && star && at < name.length && name[at] !== '/'; at++) {
      const tried = matchChunk(text, name.slice(at + 1))
      if (tried === badPattern) return badPattern
      if (tried !== undefined && (tried === '' || !last)) left = tried
    }
    if (left === undefined) return false
    name = left
  }
  return name === ''
}

/** Up to the next `*` that no `\` and no open `[` takes. */
function nextChunk(pattern: string): Chunk {
  const begin = pattern.length - pattern.replace(/^\*+/, '').length
  let inClass = false
  for (let at = begin; at < pattern.length; at++) {
    const character = pattern[at]
    if (character === '\\') at++
    else if (character === '[') inClass = true
    else if (character === ']') inClass = false
    else if (character === '*' && !inClass) {
      return {star: begin > 0, text: pattern.slice(begin, at), rest: pattern.slice(at)}
    }
  }
  return {star: begin > 0, text: pattern.slice(begin), rest: ''}
}

/** What is left of a name behind a chunk, undefined when it does not fit. A chunk is read to its end even then. */
function matchChunk(chunk: string, name: string): string | undefined | typeof badPattern {
  const wanted = [...chunk]
  let left: string | undefined = name
  for (let at = 0; at < wanted.length; at++) {
    let character = wanted[at] as string
    if (character === '[') return badPattern
    const wild = character === '?'
    if (character === '\\') {
      at++
      if (at === wanted.length) return badPattern
      character = wanted[at] as string
    }
    const [have] = left ?? []
    if (have === undefined || (wild ? have === '/' : have !== character)) left = undefined
    else left = left?.slice(have.length)
  }
  return left
}
