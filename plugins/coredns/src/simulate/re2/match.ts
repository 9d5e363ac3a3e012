import type {Program} from './program.ts'
import type {AssertKind} from './syntax.ts'
import {inSet} from './syntax.ts'

type Captures = readonly number[]

/** What stands left and right of a position; -1 is the edge of the text. */
function holds(kind: AssertKind, before: number, after: number): boolean {
  switch (kind) {
    case 'text-begin':
      return before < 0
    case 'text-end':
      return after < 0
    case 'line-begin':
      return before < 0 || before === 0x0a
    case 'line-end':
      return after < 0 || after === 0x0a
    case 'word':
      return isWord(before) !== isWord(after)
    case 'not-word':
      return isWord(before) === isWord(after)
  }
}

function isWord(codePoint: number): boolean {
  return (
    (codePoint >= 0x30 && codePoint <= 0x39) ||
    (codePoint >= 0x41 && codePoint <= 0x5a) ||
    codePoint === 0x5f ||
    (codePoint >= 0x61 && codePoint <= 0x7a)
  )
}

interface Threads {
  readonly states: number[]
  readonly captures: Captures[]
}

/**
 * Pike's machine: all threads advance together, so the time is linear in text × program whatever the pattern is.
 * In: a program, a text, the number of groups. Out: the text of each group ('' where it took no part, as Go's
 * FindStringSubmatch), or null without a match. Leftmost match, first alternative wins.
 */
export function findSubmatch(program: Program, text: string, groups: number): string[] | null {
  const points = Array.from(text)
  const codes = points.map((point) => point.codePointAt(0) ?? 0)
  const marks = new Int32Array(program.code.length).fill(-1)
  let current: Threads = {states: [], captures: []}
  let best: Captures | null = null
  const empty: Captures = Array.from({length: groups * 2}, () => -1)
  for (let at = 0; at <= codes.length; at += 1) {
    const before = at === 0 ? -1 : (codes[at - 1] ?? -1)
    const after = codes[at] ?? -1
    // Threads that came here were only parked: follow them now that both neighbours are known.
    const ready: Threads = {states: [], captures: []}
    for (const [index, state] of current.states.entries()) {
      follow(program, state, current.captures[index] ?? empty, at, before, after, marks, ready)
    }
    if (best === null) follow(program, program.start, empty, at, before, after, marks, ready)
    if (ready.states.length === 0 && best !== null) break
    const next: Threads = {states: [], captures: []}
    for (const [index, state] of ready.states.entries()) {
      const instruction = program.code[state]
      if (instruction === undefined) continue
      if (instruction.op === 'match') {
        best = ready.captures[index] ?? empty
        break
      }
      const taken =
        after >= 0 &&
        (instruction.op === 'char'
          ? instruction.codePoint === after
          : instruction.op === 'set' && inSet(instruction.set, after))
      if (taken && 'out' in instruction) {
        next.states.push(instruction.out)
        next.captures.push(ready.captures[index] ?? empty)
      }
    }
    current = next
    if (current.states.length === 0 && best !== null) break
  }
  if (best === null) return null
  const found = best
  return Array.from({length: groups}, (_, group) => {
    const from = found[group * 2] ?? -1
    const to = found[group * 2 + 1] ?? -1
    return from < 0 || to < 0 ? '' : points.slice(from, to).join('')
  })
}

/** Adds every instruction that can be reached from `start` without reading, in order of priority. */
function follow(
  program: Program,
  start: number,
  captures: Captures,
  at: number,
  before: number,
  after: number,
  marks: Int32Array,
  into: Threads,
): void {
  const stack: [number, Captures][] = [[start, captures]]
  for (;;) {
    const entry = stack.pop()
    if (entry === undefined) return
    const [state, held] = entry
    if (marks[state] === at) continue
    marks[state] = at
    const instruction = program.code[state]
    if (instruction === undefined) continue
    switch (instruction.op) {
      case 'split':
        if (instruction.alt !== instruction.out) stack.push([instruction.alt, held])
        stack.push([instruction.out, held])
        break
      case 'save': {
        const copy = [...held]
        copy[instruction.slot] = at
        stack.push([instruction.out, copy])
        break
      }
      case 'assert':
        if (holds(instruction.kind, before, after)) stack.push([instruction.out, held])
        break
      default:
        into.states.push(state)
        into.captures.push(held)
    }
  }
}
