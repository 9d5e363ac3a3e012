import {KubeFailure, hasStatus} from '../failures/failure.ts'
import type {KubeClient, Resource} from '../types.ts'
import type {KubeObject} from '../../model/kubernetes.ts'
import {projectObject} from '../../model/projection/project-object.ts'
import type {SnapshotKind} from '../../model/projection/kind.ts'
import type {SnapshotReading} from '../../model/snapshot.ts'

/** What one question to the API gave. */
export interface Reading {
  readonly state: SnapshotReading['state']
  readonly message?: string
  readonly objects: readonly KubeObject[]
}

export interface ListQuestion {
  readonly kind: SnapshotKind
  readonly resource: Resource
  readonly namespace?: string | undefined
  readonly labelSelector?: string | undefined
  /** Chooses among raw objects. */
  readonly keep?: ((object: KubeObject) => boolean) | undefined
}

export interface CallSettings {
  readonly signal: AbortSignal | undefined
  /** For each page, milliseconds. */
  readonly timeoutMs: number
}

/** Objects of a page: while it is in memory it is all there, unprojected. */
const pageSize = 250

/** Lists page by page and keeps the projections only. A failure is an answer here: only the caller's own end is thrown. */
export async function readList(client: KubeClient, question: ListQuestion, call: CallSettings): Promise<Reading> {
  const {kind, resource, namespace, labelSelector, keep} = question
  const apiVersion = resource.group === '' ? resource.version : `${resource.group}/${resource.version}`
  let objects: KubeObject[] = []
  let pages = 0
  try {
    for await (const page of client.pages(resource, {namespace, labelSelector, limit: pageSize, ...call})) {
      if (page.restarted) objects = []
      pages += 1
      for (const item of page.items) {
        if (keep?.(item) === false) continue
        const object = projectObject(kind, item, apiVersion)
        if (object !== undefined) objects.push(object)
      }
    }
    return {state: 'complete', objects}
  } catch (error) {
    return {...failed(error, pages > 0), objects}
  }
}

/** Gets one object by name; one that is not there is knowledge, too. */
export async function readOne(
  client: KubeClient,
  question: {
    readonly kind: SnapshotKind
    readonly resource: Resource
    readonly namespace?: string
    readonly name: string
  },
  call: CallSettings,
): Promise<Reading> {
  const {kind, resource, namespace, name} = question
  try {
    const found = await client.find(resource, {namespace, name}, call)
    const object = found === undefined ? undefined : projectObject(kind, found)
    return {state: 'complete', objects: object === undefined ? [] : [object]}
  } catch (error) {
    return {...failed(error, false), objects: []}
  }
}

/** The state behind a failure, with what the server said; throws when it was the caller who ended the call. */
export function failed(error: unknown, partly: boolean): Pick<Reading, 'state' | 'message'> {
  if (!(error instanceof KubeFailure) || error.kind === 'aborted') throw error
  const message = error.serverMessage ?? error.message
  if (partly) return {state: 'partial', message}
  if (hasStatus(error, 401, 403)) return {state: 'denied', message}
  return hasStatus(error, 404) ? {state: 'absent'} : {state: 'unreachable', message}
}

/** Works on several at a time, in order; the results are in the order of the input. */
export async function inParallel<T, R>(
  inputs: readonly T[],
  width: number,
  work: (input: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = []
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < inputs.length) {
      const index = next
      next += 1
      results[index] = await work(inputs[index] as T)
    }
  }
  await Promise.all(Array.from({length: Math.min(width, inputs.length)}, worker))
  return results
}
