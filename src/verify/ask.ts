import {request as httpRequest, type IncomingMessage} from 'node:http'
import {connect as connectTcp} from 'node:net'
import type {Duplex} from 'node:stream'
import {connect as connectTls, type TLSSocket} from 'node:tls'

/** One HTTP question on a connection of its own. */
export interface Question {
  readonly secure: boolean
  /** Name in Host and SNI. */
  readonly host: string
  readonly port: number
  /** Path and query. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  /** Bytes before everything else, TLS included: a forged PROXY header. */
  readonly prefix?: Uint8Array
}

/** How every question is asked. */
export interface AskOptions {
  /** PEM of authorities to trust instead of the system's. */
  readonly ca?: string | undefined
  readonly insecure?: boolean | undefined
  /** Milliseconds for connection, handshake and answer together. */
  readonly timeout: number
  readonly signal?: AbortSignal | undefined
}

/** What came back: an HTTP answer, or in a few words why there was none. */
export type Reply =
  | {
      readonly kind: 'answer'
      readonly status: number
      readonly headers: Readonly<Record<string, string>>
      readonly body: string
    }
  | {readonly kind: 'failure'; readonly stage: 'connect' | 'tls' | 'http'; readonly reason: string}

/** Bytes of an answer that are read; an echo needs far fewer. */
const bodyLimit = 64 * 1024

/** Opens a TCP connection to `address` and asks on it. Never rejects, except with the signal's reason. */
export async function askAddress(address: string, question: Question, options: AskOptions): Promise<Reply> {
  return ask((signal) => connected(address, question.port, signal), question, options)
}

/** Asks on a connection that somebody else opens, such as a port-forward; `open` gets a signal that ends with the time limit. Never rejects, except with the signal's reason. */
export async function ask(
  open: (signal: AbortSignal) => Promise<Duplex>,
  question: Question,
  options: AskOptions,
): Promise<Reply> {
  let stage: 'connect' | 'tls' | 'http' = 'connect'
  let stream: Duplex | undefined
  const limit = AbortSignal.timeout(options.timeout)
  try {
    const opening = open(options.signal === undefined ? limit : AbortSignal.any([limit, options.signal]))
    // One that opens too late would keep the process alive.
    opening.then(
      (late) => limit.aborted && late.destroy(),
      () => undefined,
    )
    const plain = await within(opening, limit)
    stream = plain
    plain.on('error', () => undefined)
    if (question.prefix !== undefined) plain.write(question.prefix)
    if (question.secure) {
      stage = 'tls'
      stream = await within(secured(plain, question, options), limit)
    }
    stage = 'http'
    return await within(exchange(stream, question), limit)
  } catch (error) {
    options.signal?.throwIfAborted()
    return {kind: 'failure', stage, reason: limit.aborted ? `no answer within ${options.timeout} ms` : reasonOf(error)}
  } finally {
    stream?.destroy()
  }
}

function connected(address: string, port: number, signal: AbortSignal): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const socket = connectTcp({host: address, port})
    const stop = (): void => void socket.destroy(new Error('too slow'))
    signal.addEventListener('abort', stop, {once: true})
    socket.once('error', reject)
    socket.once('connect', () => resolve(socket))
    socket.once('close', () => signal.removeEventListener('abort', stop))
  })
}

function secured(socket: Duplex, {host}: Question, {ca, insecure}: AskOptions): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const secure = connectTls({
      socket,
      ...(/^[\d.]+$|:/.test(host) ? {host} : {servername: host}),
      ALPNProtocols: ['http/1.1'],
      rejectUnauthorized: insecure !== true,
      ...(ca === undefined ? {} : {ca}),
    })
    secure.once('secureConnect', () => resolve(secure))
    secure.once('error', reject)
    secure.once('close', () => reject(new Error('closed during the TLS handshake')))
  })
}

function exchange(stream: Duplex, {host, port, path, headers, secure}: Question): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const named = host.includes(':') ? `[${host}]` : host
    const request = httpRequest(
      {
        createConnection: () => stream,
        path,
        headers: {
          host: port === (secure ? 443 : 80) ? named : `${named}:${port}`,
          'user-agent': 'kubectl-srcip',
          accept: 'application/json, text/plain, */*',
          connection: 'close',
          ...headers,
        },
      },
      (response) => read(response).then((body) => resolve(replyOf(response, body)), reject),
    )
    request.once('error', reject)
    request.end()
  })
}

async function read(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    size += chunk.length
    if (size >= bodyLimit) break
  }
  return Buffer.concat(chunks).subarray(0, bodyLimit).toString('utf8')
}

function replyOf(response: IncomingMessage, body: string): Reply {
  const headers = Object.entries(response.headers).map(([name, value]) => [name, String(value)] as const)
  return {kind: 'answer', status: response.statusCode ?? 0, headers: Object.fromEntries(headers), body}
}

function within<T>(work: Promise<T>, limit: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(new Error('too slow'))
    limit.addEventListener('abort', stop, {once: true})
    work.then(resolve, reject).finally(() => limit.removeEventListener('abort', stop))
  })
}

function reasonOf(error: unknown): string {
  const {code, message} = error as {code?: string; message?: string}
  if (code === 'ECONNREFUSED') return 'connection refused'
  if (code === 'ECONNRESET' || message === 'socket hang up') return 'connection cut without an answer'
  return message ?? String(error)
}
