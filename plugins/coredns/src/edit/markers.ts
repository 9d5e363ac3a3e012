import type {Line, LineMap} from './lines.ts'
import type {AdoptedOwner, MarkerOwner} from './request.ts'
import type {Directive, ParsedCorefile, ServerBlock, Token} from '../types.ts'

interface MarkerTexts {
  readonly begin: string
  readonly end: string
  /** How much of a comment must agree: the whole text, or its beginning. */
  readonly beginPrefix?: string
  readonly endPrefix?: string
}

/** Marker lines by owner. Ours must be equal after trimming; ouroboros knows its own by their beginning. */
export const markerTexts: Readonly<Record<MarkerOwner, MarkerTexts>> = {
  srcip: {
    begin: '# === BEGIN srcip (managed by kubectl srcip, do not edit) ===',
    end: '# === END srcip ===',
  },
  ouroboros: {
    begin: '# === BEGIN ouroboros (do not edit by hand) ===',
    end: '# === END ouroboros ===',
    beginPrefix: '# === BEGIN ouroboros',
    endPrefix: '# === END ouroboros',
  },
}

/** What hairpin-proxy puts behind every line of its own. */
export const hairpinProxyComment = '# Added by hairpin-proxy'

export interface MarkerLine {
  readonly owner: MarkerOwner
  readonly what: 'BEGIN' | 'END'
  readonly number: number
  readonly line: Line
}

/** A well-formed section: its first and last line are the markers. */
export interface Section {
  readonly owner: MarkerOwner
  readonly block: ServerBlock
  readonly begin: MarkerLine
  readonly end: MarkerLine
}

/** What is wrong with the markers of one owner, in words with line numbers. */
export interface MarkerDamage {
  readonly line: number
  readonly text: string
}

export interface FoundMarkers {
  readonly lines: readonly MarkerLine[]
  readonly sections: readonly Section[]
  readonly damage: readonly MarkerDamage[]
}

/**
 * Finds marker lines: comments that stand alone on their line, blanks and tabs around them not counted; text inside a
 * quoted word is no comment.
 *
 * @param owners whose markers are looked for
 */
export function findMarkers(parsed: ParsedCorefile, map: LineMap, owners: readonly AdoptedOwner[]): FoundMarkers {
  const lines = markerLines(parsed.mainTokens, map, owners)
  const sections: Section[] = []
  const damage: MarkerDamage[] = []
  for (const owner of new Set(lines.map((line) => line.owner))) {
    const own = lines.filter((line) => line.owner === owner)
    pair(own, parsed, sections, damage)
  }
  damage.sort((left, right) => left.line - right.line)
  return {lines, sections, damage}
}

function markerLines(tokens: readonly Token[], map: LineMap, owners: readonly AdoptedOwner[]): MarkerLine[] {
  const wanted = owners.filter((owner) => owner !== 'hairpin-proxy')
  const found: MarkerLine[] = []
  let token = 0
  for (let number = 1; number <= map.count; number++) {
    const line = map.line(number)
    while (token < tokens.length && (tokens[token] as Token).end <= line.start) token++
    // A line that holds any part of a word is no comment line.
    const next = tokens[token]
    if (next && next.start < line.end) continue
    const text = map.text(line).trim()
    if (!text.startsWith('#')) continue
    for (const owner of wanted) {
      const what = markerKind(text, markerTexts[owner])
      if (what) found.push({owner, what, number, line})
    }
  }
  return found
}

function markerKind(text: string, texts: MarkerTexts): MarkerLine['what'] | undefined {
  if (text === texts.begin || (texts.beginPrefix && text.startsWith(texts.beginPrefix))) return 'BEGIN'
  if (text === texts.end || (texts.endPrefix && text.startsWith(texts.endPrefix))) return 'END'
  return undefined
}

function pair(lines: readonly MarkerLine[], parsed: ParsedCorefile, sections: Section[], damage: MarkerDamage[]): void {
  const seen = new Map<ServerBlock, Section>()
  let open: MarkerLine | undefined
  const wrong = (line: MarkerLine, text: string): void => void damage.push({line: line.number, text})
  for (const line of lines) {
    if (line.what === 'BEGIN') {
      if (open) wrong(open, `BEGIN on line ${open.number} has no END before the next BEGIN on line ${line.number}`)
      open = line
      continue
    }
    if (!open) {
      wrong(line, `END on line ${line.number} has no BEGIN before it`)
      continue
    }
    const begin = open
    open = undefined
    const span = `BEGIN on line ${begin.number} and END on line ${line.number}`
    const block = blockAt(parsed, begin.line.start)
    if (!block || block !== blockAt(parsed, line.line.start)) {
      wrong(begin, `${span} do not stand in the same server block`)
      continue
    }
    if (inDirective(block, begin.line.start) || inDirective(block, line.line.start)) {
      wrong(begin, `${span} stand inside the block of a plugin`)
      continue
    }
    const other = seen.get(block)
    if (other) {
      const first = `lines ${other.begin.number} to ${other.end.number}`
      wrong(begin, `a second section (${span}) in the server block that has one on ${first}`)
      continue
    }
    const section = {owner: line.owner, block, begin, end: line}
    seen.set(block, section)
    sections.push(section)
  }
  if (open) wrong(open, `BEGIN on line ${open.number} has no END`)
}

/** The server block of the main file between whose braces a byte lies. */
function blockAt(parsed: ParsedCorefile, offset: number): ServerBlock | undefined {
  return parsed.blocks.find(({open, close}) => {
    if (open?.file !== '' || open.end > offset) return false
    return close?.file === '' ? offset < close.start : false
  })
}

/** Whether a byte lies between the first and the last word of a directive of the main file. */
function inDirective(block: ServerBlock, offset: number): boolean {
  return block.directives.some((directive) => {
    const span = mainSpan(directive)
    return span !== undefined && span.start < offset && offset < span.end
  })
}

/** Bytes a directive takes in the main file; undefined for one that came by an import. */
export function mainSpan(directive: Directive): {readonly start: number; readonly end: number} | undefined {
  const first = directive.tokens[0] as Token
  if (first.file !== '' || directive.via.length > 0) return undefined
  let end = first.end
  for (const token of directive.tokens)
    if (token.file === '' && token.start >= first.start && token.end > end) end = token.end
  return {start: first.start, end}
}
