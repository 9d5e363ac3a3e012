import type {Directive, ParsedCorefile, ServerBlock, Token} from '../types.ts'
import {LineMap} from './lines.ts'
import {findMarkers, type Section} from './markers.ts'
import type {MarkerOwner} from './request.ts'

/** Rules that each block must have got, as text, by block index. */
export interface ExpectedRules {
  readonly inCorefile: ReadonlyMap<number, readonly string[]>
  /** By path of the import key. */
  readonly inKeys: ReadonlyMap<string, readonly string[]>
}

/**
 * The proof of an edit: read anew, the file has the same blocks with the same keys and directives, and between them
 * our rules and nothing else.
 *
 * @returns what differs, in words; undefined when the edit is right
 */
export function differenceButOurs(
  before: ParsedCorefile,
  after: ParsedCorefile,
  bytes: Uint8Array,
  ours: ReadonlySet<Directive>,
  expected: ExpectedRules,
  owner: MarkerOwner,
): string | undefined {
  if (after.error) return `it would not parse: ${after.error.message}`
  if (after.problems.length > 0) return 'it would hold bytes that are no text'
  if (after.blocks.length !== before.blocks.length) {
    return `it would have ${after.blocks.length} server blocks instead of ${before.blocks.length}`
  }
  if (snippetText(before) !== snippetText(after)) return 'a snippet would change'
  if (importText(before) !== importText(after)) return 'an import would change'
  const {sections, damage} = findMarkers(after, new LineMap(bytes), [owner])
  if (damage.length > 0) return damage[0]?.text
  for (const [index, block] of after.blocks.entries()) {
    const old = before.blocks[index] as ServerBlock
    const header = `the block on line ${old.open?.line ?? 0}`
    if (block.keys.join('\0') !== old.keys.join('\0')) return `${header} would have other zones`
    const section = sections.find((one) => one.block === block)
    const {fresh, others} = partition(block, section, expected)
    if (fresh.join('\n') !== (expected.inCorefile.get(index) ?? []).join('\n')) {
      return `${header} would not hold our rules as they were written`
    }
    const oldOthers = old.directives.filter((one) => !ours.has(one)).map(signature)
    if (others.map(signature).join('\n') !== oldOthers.join('\n')) {
      return `${header} would have other directives beside ours`
    }
  }
  return undefined
}

/** Rules of our section in the Corefile, and all directives that are nobody's but an operator's. */
function partition(
  block: ServerBlock,
  section: Section | undefined,
  {inKeys}: ExpectedRules,
): {fresh: string[]; others: Directive[]} {
  const fresh: string[] = []
  const others: Directive[] = []
  const inKey = new Map<string, number>()
  for (const directive of block.directives) {
    const {file, start} = directive.tokens[0] as Token
    const position = inKey.get(file) ?? 0
    if (file === '') {
      if (section && start > section.begin.line.start && start < section.end.line.start)
        fresh.push(directiveText(directive))
      else others.push(directive)
    } else if (inKeys.get(file)?.[position] === directiveText(directive)) inKey.set(file, position + 1)
    else others.push(directive)
  }
  return {fresh, others}
}

function directiveText({tokens}: Directive): string {
  return tokens.map(({raw}) => raw).join(' ')
}

/** Everything of a directive but its position. */
function signature({name, tokens}: Directive): string {
  return `${name}\0${tokens.map(({raw, text, quoted, file}) => `${file}\0${quoted ? '"' : ''}${raw}\0${text}`).join('\0')}`
}

function snippetText({snippets}: ParsedCorefile): string {
  return snippets.map(({name, tokens}) => `${name}\0${tokens.map(({raw}) => raw).join('\0')}`).join('\n')
}

function importText({imports}: ParsedCorefile): string {
  return imports.map(({pattern, kind, block, resolved}) => `${pattern}\0${kind}\0${block}\0${resolved}`).join('\n')
}
