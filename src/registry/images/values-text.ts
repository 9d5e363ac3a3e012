import {SrcipError} from '../../model/errors.ts'
import {cleanText} from '../text.ts'
import type {TextValue} from './shapes.ts'

/**
 * Parses YAML with every scalar as its text, one value a document. Numbers, dates and `null` stay what was written.
 * @throws SrcipError Usage naming the file and the line
 */
export async function parseTextValues(text: string, from: string): Promise<TextValue[]> {
  const {parseAllDocuments} = await import('../yaml-library.ts')
  const documents = parseAllDocuments(text, {schema: 'failsafe', merge: true, uniqueKeys: false})
  if (!Array.isArray(documents)) return []
  return documents.flatMap((document) => {
    const [error] = document.errors
    if (error !== undefined) throw new SrcipError('Usage', `${from}: ${cleanText(error.message)}`, {object: from})
    const value = document.toJS({maxAliasCount: 100}) as TextValue | null | undefined
    return value === null || value === undefined ? [] : [value]
  })
}

/** Lays one set of values over another as Helm does: maps are merged, everything else is replaced. */
export function mergeValues(base: TextValue, over: TextValue): TextValue {
  if (typeof base !== 'object' || typeof over !== 'object' || Array.isArray(base) || Array.isArray(over)) return over
  const left = base as Record<string, TextValue>
  const merged: Record<string, TextValue> = {...left}
  for (const [key, value] of Object.entries(over as Record<string, TextValue>)) {
    const before = Object.hasOwn(merged, key) ? merged[key] : undefined
    Object.defineProperty(merged, key, {
      value: before === undefined ? value : mergeValues(before, value),
      enumerable: true,
      configurable: true,
      writable: true,
    })
  }
  return merged
}

/** A value by its path, or undefined. */
export function valueAt(root: TextValue, path: readonly (string | number)[]): TextValue | undefined {
  let value: TextValue | undefined = root
  for (const key of path) {
    if (typeof value !== 'object') return undefined
    value = Array.isArray(value)
      ? (value as readonly TextValue[])[Number(key)]
      : (value as Record<string, TextValue>)[key]
  }
  return value
}
