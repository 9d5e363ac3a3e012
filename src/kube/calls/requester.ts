import type {IncomingMessage} from 'node:http'
import type {Readable} from 'node:stream'
import {sleep} from '../clock.ts'
import type {Clock} from '../clock.ts'
import {createCredentials} from '../credentials/credentials.ts'
import type {Credential, Credentials} from '../credentials/types.ts'
import {KubeFailure} from '../failures/failure.ts'
import {abortedFailure, deadlineFailure, networkFailure} from '../failures/from-network.ts'
import type {CallPlace} from '../failures/from-network.ts'
import {readStatus, retryAfterMs, statusFailure} from '../failures/from-status.ts'
import {ExchangeError} from '../transport/exchange.ts'
import {Transport} from '../transport/transport.ts'
import type {ClientOptions, ClusterConfig, RawRequest, RawResponse} from '../types.ts'
import {SrcipError} from '../../model/errors.ts'
import {decoded, readBody} from './body.ts'
import {Bucket} from './bucket.ts'
import {queryText} from './paths.ts'
import {openScope} from './scope.ts'
import type {CallScope} from './scope.ts'
import {warningTexts} from './warnings.ts'

const unaryMs = 15_000
const defaultMaxBytes = 64 * 1024 * 1024
const maxErrorBody = 1024 * 1024
/** client-go's number of tries where the server says when to come back. */
const maxTries = 10

/** What the typed calls add to a raw request. */
export interface InnerRequest extends RawRequest {
  /** A second try cannot do harm: a GET, or a write with a precondition. Default: GET only. */
  readonly repeatable?: boolean
  /** Ask for a compressed answer, where that is worth it (lists). */
  readonly compress?: boolean
  readonly defaultTimeoutMs?: number
  /** Not counted by the request rate limit (watches). */
  readonly uncounted?: boolean
}

/** Sends requests with credentials, time limits and retries; every failure leaves as a KubeFailure. */
export class Requester {
  readonly config: ClusterConfig
  readonly clock: Clock
  readonly transport: Transport
  readonly #options: ClientOptions
  readonly #bucket: Bucket | undefined
  readonly #closed = new AbortController()
  readonly #warned = new Set<string>()
  #credentials: Promise<Credentials> | undefined

  constructor(config: ClusterConfig, options: ClientOptions, clock: Clock) {
    this.config = config
    this.clock = clock
    this.#options = options
    const {rate} = options
    this.#bucket = rate === 'unlimited' ? undefined : new Bucket(rate?.perSecond ?? 20, rate?.burst ?? 30, clock)
    this.transport = new Transport({config, env: options.env ?? process.env, clock, log: options.log})
  }

  get userAgent(): string {
    return this.#options.userAgent ?? `kubectl-srcip (${process.platform}/${process.arch})`
  }

  /** One whole answer. */
  async request(request: InnerRequest): Promise<RawResponse> {
    const place = this.#place(request)
    const scope = this.#scope(request)
    try {
      const response = await this.#perform(request, scope, place)
      const body = await readBody(response, request.maxBytes ?? defaultMaxBytes, place)
      return {status: response.statusCode ?? 0, headers: response.headers, body}
    } catch (error) {
      throw this.#normal(error, scope, place, request)
    } finally {
      scope.dispose()
    }
  }

  /** The head now, the body as it comes. The time limit covers the head only. */
  async stream(request: InnerRequest & {readonly headersTimeoutMs?: number | undefined}): Promise<Readable> {
    const place = this.#place(request)
    const timed = {...request, timeoutMs: request.headersTimeoutMs ?? request.timeoutMs}
    const scope = this.#scope(timed)
    try {
      const response = await this.#perform(timed, scope, place)
      scope.lift()
      const body = decoded(response)
      body.once('close', () => scope.dispose())
      return body
    } catch (error) {
      scope.dispose()
      throw this.#normal(error, scope, place, timed)
    }
  }

  /** For connections that are not ordinary requests (WebSockets). */
  async credential(signal: AbortSignal | undefined): Promise<Credential> {
    this.#credentials ??= this.#createCredentials()
    return await (await this.#credentials).current(signal)
  }

  async renewCredential(refused: Credential, signal: AbortSignal | undefined): Promise<boolean> {
    return (await this.#credentials)?.renew(refused, signal) ?? false
  }

  /** Headers that every request carries. */
  headers(credential: Credential): Record<string, string | readonly string[]> {
    const {user, uid, groups, extra} = this.config.impersonate
    const headers: Record<string, string | readonly string[]> = {'user-agent': this.userAgent}
    if (credential.authorization !== undefined) headers['authorization'] = credential.authorization
    if (user === undefined) return headers
    headers['impersonate-user'] = headerValue(user)
    if (uid !== undefined) headers['impersonate-uid'] = headerValue(uid)
    if (groups.length > 0) headers['impersonate-group'] = groups.map(headerValue)
    for (const [key, values] of Object.entries(extra)) {
      // client-go escapes what a header name cannot hold; the server undoes it.
      headers[`impersonate-extra-${encodeURIComponent(key)}`] = values.map(headerValue)
    }
    return headers
  }

  close(): void {
    this.#closed.abort(new Error('client closed'))
    this.transport.destroy()
  }

  get closed(): AbortSignal {
    return this.#closed.signal
  }

  #createCredentials(): Promise<Credentials> {
    const {env, log, terminal} = this.#options
    const created = createCredentials({
      config: this.config,
      env: env ?? process.env,
      clock: this.clock,
      log,
      terminal: terminal ?? {stdinIsTty: process.stdin.isTTY},
    })
    // The next call may find what this one missed.
    created.catch(() => (this.#credentials = undefined))
    return created
  }

  #place(request: InnerRequest): CallPlace {
    return {config: this.config, about: request.about ?? {verb: `${request.method ?? 'GET'} ${request.path}`}}
  }

  #limitMs(request: InnerRequest): number {
    return request.timeoutMs ?? this.config.requestTimeoutMs ?? request.defaultTimeoutMs ?? unaryMs
  }

  #scope(request: InnerRequest): CallScope {
    return openScope(this.clock, this.#limitMs(request), request.signal, this.#closed.signal)
  }

  /** Credentials, tries and waits; resolves with the head of a 2xx answer. */
  async #perform(request: InnerRequest, scope: CallScope, place: CallPlace): Promise<IncomingMessage> {
    let renewed = false
    let resent = false
    for (let tries = 1; ; tries += 1) {
      if (request.uncounted !== true) await this.#bucket?.take(scope.signal)
      const credential = await this.credential(scope.signal)
      let response: IncomingMessage
      try {
        response = await this.#send(request, scope, credential)
      } catch (error) {
        if (!(error instanceof ExchangeError)) throw error
        if (!scope.signal.aborted || scope.expired()) this.transport.dropFreeSockets()
        const repeatable = request.repeatable ?? (request.method ?? 'GET') === 'GET'
        if (error.reused && repeatable && !resent && !scope.signal.aborted) {
          resent = true
          this.#retried(request, '<error>')
          continue
        }
        throw error.cause
      }
      const status = response.statusCode ?? 0
      this.#warn(response)
      if (status >= 200 && status < 300) return response
      const failure = await this.#refusal(response, status, place)
      if (status === 401 && !renewed) {
        renewed = true
        if (await this.renewCredential(credential, scope.signal)) {
          this.#retried(request, '401')
          continue
        }
      }
      const wait = status === 429 || status >= 500 ? failure.retryAfterMs : undefined
      // A wait that the time limit does not allow is the caller's to plan: the failure tells how long.
      if (wait === undefined || tries >= maxTries || request.uncounted === true || wait >= scope.remaining())
        throw failure
      this.#retried(request, String(status))
      await sleep(this.clock, wait, scope.signal)
    }
  }

  async #send(request: InnerRequest, scope: CallScope, credential: Credential): Promise<IncomingMessage> {
    const method = request.method ?? 'GET'
    const body = typeof request.body === 'string' ? Buffer.from(request.body) : request.body
    const compress = request.compress === true && !this.config.disableCompression
    const headers = {
      ...this.headers(credential),
      accept: request.accept ?? 'application/json',
      ...(compress ? {'accept-encoding': 'gzip'} : {}),
      ...(body === undefined
        ? {}
        : {'content-type': request.contentType ?? 'application/json', 'content-length': String(body.length)}),
      ...request.headers,
    }
    const path = request.path + queryText(request.query ?? {})
    const start = this.clock.now()
    const observe = (code: string): void => {
      const seconds = (this.clock.now() - start) / 1000
      this.#options.observer?.onRequest?.({
        method,
        host: this.transport.server.host,
        verb: request.about?.verb ?? method,
        code,
        seconds,
      })
    }
    try {
      const response = await this.transport.send({method, path, headers, body, signal: scope.signal}, credential.pair)
      observe(String(response.statusCode))
      return response
    } catch (error) {
      observe('<error>')
      throw error
    }
  }

  async #refusal(response: IncomingMessage, status: number, place: CallPlace): Promise<KubeFailure> {
    // What cannot be read to its end still has a status.
    const body = await readBody(response, maxErrorBody, place).catch(() => Buffer.alloc(0))
    return statusFailure(status, readStatus(body), place, retryAfterMs(response.headers, this.clock.wall()))
  }

  #warn(response: IncomingMessage): void {
    for (const text of warningTexts(response.headers)) {
      if (this.#warned.has(text) || this.#warned.size >= 1000) continue
      this.#warned.add(text)
      this.#options.onWarning?.(text)
    }
  }

  #retried(request: InnerRequest, code: string): void {
    this.#options.observer?.onRetry?.({method: request.method ?? 'GET', host: this.transport.server.host, code})
  }

  #normal(error: unknown, scope: CallScope, place: CallPlace, request: InnerRequest): SrcipError {
    if (scope.expired() && !(error instanceof KubeFailure && error.kind === 'status')) {
      const asked = request.timeoutMs !== undefined || this.config.requestTimeoutMs !== undefined
      return deadlineFailure(place, this.#limitMs(request), asked)
    }
    if (scope.signal.aborted) return abortedFailure(place, scope.signal.reason)
    if (error instanceof SrcipError) return error
    return networkFailure(error, place)
  }
}

/** A header cannot hold what is not Latin-1, nor a line break. */
function headerValue(text: string): string {
  if (!/[^\x20-\x7e]/.test(text)) return text
  throw new SrcipError('Usage', 'the name to act as holds characters that no header can hold', {
    hints: ['check --as and --as-group'],
  })
}
