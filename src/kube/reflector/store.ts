import type {KubeObject} from '../../model/kubernetes.ts'
import {compareResourceVersions, isNewer} from './resource-version.ts'
import type {StoreChange, StoredObject} from './types.ts'

/** `namespace/name`, or `name` alone. */
export function objectKey(object: KubeObject): string {
  const {namespace, name} = object.metadata
  return namespace === undefined || namespace === '' ? name : `${namespace}/${name}`
}

/** What a list beside a running watch has to leave alone. */
export interface BesideWatch {
  /** resourceVersion of the list. */
  readonly listVersion: string
  /** Keys that the watch has spoken for while the list was under way. */
  readonly touched: ReadonlySet<string>
}

/** True when the watch knows more about this key than the list. */
function isAhead(
  beside: BesideWatch | undefined,
  key: string,
  present: string | undefined,
  listed: string | undefined,
): boolean {
  if (beside === undefined) return false
  return beside.touched.has(key) || (present !== undefined && listed !== undefined && isNewer(present, listed))
}

/** The projected objects of one source. Pure: says what changed, tells nobody. */
export class ObjectStore<T> {
  readonly objects = new Map<string, StoredObject<T>>()
  readonly #project: (object: KubeObject) => T | undefined

  constructor(project: (object: KubeObject) => T | undefined) {
    this.#project = project
  }

  /** What is kept of an object; undefined when the projection leaves it out. */
  reduce(object: KubeObject): StoredObject<T> | undefined {
    const value = this.#project(object)
    if (value === undefined) return undefined
    const {uid = '', resourceVersion = ''} = object.metadata
    return {key: objectKey(object), uid, resourceVersion, value}
  }

  /** An ADDED or MODIFIED event. */
  put(object: KubeObject): StoreChange<T>[] {
    const next = this.reduce(object)
    if (next === undefined) return this.#drop(objectKey(object), false)
    const previous = this.objects.get(next.key)
    if (previous === undefined) return [this.#set(next)]
    if (previous.uid !== next.uid) {
      // Deleted and created anew under the same name, the delete unseen. An event older than what is here is a straggler.
      if (isNewer(previous.resourceVersion, next.resourceVersion)) return []
      return [...this.#drop(next.key, true), this.#set(next)]
    }
    const order = compareResourceVersions(next.resourceVersion, previous.resourceVersion)
    if (order !== undefined && order <= 0) return []
    return [this.#set(next)]
  }

  /** A DELETED event, which carries the object as it was last. */
  remove(object: KubeObject): StoreChange<T>[] {
    const key = objectKey(object)
    const present = this.objects.get(key)
    const {uid = '', resourceVersion = ''} = object.metadata
    if (present === undefined || present.uid !== uid) return []
    if (isNewer(present.resourceVersion, resourceVersion)) return []
    return this.#drop(key, false)
  }

  /**
   * Takes a complete list over. Without a concurrent watch the list is right, also when it goes back in time (a restored
   * etcd); beside a watch, what the store has from a later moment than the list stays.
   */
  replace(listed: ReadonlyMap<string, StoredObject<T>>, beside: BesideWatch | undefined): StoreChange<T>[] {
    const changes: StoreChange<T>[] = []
    for (const [key, present] of [...this.objects]) {
      if (listed.has(key) || isAhead(beside, key, present.resourceVersion, beside?.listVersion)) continue
      changes.push(...this.#drop(key, true))
    }
    for (const [key, next] of listed) {
      const previous = this.objects.get(key)
      if (previous?.uid === next.uid && previous.resourceVersion === next.resourceVersion) continue
      if (isAhead(beside, key, previous?.resourceVersion, next.resourceVersion)) continue
      if (previous !== undefined && previous.uid !== next.uid) changes.push(...this.#drop(key, true))
      changes.push(this.#set(next))
    }
    return changes
  }

  #set(next: StoredObject<T>): StoreChange<T> {
    const previous = this.objects.get(next.key)
    this.objects.set(next.key, next)
    return {
      type: previous === undefined ? 'add' : 'update',
      key: next.key,
      object: next,
      ...(previous === undefined ? {} : {previous}),
      tombstone: false,
    }
  }

  #drop(key: string, tombstone: boolean): StoreChange<T>[] {
    const object = this.objects.get(key)
    if (object === undefined) return []
    this.objects.delete(key)
    return [{type: 'delete', key, object, tombstone}]
  }
}
