import type {KubeObject} from '../../model/kubernetes.ts'
import {isVersionUnavailable} from '../calls/list.ts'
import type {KubeClient, ListOptions, Resource} from '../types.ts'
import type {ObjectStore} from './store.ts'
import type {StoredObject} from './types.ts'

/** A complete list, projected page by page so that raw objects never pile up. */
export interface FullList<T> {
  readonly objects: ReadonlyMap<string, StoredObject<T>>
  readonly resourceVersion: string
}

/**
 * Lists a source completely.
 * @param from list from the watch cache, not older than this version, in one piece (a relist after 410); undefined: a
 *   consistent, paged read. Never version 0, which may answer from the past.
 * @param onPage told of each page, since a long list is progress and not a standstill
 */
export async function fullList<T>(
  client: KubeClient,
  resource: Resource,
  scope: Pick<ListOptions, 'namespace' | 'labelSelector' | 'fieldSelector'>,
  store: ObjectStore<T>,
  from: string | undefined,
  signal: AbortSignal,
  onPage?: () => void,
): Promise<FullList<T>> {
  if (from !== undefined) {
    try {
      return await collect(client, resource, {...scope, resourceVersion: from, limit: 0, signal}, store, onPage)
    } catch (error) {
      if (!isVersionUnavailable(error)) throw error
    }
  }
  return await collect(client, resource, {...scope, signal}, store, onPage)
}

async function collect<T>(
  client: KubeClient,
  resource: Resource,
  options: ListOptions,
  store: ObjectStore<T>,
  onPage: (() => void) | undefined,
): Promise<FullList<T>> {
  const objects = new Map<string, StoredObject<T>>()
  let resourceVersion = ''
  for await (const page of client.pages<KubeObject>(resource, options)) {
    onPage?.()
    if (page.restarted) objects.clear()
    for (const item of page.items) {
      const stored = store.reduce(item)
      if (stored !== undefined) objects.set(stored.key, stored)
    }
    resourceVersion = page.resourceVersion
  }
  return {objects, resourceVersion}
}
