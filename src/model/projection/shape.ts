import {field} from '../fields.ts'
import {masked, isSecretName, maskNamed, maskText} from './mask.ts'

/**
 * What is kept of a value. Everything that a shape does not name is dropped.
 * `scalar`: a text (masked), number or boolean. `pairs`: an object of texts. `tree`: all below, masked, for small
 * structures of settings. A list has one element: the shape of its items. A function decides by itself.
 */
export type Shape = 'scalar' | 'pairs' | 'tree' | readonly [Shape] | ShapeFields | ((value: unknown) => unknown)

export interface ShapeFields {
  readonly [name: string]: Shape
}

/** Deeper than any settings object; what lies below is dropped. */
const maxDepth = 12

/** Projects a value; undefined when nothing of it is kept. Never throws, ends for any input without cycles. */
export function project(value: unknown, shape: Shape): unknown {
  if (value === undefined || value === null) return undefined
  if (typeof shape === 'function') return shape(value)
  if (shape === 'scalar') return scalar(value)
  if (shape === 'pairs') return pairs(value)
  if (shape === 'tree') return tree(value, maxDepth)
  if (isList(shape))
    return Array.isArray(value)
      ? value.map((entry) => project(entry, shape[0])).filter((entry) => entry !== undefined)
      : undefined
  return projectFields(value, shape)
}

/** The fields of an object that a shape names, in the order of the shape; undefined if it is no object. */
export function projectFields(value: unknown, shape: ShapeFields): Record<string, unknown> | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const kept: Record<string, unknown> = {}
  for (const name of Object.keys(shape)) {
    const inner = project(field(value as Record<string, unknown>, name), shape[name] as Shape)
    if (inner !== undefined) kept[name] = inner
  }
  return kept
}

function isList(shape: readonly [Shape] | ShapeFields): shape is readonly [Shape] {
  return Array.isArray(shape)
}

function scalar(value: unknown): unknown {
  if (typeof value === 'string') return maskText(value)
  return typeof value === 'number' || typeof value === 'boolean' ? value : undefined
}

/** Text values of an object, sorted by key, masked. `keep` chooses keys. */
export function pairs(value: unknown, keep: (key: string) => boolean = () => true): Record<string, string> | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const kept: [string, string][] = []
  for (const [key, entry] of Object.entries(value)) {
    if (typeof entry === 'string' && key !== '__proto__' && keep(key)) kept.push([key, maskNamed(key, entry)])
  }
  return Object.fromEntries(kept.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
}

function tree(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return scalar(value)
  if (depth === 0) return undefined
  if (Array.isArray(value)) return value.map((entry) => tree(entry, depth - 1)).filter((entry) => entry !== undefined)
  const kept: Record<string, unknown> = {}
  for (const [key, entry] of Object.entries(value)) {
    if (key === '__proto__') continue
    // The name of an object that holds a secret is none: `secretRef` and the like stay out all the same.
    const inner = isSecretName(key) ? masked : tree(entry, depth - 1)
    if (inner !== undefined) kept[key] = inner
  }
  return kept
}
