import type {Readable} from 'node:stream'
import type {KubeObject} from '../../model/kubernetes.ts'
import {KubeFailure} from '../failures/failure.ts'
import {abortedFailure, decodeFailure, networkFailure} from '../failures/from-network.ts'
import type {CallPlace} from '../failures/from-network.ts'
import {readStatus, statusFailure} from '../failures/from-status.ts'
import type {Resource, WatchEvent, WatchOptions} from '../types.ts'
import {LineSplitter, LineTooLongError} from './lines.ts'
import {collectionPath} from './paths.ts'
import type {Requester} from './requester.ts'

/** Proxies that buffer hold the headers back until the first event, so headers get as long as a quiet watch. */
const headersMs = 90_000

/**
 * Reads one watch to its end (Kubernetes API concepts, "Efficient detection of changes"). Bookmarks are asked for and
 * passed on. Ends when the server ends the stream after a whole line; everything else is thrown.
 */
export async function* watchEvents(
  requester: Requester,
  resource: Resource,
  options: WatchOptions,
): AsyncGenerator<WatchEvent> {
  const about = {verb: 'watch', resource, namespace: options.namespace}
  const place: CallPlace = {config: requester.config, about}
  const stream = await requester.stream({
    path: collectionPath(resource, options.namespace),
    query: watchQuery(options),
    headersTimeoutMs: options.headersTimeoutMs ?? headersMs,
    signal: options.signal,
    uncounted: true,
    about,
  })
  options.onOpen?.()
  const splitter = new LineSplitter()
  try {
    for await (const chunk of chunksOf(stream, place, options.signal)) {
      options.onBytes?.()
      for (const line of splitter.push(chunk)) if (line.length > 0) yield parseEvent(line, place)
    }
    if (splitter.pending > 0) throw decodeFailure(place, 'a watch that ends in the middle of a line')
  } catch (error) {
    if (error instanceof LineTooLongError) throw decodeFailure(place, error.message)
    throw error
  } finally {
    stream.destroy()
  }
}

function watchQuery(options: WatchOptions): Record<string, string | number | boolean | undefined> {
  return {
    watch: true,
    allowWatchBookmarks: true,
    resourceVersion: options.resourceVersion,
    ...(options.sendInitialEvents === true ? {sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan'} : {}),
    timeoutSeconds: options.timeoutSeconds,
    labelSelector: options.labelSelector,
    fieldSelector: options.fieldSelector,
  }
}

/** The bytes of a stream, with its errors as failures. */
export async function* chunksOf(
  stream: Readable,
  place: CallPlace,
  signal: AbortSignal | undefined,
): AsyncGenerator<Buffer> {
  try {
    yield* stream as AsyncIterable<Buffer>
  } catch (error) {
    throw signal?.aborted === true ? abortedFailure(place, signal.reason) : networkFailure(error, place)
  }
}

const types: readonly string[] = ['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK']

function parseEvent(line: Buffer, place: CallPlace): WatchEvent {
  let event: unknown
  try {
    event = JSON.parse(line.toString('utf8'))
  } catch {
    throw decodeFailure(place, 'a watch event that is no JSON')
  }
  const {type, object} = (event ?? {}) as Readonly<Record<string, unknown>>
  if (type === 'ERROR') {
    const status = readStatus(object)
    throw errorEvent(status.code ?? 500, status, place)
  }
  if (typeof type !== 'string' || !types.includes(type) || !isObject(object)) {
    throw decodeFailure(place, 'a watch event of an unknown form')
  }
  return {type: type as WatchEvent['type'], object}
}

function errorEvent(code: number, status: ReturnType<typeof readStatus>, place: CallPlace): KubeFailure {
  return statusFailure(code, status, place, undefined)
}

/** Metadata is what everything else relies on. */
function isObject(value: unknown): value is KubeObject {
  const metadata = (value as {metadata?: unknown} | null)?.metadata
  return typeof metadata === 'object' && metadata !== null
}
