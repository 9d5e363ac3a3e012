import {SrcipError} from '../../model/errors.ts'
import {field, list, record, text} from '../../model/fields.ts'
import type {KubeObject} from '../../model/kubernetes.ts'
import {refText} from '../../model/kubernetes.ts'
import {projectObject, snapshotKindOf, sortObjects} from '../../model/projection/project-object.ts'
import {groupOf, snapshotFormat, type Snapshot, type SnapshotReading} from '../../model/snapshot.ts'
import type {FileDocument} from './documents.ts'
import {unreadable} from './unreadable.ts'

const readingStates = ['complete', 'absent', 'denied', 'partial', 'unreachable'] as const

/** Fields of a Snapshot that this version knows. */
const snapshotFields = new Set([
  'apiVersion',
  'kind',
  'metadata',
  'format',
  'source',
  'anonymised',
  'cluster',
  'readings',
  'objects',
  'exitCode',
  'changed',
  'warnings',
])

/** At most this many warnings of one sort are spelled out. */
const mostNamed = 10

/** Puts the documents of several files together to one Snapshot. */
export class Merge {
  readonly #objects = new Map<string, {object: KubeObject; json: string; place: string}>()
  readonly #readings: SnapshotReading[] = []
  readonly #warnings: string[] = []
  #contradictions = 0
  #version: string | undefined
  #uid: {value: string; place: string} | undefined
  #anonymised = false
  #createdAt: string | undefined

  /** @param inFolder found in a folder: a file without any object is passed over there, and an error where it was named */
  addFile(file: string, documents: readonly FileDocument[], inFolder: boolean): void {
    let used = 0
    let secrets = 0
    for (const {place, value} of documents) {
      const counts = this.#addDocument(place, value)
      used += counts.used
      secrets += counts.secrets
    }
    if (secrets > 0)
      this.#warnings.push(
        `${file}: ${secrets === 1 ? 'a Secret was' : `${secrets} Secrets were`} left out at once; nothing of ${secrets === 1 ? 'it' : 'them'} was kept`,
      )
    if (used > 0 || secrets > 0) return
    if (!inFolder)
      throw unreadable(file, 'holds no object of a kind that is used', [
        'give a Snapshot, or manifests as kubectl get services,ingresses -A -o yaml prints them',
      ])
    this.#warnings.push(`${file} holds no object of a kind that is used`)
  }

  result(): Snapshot {
    if (this.#contradictions > mostNamed)
      this.#warnings.push(`${this.#contradictions - mostNamed} more objects stand in two places and differ`)
    return {
      apiVersion: 'srcip.dev/v1alpha1',
      kind: 'Snapshot',
      ...(this.#createdAt === undefined ? {} : {metadata: {createdAt: this.#createdAt}}),
      format: snapshotFormat,
      source: 'files',
      anonymised: this.#anonymised,
      cluster: {
        ...(this.#version === undefined ? {} : {version: this.#version}),
        ...(this.#uid === undefined ? {} : {uid: this.#uid.value}),
      },
      readings: this.#readings,
      objects: sortObjects([...this.#objects.values()].map(({object}) => object)),
      exitCode: this.#readings.every(({state}) => state === 'complete' || state === 'absent') ? 0 : 23,
      changed: false,
      warnings: this.#warnings,
    }
  }

  #addDocument(place: string, value: unknown): {used: number; secrets: number} {
    if (Array.isArray(value)) return this.#addItems(place, value, undefined)
    const document = record(value)
    const [apiVersion, kind] = [text(field(document, 'apiVersion')), text(field(document, 'kind'))]
    if (groupOf(apiVersion) === 'srcip.dev') {
      if (kind === 'Snapshot') return this.#addSnapshot(place, document)
      const said = kind === 'Error' ? text(field(document, 'message')) : undefined
      throw unreadable(
        place,
        `is a ${kind ?? 'document'} of kubectl srcip${said === undefined ? '' : ` (${said})`}, which holds no cluster`,
        ['give what kubectl srcip snapshot writes'],
      )
    }
    if (kind !== undefined && kind.endsWith('List') && Array.isArray(field(document, 'items'))) {
      const items = list(field(document, 'items'))
      // Items of a typed list carry no kind of their own; those of `v1 List` do.
      const itemKind = kind === 'List' ? undefined : kind.slice(0, -'List'.length)
      return this.#addItems(place, items, itemKind === undefined ? undefined : {apiVersion, kind: itemKind})
    }
    return this.#addObject(place, document, undefined)
  }

  #addItems(
    place: string,
    items: readonly unknown[],
    type: {apiVersion: string | undefined; kind: string} | undefined,
  ): {used: number; secrets: number} {
    let used = 0
    let secrets = 0
    for (const item of items) {
      const one =
        type === undefined
          ? this.#addDocument(place, Array.isArray(item) ? {} : item)
          : this.#addObject(place, record(item), type)
      used += one.used
      secrets += one.secrets
    }
    return {used, secrets}
  }

  #addObject(
    place: string,
    value: Readonly<Record<string, unknown>>,
    type: {apiVersion: string | undefined; kind: string} | undefined,
  ): {used: number; secrets: number} {
    const apiVersion = text(field(value, 'apiVersion')) ?? type?.apiVersion
    const name = text(field(value, 'kind')) ?? type?.kind
    if (name === 'Secret') return {used: 0, secrets: 1}
    const kind = snapshotKindOf(apiVersion, name)
    if (kind === undefined) return {used: 0, secrets: 0}
    const object = projectObject(kind, value, apiVersion)
    if (object === undefined) {
      this.#warnings.push(`${place}: a ${name} without metadata.name was passed over`)
      return {used: 0, secrets: 0}
    }
    // kubectl would put it there, too.
    const placed =
      kind.namespaced && object.metadata.namespace === undefined
        ? {...object, metadata: {...object.metadata, namespace: 'default'}}
        : object
    this.#put(place, placed)
    return {used: 1, secrets: 0}
  }

  #put(place: string, object: KubeObject): void {
    const {namespace, name} = object.metadata
    const key = `${groupOf(object.apiVersion)}/${object.kind}/${namespace ?? ''}/${name}`
    const json = JSON.stringify(object)
    const before = this.#objects.get(key)
    if (before !== undefined && before.json !== json) {
      this.#contradictions += 1
      if (this.#contradictions <= mostNamed)
        this.#warnings.push(
          `${refText({kind: object.kind ?? '', namespace, name})} stands in ${before.place} and in ${place}, and they differ: the later counts`,
        )
    }
    this.#objects.set(key, {object, json, place})
  }

  #addSnapshot(place: string, document: Readonly<Record<string, unknown>>): {used: number; secrets: number} {
    const format = field(document, 'format')
    if (typeof format !== 'number' || !Number.isInteger(format) || format < 1)
      throw unreadable(place, 'is a Snapshot without a format number', ['it may be cut off or edited: write it again'])
    if (format > snapshotFormat)
      throw new SrcipError(
        'Precondition',
        `${place} is a Snapshot of format ${format}; this version reads up to ${snapshotFormat}`,
        {object: place, hints: ['update kubectl-srcip, or write the snapshot with this version']},
      )
    const objects = field(document, 'objects')
    if (!Array.isArray(objects))
      throw unreadable(place, 'is a Snapshot without a list of objects', [
        'it may be cut off or edited: write it again',
      ])
    const unknown = Object.keys(document).filter((name) => !snapshotFields.has(name))
    if (unknown.length > 0)
      this.#warnings.push(
        `${place}: written by another version, ${unknown.length === 1 ? 'a field is' : 'fields are'} not known here: ${unknown.slice(0, mostNamed).join(', ')}`,
      )
    this.#describe(place, document)
    for (const reading of list(field(document, 'readings'))) this.#addReading(place, record(reading))
    const {secrets} = this.#addItems(place, objects, undefined)
    for (const warning of list(field(document, 'warnings')))
      if (typeof warning === 'string') this.#warnings.push(warning)
    return {used: 1, secrets}
  }

  #describe(place: string, document: Readonly<Record<string, unknown>>): void {
    const cluster = record(field(document, 'cluster'))
    const uid = text(field(cluster, 'uid'))
    if (uid !== undefined) {
      if (this.#uid !== undefined && this.#uid.value !== uid)
        this.#warnings.push(`${this.#uid.place} and ${place} are of two clusters: what follows mixes them`)
      this.#uid = {value: uid, place}
    }
    this.#version = text(field(cluster, 'version')) ?? this.#version
    this.#createdAt = text(field(record(field(document, 'metadata')), 'createdAt')) ?? this.#createdAt
    if (field(document, 'anonymised') === true) this.#anonymised = true
  }

  #addReading(place: string, value: Readonly<Record<string, unknown>>): void {
    const part = (name: string): string | undefined => text(field(value, name))
    const [version, resource, kind] = [part('version'), part('resource'), part('kind')]
    const group = field(value, 'group')
    if (version === undefined || resource === undefined || kind === undefined || typeof group !== 'string') {
      this.#warnings.push(`${place}: a reading that names no kind was passed over`)
      return
    }
    const given = part('state')
    const state = readingStates.find((one) => one === given)
    if (state === undefined)
      this.#warnings.push(
        `${place}: state ${JSON.stringify(given)} of ${resource} is not known here; it counts as partial`,
      )
    const names = field(value, 'names')
    const [namespace, only, message] = [part('namespace'), part('only'), part('message')]
    this.#readings.push({
      group,
      version,
      resource,
      kind,
      ...(namespace === undefined ? {} : {namespace}),
      ...(Array.isArray(names) ? {names: names.filter((name) => typeof name === 'string')} : {}),
      ...(only === undefined ? {} : {only}),
      verb: part('verb') === 'get' ? 'get' : 'list',
      state: state ?? 'partial',
      ...(message === undefined ? {} : {message}),
    })
  }
}
