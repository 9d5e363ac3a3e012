import type {IncomingHttpHeaders, IncomingMessage} from 'node:http'
import {type KnownQuota, type Quota, readQuota} from './http/quota.ts'
import {SrcipError} from '../model/errors.ts'
import {Authorizer, type Need, type Round} from './auth/authorizer.ts'
import type {CredentialSource} from './auth/credential-files.ts'
import {refusedBy} from './errors.ts'
import {Gate} from './http/gate.ts'
import {followRedirect} from './http/redirect.ts'
import {backoff, isRetryFault, isRetryStatus, readRetryAfter, type RetryPolicy, usualRetries} from './http/retry.ts'
import {NetworkFault} from './http/network-fault.ts'
import {readBody, type StreamBody, Transport, type TransportOptions, type TransportRequest} from './http/transport.ts'
import {limits} from './limits.ts'
import {apiHost} from './reference.ts'
import {cleanText} from './text.ts'

/** What a client reports while it works; all texts are safe to print. */
export type ClientEvent =
  | {readonly type: 'host.wait'; readonly host: string; readonly reason: string; readonly waitMs: number}
  | {
      readonly type: 'request.retry'
      readonly host: string
      readonly what: string
      readonly reason: string
      readonly waitMs: number
    }
  | {readonly type: 'warning'; readonly message: string}

export interface ClientOptions extends Omit<TransportOptions, 'userAgent'> {
  readonly credentials: CredentialSource
  /** Hosts (with port) that are spoken to in plain http. No other host ever is. */
  readonly plainHttp?: ReadonlySet<string>
  readonly userAgent?: string
  readonly retries?: RetryPolicy
  readonly onEvent?: (event: ClientEvent) => void
  readonly random?: () => number
  readonly now?: () => number
  /** Requests in flight towards one host. */
  readonly inFlight?: number
  /** Milliseconds without a byte after which a transfer is given up and resumed. */
  readonly stallTimeout?: number
}

/** A request to a registry's API. */
export interface Call {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Path with query below the origin, or a whole address for upload locations. */
  readonly address: string | URL
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Buffer | StreamBody
  readonly need: Need
  /** Statuses that the caller handles; every other one is an error. */
  readonly expect: readonly number[]
  /** Bytes of a body to read; `stream` hands the response over unread. */
  readonly read: number | 'stream'
  /** In words, for messages: "blob sha256:… of host/path". */
  readonly what: string
  /** Lower goes first where requests queue. */
  readonly priority?: number
  /** False where the caller itself starts over (an upload session). */
  readonly retry?: boolean
  readonly headerTimeout?: number
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  readonly stream?: IncomingMessage
  /** Address that answered, after redirects. */
  readonly url: URL
  /** When the answer came from another origin than the registry's own. */
  readonly elsewhere: boolean
}

const nothing = Buffer.alloc(0)

/** One registry as this process sees it: its origin, logins, pace, and what was learnt about it. */
export class RegistryHost {
  readonly host: string
  readonly origin: string
  readonly gate: Gate
  readonly authorizer: Authorizer
  /** Does it serve the referrers API? Unknown until asked. */
  referrersApi: boolean | undefined
  /** Upload form that works here, learnt by refusals. */
  uploadForm: 'put' | 'patch' | 'chunks' = 'put'
  /** Milliseconds that it has made us wait in all. */
  waited = 0
  /** Manifests read here, which is what Docker Hub counts. */
  manifestReads = 0
  /** What it says of its rate limit. */
  quota: Quota | undefined

  constructor(host: string, origin: string, gate: Gate, authorizer: Authorizer) {
    this.host = host
    this.origin = origin
    this.gate = gate
    this.authorizer = authorizer
  }
}

/** Speaks the OCI distribution API with any number of registries over one pool of connections. */
export class RegistryClient {
  readonly transport: Transport
  readonly #options: ClientOptions
  readonly #hosts = new Map<string, RegistryHost>()
  readonly #warned = new Set<string>()
  readonly #sleepers = new Set<() => void>()
  readonly retries: RetryPolicy
  readonly stallTimeout: number

  constructor(options: ClientOptions) {
    this.#options = options
    this.retries = options.retries ?? usualRetries
    this.stallTimeout = options.stallTimeout ?? 60_000
    this.transport = new Transport({...options, userAgent: options.userAgent ?? 'kubectl-srcip'})
  }

  /** The state of a registry by its name (`docker.io`, `host:port`). */
  host(host: string): RegistryHost {
    const known = this.#hosts.get(host)
    if (known !== undefined) return known
    const plain = this.#options.plainHttp?.has(host) === true
    const origin = new URL(`${plain ? 'http' : 'https'}://${apiHost(host)}`).origin
    const authorizer = new Authorizer({
      host,
      origin,
      transport: this.transport,
      credentials: this.#options.credentials,
      now: this.#options.now ?? Date.now,
      warn: (message) => this.warn(message),
    })
    const state = new RegistryHost(host, origin, new Gate(this.#options.inFlight ?? 32), authorizer)
    this.#hosts.set(host, state)
    return state
  }

  /** Reports a warning once, however often it occurs. */
  warn(message: string): void {
    if (this.#warned.has(message)) return
    this.#warned.add(message)
    this.#options.onEvent?.({type: 'warning', message})
  }

  /** Rate limits of the registries that tell them, with what was used of them here. */
  quotas(): KnownQuota[] {
    return [...this.#hosts.values()].flatMap(({host, quota, manifestReads}) =>
      quota === undefined ? [] : [{host, ...quota, needed: manifestReads}],
    )
  }

  /** Ends everything in flight. */
  stop(reason: Error): void {
    this.transport.stop(reason)
    for (const wake of this.#sleepers) wake()
    for (const {gate} of this.#hosts.values()) gate.stop()
  }

  /** Waits, unless everything is stopped meanwhile. */
  sleep(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer)
        this.#sleepers.delete(wake)
        resolve()
      }
      const timer = setTimeout(wake, milliseconds)
      this.#sleepers.add(wake)
    })
  }

  close(): void {
    this.transport.close()
  }

  /**
   * Sends a call, with login, redirects, pace and retries.
   * @throws RegistryError for an answer that is not in `expect`; SrcipError or NetworkFault for the rest
   */
  async call(state: RegistryHost, call: Call): Promise<Answer> {
    let refusedConnections = 0
    for (let attempt = 0; ; attempt++) {
      let reason: string
      let asked: number | undefined
      try {
        const answer = await this.#once(state, call)
        if (call.expect.includes(answer.status)) {
          state.gate.good()
          return answer
        }
        if (!isRetryStatus(answer.status)) throw await this.#refusal(state, call, answer)
        reason = `${answer.status}`
        asked = readRetryAfter(header(answer, 'retry-after'), header(answer, 'date'), (this.#options.now ?? Date.now)())
        if (answer.status === 429 || answer.status === 503) this.#slowDown(state, asked, attempt, answer.status)
        if (call.retry === false || attempt + 1 >= this.retries.attempts) throw await this.#refusal(state, call, answer)
      } catch (error) {
        if (!isRetryFault(error)) throw error
        if (error.code === 'ECONNREFUSED' && ++refusedConnections > 1) throw unreachable(call, error)
        if (call.retry === false) throw error
        if (attempt + 1 >= this.retries.attempts) throw unreachable(call, error)
        reason = error.message
      }
      const waitMs = Math.round(
        Math.max(asked ?? 0, backoff(this.retries, attempt, this.#options.random ?? Math.random)),
      )
      this.#options.onEvent?.({
        type: 'request.retry',
        host: state.host,
        what: call.what,
        reason: cleanText(reason),
        waitMs,
      })
      await this.sleep(waitMs)
    }
  }

  /** A pause for the whole host, not for one request: every other one would be refused as well. */
  #slowDown(state: RegistryHost, asked: number | undefined, attempt: number, status: number): void {
    const now = (this.#options.now ?? Date.now)()
    const waitMs = asked ?? backoff(this.retries, attempt, this.#options.random ?? Math.random)
    state.waited += waitMs
    if (waitMs > this.retries.longestAsked || state.waited > this.retries.budget) {
      const until = new Date(now + waitMs).toISOString()
      throw new SrcipError('Unreachable', `${state.host} limits the rate of requests until ${until}`, {
        hints: ['run the same command again after that: it goes on where it stopped'],
      })
    }
    this.#options.onEvent?.({type: 'host.wait', host: state.host, reason: String(status), waitMs: Math.round(waitMs)})
    state.gate.pause(waitMs, now)
  }

  async #once(state: RegistryHost, call: Call): Promise<Answer> {
    const round: Round = {freshToken: false}
    for (let refusals = 0; ; refusals++) {
      const waiting = state.gate.enter(call.priority)
      if (waiting !== undefined) await waiting
      let answer: Answer
      let sent: string | undefined
      try {
        const url = typeof call.address === 'string' ? new URL(state.origin + call.address) : call.address
        const own = url.origin === state.origin
        sent = own ? await state.authorizer.header(call.need) : undefined
        round.login = state.authorizer.loginOf(call.need.repository)
        answer = await this.#exchange(state, call, url, sent)
      } finally {
        state.gate.leave()
      }
      const {status, elsewhere} = answer
      if (elsewhere || (status !== 401 && status !== 403) || refusals >= 5) return answer
      if (status === 403 && (sent === undefined || !call.need.anonymousRetry)) return answer
      if (!(await state.authorizer.refused(call.need, header(answer, 'www-authenticate'), sent, status, round)))
        return answer
    }
  }

  async #exchange(state: RegistryHost, call: Call, url: URL, authorization: string | undefined): Promise<Answer> {
    const own = url.origin === state.origin
    const headers: Record<string, string> = {...call.headers}
    if (authorization !== undefined) headers['authorization'] = authorization
    if (call.method === 'POST' && call.body === undefined) headers['content-length'] = '0'
    const request: TransportRequest = {
      method: call.method,
      url,
      headers,
      ...(call.body === undefined ? {} : {body: call.body}),
      ...(call.headerTimeout === undefined ? {} : {headerTimeout: call.headerTimeout}),
      ...(call.retry === false ? {resend: false} : {}),
      ...(own ? {} : {chosenBy: {registry: state.host, reach: this.transport.reachOf(state.origin)}}),
    }
    const first = await this.transport.send(request)
    const {response, url: finalUrl} = await followRedirect(this.transport, state, request, first)
    const status = response.statusCode ?? 0
    if (response.headers['ratelimit-remaining'] !== undefined) state.quota = readQuota(response.headers) ?? state.quota
    this.#noteWarnings(state, response.headers['warning'])
    const wanted = call.expect.includes(status)
    const base = {status, headers: response.headers, url: finalUrl, elsewhere: finalUrl.origin !== state.origin}
    if (wanted && call.read === 'stream' && call.method !== 'HEAD') return {...base, body: nothing, stream: response}
    if (call.method === 'HEAD') {
      response.resume()
      return {...base, body: nothing}
    }
    const limit = wanted ? Math.max(call.read as number, limits.errorBody) : limits.errorBody
    return {...base, body: await this.#readAnswer(response, limit, call.what, wanted)}
  }

  async #readAnswer(response: IncomingMessage, limit: number, what: string, wanted: boolean): Promise<Buffer> {
    try {
      return await readBody(response, limit, what)
    } catch (error) {
      // The body of a refusal is only explanation: a too long or cut one does not hide the status.
      if (wanted || error instanceof NetworkFault) throw error
      return nothing
    }
  }

  #noteWarnings(state: RegistryHost, warning: string | string[] | undefined): void {
    if (warning === undefined) return
    const text = /^299 - "(.*)"$/s.exec(String(warning).slice(0, 4096))?.[1]
    if (text !== undefined) this.warn(`${state.host}: ${cleanText(text.replace(/\\(.)/g, '$1'))}`)
  }

  async #refusal(state: RegistryHost, call: Call, answer: Answer): Promise<Error> {
    const body = answer.body.toString('utf8')
    const hints: string[] = []
    if (answer.status === 401 || answer.status === 403) {
      hints.push(await state.authorizer.describe(call.need.repository))
      if (answer.status === 403) hints.push('some registries answer 403 for a repository that does not exist')
    }
    return refusedBy(state.host, call.what, answer.status, body, hints)
  }
}

function unreachable(call: Call, fault: NetworkFault): SrcipError {
  return new SrcipError('Unreachable', `${call.what}: ${fault.message}`, {
    hints: ['run the same command again: it goes on where it stopped'],
    cause: fault,
  })
}

/** One header of an answer as text. */
export function header(answer: Pick<Answer, 'headers'>, name: string): string | undefined {
  const value = answer.headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}
