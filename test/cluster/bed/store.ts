import {setTimeout as sleep} from 'node:timers/promises'
import type {ApiClient} from './api-client.ts'
import {keyOf, type KubeObject} from './objects.ts'

/** A live copy of one collection. */
export type Store<T extends KubeObject> = {
  readonly items: ReadonlyMap<string, T>
  /** Called after each change, with the key of what changed. */
  onChange(listener: (key: string) => void): void
  synced: Promise<void>
}

/** Lists and watches a collection until `end`. */
export function mirror<T extends KubeObject>(api: ApiClient, path: string, end: AbortSignal): Store<T> {
  const items = new Map<string, T>()
  const listeners: ((key: string) => void)[] = []
  const tell = (key: string) => {
    for (const listener of listeners) listener(key)
  }
  const {promise: synced, resolve: markSynced} = Promise.withResolvers<void>()

  async function follow(): Promise<void> {
    const list = await api.get<{apiVersion: string; kind: string; metadata: {resourceVersion: string}; items: T[]}>(
      path,
    )
    const kind = list.kind.replace(/List$/, '')
    const seen = new Set<string>()
    for (const item of list.items) {
      const object = {...item, apiVersion: list.apiVersion, kind}
      seen.add(keyOf(object))
      items.set(keyOf(object), object)
    }
    for (const key of [...items.keys()]) if (!seen.has(key)) items.delete(key)
    for (const key of seen) tell(key)
    markSynced()
    let version = list.metadata.resourceVersion
    while (!end.aborted) {
      await api.watch(
        path,
        version,
        (type, object) => {
          version = object.metadata.resourceVersion ?? version
          if (type === 'BOOKMARK') return
          const key = keyOf(object)
          if (type === 'DELETED') items.delete(key)
          else items.set(key, object as T)
          tell(key)
        },
        end,
      )
    }
  }
  void (async () => {
    while (!end.aborted) {
      await follow().catch(() => {})
      if (!end.aborted) await sleep(100)
    }
  })()
  return {items, onChange: (listener) => void listeners.push(listener), synced}
}

/**
 * Runs `work` one at a time, again whenever it was kicked meanwhile, and again a little later when it failed. The bed's
 * controllers are such loops.
 */
export function workLoop(
  name: string,
  work: () => Promise<void>,
  log: (line: string) => void,
  end: AbortSignal,
): () => void {
  let wanted = false
  let busy = false
  const kick = () => {
    wanted = true
    if (!busy) void turn()
  }
  async function turn(): Promise<void> {
    busy = true
    while (wanted && !end.aborted) {
      wanted = false
      // Several events that come together are one piece of work.
      await sleep(5)
      try {
        await work()
      } catch (error) {
        if (end.aborted) break
        log(`${name}: ${(error as Error).message}`)
        wanted = true
        await sleep(200)
      }
    }
    busy = false
  }
  return kick
}
