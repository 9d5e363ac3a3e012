import {createHash} from 'node:crypto'
import type {FieldValue, Plan} from '../../model/plan.ts'

/**
 * JSON with the keys of every object in code-unit order and no blanks: the same data is the same text, whoever built it
 * (RFC 8785 for the values that plans hold: no number here is anything but an integer).
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item ?? null)).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value ?? null)
  const entries = Object.entries(value).filter(([, item]) => item !== undefined)
  const sorted = entries.toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `{${sorted.map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item)}`).join(',')}}`
}

/** The hash that stands in the plan: sha256 over its canonical JSON without the hash itself, as `sha256:` and 64 hex digits. */
export function planHash(plan: Omit<Plan, 'hash'> & {readonly hash?: string}): string {
  const {hash: _, ...rest} = plan
  return `sha256:${createHash('sha256').update(canonicalJson(rest)).digest('hex')}`
}

/** Are two values of a field the same? Order of keys is no difference, absence is. */
export function sameValue(left: FieldValue, right: FieldValue): boolean {
  return canonicalJson(left) === canonicalJson(right)
}
