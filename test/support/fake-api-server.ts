import {createServer as createHttpServer} from 'node:http'
import type {IncomingMessage, RequestListener, Server, ServerResponse} from 'node:http'
import {createServer as createHttpsServer} from 'node:https'
import type {AddressInfo, Socket} from 'node:net'
import type {KubeObject} from '../../src/model/kubernetes.ts'
import {FakeObjects, Refused} from './fake-api-objects.ts'

/** One request as the server saw it. */
export interface SeenRequest {
  readonly method: string
  /** Path without query. */
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingMessage['headers']
  readonly body: string
  /** Milliseconds, monotonic. */
  readonly at: number
  readonly watch: boolean
}

/** Answers a request in place of the server; returns false to let it through. */
export type Fault = (request: SeenRequest, response: ServerResponse) => boolean

export interface FakeApiOptions {
  /** PEM; without them the server speaks plain HTTP. */
  readonly tls?: {readonly key: string; readonly cert: string; readonly ca?: string; readonly requestCert?: boolean}
  /** Answers watches that ask for initial events; default true. */
  readonly watchList?: boolean
  /** Milliseconds between bookmarks; default none. */
  readonly bookmarkMs?: number
}

/**
 * An API server for what a real one cannot be made to do: refuse, stall, reset, lie. Serves list (paged), watch with
 * bookmarks and initial events, get, create, update, merge patch, delete and discovery of every kind that is put in.
 */
export class FakeApiServer {
  readonly objects = new FakeObjects()
  readonly requests: SeenRequest[] = []
  /** Asked first, in order, for every request. */
  readonly faults: Fault[] = []
  /** Collections that discovery knows, `group/version/plural` to kind. */
  readonly kinds = new Map<string, string>([
    ['networking.k8s.io/v1/ingresses', 'Ingress'],
    ['/v1/configmaps', 'ConfigMap'],
    ['/v1/services', 'Service'],
    ['/v1/pods', 'Pod'],
    ['coordination.k8s.io/v1/leases', 'Lease'],
  ])
  watchList: boolean
  readonly #options: FakeApiOptions
  readonly #sockets = new Set<Socket>()
  readonly #watches = new Set<() => void>()
  #server: Server | undefined
  #port = 0

  constructor(options: FakeApiOptions = {}) {
    this.#options = options
    this.watchList = options.watchList ?? true
  }

  get url(): string {
    return `${this.#options.tls === undefined ? 'http' : 'https'}://127.0.0.1:${this.#port}`
  }

  get port(): number {
    return this.#port
  }

  /** Open TCP connections. */
  get sockets(): number {
    return this.#sockets.size
  }

  /** Requests so far, of one kind. */
  count(filter: (request: SeenRequest) => boolean): number {
    return this.requests.filter(filter).length
  }

  /** Starts, or starts again on the same port; or on that of another one that was killed. */
  async start(port: number = this.#port): Promise<this> {
    const listener: RequestListener = (request, response) => void this.#serve(request, response)
    const {tls} = this.#options
    this.#server =
      tls === undefined ? createHttpServer(listener) : createHttpsServer({...tls, rejectUnauthorized: false}, listener)
    this.#server.on(tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
      this.#sockets.add(socket)
      socket.on('error', () => undefined)
      socket.once('close', () => this.#sockets.delete(socket))
    })
    await new Promise<void>((resolve) => this.#server?.listen(port, '127.0.0.1', resolve))
    this.#port = (this.#server.address() as AddressInfo).port
    return this
  }

  /** Resets every connection and refuses new ones, as a killed process. Objects stay. */
  async kill(): Promise<void> {
    this.endWatches()
    this.reset()
    await new Promise<void>((resolve) => (this.#server === undefined ? resolve() : this.#server.close(() => resolve())))
    this.#server = undefined
  }

  /** Resets every open connection. */
  reset(): void {
    // A TLS socket has no handle of its own to reset: there the peer sees an end without a farewell.
    for (const socket of this.#sockets) {
      if (this.#options.tls === undefined) socket.resetAndDestroy()
      else socket.destroy()
    }
  }

  /** Ends all watches in good order. */
  endWatches(): void {
    for (const end of this.#watches) end()
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    try {
      for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
    } catch {
      return
    }
    const url = new URL(request.url ?? '/', 'http://fake')
    const seen: SeenRequest = {
      method: request.method ?? 'GET',
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      body: Buffer.concat(chunks).toString('utf8'),
      at: performance.now(),
      watch: url.searchParams.get('watch') === 'true',
    }
    this.requests.push(seen)
    response.on('error', () => undefined)
    for (const fault of [...this.faults]) if (fault(seen, response)) return
    try {
      this.#answer(seen, response)
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      sendStatus(response, error.status, {reason: error.reason, message: error.message})
    }
  }

  #answer(request: SeenRequest, response: ServerResponse): void {
    if (request.path === '/version') return sendJson(response, 200, {gitVersion: 'v1.36.0', major: '1', minor: '36'})
    if (request.path === '/api' || request.path === '/apis')
      return sendJson(response, 200, this.#discovery(request.path))
    const match = /^\/(?:api|apis\/([^/]+))\/([^/]+)(?:\/namespaces\/([^/]+))?\/([^/]+)(?:\/([^/]+))?$/.exec(
      request.path,
    )
    if (match === null) throw new Refused(404, 'NotFound', 'the server could not find the requested resource')
    const [, group = '', version = '', namespace, plural = '', name] = match
    const collection = `${group}/${version}/${plural}`
    const kind = this.kinds.get(collection)
    if (kind === undefined) throw new Refused(404, 'NotFound', 'the server could not find the requested resource')
    if (name !== undefined) return this.#one(request, response, {collection, namespace, name})
    if (request.method === 'POST')
      return sendJson(response, 201, this.objects.create(collection, JSON.parse(request.body) as KubeObject))
    if (request.watch) return this.#watch(request, response, collection, namespace)
    this.#list(request, response, {collection, namespace, kind})
  }

  #one(
    request: SeenRequest,
    response: ServerResponse,
    at: {collection: string; namespace: string | undefined; name: string},
  ): void {
    const {collection, namespace, name} = at
    const present = this.objects.get(collection, namespace, name)
    if (request.method === 'PATCH') {
      return sendJson(
        response,
        200,
        this.objects.mergePatch(collection, namespace, name, JSON.parse(request.body) as KubeObject),
      )
    }
    if (present === undefined) throw new Refused(404, 'NotFound', `"${name}" not found`)
    if (request.method === 'DELETE') return sendJson(response, 200, this.objects.delete(collection, namespace, name))
    if (request.method !== 'PUT') return sendJson(response, 200, present)
    const given = JSON.parse(request.body) as KubeObject
    const {resourceVersion} = given.metadata
    if (resourceVersion !== undefined && resourceVersion !== present.metadata.resourceVersion) {
      throw new Refused(
        409,
        'Conflict',
        'the object has been modified; please apply your changes to the latest version',
      )
    }
    sendJson(response, 200, this.objects.put(collection, given))
  }

  #list(
    request: SeenRequest,
    response: ServerResponse,
    at: {collection: string; namespace: string | undefined; kind: string},
  ): void {
    const all = this.objects.list(at.collection, at.namespace)
    const limit = Number(request.query.get('limit') ?? 0)
    const [version = this.objects.version, from = 0] = (request.query.get('continue') ?? '')
      .split('.')
      .filter(Boolean)
      .map(Number)
    if (version < this.objects.compacted)
      throw new Refused(410, 'Expired', 'The provided continue parameter is too old')
    const items = limit > 0 ? all.slice(from, from + limit) : all
    const next = limit > 0 && from + limit < all.length ? `${version}.${from + limit}` : undefined
    sendJson(response, 200, {
      kind: `${at.kind}List`,
      apiVersion: at.collection.replace(/^\//, '').replace(/\/[^/]+$/, ''),
      metadata: {resourceVersion: String(version), ...(next === undefined ? {} : {continue: next})},
      items,
    })
  }

  #watch(request: SeenRequest, response: ServerResponse, collection: string, namespace: string | undefined): void {
    const initial = request.query.get('sendInitialEvents') === 'true'
    if (initial && !this.watchList) {
      throw new Refused(
        422,
        'Invalid',
        'sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled',
      )
    }
    const from = Number(request.query.get('resourceVersion') ?? this.objects.version)
    const missed = initial ? [] : this.objects.since(collection, from)
    if (missed === undefined) throw new Refused(410, 'Expired', `too old resource version: ${from}`)
    response.writeHead(200, {'content-type': 'application/json'})
    response.flushHeaders()
    const send = (type: string, object: object): void => void response.write(`${JSON.stringify({type, object})}\n`)
    const bookmark = (annotations?: object): void =>
      send('BOOKMARK', {
        metadata: {resourceVersion: String(this.objects.version), ...(annotations === undefined ? {} : {annotations})},
      })
    const mine = (object: KubeObject): boolean => namespace === undefined || object.metadata.namespace === namespace
    if (initial) {
      for (const object of this.objects.list(collection, namespace)) send('ADDED', object)
      bookmark({'k8s.io/initial-events-end': 'true'})
    }
    for (const {type, object} of missed) if (mine(object)) send(type, object)
    const silence = this.objects.onEvent((where, {type, object}) => {
      if (where === collection && mine(object)) send(type, object)
    })
    const timer = this.#options.bookmarkMs === undefined ? undefined : setInterval(bookmark, this.#options.bookmarkMs)
    const end = (): void => {
      clearInterval(timer)
      silence()
      this.#watches.delete(end)
      response.end()
    }
    this.#watches.add(end)
    response.once('close', end)
  }

  #discovery(path: '/api' | '/apis'): object {
    const groups = new Map<string, Map<string, object[]>>()
    for (const [collection, kind] of this.kinds) {
      const [group = '', version = '', plural = ''] = collection.split('/')
      if ((group === '') !== (path === '/api')) continue
      const versions = groups.get(group) ?? new Map<string, object[]>()
      groups.set(
        group,
        versions.set(version, [
          ...(versions.get(version) ?? []),
          {resource: plural, responseKind: {group, version, kind}, scope: 'Namespaced'},
        ]),
      )
    }
    return {
      kind: 'APIGroupDiscoveryList',
      apiVersion: 'apidiscovery.k8s.io/v2',
      metadata: {},
      items: [...groups].map(([name, versions]) => ({
        metadata: {name},
        versions: [...versions].map(([version, resources]) => ({version, resources, freshness: 'Current'})),
      })),
    }
  }
}

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body)
  response.writeHead(status, {'content-type': 'application/json', 'content-length': Buffer.byteLength(text)}).end(text)
}

/** A metav1.Status with this code. */
export function sendStatus(
  response: ServerResponse,
  status: number,
  fields: object = {},
  headers: Record<string, string> = {},
): void {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
  sendJson(response, status, {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    code: status,
    ...fields,
  })
}
