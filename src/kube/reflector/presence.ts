import {KubeFailure} from '../failures/failure.ts'
import type {Clock} from '../clock.ts'
import type {KubeClient, Resource} from '../types.ts'

/** Discovery must say twice, this far apart, that a kind is gone: an API server that starts up forgets CRDs for a moment. */
export const confirmMs = 30_000

/** What discovery knows of a kind whose collection answered 404. */
export type Presence =
  | {readonly is: 'served'; readonly resource: Resource}
  /** Absent so far; ask again after this long. */
  | {readonly is: 'doubtful'; readonly askAgainMs: number}
  | {readonly is: 'absent'}
  /** Discovery failed or was incomplete: proves nothing. */
  | {readonly is: 'unknown'; readonly failure: KubeFailure | undefined}

/** Finds out whether a kind is served at all, and in which of the versions we understand. */
export class PresenceCheck {
  readonly #client: KubeClient
  readonly #clock: Clock
  readonly #resource: Resource
  readonly #versions: readonly string[]
  readonly #once: boolean
  #absentSince: number | undefined

  /** @param once there is no time for a second look: a server that calls itself ready is believed at once */
  constructor(client: KubeClient, clock: Clock, resource: Resource, versions: readonly string[], once: boolean) {
    this.#once = once
    this.#client = client
    this.#clock = clock
    this.#resource = resource
    this.#versions = versions
  }

  async ask(signal: AbortSignal): Promise<Presence> {
    const {group, plural} = this.#resource
    let found: Resource | undefined
    let incomplete: readonly string[]
    // First: what is discovered after that is complete.
    const ready = this.#once && (await this.#isReady(signal))
    try {
      const discovery = await this.#client.discover({signal, ...(ready ? {maxAgeMs: 0} : {})})
      found = discovery.find(group, plural, this.#versions)
      incomplete = discovery.incomplete
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof KubeFailure)) throw error
      return {is: 'unknown', failure: error}
    }
    if (found !== undefined) {
      this.#absentSince = undefined
      return {is: 'served', resource: found}
    }
    if (incomplete.some((groupVersion) => groupVersion.startsWith(`${group}/`)))
      return {is: 'unknown', failure: undefined}
    if (ready) return {is: 'absent'}
    this.#absentSince ??= this.#clock.now()
    const age = this.#clock.now() - this.#absentSince
    return age >= confirmMs ? {is: 'absent'} : {is: 'doubtful', askAgainMs: confirmMs - age}
  }

  /**
   * Whether the API server calls itself ready, which it does only once its CRDs are read and registered (kube-apiserver's post-start
   * hooks crd-informer-synced and autoregister-completion). Everybody may ask (system:public-info-viewer); no answer proves nothing.
   */
  async #isReady(signal: AbortSignal): Promise<boolean> {
    try {
      const {status} = await this.#client.request({
        path: '/readyz',
        accept: '*/*',
        signal,
        about: {verb: 'get /readyz'},
      })
      return status === 200
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof KubeFailure) return false
      throw error
    }
  }

  /** The collection has answered. */
  seen(): void {
    this.#absentSince = undefined
  }
}
