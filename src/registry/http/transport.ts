import type {Agent as HttpAgent, ClientRequest, IncomingMessage, RequestOptions} from 'node:http'
import type {Agent as HttpsAgent} from 'node:https'
import type {Socket} from 'node:net'
import type {Writable} from 'node:stream'
import {SrcipError} from '../../model/errors.ts'
import {limits} from '../limits.ts'
import {cleanText} from '../text.ts'
import {type BulkRequest, type BulkSink, readBulk} from './bulk-read.ts'
import {guardedLookup, refuseLiteral, type Reach, reachOf} from './address-guard.ts'
import {basicOf, NetworkFault} from './network-fault.ts'
import {openTunnel} from './tunnel.ts'
import type {ProxyRules} from './proxy-rules.ts'
import type {TrustStore} from './trust.ts'

// Not by import: an ES import of node:http evaluates every export of it, and one of them loads a whole second HTTP client (20 ms).
const http = process.getBuiltinModule('node:http')
/** TLS is loaded when the first https address is met. */
const https = () => process.getBuiltinModule('node:https')

/** A body that is written while it is produced. `write` must write exactly `length` bytes, or throw to abort. */
export interface StreamBody {
  readonly length: number
  write(to: Writable): Promise<void>
}

export interface TransportRequest {
  readonly method: string
  readonly url: URL
  readonly headers: Record<string, string>
  readonly body?: Buffer | StreamBody
  /** Milliseconds until the response headers must have come, counted from the end of the body. */
  readonly headerTimeout?: number
  /** False where sending the same request again could do something twice (an upload session). */
  readonly resend?: boolean
  /** Set for an address that a registry chose (redirect, realm, upload location on another origin). */
  readonly chosenBy?: {readonly registry: string; readonly reach: Reach}
}

export interface TransportOptions {
  readonly trust: TrustStore
  readonly proxies: ProxyRules
  readonly userAgent: string
  /** Connections kept for one origin. */
  readonly connections?: number
  readonly connectTimeout?: number
  readonly headerTimeout?: number
}

/** Sends single requests over kept connections. Knows TLS, proxies and time limits; nothing of registries. */
export class Transport {
  readonly #options: TransportOptions
  readonly #connections: number
  readonly #agents = new Map<string, HttpAgent | HttpsAgent>()
  readonly #active = new Set<ClientRequest>()
  readonly #bulk = new Set<(error: Error) => void>()
  readonly #reach = new Map<string, Reach>()
  /** Proxy of each origin: the rules are read once, not for every request. */
  readonly #proxies = new Map<string, URL | undefined>()
  #stopped: Error | undefined
  /** Requests sent so far. */
  requests = 0

  constructor(options: TransportOptions) {
    this.#options = options
    this.#connections = options.connections ?? 40
  }

  /** How near the address behind an origin is, known after its first answer. */
  reachOf(origin: string): Reach {
    return this.#reach.get(origin) ?? 'public'
  }

  /** Ends every request in flight, and refuses new ones. */
  stop(reason: Error): void {
    this.#stopped = reason
    for (const request of this.#active) request.destroy(reason)
    for (const destroy of this.#bulk) destroy(reason)
    this.close()
  }

  /** Closes idle connections, so that the process can end. */
  close(): void {
    for (const agent of this.#agents.values()) agent.destroy()
    this.#agents.clear()
  }

  /**
   * Sends one request and resolves with the response as soon as its headers are there. The caller reads or destroys the body.
   * @throws NetworkFault for what another try may mend; SrcipError for certificates, refused addresses and unknown hosts
   */
  async send(request: TransportRequest): Promise<IncomingMessage> {
    for (let stale = 0; ; stale++) {
      try {
        return await this.#attempt(request)
      } catch (error) {
        // A kept connection that the server closed meanwhile: nothing was answered, so the same request is safe to send again.
        // Each of them costs the pool one connection, and a new one is never stale.
        const again = error instanceof NetworkFault && error.code === 'STALE' && stale < this.#connections
        if (!again) throw error
      }
    }
  }

  /**
   * Reads a large body on a plain connection of its own.
   * @returns false where that is not possible or the answer is not the plain one; nothing has reached the sink then
   */
  async readBulk(request: Omit<BulkRequest, 'connectTimeout' | 'onOpen'>, sink: BulkSink): Promise<boolean> {
    if (request.url.protocol !== 'http:' || this.#proxyFor(request.url) !== undefined) return false
    if (this.#stopped !== undefined) throw this.#stopped
    this.requests++
    let ending: ((error: Error) => void) | undefined
    const onOpen = (destroy: (error: Error) => void): void => {
      ending = destroy
      this.#bulk.add(destroy)
    }
    const headers = {'User-Agent': this.#options.userAgent, ...request.headers}
    try {
      return await readBulk({...request, headers, connectTimeout: this.#options.connectTimeout ?? 10_000, onOpen}, sink)
    } finally {
      if (ending !== undefined) this.#bulk.delete(ending)
    }
  }

  #proxyFor(url: URL): URL | undefined {
    const {origin} = url
    if (!this.#proxies.has(origin)) this.#proxies.set(origin, this.#options.proxies.proxyFor(url))
    return this.#proxies.get(origin)
  }

  async #attempt(request: TransportRequest): Promise<IncomingMessage> {
    if (this.#stopped !== undefined) throw this.#stopped
    const {url, chosenBy} = request
    if (chosenBy !== undefined) refuseLiteral(chosenBy.reach, chosenBy.registry, url.hostname)
    const proxy = this.#proxyFor(url)
    const secure = url.protocol === 'https:'
    const plainProxy = proxy !== undefined && !secure ? proxy : undefined
    const headers: Record<string, string> = {'user-agent': this.#options.userAgent, ...request.headers}
    if (request.body !== undefined) headers['content-length'] = String(request.body.length)
    const hostname = url.hostname.replace(/^\[|\]$/g, '')
    const options: RequestOptions = {
      method: request.method,
      hostname: plainProxy?.hostname ?? hostname,
      port: plainProxy?.port || url.port || undefined,
      path: plainProxy === undefined ? url.pathname + url.search : url.href,
      headers,
      agent: this.#agent(url, proxy, chosenBy),
      maxHeaderSize: limits.headers,
    }
    if (plainProxy !== undefined) {
      headers['host'] = url.host
      if (plainProxy.username !== '') headers['proxy-authorization'] = basicOf(plainProxy)
    }
    this.requests++
    const client =
      (plainProxy?.protocol ?? url.protocol) === 'https:' ? https().request(options) : http.request(options)
    this.#active.add(client)
    try {
      const response = await this.#exchange(client, request)
      if (!this.#reach.has(url.origin)) {
        const address = response.socket?.remoteAddress
        this.#reach.set(
          url.origin,
          proxy !== undefined ? 'private' : address === undefined ? 'public' : reachOf(address),
        )
      }
      return response
    } catch (error) {
      client.destroy()
      throw this.#stopped ?? this.#explain(error, request, client)
    } finally {
      this.#active.delete(client)
    }
  }

  #exchange(client: ClientRequest, request: TransportRequest): Promise<IncomingMessage> {
    const {body} = request
    const connectLimit = this.#options.connectTimeout ?? 10_000
    const headerLimit = request.headerTimeout ?? this.#options.headerTimeout ?? 60_000
    return new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined
      const arm = (ms: number, code: string, text: string): void => {
        clearTimeout(timer)
        timer = setTimeout(() => reject(new NetworkFault(code, text)), ms)
      }
      const settle = (): void => clearTimeout(timer)
      client.once('response', (response) => {
        settle()
        resolve(response)
      })
      client.once('error', (error) => {
        settle()
        reject(error)
      })
      client.once('socket', (socket: Socket) => {
        if (socket.connecting) {
          arm(connectLimit, 'ETIMEDOUT', `no connection within ${connectLimit / 1000} s`)
          socket.once('connect', () => (body instanceof Buffer || body === undefined ? armHeaders() : settle()))
        } else if (body instanceof Buffer || body === undefined) armHeaders()
      })
      const armHeaders = (): void => arm(headerLimit, 'ETIMEDOUT', `no answer within ${headerLimit / 1000} s`)
      if (body === undefined || body instanceof Buffer) client.end(body)
      else {
        Promise.resolve((body as StreamBody).write(client as Writable)).then(
          () => {
            client.end()
            armHeaders()
          },
          (error: unknown) => {
            settle()
            reject(error)
          },
        )
      }
    })
  }

  #agent(url: URL, proxy: URL | undefined, chosenBy: TransportRequest['chosenBy']): HttpAgent | HttpsAgent {
    const key = `${url.protocol === 'https:' ? url.origin : (proxy?.origin ?? url.origin)} ${proxy?.href ?? ''} ${chosenBy === undefined ? '' : `${chosenBy.registry} ${chosenBy.reach}`}`
    const known = this.#agents.get(key)
    if (known !== undefined) return known
    const pool = {keepAlive: true, maxSockets: this.#connections, scheduling: 'lifo' as const}
    const lookup =
      chosenBy === undefined || proxy !== undefined ? undefined : guardedLookup(chosenBy.reach, chosenBy.registry)
    const secure = url.protocol === 'https:'
    const {trust} = this.#options
    let agent: HttpAgent | HttpsAgent
    if (!secure) {
      agent =
        proxy?.protocol === 'https:'
          ? new (https().Agent)({...pool, secureContext: trust.contextFor(proxy.host)})
          : new http.Agent({...pool, ...(lookup === undefined ? {} : {lookup})})
    } else {
      const tlsOptions = {secureContext: trust.contextFor(url.host), rejectUnauthorized: !trust.isInsecure(url.host)}
      agent = new (https().Agent)({...pool, ...tlsOptions, ...(lookup === undefined ? {} : {lookup})})
      if (proxy !== undefined) openTunnel(agent as HttpsAgent, proxy, url, tlsOptions, trust)
    }
    this.#agents.set(key, agent)
    return agent
  }

  #explain(error: unknown, request: TransportRequest, client: ClientRequest): unknown {
    if (error instanceof SrcipError || error instanceof NetworkFault) return error
    const {code, message} = error as NodeJS.ErrnoException
    const host = request.url.host
    if (code === undefined || error instanceof TypeError) return error
    if (
      client.reusedSocket &&
      (code === 'ECONNRESET' || code === 'EPIPE') &&
      request.resend !== false &&
      (request.body === undefined || Buffer.isBuffer(request.body))
    ) {
      return new NetworkFault('STALE', `${host} closed a kept connection`, error)
    }
    if (code === 'ENOTFOUND') {
      return new SrcipError('Unreachable', `${host}: no such host in DNS`, {
        hints: ['check the name, and HTTPS_PROXY if names are resolved by a proxy'],
        cause: error,
      })
    }
    if (/wrong.version.number|packet.length.too.long|http.request|EPROTO/i.test(`${code} ${message}`)) {
      return new SrcipError('Unreachable', `${host} does not speak TLS`, {
        hints: [`if it is meant to serve plain http: --plain-http ${host}`],
        cause: error,
      })
    }
    if (isCertificateFault(code)) {
      return new SrcipError('Unreachable', `${host}: its certificate is not trusted: ${cleanText(message)} (${code})`, {
        hints: ['pass the authority with --ca-file FILE'],
        cause: error,
      })
    }
    return new NetworkFault(code, `${host}: ${cleanText(message)}`, error)
  }
}

function isCertificateFault(code: string): boolean {
  return /^(CERT_|ERR_TLS_CERT|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|HOSTNAME_MISMATCH|INVALID_CA|ERR_SSL_.*CERT)/.test(
    code,
  )
}

/** Milliseconds that a body held in memory (8 MiB at most) may take. */
const bodyTimeout = 120_000

/**
 * Reads a whole body of at most `limit` bytes.
 * @throws NetworkFault when it ends early; SrcipError Precondition when it is longer
 */
export function readBody(response: IncomingMessage, limit: number, what: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const announced = Number(response.headers['content-length'] ?? 0)
    if (announced > limit) {
      response.destroy()
      reject(new SrcipError('Precondition', `${what}: announces ${announced} bytes, the limit is ${limit}`))
      return
    }
    const chunks: Buffer[] = []
    let length = 0
    const timer = setTimeout(() => {
      response.destroy()
      reject(new NetworkFault('STALL', `${what}: the answer did not end within ${bodyTimeout / 1000} s`))
    }, bodyTimeout)
    response.on('data', (chunk: Buffer) => {
      length += chunk.length
      if (length > limit) {
        response.destroy()
        reject(new SrcipError('Precondition', `${what}: more than the limit of ${limit} bytes`))
        return
      }
      chunks.push(chunk)
    })
    response.once('end', () => {
      clearTimeout(timer)
      if (response.complete) resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, length))
      else reject(new NetworkFault('ECONNRESET', `${what}: the answer ended early`))
    })
    response.once('error', (error) => reject(new NetworkFault('ECONNRESET', `${what}: the answer ended early`, error)))
    response.once('close', () => {
      clearTimeout(timer)
      if (!response.complete) reject(new NetworkFault('ECONNRESET', `${what}: the answer ended early`))
    })
  })
}
