import type {Readable} from 'node:stream'
import type {KubeObject} from '../../model/kubernetes.ts'
import {systemClock} from '../clock.ts'
import {hasStatus} from '../failures/failure.ts'
import type {
  AccessQuestion,
  CallOptions,
  ClientOptions,
  ClusterConfig,
  Discovery,
  KubeClient,
  ListOptions,
  LogOptions,
  ObjectKey,
  RawRequest,
  Resource,
  ServerVersion,
} from '../types.ts'
import {parseJson} from './body.ts'
import {discover} from './discovery.ts'
import {listAll, listPages} from './list.ts'
import {collectionPath, objectPath} from './paths.ts'
import {Requester} from './requester.ts'
import {watchEvents} from './watch.ts'
import {applyObject, createObject, deleteObject, mergePatchObject, updateObject} from './writes.ts'
import {resources} from '../resources.ts'

const discoveryAgeMs = 5000
const maxLogBytes = 16 * 1024 * 1024

const selfReviews: Resource = {
  group: 'authorization.k8s.io',
  version: 'v1',
  plural: 'selfsubjectaccessreviews',
  kind: 'SelfSubjectAccessReview',
  namespaced: false,
}

/**
 * Opens a client for one cluster as one identity. Nothing is sent before the first call.
 * @param config from loadKubeconfig or inClusterConfig
 */
export function createKubeClient(config: ClusterConfig, options: ClientOptions = {}): KubeClient {
  const clock = options.clock ?? systemClock
  const requester = new Requester(config, options, clock)
  let discovered: {at: number; result: Promise<Discovery>} | undefined

  const get = async <T = KubeObject>(
    resource: Resource,
    key: ObjectKey,
    {subresource, ...call}: CallOptions & {subresource?: string} = {},
  ): Promise<T> => {
    const about = {verb: 'get', resource, subresource, ...key}
    const response = await requester.request({path: objectPath(resource, key, subresource), about, ...call})
    return parseJson(response.body, {config, about}) as T
  }

  return {
    config,
    request: (request: RawRequest) => requester.request(request),
    stream: (request) => requester.stream(request),
    get,
    find: async <T>(resource: Resource, key: ObjectKey, call: CallOptions = {}) => {
      try {
        return await get<T>(resource, key, call)
      } catch (error) {
        if (hasStatus(error, 404)) return undefined
        throw error
      }
    },
    pages: <T>(resource: Resource, call: ListOptions = {}) => listPages<T>(requester, resource, call),
    list: async <T>(resource: Resource, call: ListOptions = {}) =>
      await listAll(listPages<T>(requester, resource, call)),
    watch: (resource, call = {}) => watchEvents(requester, resource, call),
    create: (resource, object, call = {}) => createObject(requester, resource, object, call),
    update: (resource, object, call = {}) => updateObject(requester, resource, object, call),
    mergePatch: (resource, key, patch, call = {}) => mergePatchObject(requester, resource, key, patch, call),
    apply: (resource, object, call = {}) => applyObject(requester, resource, object, call),
    delete: (resource, key, call = {}) => deleteObject(requester, resource, key, call),
    logs: async (pod, call = {}) => {
      const response = await requester.request({...logRequest(pod, {...call, follow: false}), maxBytes: maxLogBytes})
      return response.body.toString('utf8')
    },
    logStream: (pod, call = {}): Promise<Readable> => requester.stream(logRequest(pod, call)),
    portForward: async (pod, port, call = {}) => {
      const {openPortForward} = await import('./port-forward.ts')
      return await openPortForward(requester, pod, port, call)
    },
    discover: async ({maxAgeMs = discoveryAgeMs, ...call} = {}) => {
      if (discovered !== undefined && clock.now() - discovered.at <= maxAgeMs) return await discovered.result
      const current = {at: clock.now(), result: discover(requester, call)}
      discovered = current
      current.result.catch(() => {
        if (discovered === current) discovered = undefined
      })
      return await current.result
    },
    serverVersion: async (call = {}) => {
      const about = {verb: 'get the server version'}
      const response = await requester.request({path: '/version', about, ...call})
      return parseJson(response.body, {config, about}) as ServerVersion
    },
    selfSubjectAccessReview: async (question, call = {}) => await ask(requester, question, call),
    dropIdleConnections: () => requester.transport.dropFreeSockets(),
    close: () => requester.close(),
  }
}

function logRequest(pod: ObjectKey, options: LogOptions): RawRequest {
  const {container, follow, tailLines, sinceSeconds, limitBytes, timestamps, previous} = options
  return {
    path: objectPath(resources.pods, pod, 'log'),
    query: {container, follow, tailLines, sinceSeconds, limitBytes, timestamps, previous},
    accept: '*/*',
    signal: options.signal,
    timeoutMs: options.timeoutMs,
    about: {verb: 'get', resource: resources.pods, subresource: 'log', ...pod},
  }
}

async function ask(
  requester: Requester,
  question: AccessQuestion,
  call: CallOptions,
): Promise<{allowed: boolean; reason: string}> {
  const {verb, resource, subresource, namespace, name} = question
  const about = {verb: 'create', resource: selfReviews}
  const response = await requester.request({
    method: 'POST',
    path: collectionPath(selfReviews),
    body: JSON.stringify({
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: {
        resourceAttributes: {
          verb,
          group: resource.group,
          version: resource.version,
          resource: resource.plural,
          subresource,
          namespace,
          name,
        },
      },
    }),
    // Asking changes nothing.
    repeatable: true,
    about,
    ...call,
  })
  const body = parseJson(response.body, {config: requester.config, about})
  const status = ((body as {status?: unknown} | null)?.status ?? {}) as {allowed?: unknown; reason?: unknown}
  return {allowed: status.allowed === true, reason: typeof status.reason === 'string' ? status.reason : ''}
}
