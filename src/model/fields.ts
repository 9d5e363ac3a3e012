/*
 * Reading fields of objects that nobody has checked: a wrong type is the same as an absent field.
 * API objects are hostile input here (custom resources without a schema, files, other people's snapshots).
 */

/** The value as an object, or an empty one. */
export function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
}

/** The value as a list, or an empty one. */
export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : []
}

/** The value as text, if it is text that is not empty. */
export function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** The value as a whole number of a port (1 to 65535). */
export function port(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 && value < 65_536 ? value : undefined
}

/** The texts of a list; everything else in it is dropped. */
export function texts(value: unknown): string[] {
  return list(value).filter((entry): entry is string => typeof entry === 'string')
}

/** Own property only: `__proto__` or `constructor` in an object of others must not reach Object.prototype. */
export function field(value: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(value, name) ? value[name] : undefined
}

/** The identity that every projection carries. */
export interface Identity {
  readonly namespace: string
  readonly name: string
  readonly uid: string
  readonly resourceVersion: string
  /** RFC 3339 text as the API gives it; empty if unknown. Only compared, never parsed. */
  readonly created: string
}

/** metadata as far as it is used; undefined if the object has no name. */
export function identity(value: unknown): Identity | undefined {
  const metadata = record(field(record(value), 'metadata'))
  const name = text(field(metadata, 'name'))
  if (name === undefined) return undefined
  return {
    namespace: text(field(metadata, 'namespace')) ?? '',
    name,
    uid: text(field(metadata, 'uid')) ?? '',
    resourceVersion: text(field(metadata, 'resourceVersion')) ?? '',
    created: text(field(metadata, 'creationTimestamp')) ?? '',
  }
}

/** One annotation, if it is text. An empty text stays: it says "none". */
export function annotation(value: unknown, name: string): string | undefined {
  const found = field(record(field(record(field(record(value), 'metadata')), 'annotations')), name)
  return typeof found === 'string' ? found : undefined
}

/** labels of metadata as text pairs. */
export function labels(value: unknown): Readonly<Record<string, string>> {
  const found = record(field(record(field(record(value), 'metadata')), 'labels'))
  return textPairs(found)
}

/** The text values of an object, without a prototype. */
export function textPairs(value: unknown): Readonly<Record<string, string>> {
  const pairs: Record<string, string> = Object.create(null) as Record<string, string>
  for (const [key, entry] of Object.entries(record(value))) if (typeof entry === 'string') pairs[key] = entry
  return pairs
}

/** A comma or white-space separated list in an annotation. */
export function words(value: string | undefined): string[] {
  return (value ?? '').split(/[\s,]+/).filter((word) => word !== '')
}
