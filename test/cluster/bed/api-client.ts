import {Agent, request, type RequestOptions} from 'node:https'
import type {IncomingMessage} from 'node:http'
import {createInterface} from 'node:readline'
import type {KubeObject} from './objects.ts'

/** An answer of the API server that is not a success. */
export class ApiFailure extends Error {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** Plural names and scope of the kinds that the bed makes. */
const kinds: Record<string, {plural: string; cluster?: true}> = {
  ClusterRole: {plural: 'clusterroles', cluster: true},
  ClusterRoleBinding: {plural: 'clusterrolebindings', cluster: true},
  ConfigMap: {plural: 'configmaps'},
  CustomResourceDefinition: {plural: 'customresourcedefinitions', cluster: true},
  Deployment: {plural: 'deployments'},
  EndpointSlice: {plural: 'endpointslices'},
  Ingress: {plural: 'ingresses'},
  IngressClass: {plural: 'ingressclasses', cluster: true},
  Lease: {plural: 'leases'},
  Namespace: {plural: 'namespaces', cluster: true},
  Node: {plural: 'nodes', cluster: true},
  Pod: {plural: 'pods'},
  ReplicaSet: {plural: 'replicasets'},
  Role: {plural: 'roles'},
  RoleBinding: {plural: 'rolebindings'},
  Secret: {plural: 'secrets'},
  Service: {plural: 'services'},
  ServiceAccount: {plural: 'serviceaccounts'},
}

/** The path of a collection, such as `/apis/apps/v1/namespaces/x/deployments`. */
export function collectionPath(apiVersion: string, kind: string, namespace?: string): string {
  const entry = kinds[kind]
  if (entry === undefined) throw new Error(`the bed does not know the plural of kind ${kind}`)
  const base = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  return `${base}${entry.cluster || namespace === undefined ? '' : `/namespaces/${namespace}`}/${entry.plural}`
}

/** The path of one object. */
export function objectPath(object: KubeObject): string {
  const {name, namespace} = object.metadata
  const scope = kinds[object.kind]?.cluster ? undefined : (namespace ?? 'default')
  return `${collectionPath(object.apiVersion, object.kind, scope)}/${name}`
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** A small client for the bed's own controllers and for tests; independent of the product's. */
export type ApiClient = {
  request<T = KubeObject>(method: Method, path: string, body?: unknown, contentType?: string): Promise<T>
  get<T = KubeObject>(path: string): Promise<T>
  list<T = KubeObject>(path: string): Promise<T[]>
  create<T extends KubeObject>(object: T): Promise<T>
  /** JSON merge patch; `subresource` is `status` or `scale`. */
  patch<T = KubeObject>(object: KubeObject, patch: unknown, subresource?: string): Promise<T>
  /** Server-side apply as field manager `bed`. */
  apply<T extends KubeObject>(object: T): Promise<T>
  delete(object: KubeObject, options?: {gracePeriodSeconds?: number}): Promise<void>
  /** Watches from a version; ends when the server ends it, fails when it fails. */
  watch(
    path: string,
    resourceVersion: string,
    event: (type: string, object: KubeObject) => void,
    end: AbortSignal,
  ): Promise<void>
  close(): void
}

/** A client of the API server at a port of the loopback address. */
export function apiClient(server: {port: number; ca: string; token: string}): ApiClient {
  const agent = new Agent({keepAlive: true, maxSockets: 40})
  const base: RequestOptions = {host: '127.0.0.1', port: server.port, ca: server.ca, agent}

  const open = (method: Method, path: string, body?: unknown, contentType = 'application/json', signal?: AbortSignal) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const text = body === undefined ? undefined : JSON.stringify(body)
      const headers: Record<string, string> = {authorization: `Bearer ${server.token}`, accept: 'application/json'}
      if (text !== undefined) {
        headers['content-type'] = contentType
        // Node adds this by itself for every method but DELETE.
        headers['content-length'] = String(Buffer.byteLength(text))
      }
      const outgoing = request({...base, method, path, headers, ...(signal === undefined ? {} : {signal})}, resolve)
      outgoing.on('error', reject)
      outgoing.end(text)
    })
  const send: ApiClient['request'] = async <T>(method: Method, path: string, body?: unknown, contentType?: string) => {
    const response = await open(method, path, body, contentType)
    let text = ''
    for await (const chunk of response.setEncoding('utf8')) text += String(chunk)
    const status = response.statusCode ?? 0
    if (status >= 300) throw failure(status, method, path, text)
    return (text.startsWith('{') ? JSON.parse(text) : text) as T
  }

  return {
    request: send,
    get: (path) => send('GET', path),
    async list<T>(path: string) {
      return (await send<{items: T[]}>('GET', path)).items
    },
    create: (object) => {
      const path = objectPath(object)
      return send('POST', `${path.slice(0, path.lastIndexOf('/'))}?fieldManager=bed`, object)
    },
    patch: (object, patch, subresource) => {
      const path = `${objectPath(object)}${subresource === undefined ? '' : `/${subresource}`}?fieldManager=bed`
      return send('PATCH', path, patch, 'application/merge-patch+json')
    },
    apply: (object) =>
      send('PATCH', `${objectPath(object)}?fieldManager=bed&force=true`, object, 'application/apply-patch+yaml'),
    async delete(object, options = {}) {
      await send('DELETE', objectPath(object), {kind: 'DeleteOptions', apiVersion: 'v1', ...options})
    },
    async watch(path, resourceVersion, event, end) {
      const query = `watch=1&allowWatchBookmarks=true&resourceVersion=${resourceVersion}`
      const response = await open('GET', `${path}?${query}`, undefined, undefined, end)
      if (response.statusCode !== 200) {
        response.resume()
        throw new ApiFailure(response.statusCode ?? 0, `watch ${path}: ${response.statusCode}`)
      }
      for await (const line of createInterface({input: response})) {
        const {type, object} = JSON.parse(line) as {type: string; object: KubeObject}
        if (type === 'ERROR') throw new ApiFailure(410, `watch ${path} ended`)
        event(type, object)
      }
    },
    close: () => agent.destroy(),
  }
}

function failure(status: number, method: string, path: string, text: string): ApiFailure {
  let message = text
  try {
    message = (JSON.parse(text) as {message?: string}).message ?? text
  } catch {}
  return new ApiFailure(status, `${method} ${path}: ${status} ${message}`)
}
