import {request as httpRequest} from 'node:http'
import type {ClientRequest, IncomingMessage, RequestOptions} from 'node:http'
import {request as httpsRequest} from 'node:https'
import type {ClusterAgent} from './agents.ts'
import {bareHost} from './no-proxy.ts'
import {proxyAuthorization} from './dial.ts'

/** One HTTP request as it goes out. */
export interface WireRequest {
  readonly method: string
  /** With query, already escaped. */
  readonly path: string
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body: string | Buffer | undefined
  readonly signal: AbortSignal
}

/** Thrown when no answer came; `reused` tells that an idle connection had just been closed by the other side. */
export class ExchangeError extends Error {
  readonly reused: boolean

  constructor(cause: unknown, reused: boolean) {
    super('no answer', {cause})
    this.reused = reused
  }
}

/** Sends one request and resolves with the head of the answer, whatever its status. */
export async function exchange(
  server: URL,
  agent: ClusterAgent,
  forward: URL | undefined,
  wire: WireRequest,
): Promise<IncomingMessage> {
  return await new Promise<IncomingMessage>((resolve, reject) => {
    const send = server.protocol === 'https:' ? httpsRequest : httpRequest
    const request: ClientRequest = send(requestOptions(server, agent, forward, wire), resolve)
    request.once('error', (error: NodeJS.ErrnoException) => {
      const gone = error.code === 'ECONNRESET' || error.code === 'EPIPE'
      reject(new ExchangeError(error, gone && request.reusedSocket))
    })
    request.end(wire.body)
  })
}

function requestOptions(server: URL, agent: ClusterAgent, forward: URL | undefined, wire: WireRequest): RequestOptions {
  const base = {method: wire.method, agent, signal: wire.signal}
  const headers = Object.fromEntries(
    Object.entries(wire.headers).map(([name, value]) => [name, typeof value === 'string' ? value : [...value]]),
  )
  if (forward === undefined) {
    return {...base, headers, host: bareHost(server.hostname), port: portOf(server), path: wire.path}
  }
  // A plain http server behind a plain proxy: the proxy is told the whole URL (RFC 9112, 3.2.2).
  const authorization = proxyAuthorization(forward)
  return {
    ...base,
    headers: {
      ...headers,
      host: server.host,
      ...(authorization === undefined ? {} : {'proxy-authorization': authorization}),
    },
    host: bareHost(forward.hostname),
    port: portOf(forward),
    path: `${server.origin}${wire.path}`,
  }
}

function portOf(url: URL): number {
  return url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port)
}
