import {Agent as HttpAgent} from 'node:http'
import type {ClientRequestArgs} from 'node:http'
import {Agent as HttpsAgent} from 'node:https'
import type {RequestOptions} from 'node:https'
import type {Socket} from 'node:net'
import type {Duplex} from 'node:stream'
import type {TLSSocket} from 'node:tls'
import {dialThroughProxy} from './dial.ts'
import {bareHost} from './no-proxy.ts'
import {networkError} from './socket-reading.ts'
import type {TlsMaterial} from './tls-material.ts'

/** Milliseconds for DNS, TCP, proxy and TLS together. */
const connectMs = 10_000

/**
 * Keep-alive probes start after 15 s, so a dead peer is noticed after about 25 s (controller.md 2.4). `lifo` keeps the
 * set of busy sockets small.
 */
const pool = {keepAlive: true, keepAliveMsecs: 15_000, maxSockets: 64, scheduling: 'lifo'} as const

/** Happy eyeballs gives each address a quarter of a second by default, too little for a cluster far away. */
const dialing = {autoSelectFamily: true, autoSelectFamilyAttemptTimeout: 1500} as const

export interface AgentSettings {
  readonly server: URL
  readonly proxy: URL | undefined
  readonly tls: TlsMaterial | undefined
  readonly tlsServerName: string | undefined
  readonly insecureSkipTlsVerify: boolean
}

/** As node declares it: always a stream, also where an error makes it meaningless. */
type Created = (error: Error | null, socket: Duplex) => void

/** One pool of connections to one server as one identity. */
export type ClusterAgent = HttpAgent | HttpsAgent

/** @param tunnel also tunnel plain http through an http proxy (for WebSockets); otherwise the request itself is forwarded */
export function createAgent(settings: AgentSettings, tunnel: boolean): ClusterAgent {
  if (settings.server.protocol === 'https:') return new SecureAgent(settings)
  const viaTunnel = settings.proxy !== undefined && (tunnel || settings.proxy.protocol !== 'http:')
  return new PlainAgent(viaTunnel ? settings.proxy : undefined)
}

class SecureAgent extends HttpsAgent {
  readonly #proxy: URL | undefined
  readonly #server: URL

  constructor(settings: AgentSettings) {
    super({
      ...pool,
      ...dialing,
      ...(settings.tls === undefined ? {} : {secureContext: settings.tls.context}),
      ...(settings.tlsServerName === undefined ? {} : {servername: settings.tlsServerName}),
      rejectUnauthorized: !settings.insecureSkipTlsVerify,
    })
    this.#proxy = settings.proxy
    this.#server = settings.server
  }

  override createConnection(options: RequestOptions, callback?: Created): Duplex | null | undefined {
    const limit = AbortSignal.timeout(connectMs)
    if (this.#proxy === undefined) {
      const socket = super.createConnection(options, callback) as TLSSocket
      limitConnect(socket, 'secureConnect', limit)
      return socket
    }
    const port = this.#server.port === '' ? 443 : Number(this.#server.port)
    dialThroughProxy(this.#proxy, {host: bareHost(this.#server.hostname), port}, limit).then(
      (tunnel) => {
        const secured = super.createConnection({...options, socket: tunnel} as RequestOptions) as TLSSocket
        limitConnect(secured, 'secureConnect', limit)
        callback?.(null, secured)
      },
      (error: unknown) => callback?.(connectError(error), noSocket),
    )
    return undefined
  }
}

class PlainAgent extends HttpAgent {
  readonly #proxy: URL | undefined

  constructor(proxy: URL | undefined) {
    super({...pool, ...dialing})
    this.#proxy = proxy
  }

  override createConnection(options: ClientRequestArgs, callback?: Created): Duplex | null | undefined {
    const limit = AbortSignal.timeout(connectMs)
    if (this.#proxy === undefined) {
      const socket = super.createConnection(options, callback) as Socket
      limitConnect(socket, 'connect', limit)
      return socket
    }
    const target = {host: bareHost(options.host ?? ''), port: Number(options.port ?? 80)}
    dialThroughProxy(this.#proxy, target, limit).then(
      (tunnel) => callback?.(null, tunnel),
      (error: unknown) => callback?.(connectError(error), noSocket),
    )
    return undefined
  }
}

const noSocket = undefined as unknown as Duplex

function limitConnect(socket: Socket, event: string, limit: AbortSignal): void {
  const expire = (): void => void socket.destroy(timedOut())
  const stop = (): void => limit.removeEventListener('abort', expire)
  limit.addEventListener('abort', expire, {once: true})
  socket.once(event, stop)
  socket.once('close', stop)
}

function timedOut(): Error {
  return networkError('ETIMEDOUT', `no connection within ${connectMs / 1000} s`)
}

function connectError(error: unknown): Error {
  return (error as Error).name === 'TimeoutError' ? timedOut() : (error as Error)
}

/** Closes what is idle and lets what is busy end with its request: a pool whose identity has been replaced. */
export function drain(agent: ClusterAgent): void {
  agent.maxFreeSockets = 0
  dropFreeSockets(agent)
}

/** After one connection was found dead the idle ones of the pool most likely share its fate. */
export function dropFreeSockets(agent: ClusterAgent): void {
  for (const sockets of Object.values(agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy()
}
