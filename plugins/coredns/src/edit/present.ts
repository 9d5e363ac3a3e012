import type {Directive, LineReference, ParsedCorefile, ServerBlock, Token} from '../types.ts'
import type {Removal} from './byte-edits.ts'
import {LineMap, type Line} from './lines.ts'
import {
  findMarkers,
  hairpinProxyComment,
  mainSpan,
  type FoundMarkers,
  type MarkerLine,
  type Section,
} from './markers.ts'
import {oursBetweenMarkers, oursUnmarked} from './our-rules.ts'
import type {AdoptedOwner, EditNote} from './request.ts'

/** What of ours a file holds today, and what taking it out means in bytes. */
export interface PresentState {
  readonly map: LineMap
  readonly markers: FoundMarkers
  /** Directives of ours, in the Corefile and in import keys. */
  readonly ours: ReadonlySet<Directive>
  /** Whole lines of the Corefile that go with them; `keep` holds an operator's lines from between our markers. */
  readonly removals: readonly Removal[]
  /** Lines of others that stay in each import key. */
  readonly keptInKeys: ReadonlyMap<string, string>
  readonly notes: readonly EditNote[]
}

export interface PresentOptions {
  readonly owners: readonly AdoptedOwner[]
  readonly importKeys: readonly string[]
  readonly files: ReadonlyMap<string, Uint8Array>
  readonly targets: ReadonlySet<string>
}

/** Finds our sections, our lines without markers, and our import keys. */
export function readPresentState(parsed: ParsedCorefile, bytes: Uint8Array, options: PresentOptions): PresentState {
  const map = new LineMap(bytes)
  const markers = findMarkers(parsed, map, options.owners)
  const state = {map, ours: new Set<Directive>(), removals: [] as Removal[], notes: [] as EditNote[]}
  for (const block of parsed.blocks) {
    const sections = markers.sections.filter((section) => section.block === block)
    const inMain = block.directives.filter((directive) => mainSpan(directive))
    for (const section of sections)
      readSection(
        section,
        inMain.filter((one) => inSection(one, section)),
        options,
        state,
      )
    const outside = inMain.filter((one) => !sections.some((section) => inSection(one, section)))
    readUnmarked(block, outside, options, state)
  }
  const stray = markers.lines.filter((line) => !markers.sections.some(({begin, end}) => line === begin || line === end))
  for (const {line} of stray) state.removals.push({from: line.start, to: line.next, keep: ''})
  const keptInKeys = readKeys(parsed, options, state)
  return {...state, markers, keptInKeys}
}

type Collected = Pick<PresentState, 'map'> & {ours: Set<Directive>; removals: Removal[]; notes: EditNote[]}

function inSection(directive: Directive, {begin, end}: Section): boolean {
  const {start} = directive.tokens[0] as Token
  return start > begin.line.start && start < end.line.start
}

function readSection(
  {begin, end, owner}: Section,
  inside: readonly Directive[],
  {targets}: PresentOptions,
  {map, ours, removals, notes}: Collected,
): void {
  const mine = oursBetweenMarkers(inside, targets, owner)
  const gone = new Set<number>([begin.number, end.number])
  for (const directive of inside) {
    if (mine.has(directive)) for (const number of lineNumbers(directive, map)) gone.add(number)
    else {
      const text = 'a line of somebody else stands between our markers; it is kept, below them'
      notes.push({code: 'ForeignLineInMarkers', text, at: referenceTo(directive)})
    }
  }
  for (const directive of mine) ours.add(directive)
  removals.push({from: begin.line.start, to: end.line.next, keep: keptLines(begin, end, gone, map)})
}

/** Everything between two markers that is neither ours nor empty. */
function keptLines(begin: MarkerLine, end: MarkerLine, gone: ReadonlySet<number>, map: LineMap): string {
  let kept = ''
  for (let number = begin.number; number <= end.number; number++) {
    const line = map.line(number)
    if (!gone.has(number) && map.text(line).trim() !== '') kept += map.slice(line.start, line.next)
  }
  return kept
}

function readUnmarked(
  block: ServerBlock,
  outside: readonly Directive[],
  {targets, owners}: PresentOptions,
  {map, ours, removals, notes}: Collected,
): void {
  const mine = oursUnmarked(outside, targets)
  if (owners.includes('hairpin-proxy')) {
    for (const directive of outside) if (isFromHairpinProxy(directive, map)) mine.add(directive)
  }
  const taken: LineReference[] = []
  for (const directive of outside) {
    if (!mine.has(directive)) continue
    const at = referenceTo(directive)
    const lines = lineNumbers(directive, map).map((number) => map.line(number))
    const first = lines[0] as Line
    if (block.open && block.open.end > first.start) {
      const text = 'a rule with our target shares its line with the opening brace and is left alone'
      notes.push({code: 'OurRuleNotEditable', text, at})
      continue
    }
    ours.add(directive)
    for (const {start, next} of lines) removals.push({from: start, to: next, keep: ''})
    taken.push(at)
  }
  if (taken.length === 0) return
  const rules = taken.length === 1 ? 'a rule of ours' : `${taken.length} rules of ours`
  notes.push({
    code: 'MarkersMissing',
    text: `${rules} stood without markers, found by their target`,
    at: taken[0] as LineReference,
  })
}

function isFromHairpinProxy(directive: Directive, map: LineMap): boolean {
  const {start} = directive.tokens[0] as Token
  return directive.name === 'rewrite' && map.text(map.lineAt(start)).trimEnd().endsWith(hairpinProxyComment)
}

/** Every directive of an import key of ours is ours unless it has a target of somebody else's, as between markers. */
function readKeys(
  parsed: ParsedCorefile,
  {importKeys, files, targets, owners}: PresentOptions,
  {ours, notes}: Collected,
): Map<string, string> {
  const kept = new Map<string, string>()
  for (const path of importKeys) {
    const content = files.get(path)
    if (!content) continue
    const map = new LineMap(content)
    for (const block of parsed.blocks) {
      const inside = block.directives.filter(({tokens}) => tokens[0]?.file === path)
      if (inside.length === 0) continue
      const mine = oursBetweenMarkers(inside, targets, owners.includes('ouroboros') ? 'ouroboros' : 'srcip')
      for (const directive of mine) ours.add(directive)
      const foreign = inside.filter((directive) => !mine.has(directive))
      for (const directive of foreign) {
        if (kept.has(path)) continue
        const text = 'a line of somebody else stands in our import key; it is kept, below our rules'
        notes.push({code: 'ForeignLineInMarkers', text, at: referenceTo(directive)})
      }
      const numbers = new Set(foreign.flatMap((directive) => lineNumbers(directive, map)))
      const lines = [...numbers].sort((left, right) => left - right).map((number) => map.line(number))
      kept.set(path, lines.map((line) => `${map.slice(line.start, line.end)}\n`).join(''))
    }
  }
  return kept
}

/** Numbers of the lines a directive takes in its own file. */
function lineNumbers({tokens}: Directive, map: LineMap): number[] {
  const first = tokens[0] as Token
  const own = tokens.filter(({file}) => file === first.file)
  const from = map.numberAt(first.start)
  const to = map.numberAt(own.reduce((last, {end}) => Math.max(last, end - 1), 0))
  return Array.from({length: to - from + 1}, (_, index) => from + index)
}

/** A directive as a message names it. */
function referenceTo({tokens}: Directive): LineReference {
  const first = tokens[0] as Token
  return {file: first.file, line: first.line, text: tokens.map(({raw}) => raw).join(' ')}
}
