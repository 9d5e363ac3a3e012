import type {ByteEdit} from '../types.ts'
import type {LineMap} from './lines.ts'

/** Whole lines that go; `keep` is what of them stays. */
export interface Removal {
  readonly from: number
  readonly to: number
  readonly keep: string
}

/** Whole lines that come, at the beginning of a line. */
export interface Insertion {
  readonly at: number
  readonly text: string
}

/**
 * Turns removals and insertions of whole lines into byte edits: neighbours become one, and lines that come back as they
 * were are left out.
 */
export function lineEdits(
  file: string,
  map: LineMap,
  removals: readonly Removal[],
  insertions: readonly Insertion[],
): ByteEdit[] {
  const changes = [
    ...insertions.map(({at, text}) => ({from: at, to: at, text})),
    ...removals.map(({from, to, keep}) => ({from, to, text: keep})),
  ].sort((left, right) => left.from - right.from || left.to - right.to)
  const merged: {from: number; to: number; text: string}[] = []
  for (const change of changes) {
    const last = merged.at(-1)
    if (last && change.from <= last.to) {
      last.to = Math.max(last.to, change.to)
      last.text += change.text
    } else merged.push({...change})
  }
  return merged.flatMap(({from, to, text}) => trimmed(file, from, map.slice(from, to), text))
}

/** Leaves out the lines that both texts begin and end with. */
function trimmed(file: string, offset: number, removed: string, inserted: string): ByteEdit[] {
  if (removed === inserted) return []
  const old = splitLines(removed)
  const fresh = splitLines(inserted)
  let head = 0
  while (head < old.length && head < fresh.length && old[head] === fresh[head]) head++
  let tail = 0
  const room = Math.min(old.length, fresh.length) - head
  while (tail < room && old[old.length - 1 - tail] === fresh[fresh.length - 1 - tail]) tail++
  const skipped = new TextEncoder().encode(old.slice(0, head).join('')).length
  return [
    {
      file,
      offset: offset + skipped,
      removed: old.slice(head, old.length - tail).join(''),
      inserted: fresh.slice(head, fresh.length - tail).join(''),
    },
  ]
}

function splitLines(text: string): string[] {
  return text === '' ? [] : text.split(/(?<=\n)/)
}

/**
 * Applies edits of one file.
 *
 * @param edits sorted by offset, not overlapping
 * @throws Error when the bytes at an offset are not the ones to be removed
 */
export function applyEdits(bytes: Uint8Array, edits: readonly ByteEdit[]): Uint8Array {
  const encoder = new TextEncoder()
  const parts: Uint8Array[] = []
  let at = 0
  for (const {offset, removed, inserted} of edits) {
    const gone = encoder.encode(removed)
    const there = bytes.subarray(offset, offset + gone.length)
    if (offset < at || there.length !== gone.length || !there.every((byte, index) => byte === gone[index])) {
      throw new Error(`the text at byte ${offset} is not the one this edit was made for`)
    }
    parts.push(bytes.subarray(at, offset), encoder.encode(inserted))
    at = offset + gone.length
  }
  parts.push(bytes.subarray(at))
  const result = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let to = 0
  for (const part of parts) {
    result.set(part, to)
    to += part.length
  }
  return result
}
