import {isGlob, patternTakes} from '../imports.ts'
import {compareBytewise} from '../runes.ts'
import type {Directive, ImportUse, ParsedCorefile, ServerBlock, Token} from '../types.ts'
import type {LineMap} from './lines.ts'
import {mainSpan, markerTexts} from './markers.ts'
import type {MarkerOwner} from './request.ts'
import type {RuleText} from './rule-text.ts'

/** Where the rules of one or more blocks go: between markers behind an opening brace, or into an import key. */
export type Place =
  | {readonly kind: 'corefile'; readonly id: string; readonly block: ServerBlock}
  | {
      readonly kind: 'key'
      readonly id: string
      readonly path: string
      readonly use: ImportUse
      readonly optional: boolean
    }

/** The place for the rules of a block: one of our import keys where the block imports it, else the block itself. */
export function placeOf(parsed: ParsedCorefile, block: ServerBlock, importKeys: readonly string[]): Place {
  for (const use of parsed.imports) {
    if (use.block !== block.index || use.kind !== 'file') continue
    const path = importKeys.find((one) => use.files.includes(one) || patternTakes(use.resolved, one))
    if (path !== undefined) return {kind: 'key', id: path, path, use, optional: isGlob(use.resolved)}
  }
  return {kind: 'corefile', id: `block ${block.index}`, block}
}

/** Whether a rule stands before the place of ours, so that nothing we write there can come first. */
export function standsBefore(rule: Directive, place: Place): boolean {
  if (place.kind === 'corefile') return false
  const first = rule.tokens[0] as Token
  const {use, path} = place
  const own = rule.via.find((one) => one === use)
  // Through the same import: files follow each other in bytewise order.
  if (own) return compareBytewise(first.file, path) < 0
  const outermost = rule.via[0]
  const at = outermost ?? first
  return at.file === use.file ? at.start < use.start : true
}

/** Byte offset, indent and line end for a section in a block. */
export interface Spot {
  readonly at: number
  readonly indent: string
  readonly eol: string
}

/** Directly behind the line of the opening brace, or behind what stands on that line. */
export function spotIn(
  block: ServerBlock,
  map: LineMap,
  ours: ReadonlySet<Directive>,
  imports: readonly ImportUse[],
): Spot {
  const open = block.open as Token
  let end = open.end
  const header = map.lineAt(open.start)
  for (const directive of block.directives) {
    const span = mainSpan(directive)
    if (span && span.start > open.start && span.start < header.next) end = Math.max(end, span.end)
  }
  for (const use of imports) {
    if (use.file === '' && use.block === block.index && use.start > open.start && use.start < header.next) {
      end = Math.max(end, use.end)
    }
  }
  const above = map.lineAt(end - 1)
  return {at: above.next, indent: indentIn(block, map, ours, imports, header), eol: map.endOfLine(above)}
}

/** Indent of the first line of somebody else's in the block, else four blanks more than the header. */
function indentIn(
  block: ServerBlock,
  map: LineMap,
  ours: ReadonlySet<Directive>,
  imports: readonly ImportUse[],
  header: ReturnType<LineMap['line']>,
): string {
  const starts = [
    ...block.directives.filter((one) => !ours.has(one)).map((one) => mainSpan(one)?.start),
    ...imports.filter(({file, block: index}) => file === '' && index === block.index).map(({start}) => start),
  ]
  // A block can hold more directives than a call takes arguments.
  let first = Infinity
  for (const start of starts) if (start !== undefined && start >= header.next && start < first) first = start
  const indent = Number.isFinite(first) ? map.indentOf(map.lineAt(first)) : undefined
  return indent ?? `${map.indentOf(header) ?? ''}    `
}

/** Marker lines and rules as whole lines. */
export function sectionText(rules: readonly RuleText[], owner: MarkerOwner, {indent, eol}: Omit<Spot, 'at'>): string {
  const {begin, end} = markerTexts[owner]
  return [begin, ...rules.map(({text}) => text), end].map((line) => `${indent}${line}${eol}`).join('')
}
