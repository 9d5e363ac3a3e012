import {markers} from '../model/dns.ts'
import {compareText} from '../hosts/index.ts'
import type {Published} from './names-guard.ts'
import type {AddressedName} from './targets.ts'

/** What a hosts file holds of ours. */
export interface HostsText {
  readonly published: readonly Published[]
  /** Text before our block and behind it, byte for byte. */
  readonly before: string
  readonly after: string
  /** Line of a marker that has no partner, is doubled or swapped. */
  readonly damage: string | undefined
}

/** How a block of lines is marked and written. */
export interface HostsForm {
  readonly begin: string
  readonly end: string
  readonly line: (address: string, entry: Published) => string
  /** Groups `name` and `target`. */
  readonly pattern: RegExp
}

/** `IP NAME # NAMESPACE/NAME`: the comment lets a later process know which proxy a name belongs to. */
const ownForm: HostsForm = {
  ...markers,
  line: (address, {name, target}) => `${address} ${name} # ${target}`,
  pattern: /^\S+[ \t]+(?<name>\S+)[ \t]+# (?<target>\S+)$/,
}

/**
 * Reads a hosts(5) file. Our block is what stands between the marker lines of design.md 5; everything else is kept as
 * it is. Text that is no UTF-8 survives, because latin1 is used on both ways.
 */
export function readHostsText(text: string, form: HostsForm = ownForm): HostsText {
  const lines = text.split('\n')
  const begins = indexesOf(lines, form.begin)
  const ends = indexesOf(lines, form.end)
  const nothing = {published: [], before: text, after: '', damage: undefined}
  const [begin] = begins
  const [end] = ends
  if (begin === undefined && end === undefined) return nothing
  if (begin === undefined || end === undefined || begins.length > 1 || ends.length > 1 || end < begin) {
    const at = [...begins, ...ends].map((index) => index + 1).sort((a, b) => a - b)
    return {...nothing, damage: `marker lines are damaged (lines ${at.join(', ')})`}
  }
  const published = new Map<string, Published>()
  for (const line of lines.slice(begin + 1, end)) {
    const {name, target} = form.pattern.exec(line.trim())?.groups ?? {}
    if (name !== undefined && target !== undefined) published.set(name, {name, kind: 'exact', target})
  }
  return {
    published: [...published.values()],
    before: joined(lines.slice(0, begin), true),
    after: joined(lines.slice(end + 1), false),
    damage: undefined,
  }
}

/** The file with these names in our block, or without the block when there are none. */
export function writeHostsText(read: HostsText, names: readonly AddressedName[], form: HostsForm = ownForm): string {
  if (names.length === 0) return read.before + read.after
  const gap = read.before === '' || read.before.endsWith('\n') ? '' : '\n'
  const lines = names
    .toSorted((a, b) => compareText(a.name, b.name))
    .flatMap((entry) => entry.addresses.map((address) => form.line(address, entry)))
  return `${read.before}${gap}${form.begin}\n${lines.join('\n')}\n${form.end}\n${read.after}`
}

function indexesOf(lines: readonly string[], marker: string): number[] {
  return lines.flatMap((line, index) => (line.trim() === marker ? [index] : []))
}

function joined(lines: readonly string[], before: boolean): string {
  if (lines.length === 0) return ''
  return before ? `${lines.join('\n')}\n` : lines.join('\n')
}
