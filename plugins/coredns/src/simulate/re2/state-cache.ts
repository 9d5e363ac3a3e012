import type {Program} from './program.ts'
import {inSet} from './syntax.ts'

/** One set of instructions the machine may be in, with what it does on each ASCII character. */
interface State {
  readonly members: readonly number[]
  readonly next: (State | undefined)[]
  /** A match was reached on the way: nothing that follows can change that. */
  readonly matched: boolean
  /** Whether the text may end here. Worked out when first asked. */
  atEnd: boolean | undefined
}

/** States kept at a time; then the cache starts anew, so that hostile patterns cost no memory. */
const maxStates = 4000

/**
 * A lazily built automaton that only says whether there is a match: one table look-up a character. Group texts are left
 * to the other matcher. It takes `^ $ \A \z` outside multi-line mode; other assertions make it say "undefined".
 */
export class StateCache {
  private readonly program: Program
  private readonly usable: boolean
  private states = new Map<string, State>()
  private first: State | undefined

  constructor(program: Program) {
    this.program = program
    this.usable = program.code.every(
      (instruction) =>
        instruction.op !== 'assert' || instruction.kind === 'text-begin' || instruction.kind === 'text-end',
    )
  }

  /** In: a text. Out: whether it holds a match; undefined where this matcher does not apply (then ask the other). */
  test(text: string): boolean | undefined {
    if (!this.usable) return undefined
    // Only in an empty text both edges are at the same place.
    if (text === '') return this.hasMatch(this.close([this.program.start], true, true))
    let state = (this.first ??= this.intern(this.close([this.program.start], true)))
    for (let index = 0; index < text.length; index += 1) {
      if (state.matched) return true
      const code = text.charCodeAt(index)
      if (code > 0x7f) return undefined
      state = state.next[code] ?? this.step(state, code)
    }
    return state.matched || (state.atEnd ??= this.endsWell(state))
  }

  private step(state: State, code: number): State {
    const targets: number[] = []
    for (const member of state.members) {
      const instruction = this.program.code[member]
      if (instruction?.op === 'char' && instruction.codePoint === code) targets.push(instruction.out)
      if (instruction?.op === 'set' && inSet(instruction.set, code)) targets.push(instruction.out)
    }
    const next = this.intern(this.close([...targets, this.program.start], false))
    // The cache may have been emptied in between; a dropped state must not hold on to living ones.
    if (this.states.size > 0) state.next[code] = next
    return next
  }

  private intern(members: readonly number[]): State {
    const sorted = [...members].sort((one, other) => one - other)
    const key = sorted.join(',')
    const known = this.states.get(key)
    if (known !== undefined) return known
    if (this.states.size >= maxStates) {
      this.states = new Map()
      this.first = undefined
    }
    const state: State = {
      members: sorted,
      next: [],
      matched: this.hasMatch(sorted),
      atEnd: undefined,
    }
    this.states.set(key, state)
    return state
  }

  private endsWell(state: State): boolean {
    return this.hasMatch(this.close(state.members, false, true))
  }

  private hasMatch(members: readonly number[]): boolean {
    return members.some((member) => this.program.code[member]?.op === 'match')
  }

  private close(from: readonly number[], atBegin: boolean, atEnd = false): number[] {
    const seen = new Set<number>()
    const stack = [...from]
    const found: number[] = []
    for (;;) {
      const at = stack.pop()
      if (at === undefined) return found
      if (seen.has(at)) continue
      seen.add(at)
      const instruction = this.program.code[at]
      if (instruction === undefined) continue
      switch (instruction.op) {
        case 'split':
          stack.push(instruction.out, instruction.alt)
          break
        case 'save':
          stack.push(instruction.out)
          break
        case 'assert':
          if (instruction.kind === 'text-begin' ? atBegin : atEnd) stack.push(instruction.out)
          // `$` is kept, to be asked again when the text is over.
          else if (instruction.kind === 'text-end') found.push(at)
          break
        default:
          found.push(at)
      }
    }
  }
}
