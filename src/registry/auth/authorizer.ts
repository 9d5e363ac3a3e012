import {SrcipError} from '../../model/errors.ts'
import {refusedBy, RegistryError} from '../errors.ts'
import {isRetryStatus} from '../http/retry.ts'
import {readBody, type Transport} from '../http/transport.ts'
import {limits} from '../limits.ts'
import {redactUrl} from '../text.ts'
import {type Challenge, joinScopes, readChallenges, splitScopes} from './challenge.ts'
import type {Credential, CredentialSource} from './credential-files.ts'

interface Token {
  readonly value: string
  /** Milliseconds of our own clock after which it is renewed. */
  readonly renewAt: number
}

export interface AuthorizerOptions {
  readonly host: string
  /** Origin of the registry's API. */
  readonly origin: string
  readonly transport: Transport
  readonly credentials: CredentialSource
  readonly now: () => number
  readonly warn: (message: string) => void
}

/** What one request needs: the repository whose login is used, and the scopes for a token. */
export interface Need {
  readonly repository: string
  readonly scopes: readonly string[]
  /** May a refused stored login be followed by a try without any? True for reading a source only. */
  readonly anonymousRetry: boolean
}

/** What has been tried for one request already. */
export interface Round {
  freshToken: boolean
  /** The login (its place) that the refused header was made with. */
  login?: string
}

/**
 * Answers the challenges of one registry: Bearer tokens by scope, Basic by repository.
 * A login is sent to the registry's own origin, and to the token realm that it names when that realm is https (or the registry itself is plain http).
 */
export class Authorizer {
  readonly #options: AuthorizerOptions
  readonly #tokens = new Map<string, Promise<Token>>()
  readonly #chosen = new Map<string, Credential | null>()
  #challenge: Challenge | undefined

  constructor(options: AuthorizerOptions) {
    this.#options = options
  }

  /** The header for a request, or undefined while the registry has not asked for any. */
  async header(need: Need): Promise<string | undefined> {
    const challenge = this.#challenge
    if (challenge === undefined) return undefined
    if (challenge.scheme === 'basic') {
      const credential = await this.#credential(need.repository)
      return credential === undefined ? undefined : basic(credential)
    }
    await this.#credential(need.repository)
    const used = this.#credentialKey(need.repository)
    try {
      const {value} = await this.#token(need, challenge)
      return `Bearer ${value}`
    } catch (error) {
      // The realm refuses the login itself, and with it what anybody may read.
      const refused = error instanceof RegistryError && (error.status === 401 || error.status === 403)
      if (!refused || used === '' || !(await this.#nextCredential(need, used))) throw error
      return this.header(need)
    }
  }

  /**
   * Takes in a 401 (or a 403 of a registry that answers so to a stale login).
   * @param sent the header that was refused
   * @returns whether another try makes sense: a challenge not answered yet, a fresh token, the next login, or none at all
   */
  async refused(
    need: Need,
    header: string | undefined,
    sent: string | undefined,
    status: number,
    round: Round,
  ): Promise<boolean> {
    const challenges = readChallenges(header)
    const challenge =
      challenges.find(({scheme, parameters}) => scheme === 'bearer' && parameters['realm'] !== undefined) ??
      challenges.find(({scheme}) => scheme === 'basic')
    if (status === 401 && challenge === undefined) {
      const schemes = challenges.map(({scheme}) => scheme).join(', ')
      throw new SrcipError(
        'Denied',
        `${this.#options.host} asks for ${schemes === '' ? 'a login without saying how' : `authentication by ${schemes}, which is not supported`}`,
      )
    }
    const first = this.#challenge === undefined
    if (challenge !== undefined) this.#challenge = challenge
    if (status === 401 && sent === undefined)
      return first || (await this.#credential(need.repository)) !== undefined || challenge?.scheme === 'bearer'
    if (status === 401 && sent?.startsWith('Bearer ') === true && !round.freshToken) {
      // Expired, or of too narrow a scope: one fresh token, for what the registry asks for now.
      round.freshToken = true
      this.#tokens.delete(tokenKey(need, this.#credentialKey(need.repository)))
      return true
    }
    return this.#nextCredential(need, round.login ?? '')
  }

  /** Which login is used for a repository: for messages. */
  async describe(repository: string): Promise<string> {
    const credential = await this.#credential(repository)
    return credential === undefined ? 'no login was found for it' : `the login of ${credential.from} was refused`
  }

  /** Moves on from the login that was used; another request may have done so already. */
  async #nextCredential(need: Need, used: string): Promise<boolean> {
    if (this.#credentialKey(need.repository) !== used) return true
    const current = this.#chosen.get(need.repository)
    if (current === undefined || current === null) return false
    const all = await this.#options.credentials.candidates(this.#options.host, need.repository)
    const at = all.findIndex((entry) => entry.from === current.from)
    const next = all[at + 1]
    if (next !== undefined) {
      this.#chosen.set(need.repository, next)
      return true
    }
    if (!need.anonymousRetry) return false
    this.#chosen.set(need.repository, null)
    this.#options.warn(`${this.#options.host} refused the login of ${current.from}; trying without a login`)
    return true
  }

  /** Which login is in use for a repository: its place, or nothing. */
  loginOf(repository: string): string {
    return this.#credentialKey(repository)
  }

  #credentialKey(repository: string): string {
    return this.#chosen.get(repository)?.from ?? ''
  }

  async #credential(repository: string): Promise<Credential | undefined> {
    const known = this.#chosen.get(repository)
    if (known !== undefined) return known ?? undefined
    const [first] = await this.#options.credentials.candidates(this.#options.host, repository)
    this.#chosen.set(repository, first ?? null)
    return first
  }

  async #token(need: Need, challenge: Challenge): Promise<Token> {
    const credential = await this.#credential(need.repository)
    const key = tokenKey(need, this.#credentialKey(need.repository))
    const held = this.#tokens.get(key)
    if (held !== undefined) {
      const token = await held
      if (token.renewAt > this.#options.now()) return token
      if (this.#tokens.get(key) !== held) return this.#token(need, challenge)
    }
    const asked = splitScopes(challenge.parameters['scope']).filter((scope) =>
      scope.startsWith(`repository:${need.repository}:`),
    )
    const fetching = this.#fetchToken(challenge, joinScopes([...need.scopes, ...asked]), credential)
    this.#tokens.set(key, fetching)
    fetching.catch(() => this.#tokens.delete(key))
    return fetching
  }

  async #fetchToken(
    challenge: Challenge,
    scopes: readonly string[],
    credential: Credential | undefined,
  ): Promise<Token> {
    const {host, origin, transport, now} = this.#options
    const realm = this.#realm(challenge)
    const service = challenge.parameters['service']
    const started = now()
    const chosenBy = realm.origin === origin ? undefined : {registry: host, reach: transport.reachOf(origin)}
    const base = chosenBy === undefined ? {} : {chosenBy}
    const byGet = (): Promise<{status: number; text: string}> => {
      const url = new URL(realm)
      if (service !== undefined) url.searchParams.set('service', service)
      for (const scope of scopes) url.searchParams.append('scope', scope)
      if (credential !== undefined && credential.username !== '') url.searchParams.set('account', credential.username)
      const headers: Record<string, string> =
        credential === undefined || credential.password === '' ? {} : {authorization: basic(credential)}
      return this.#ask({method: 'GET', url, headers, ...base})
    }
    const byPost = (refreshToken: string): Promise<{status: number; text: string}> => {
      const form = new URLSearchParams({
        grant_type: 'refresh_token',
        client_id: 'kubectl-srcip',
        refresh_token: refreshToken,
      })
      if (service !== undefined) form.set('service', service)
      if (scopes.length > 0) form.set('scope', scopes.join(' '))
      return this.#ask({
        method: 'POST',
        url: realm,
        headers: {'content-type': 'application/x-www-form-urlencoded'},
        body: Buffer.from(form.toString()),
        ...base,
      })
    }
    let answer = credential?.identityToken === undefined ? await byGet() : await byPost(credential.identityToken)
    if (credential?.identityToken !== undefined && (answer.status === 404 || answer.status === 405))
      answer = await byGet()
    if (answer.status !== 200) {
      const hint =
        credential === undefined
          ? [`log in: docker login ${host}, or pass --authfile`]
          : [`check the login of ${credential.from}`]
      throw refusedBy(realm.host, `token for ${host}`, answer.status, answer.text, hint)
    }
    return readToken(answer.text, realm, started)
  }

  async #ask(request: Parameters<Transport['send']>[0]): Promise<{status: number; text: string}> {
    for (let attempt = 0; ; attempt++) {
      const response = await this.#options.transport.send(request)
      const body = await readBody(response, limits.token, `token of ${redactUrl(request.url)}`)
      const status = response.statusCode ?? 0
      if (attempt < 2 && isRetryStatus(status)) {
        await new Promise((resolve) => setTimeout(resolve, 200 * (attempt + 1)))
        continue
      }
      return {status, text: body.toString('utf8')}
    }
  }

  /** The realm receives the login, so it must be as well protected as the registry itself. */
  #realm(challenge: Challenge): URL {
    const {host, origin} = this.#options
    let realm: URL
    try {
      realm = new URL(challenge.parameters['realm'] ?? '', origin)
    } catch {
      throw new SrcipError('Denied', `${host} names no usable token realm`)
    }
    if (realm.protocol !== 'https:' && !(realm.protocol === 'http:' && origin.startsWith('http:'))) {
      throw new SrcipError('Denied', `${host} wants the login sent to ${redactUrl(realm)}, which is not https: refused`)
    }
    return realm
  }
}

function basic(credential: Credential): string {
  return `Basic ${Buffer.from(`${credential.username}:${credential.password}`).toString('base64')}`
}

function tokenKey(need: Need, from: string): string {
  return `${from} ${need.scopes.join(' ')}`
}

/** `token` or `access_token`; the life is counted from our own request, not from the server's clock. */
function readToken(text: string, realm: URL, started: number): Token {
  let answer: {token?: unknown; access_token?: unknown; expires_in?: unknown}
  try {
    answer = JSON.parse(text) as typeof answer
  } catch {
    throw new SrcipError('Denied', `${redactUrl(realm)} did not answer with JSON`)
  }
  const value = typeof answer.token === 'string' && answer.token !== '' ? answer.token : answer.access_token
  if (typeof value !== 'string' || value === '' || /[\r\n]/.test(value))
    throw new SrcipError('Denied', `${redactUrl(realm)} gave no token`)
  const seconds = typeof answer.expires_in === 'number' && answer.expires_in >= 60 ? answer.expires_in : 60
  return {value, renewAt: started + Math.min(seconds * 800, (seconds - 30) * 1000)}
}
