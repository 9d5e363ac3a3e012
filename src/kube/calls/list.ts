import type {KubeObject} from '../../model/kubernetes.ts'
import {KubeFailure, hasStatus} from '../failures/failure.ts'
import {decodeFailure} from '../failures/from-network.ts'
import type {ListOptions, ListPage, ListResult, Resource} from '../types.ts'
import {parseJson} from './body.ts'
import {collectionPath} from './paths.ts'
import type {Requester} from './requester.ts'

const pageTimeoutMs = 60_000
const pageSize = 500

interface RawPage<T> {
  readonly items: readonly T[]
  readonly resourceVersion: string
  readonly next: string | undefined
}

/**
 * Lists a collection page by page. Without a resourceVersion in the options the read is consistent, and all pages show
 * the same moment. When the server has forgotten that moment (410 on a `continue`), the list is asked for once more
 * without pages, and that page carries `restarted`: what came before does not count.
 */
export async function* listPages<T = KubeObject>(
  requester: Requester,
  resource: Resource,
  options: ListOptions,
): AsyncGenerator<ListPage<T>> {
  let next: string | undefined
  let limit = options.limit ?? pageSize
  let restarted = false
  do {
    let page: RawPage<T>
    try {
      page = await fetchPage<T>(requester, resource, options, limit, next)
    } catch (error) {
      if (next === undefined || restarted || !hasStatus(error, 410)) throw error
      restarted = true
      limit = 0
      next = undefined
      page = await fetchPage<T>(requester, resource, options, limit, next)
      yield {items: page.items, resourceVersion: page.resourceVersion, restarted: true}
      next = page.next
      continue
    }
    next = page.next
    yield {items: page.items, resourceVersion: page.resourceVersion, restarted: false}
  } while (next !== undefined)
}

/** The pages put together. */
export async function listAll<T>(pages: AsyncIterable<ListPage<T>>): Promise<ListResult<T>> {
  let items: T[] = []
  let resourceVersion = ''
  for await (const page of pages) {
    if (page.restarted) items = []
    for (const item of page.items) items.push(item)
    resourceVersion = page.resourceVersion
  }
  return {items, resourceVersion}
}

async function fetchPage<T>(
  requester: Requester,
  resource: Resource,
  options: ListOptions,
  limit: number,
  next: string | undefined,
): Promise<RawPage<T>> {
  const about = {verb: 'list', resource, namespace: options.namespace}
  const place = {config: requester.config, about}
  const response = await requester.request({
    path: collectionPath(resource, options.namespace),
    query: {
      labelSelector: options.labelSelector,
      fieldSelector: options.fieldSelector,
      limit: limit > 0 ? limit : undefined,
      // A continue token holds its own version; the server refuses both together.
      ...(next === undefined
        ? {resourceVersion: options.resourceVersion, resourceVersionMatch: options.resourceVersionMatch}
        : {continue: next}),
    },
    signal: options.signal,
    timeoutMs: options.timeoutMs,
    defaultTimeoutMs: pageTimeoutMs,
    maxBytes: 256 * 1024 * 1024,
    compress: true,
    about,
  })
  const page = readPage<T>(parseJson(response.body, place))
  if (page === undefined) throw decodeFailure(place, 'a list of an unknown form')
  return page
}

/** An answer that is not clearly a list must never count as an empty one. `items: null` is Go's empty list. */
function readPage<T>(body: unknown): RawPage<T> | undefined {
  if (typeof body !== 'object' || body === null) return undefined
  const {kind, items, metadata} = body as Readonly<Record<string, unknown>>
  const {resourceVersion, continue: next} = (metadata ?? {}) as Readonly<Record<string, unknown>>
  if (typeof kind !== 'string' || !kind.endsWith('List') || typeof resourceVersion !== 'string') return undefined
  if (!Array.isArray(items) && !('items' in body && items === null)) return undefined
  const list = (items ?? []) as readonly unknown[]
  if (!list.every((item) => typeof (item as {metadata?: {name?: unknown}} | null)?.metadata?.name === 'string'))
    return undefined
  return {
    items: list as readonly T[],
    resourceVersion,
    next: typeof next === 'string' && next !== '' ? next : undefined,
  }
}

/** True for a failure that says the asked-for version cannot be served: gone, or not reached yet. */
export function isVersionUnavailable(error: unknown): boolean {
  if (hasStatus(error, 410)) return true
  return (
    error instanceof KubeFailure &&
    error.status === 504 &&
    (error.serverMessage ?? '').includes('Too large resource version')
  )
}
