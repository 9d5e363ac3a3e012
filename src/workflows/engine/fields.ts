import {refText, type KubeObject} from '../../model/kubernetes.ts'
import {absent, present} from '../../model/plan.ts'
import type {FieldChange, FieldValue, PatchOperation} from '../../model/plan.ts'
import {canonicalJson, sameValue} from './canonical.ts'
import type {OperationLook} from './ports.ts'

/** The value of a field of an object, or that it is not there. Lists are values; no path leads into one. */
export function readField(object: unknown, path: readonly string[]): FieldValue {
  let value = object
  for (const name of path) {
    if (!isMap(value) || !Object.hasOwn(value, name) || value[name] === undefined) return absent
    value = value[name]
  }
  return present(value)
}

/**
 * The change that gives a field a value (or takes it out). Where parents are missing the change is one of the topmost missing parent, so
 * that the way back leaves no empty shells; undefined when the field is already so.
 */
export function changeField(object: unknown, path: readonly string[], after: FieldValue): FieldChange | undefined {
  const before = readField(object, path)
  if (sameValue(before, after)) return undefined
  if ('absent' in after) return {path, before, after}
  const missing = path.findIndex((_, index) => 'absent' in readField(object, path.slice(0, index + 1)))
  if (missing < 0 || missing === path.length - 1) return {path, before, after}
  const value = path.slice(missing + 1).reduceRight<unknown>((inner, name) => ({[name]: inner}), after.value)
  return {path: path.slice(0, missing + 1), before: absent, after: present(value)}
}

/** How a patch stands: each field as planned before, or as wanted, or as neither, which is somebody else's doing. */
export function lookAtFields(object: KubeObject | undefined, operation: PatchOperation): OperationLook {
  const name = refText(operation.object)
  if (object === undefined) return {state: 'moved', reasons: [`${name} is not there any more`]}
  if (operation.uid !== '' && object.metadata.uid !== operation.uid)
    return {state: 'moved', reasons: [`${name} was replaced by another object of the same name`]}
  const reasons: string[] = []
  let open = false
  for (const {path, before, after} of operation.fields) {
    const live = readField(object, path)
    if (sameValue(live, after)) continue
    open = true
    if (!sameValue(live, before))
      reasons.push(`${name}: ${path.join('.')} is ${valueText(live)}, not ${valueText(before)} as planned`)
  }
  if (reasons.length > 0) return {state: 'moved', reasons}
  return {state: open ? 'todo' : 'done', reasons: []}
}

/** The JSON merge patch (RFC 7396) of these changes: `null` takes a field out. */
export function patchBody(fields: readonly FieldChange[]): Readonly<Record<string, unknown>> {
  const body: Record<string, unknown> = {}
  for (const {path, after, before} of fields) {
    const last = path.at(-1)
    if (last === undefined) continue
    let parent = body
    for (const name of path.slice(0, -1)) {
      const inner = parent[name]
      parent = isMap(inner) ? inner : (parent[name] = {})
    }
    parent[last] = 'absent' in after ? null : replacing(before, after.value)
  }
  return body
}

/** A merge patch merges maps: to replace one, each name that only the old one has is taken out by name. */
function replacing(before: FieldValue, after: unknown): unknown {
  const old = 'absent' in before ? undefined : before.value
  if (!isMap(old) || !isMap(after)) return after
  const body: Record<string, unknown> = {}
  for (const name of Object.keys(old)) if (!Object.hasOwn(after, name)) body[name] = null
  for (const [name, value] of Object.entries(after))
    body[name] = replacing(Object.hasOwn(old, name) ? present(old[name]) : absent, value)
  return body
}

/** Does the live object say everything that the manifest says? What the server added does not count. */
export function covers(live: unknown, manifest: unknown): boolean {
  if (Array.isArray(manifest))
    return (
      Array.isArray(live) &&
      live.length === manifest.length &&
      manifest.every((item, index) => covers(live[index], item))
    )
  if (isMap(manifest)) {
    // an empty map and one that is not there say the same
    if (live === undefined) return Object.keys(manifest).length === 0
    return isMap(live) && Object.entries(manifest).every(([name, value]) => covers(live[name], value))
  }
  return canonicalJson(live) === canonicalJson(manifest)
}

/** For people: `absent`, or short JSON. */
export function valueText(value: FieldValue): string {
  if ('absent' in value) return 'absent'
  const text = canonicalJson(value.value)
  return text.length <= 80 ? text : `${text.slice(0, 77)}...`
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
