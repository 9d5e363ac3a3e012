import type {KubeObject} from '../../src/model/kubernetes.ts'

export interface StoredEvent {
  readonly version: number
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly object: KubeObject
}

/** What a refused write answers. */
export class Refused extends Error {
  readonly status: number
  readonly reason: string

  constructor(status: number, reason: string, message: string) {
    super(message)
    this.status = status
    this.reason = reason
  }
}

/** Objects of a few kinds with one version counter for all, as etcd has. Keys are collection paths without namespace. */
export class FakeObjects {
  readonly #objects = new Map<string, Map<string, KubeObject>>()
  readonly #events = new Map<string, StoredEvent[]>()
  readonly #listeners = new Set<(collection: string, event: StoredEvent) => void>()
  #version: number
  #uids = 0
  /** Versions up to this one are forgotten. */
  compacted = 0

  constructor(startVersion = 100) {
    this.#version = startVersion
  }

  get version(): number {
    return this.#version
  }

  onEvent(listener: (collection: string, event: StoredEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  list(collection: string, namespace: string | undefined): KubeObject[] {
    return [...(this.#objects.get(collection)?.values() ?? [])]
      .filter((object) => namespace === undefined || object.metadata.namespace === namespace)
      .toSorted((one, other) => (key(one) < key(other) ? -1 : 1))
  }

  get(collection: string, namespace: string | undefined, name: string): KubeObject | undefined {
    return this.#objects.get(collection)?.get(`${namespace ?? ''}/${name}`)
  }

  /** Events after `version`; undefined when that has been compacted away. */
  since(collection: string, version: number): StoredEvent[] | undefined {
    if (version < this.compacted) return undefined
    return (this.#events.get(collection) ?? []).filter((event) => event.version > version)
  }

  create(collection: string, object: KubeObject): KubeObject {
    if (this.get(collection, object.metadata.namespace, object.metadata.name) !== undefined) {
      throw new Refused(409, 'AlreadyExists', `"${object.metadata.name}" already exists`)
    }
    return this.put(collection, object)
  }

  /** Creates or replaces; gives a uid where there is none. */
  put(collection: string, object: KubeObject): KubeObject {
    const before = this.get(collection, object.metadata.namespace, object.metadata.name)
    const uid = object.metadata.uid ?? before?.metadata.uid ?? `uid-${(this.#uids += 1)}`
    const version = (this.#version += 1)
    const stored = {...object, metadata: {...object.metadata, uid, resourceVersion: String(version)}}
    const objects = this.#objects.get(collection) ?? new Map<string, KubeObject>()
    this.#objects.set(collection, objects.set(key(stored), stored))
    this.#tell(collection, {version, type: before === undefined ? 'ADDED' : 'MODIFIED', object: stored})
    return stored
  }

  delete(collection: string, namespace: string | undefined, name: string): KubeObject | undefined {
    const present = this.get(collection, namespace, name)
    if (present === undefined) return undefined
    this.#objects.get(collection)?.delete(key(present))
    const version = (this.#version += 1)
    const object = {...present, metadata: {...present.metadata, resourceVersion: String(version)}}
    this.#tell(collection, {version, type: 'DELETED', object})
    return object
  }

  /** JSON merge patch (RFC 7396) with the API server's preconditions. */
  mergePatch(collection: string, namespace: string | undefined, name: string, patch: KubeObject): KubeObject {
    const present = this.get(collection, namespace, name)
    if (present === undefined) throw new Refused(404, 'NotFound', `"${name}" not found`)
    const {resourceVersion, uid} = (patch.metadata as KubeObject['metadata'] | undefined) ?? {}
    if (uid !== undefined && uid !== present.metadata.uid) {
      throw new Refused(422, 'Invalid', `metadata.uid: Invalid value: "${uid}": field is immutable`)
    }
    if (resourceVersion !== undefined && resourceVersion !== present.metadata.resourceVersion) {
      throw new Refused(
        409,
        'Conflict',
        'the object has been modified; please apply your changes to the latest version',
      )
    }
    const merged = mergeValue(present, patch) as KubeObject
    if (JSON.stringify(merged) === JSON.stringify(present)) return present
    return this.put(collection, merged)
  }

  #tell(collection: string, event: StoredEvent): void {
    const events = this.#events.get(collection) ?? []
    events.push(event)
    this.#events.set(collection, events)
    for (const listener of this.#listeners) listener(collection, event)
  }
}

function key(object: KubeObject): string {
  return `${object.metadata.namespace ?? ''}/${object.metadata.name}`
}

function mergeValue(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch
  const base = typeof target === 'object' && target !== null && !Array.isArray(target) ? target : {}
  const result: Record<string, unknown> = {...base}
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name]
    else result[name] = mergeValue(result[name], value)
  }
  return result
}
