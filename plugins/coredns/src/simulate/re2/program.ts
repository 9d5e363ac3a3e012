import type {AssertKind, CharSet, Node} from './syntax.ts'
import {PatternUnknown} from './syntax.ts'

/** One instruction of the matcher. `out` and `alt` are instruction numbers; `out` has priority. */
export type Instruction =
  | {readonly op: 'char'; readonly codePoint: number; out: number}
  | {readonly op: 'set'; readonly set: CharSet; out: number}
  | {readonly op: 'split'; out: number; alt: number}
  | {readonly op: 'save'; readonly slot: number; out: number}
  | {readonly op: 'assert'; readonly kind: AssertKind; out: number}
  | {readonly op: 'match'}

export interface Program {
  readonly code: readonly Instruction[]
  readonly start: number
}

/** Own limit, far above what a pattern of 10,000 characters without counted repeats needs. */
const maxInstructions = 60_000

/** A hole: the place that still has to learn where to go. */
type Hole = (target: number) => void

interface Fragment {
  readonly start: number
  readonly holes: readonly Hole[]
}

/**
 * In: a parsed pattern. Out: its program, in the order of priorities of Go's compiler (leftmost, first alternative).
 * Throws PatternUnknown when counted repeats blow the program up beyond our limit.
 */
export function compileProgram(root: Node): Program {
  const compiler = new Compiler()
  const body = compiler.compile({t: 'group', index: 0, name: '', item: root})
  compiler.patch(body.holes, compiler.emit({op: 'match'}))
  return {code: compiler.code, start: body.start}
}

class Compiler {
  readonly code: Instruction[] = []

  emit(instruction: Instruction): number {
    if (this.code.length >= maxInstructions) throw new PatternUnknown('pattern too large to be followed')
    this.code.push(instruction)
    return this.code.length - 1
  }

  patch(holes: readonly Hole[], target: number): void {
    for (const hole of holes) hole(target)
  }

  compile(node: Node): Fragment {
    switch (node.t) {
      case 'empty':
        return this.pass()
      case 'char':
        return this.single({op: 'char', codePoint: node.codePoint, out: -1})
      case 'set':
        return this.single({op: 'set', set: node.set, out: -1})
      case 'assert':
        return this.single({op: 'assert', kind: node.kind, out: -1})
      case 'group': {
        const open = this.single({op: 'save', slot: node.index * 2, out: -1})
        const body = this.compile(node.item)
        this.patch(open.holes, body.start)
        const close = this.single({op: 'save', slot: node.index * 2 + 1, out: -1})
        this.patch(body.holes, close.start)
        return {start: open.start, holes: close.holes}
      }
      case 'concat':
        return this.sequence(node.items.map((item) => () => this.compile(item)))
      case 'alternate':
        return this.alternate(node.items)
      case 'repeat':
        return this.repeat(node.item, node.min, node.max, node.greedy)
    }
  }

  private single(instruction: Exclude<Instruction, {op: 'match'}>): Fragment {
    const start = this.emit(instruction)
    return {
      start,
      holes: [
        (target) => {
          instruction.out = target
        },
      ],
    }
  }

  /** A step without effect, so that empty expressions have a start. */
  private pass(): Fragment {
    const instruction: Instruction = {op: 'split', out: -1, alt: -1}
    const start = this.emit(instruction)
    return {
      start,
      holes: [
        (target) => {
          instruction.out = target
          instruction.alt = target
        },
      ],
    }
  }

  private sequence(parts: readonly (() => Fragment)[]): Fragment {
    let whole: Fragment | undefined
    for (const part of parts) {
      const next = part()
      if (whole === undefined) {
        whole = next
        continue
      }
      this.patch(whole.holes, next.start)
      whole = {start: whole.start, holes: next.holes}
    }
    return whole ?? this.pass()
  }

  private alternate(items: readonly Node[]): Fragment {
    const holes: Hole[] = []
    let start = -1
    let previous: (Instruction & {op: 'split'}) | undefined
    for (const [index, item] of items.entries()) {
      let entry: number
      if (index < items.length - 1) {
        const split: Instruction & {op: 'split'} = {op: 'split', out: -1, alt: -1}
        entry = this.emit(split)
        const body = this.compile(item)
        split.out = body.start
        holes.push(...body.holes)
        if (previous !== undefined) previous.alt = entry
        previous = split
      } else {
        const body = this.compile(item)
        entry = body.start
        holes.push(...body.holes)
        if (previous !== undefined) previous.alt = entry
      }
      if (start < 0) start = entry
    }
    return {start, holes}
  }

  private repeat(item: Node, min: number, max: number, greedy: boolean): Fragment {
    if (max === 0) return this.pass()
    if (max === -1) {
      if (min === 0) return this.star(item, greedy)
      if (min === 1) return this.plus(item, greedy)
      const parts: (() => Fragment)[] = Array.from({length: min - 1}, () => () => this.compile(item))
      return this.sequence([...parts, () => this.plus(item, greedy)])
    }
    const required: (() => Fragment)[] = Array.from({length: min}, () => () => this.compile(item))
    return max === min
      ? this.sequence(required)
      : this.sequence([...required, () => this.optional(item, max - min, greedy)])
  }

  /** `x?` nested `count` times: (x(x(x)?)?)?, built without recursion. */
  private optional(item: Node, count: number, greedy: boolean): Fragment {
    const holes: Hole[] = []
    let start = -1
    let open: readonly Hole[] = []
    for (let index = 0; index < count; index += 1) {
      const split: Instruction & {op: 'split'} = {op: 'split', out: -1, alt: -1}
      const entry = this.emit(split)
      if (start < 0) start = entry
      this.patch(open, entry)
      const body = this.compile(item)
      if (greedy) split.out = body.start
      else split.alt = body.start
      holes.push((target) => {
        if (greedy) split.alt = target
        else split.out = target
      })
      open = body.holes
    }
    return {start, holes: [...holes, ...open]}
  }

  private plus(item: Node, greedy: boolean): Fragment {
    const body = this.compile(item)
    const split: Instruction & {op: 'split'} = {op: 'split', out: -1, alt: -1}
    const entry = this.emit(split)
    this.patch(body.holes, entry)
    if (greedy) split.out = body.start
    else split.alt = body.start
    return {
      start: body.start,
      holes: [
        (target) => {
          if (greedy) split.alt = target
          else split.out = target
        },
      ],
    }
  }

  private star(item: Node, greedy: boolean): Fragment {
    // Go compiles x* as (x+)? where x may be empty, so that the order of preference stays right.
    if (mayBeEmpty(item)) {
      const split: Instruction & {op: 'split'} = {op: 'split', out: -1, alt: -1}
      const entry = this.emit(split)
      const body = this.plus(item, greedy)
      if (greedy) split.out = body.start
      else split.alt = body.start
      const skip: Hole = (target) => {
        if (greedy) split.alt = target
        else split.out = target
      }
      return {start: entry, holes: [...body.holes, skip]}
    }
    const split: Instruction & {op: 'split'} = {op: 'split', out: -1, alt: -1}
    const entry = this.emit(split)
    const body = this.compile(item)
    this.patch(body.holes, entry)
    if (greedy) split.out = body.start
    else split.alt = body.start
    return {
      start: entry,
      holes: [
        (target) => {
          if (greedy) split.alt = target
          else split.out = target
        },
      ],
    }
  }
}

function mayBeEmpty(node: Node): boolean {
  switch (node.t) {
    case 'char':
    case 'set':
      return false
    case 'empty':
    case 'assert':
      return true
    case 'group':
      return mayBeEmpty(node.item)
    case 'concat':
      return node.items.every(mayBeEmpty)
    case 'alternate':
      return node.items.some(mayBeEmpty)
    case 'repeat':
      return node.min === 0 || mayBeEmpty(node.item)
  }
}
