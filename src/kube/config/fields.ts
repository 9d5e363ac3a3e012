import {SrcipError} from '../../model/errors.ts'

/** Where a value stands, for messages: the file and the path of keys, never the value (it may be a secret). */
export interface Place {
  readonly file: string
  readonly path: string
}

function at(place: Place, key: string | number): Place {
  const path = typeof key === 'number' ? `${place.path}[${key}]` : place.path === '' ? key : `${place.path}.${key}`
  return {file: place.file, path}
}

/** A kubeconfig that cannot be used as it is. */
export function badConfig(place: Place, problem: string): SrcipError {
  const where = place.path === '' ? place.file : `${place.file}, ${place.path}`
  return new SrcipError('Usage', `kubeconfig ${where}: ${problem}`, {
    object: place.file,
    hints: [
      `correct the file, or choose another one with --kubeconfig`,
      `kubectl config view --kubeconfig ${place.file}`,
    ],
  })
}

export type Fields = Readonly<Record<string, unknown>>

/** A map with string keys; absent and null count as empty, as they do for Go's decoder. */
export function fieldsOf(value: unknown, place: Place): Fields {
  if (value === undefined || value === null) return {}
  if (typeof value !== 'object' || Array.isArray(value)) throw badConfig(place, 'should be a map')
  return value as Fields
}

function own(fields: Fields, key: string): unknown {
  return Object.hasOwn(fields, key) ? fields[key] : undefined
}

/** A map below `key`. */
export function mapField(fields: Fields, key: string, place: Place): Fields | undefined {
  const value = own(fields, key)
  return value === undefined || value === null ? undefined : fieldsOf(value, at(place, key))
}

/** Text below `key`; empty counts as absent. A plain number or boolean is taken as its text, as kubectl's YAML reader does. */
export function textField(fields: Fields, key: string, place: Place): string | undefined {
  return textOf(own(fields, key), at(place, key))
}

function textOf(value: unknown, place: Place): string | undefined {
  if (value === undefined || value === null || value === '') return undefined
  if (typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  throw badConfig(place, 'should be text')
}

/** A boolean below `key`, with the spellings of YAML 1.1 that kubectl takes; absent is false. */
export function flagField(fields: Fields, key: string, place: Place): boolean {
  const value = own(fields, key)
  if (value === undefined || value === null) return false
  if (typeof value === 'boolean') return value
  const word = typeof value === 'string' ? value.toLowerCase() : ''
  if (['yes', 'on', 'y', 'true'].includes(word)) return true
  if (['no', 'off', 'n', 'false'].includes(word)) return false
  throw badConfig(at(place, key), 'should be true or false')
}

/** Base64 below `key`, decoded. */
export function base64Field(fields: Fields, key: string, place: Place): Buffer | undefined {
  const text = textField(fields, key, place)?.replaceAll(/\s/g, '')
  if (text === undefined) return undefined
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.length % 4 !== 0) throw badConfig(at(place, key), 'is not base64')
  return Buffer.from(text, 'base64')
}

/** A list of maps below `key`. */
export function listField(fields: Fields, key: string, place: Place): {fields: Fields; place: Place}[] {
  const value = own(fields, key)
  if (value === undefined || value === null) return []
  if (!Array.isArray(value)) throw badConfig(at(place, key), 'should be a list')
  return value.map((item: unknown, index) => {
    const itemPlace = at(at(place, key), index)
    return {fields: fieldsOf(item, itemPlace), place: itemPlace}
  })
}

/** A list of texts below `key`. */
export function textListField(fields: Fields, key: string, place: Place): string[] {
  const value = own(fields, key)
  if (value === undefined || value === null) return []
  if (!Array.isArray(value)) throw badConfig(at(place, key), 'should be a list')
  return value.map((item: unknown, index) => textOf(item, at(at(place, key), index)) ?? '')
}

/** A map from text to lists of text below `key` (`as-user-extra`). */
export function textListsField(fields: Fields, key: string, place: Place): Record<string, string[]> {
  const map = mapField(fields, key, place) ?? {}
  return Object.fromEntries(Object.keys(map).map((name) => [name, textListField(map, name, at(place, key))]))
}
