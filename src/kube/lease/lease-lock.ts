import {SrcipError} from '../../model/errors.ts'
import {sleep, systemClock} from '../clock.ts'
import type {Clock} from '../clock.ts'
import {KubeFailure, hasStatus} from '../failures/failure.ts'
import {resources} from '../resources.ts'
import {fingerprint, heldBy, holderOf, newLease, released} from './record.ts'
import type {LeaseObject} from './record.ts'
import type {LeaseHolder, LeaseLock, LeaseOptions} from './types.ts'

/** client-go's figures: 15 > 10 > 2 x 1.2. */
const durationDefault = 15
const renewDeadlineDefaultMs = 10_000
const retryDefaultMs = 2000
const tryLimitMs = 5000
const releaseLimitMs = 5000
/** Wall and monotonic clocks this far apart mean that the machine slept or its clock was set. */
const clockDriftMs = 5000

/**
 * One Lease (coordination.k8s.io/v1), by the rules of client-go's leader election: nothing is compared with the times in
 * the record, only with when this process last saw the record change, so clocks may differ by any amount. The Lease does
 * not fence writes; their own preconditions do.
 */
export function createLeaseLock(options: LeaseOptions): LeaseLock {
  return new Lock(options)
}

interface Observed {
  readonly fingerprint: string
  /** Monotonic; when this record was first seen. */
  readonly at: number
  readonly durationSeconds: number
}

class Lock implements LeaseLock {
  readonly #options: LeaseOptions
  readonly #clock: Clock
  readonly #random: () => number
  readonly #durationSeconds: number
  readonly #renewDeadlineMs: number
  readonly #retryMs: number
  #lease: LeaseObject | undefined
  #observed: Observed | undefined
  #holder: LeaseHolder | undefined
  #renewedAt: number | undefined
  /** Wall minus monotonic at the last renewal. */
  #clockOffset = 0
  #term: {lost: AbortController; stop: AbortController; renewing: Promise<void>} | undefined

  constructor(options: LeaseOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#random = options.random ?? Math.random
    this.#durationSeconds = options.durationSeconds ?? durationDefault
    this.#renewDeadlineMs = options.renewDeadlineMs ?? renewDeadlineDefaultMs
    this.#retryMs = options.retryMs ?? retryDefaultMs
  }

  get held(): boolean {
    // Asked for by time and not by a flag: an event loop that was blocked has not run its timers yet.
    if (this.#term === undefined || this.#term.lost.signal.aborted || this.#renewedAt === undefined) return false
    return this.#clock.now() - this.#renewedAt < this.#renewDeadlineMs
  }

  get holder(): LeaseHolder | undefined {
    return this.#holder
  }

  async read(signal?: AbortSignal): Promise<LeaseHolder | undefined> {
    await this.#observe(signal)
    return this.#holder
  }

  async acquire({waitMs = 0, signal}: {waitMs?: number; signal?: AbortSignal} = {}): Promise<AbortSignal> {
    if (this.held && this.#term !== undefined) return this.#term.lost.signal
    const until = this.#clock.now() + waitMs
    let seen: string | undefined
    for (;;) {
      signal?.throwIfAborted()
      if (await this.#try(signal)) return this.#begin()
      const present = this.#observed?.fingerprint
      // Seen alive: the record has changed under our eyes, and not into nobody's.
      const alive = seen !== undefined && present !== seen && this.#holder !== undefined
      seen = present
      if (alive && this.#clock.now() >= until) throw this.#taken()
      await sleep(this.#clock, this.#pause(), signal)
    }
  }

  async elect(lead: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      let lost: AbortSignal
      try {
        lost = await this.#follow(signal)
      } catch (error) {
        if (signal.aborted) return
        throw error
      }
      const term = new AbortController()
      const end = (): void => term.abort(new Error('the lease was lost'))
      const stop = (): void => term.abort(signal.reason)
      lost.addEventListener('abort', end, {once: true})
      signal.addEventListener('abort', stop, {once: true})
      if (lost.aborted) end()
      if (signal.aborted) stop()
      try {
        await lead(term.signal)
      } finally {
        lost.removeEventListener('abort', end)
        signal.removeEventListener('abort', stop)
        // After the last write has ended: a lease given back earlier would let the next holder write beside us.
        await this.release()
      }
    }
  }

  async assertHeld(signal?: AbortSignal): Promise<void> {
    if (this.held) {
      const drift = Math.abs(this.#offset() - this.#clockOffset)
      if (drift <= clockDriftMs) return
      await this.#observe(signal)
      if (this.#holder?.identity === this.#options.identity && this.held) {
        this.#clockOffset = this.#offset()
        return
      }
      this.#lose()
    }
    throw this.#holder === undefined || this.#holder.identity === this.#options.identity
      ? new SrcipError('Conflict', `lease ${this.#text()} could not be renewed in time and counts as lost`, {
          object: `lease/${this.#text()}`,
          hints: ['run the command again'],
        })
      : this.#taken()
  }

  async release(): Promise<void> {
    const term = this.#term
    if (term === undefined) return
    this.#term = undefined
    const lost = term.lost.signal.aborted
    term.stop.abort(new Error('released'))
    await term.renewing
    this.#renewedAt = undefined
    if (!lost) await this.#giveBack()
    term.lost.abort(new Error('released'))
    if (this.#holder?.identity === this.#options.identity) this.#note(undefined)
  }

  /** Waits for the Lease as long as it takes; errors of the API are logged and tried again. */
  async #follow(signal: AbortSignal): Promise<AbortSignal> {
    for (;;) {
      signal.throwIfAborted()
      try {
        if (await this.#try(signal)) return this.#begin()
      } catch (error) {
        signal.throwIfAborted()
        if (!(error instanceof KubeFailure)) throw error
        this.#options.log?.warn(`lease ${this.#text()} cannot be had now`, {error: error.message})
      }
      await sleep(this.#clock, this.#pause(), signal)
    }
  }

  #begin(): AbortSignal {
    const lost = new AbortController()
    const stop = new AbortController()
    this.#term = {lost, stop, renewing: this.#renew(lost, stop.signal)}
    return lost.signal
  }

  /** Renews until stopped, or until the renew deadline has passed without a success. */
  async #renew(lost: AbortController, stop: AbortSignal): Promise<void> {
    while (!stop.aborted && !lost.signal.aborted) {
      const left = (this.#renewedAt ?? 0) + this.#renewDeadlineMs - this.#clock.now()
      if (left <= 0) {
        lost.abort(new Error('the lease could not be renewed in time'))
        this.#options.log?.warn(`lease ${this.#text()} was lost`)
        break
      }
      try {
        await sleep(this.#clock, Math.min(this.#retryMs, left), stop)
        if (
          !(await this.#try(stop)) &&
          this.#holder !== undefined &&
          this.#holder.identity !== this.#options.identity
        ) {
          lost.abort(new Error('the lease was taken over'))
          this.#options.log?.warn(`lease ${this.#text()} was taken over`, {holder: this.#holder.identity})
        }
      } catch (error) {
        if (!stop.aborted) this.#options.log?.warn(`lease ${this.#text()} was not renewed`, {error: String(error)})
      }
    }
  }

  /**
   * One round of client-go's tryAcquireOrRenew. The holder writes without reading first.
   * @returns whether the Lease is ours now
   */
  async #try(signal: AbortSignal | undefined): Promise<boolean> {
    const ours = this.#lease?.spec?.holderIdentity === this.#options.identity
    if (!ours || this.#term === undefined) {
      if (!(await this.#observe(signal))) return await this.#create(signal)
      if (!this.#mayTake()) return false
    }
    const lease = this.#lease
    return lease !== undefined && (await this.#take(lease, signal))
  }

  /** Reads the record and notes when it was first seen like this; false when there is none. */
  async #observe(signal: AbortSignal | undefined): Promise<boolean> {
    const {client, namespace, name} = this.#options
    const lease = await client.find<LeaseObject>(resources.leases, {namespace, name}, {signal, timeoutMs: tryLimitMs})
    this.#remember(lease)
    return lease !== undefined
  }

  #remember(lease: LeaseObject | undefined): void {
    this.#lease = lease
    if (lease === undefined) {
      this.#observed = undefined
      this.#note(undefined)
      return
    }
    const mark = fingerprint(lease)
    if (this.#observed?.fingerprint !== mark) {
      const durationSeconds = lease.spec?.leaseDurationSeconds ?? this.#durationSeconds
      this.#observed = {fingerprint: mark, at: this.#clock.now(), durationSeconds}
    }
    this.#note(holderOf(lease))
  }

  #mayTake(): boolean {
    if (this.#holder === undefined || this.#holder.identity === this.#options.identity) return true
    const {at, durationSeconds} = this.#observed ?? {at: this.#clock.now(), durationSeconds: this.#durationSeconds}
    return this.#clock.now() - at > durationSeconds * 1000
  }

  async #create(signal: AbortSignal | undefined): Promise<boolean> {
    const {client, namespace, name, identity, labels = {}} = this.#options
    const settings = {namespace, name, labels, identity, durationSeconds: this.#durationSeconds}
    return await this.#write(() =>
      client.create<LeaseObject>(resources.leases, newLease(settings, this.#clock.wall()), {
        signal,
        timeoutMs: tryLimitMs,
      }),
    )
  }

  async #take(lease: LeaseObject, signal: AbortSignal | undefined): Promise<boolean> {
    const next = heldBy(lease, this.#options.identity, this.#durationSeconds, this.#clock.wall())
    return await this.#write(() =>
      this.#options.client.update<LeaseObject>(resources.leases, next, {signal, timeoutMs: tryLimitMs}),
    )
  }

  /** A conflict means that somebody else was first: not this round, and the next one reads again. */
  async #write(send: () => Promise<LeaseObject>): Promise<boolean> {
    const startedAt = this.#clock.now()
    try {
      this.#remember(await send())
    } catch (error) {
      this.#lease = undefined
      if (hasStatus(error, 409, 404)) {
        await this.#observe(undefined).catch(() => undefined)
        return false
      }
      throw error
    }
    // Counted from before the request: the server may have stored it at once and answered late.
    this.#renewedAt = startedAt
    this.#clockOffset = this.#offset()
    return true
  }

  async #giveBack(): Promise<void> {
    const {client, identity} = this.#options
    const until = this.#clock.now() + releaseLimitMs
    while (this.#clock.now() < until) {
      const timeoutMs = Math.max(1, until - this.#clock.now())
      try {
        if (this.#lease === undefined) await this.#observe(AbortSignal.timeout(timeoutMs))
        const lease = this.#lease
        if (lease?.spec?.holderIdentity !== identity) return
        this.#remember(
          await client.update<LeaseObject>(resources.leases, released(lease, this.#clock.wall()), {timeoutMs}),
        )
        return
      } catch (error) {
        this.#lease = undefined
        if (!hasStatus(error, 409)) {
          this.#options.log?.warn(`lease ${this.#text()} was not given back, it expires by itself`, {
            error: String(error),
          })
          return
        }
      }
    }
  }

  #lose(): void {
    this.#term?.lost.abort(new Error('the lease was lost'))
  }

  /** Followers spread out, so that not all of them write when a holder dies. */
  #pause(): number {
    return this.#retryMs * (1 + 1.2 * this.#random())
  }

  #offset(): number {
    return this.#clock.wall() - this.#clock.now()
  }

  #note(holder: LeaseHolder | undefined): void {
    const changed = holder?.identity !== this.#holder?.identity
    this.#holder = holder
    if (changed) this.#options.onHolder?.(holder, holder?.identity === this.#options.identity)
  }

  #text(): string {
    return `${this.#options.namespace}/${this.#options.name}`
  }

  #taken(): SrcipError {
    const {identity, renewTime} = this.#holder ?? {identity: 'somebody else'}
    const seen = renewTime === undefined ? '' : `, renewed at ${renewTime}`
    return new SrcipError('Conflict', `lease ${this.#text()} is held by ${identity}${seen}`, {
      object: `lease/${this.#text()}`,
      hints: [
        'wait until it has finished, or stop it',
        `kubectl get lease -n ${this.#options.namespace} ${this.#options.name} -o yaml`,
      ],
    })
  }
}
