import {sleep, systemClock} from '../clock.ts'
import type {Clock} from '../clock.ts'
import {KubeFailure} from '../failures/failure.ts'
import {resourceText} from '../resources.ts'
import type {Resource, WatchEvent} from '../types.ts'
import {Course} from './course.ts'
import {Backoff, patientBackoff, watchBackoff} from './backoff.ts'
import {fullList} from './full-list.ts'
import type {FullList} from './full-list.ts'
import {isNewer} from './resource-version.ts'
import {PresenceCheck} from './presence.ts'
import {PeriodicList} from './periodic-list.ts'
import {StatusKeeper} from './source-status.ts'
import {ObjectStore} from './store.ts'
import type {
  ListReason,
  Reflector,
  ReflectorOptions,
  SourceState,
  SourceStatus,
  StoreChange,
  StoredObject,
} from './types.ts'
import {Waiters} from './waiters.ts'
import {judge} from './verdict.ts'
import {watchRound} from './watch-round.ts'

const idleDefaultMs = 90_000
/**
 * Silence before the initial objects are complete. A server that does WatchList says something within moments; one that
 * swallows the request must not hold the first sync up for long.
 */
const initialIdleMs = 10_000
const relistDefaultMs = 3_600_000
/** A source that has sent no bookmark for this long gets an idle limit beyond the server's own time limit. */
const bookmarkPatienceMs = 180_000

/** Keeps a local copy of one kind current: list, watch, resume, relist (controller.md 3.3 to 3.5). */
export function createReflector<T>(options: ReflectorOptions<T>): Reflector<T> {
  return new SourceLoop(options)
}

class SourceLoop<T> implements Reflector<T> {
  readonly #options: ReflectorOptions<T>
  readonly #clock: Clock
  readonly #random: () => number
  readonly #data: ObjectStore<T>
  readonly #status: StatusKeeper
  readonly #backoff: Backoff
  readonly #patience: Backoff
  readonly #presence: PresenceCheck
  readonly #periodic: PeriodicList<T>
  readonly #stop = new AbortController()
  readonly #waiters = new Waiters()
  readonly #course: Course
  #resource: Resource
  #running: Promise<void> | undefined
  #replace = new AbortController()
  #idleInARow = 0
  #shortInARow = 0
  #liveSince: number | undefined
  #bookmarkSeen = false
  #timeoutSeconds = 300

  constructor(options: ReflectorOptions<T>) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#random = options.random ?? Math.random
    this.#resource = options.resource
    this.#course = new Course(this.#clock)
    const name = resourceText(options.resource)
    this.#data = new ObjectStore(options.project)
    this.#status = new StatusKeeper(name, this.#clock, options.log, options.onState)
    this.#backoff = new Backoff(watchBackoff, this.#clock, this.#random)
    this.#patience = new Backoff(patientBackoff, this.#clock, this.#random)
    const versions = options.versions ?? [options.resource.version]
    const {client, resource, once = false} = options
    this.#presence = new PresenceCheck(client, this.#clock, resource, versions, once)
    this.#periodic = new PeriodicList<T>({
      clock: this.#clock,
      random: this.#random,
      relistMs: options.relistMs ?? relistDefaultMs,
      list: (signal) => this.#listBesideWatch(signal),
      apply: (list, touched) => {
        const changes = this.#data.replace(list.objects, {listVersion: list.resourceVersion, touched})
        this.#tell(changes)
        return changes
      },
      busy: () => this.#course.need !== undefined,
      onListed: () => this.#status.listed(),
      onFailed: (failure) => this.#periodicFailed(failure),
      onDrift: (keys, version) => this.#drifted(keys, version),
      onList: (reason) => options.observer?.onList?.(reason),
    })
  }

  get resource(): Resource {
    return this.#resource
  }

  get store(): ReadonlyMap<string, StoredObject<T>> {
    return this.#data.objects
  }

  get status(): SourceStatus {
    return this.#status.current
  }

  get state(): SourceState {
    return this.#status.current.state
  }

  start(): void {
    this.#running ??= this.#run()
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error('stopped'))
    await this.#running
    await this.#periodic.stopped()
  }

  async relist(signal?: AbortSignal): Promise<void> {
    if (this.#course.need === undefined) {
      await this.#periodic.now(AbortSignal.any([this.#stop.signal, ...(signal === undefined ? [] : [signal])]))
      return
    }
    // The main loop is about to list: its outcome is the answer.
    while (this.#course.need !== undefined) {
      await this.#waiters.next(signal, this.#stop.signal)
      signal?.throwIfAborted()
      this.#stop.signal.throwIfAborted()
      const {failure} = this.#status.current
      if (failure !== undefined) throw failure
      if (this.state === 'absent') return
    }
  }

  async waitForSync(signal?: AbortSignal): Promise<void> {
    while (!this.#status.current.everSynced && this.state !== 'absent') {
      signal?.throwIfAborted()
      this.#stop.signal.throwIfAborted()
      await this.#waiters.next(signal, this.#stop.signal)
    }
  }

  async #run(): Promise<void> {
    const {signal} = this.#stop
    while (!signal.aborted) {
      const initial = this.#course.need !== undefined && this.#course.watchList
      try {
        const wait = await this.#round(initial)
        if (wait > 0) await this.#sleep(wait)
      } catch (error) {
        if (signal.aborted) break
        const failure = asFailure(error)
        this.#options.observer?.onWatchEnd?.(failure.reason ?? failure.kind)
        await this.#recover(failure, initial).catch((bug: unknown) => this.#lostFooting(bug))
      }
    }
    this.#periodic.stop()
    this.#status.ended()
    this.#waiters.wake()
  }

  /** One list or watch; returns how long to wait before the next. */
  async #round(initial: boolean): Promise<number> {
    this.#status.due(0)
    if (this.#course.need !== undefined && !initial) await this.#list(this.#course.need)
    const side = new Map<string, StoredObject<T>>()
    const reason = this.#course.need
    if (initial && reason !== undefined) this.#options.observer?.onList?.(reason)
    this.#replace = new AbortController()
    this.#timeoutSeconds = 300 + Math.floor(this.#random() * 301)
    if (!initial) this.#liveSince ??= this.#clock.now()
    const initialIdle = this.#options.initialIdleMs ?? initialIdleMs
    this.#status.due(initial ? initialIdle : this.#idleMs())
    const end = await watchRound({
      client: this.#options.client,
      clock: this.#clock,
      resource: this.#resource,
      namespace: this.#options.namespace,
      labelSelector: this.#options.labelSelector,
      fieldSelector: this.#options.fieldSelector,
      resourceVersion: this.#course.version,
      initial,
      timeoutSeconds: this.#timeoutSeconds,
      initialIdleMs: initialIdle,
      idleMs: () => this.#idleMs(),
      signal: this.#stop.signal,
      replace: this.#replace.signal,
      onOpen: () => {
        this.#presence.seen()
        this.#course.available()
        // After a mute or short watch the headers alone prove nothing.
        if (this.#idleInARow === 0 && this.#shortInARow === 0) this.#status.watching()
      },
      onBytes: (live) => {
        this.#status.alive()
        this.#status.due(live ? this.#idleMs() : initialIdle)
        if (!live) return
        this.#idleInARow = 0
        this.#shortInARow = 0
        this.#status.watching()
      },
      onInitial: (event) => this.#collect(side, event),
      onComplete: (version) => {
        this.#complete(side, version)
        this.#status.due(this.#idleMs())
      },
      onEvent: (event) => this.#event(event),
    })
    this.#options.observer?.onWatchEnd?.(end)
    switch (end) {
      case 'end':
      case 'cut':
        this.#shortInARow = 0
        return 0
      case 'replaced':
        return 0
      case 'no-end-mark':
        this.#course.watchList = false
        return 0
      case 'short':
        this.#shortInARow += 1
        this.#status.failed(undefined)
        return this.#backoff.next()
      case 'idle': {
        this.#idleInARow += 1
        this.#options.client.dropIdleConnections()
        this.#options.log?.info(`a quiet watch of ${resourceText(this.#resource)} was replaced`, {
          idleMs: this.#idleMs(),
        })
        if (this.#idleInARow === 1) return 0
        this.#status.failed(undefined)
        return this.#backoff.next()
      }
    }
  }

  #idleMs(): number {
    const base = this.#options.idleMs ?? idleDefaultMs
    const age = this.#liveSince === undefined ? 0 : this.#clock.now() - this.#liveSince
    if (this.#bookmarkSeen || age < bookmarkPatienceMs) return base
    return Math.max(base, (this.#timeoutSeconds + 30) * 1000)
  }

  async #list(reason: ListReason): Promise<void> {
    this.#options.observer?.onList?.(reason)
    const {client} = this.#options
    const from = reason === 'expired' || reason === 'unavailable' ? this.#course.version : undefined
    try {
      const moved = (): void => this.#status.due(0)
      const list = await fullList(client, this.#resource, this.#options, this.#data, from, this.#stop.signal, moved)
      this.#complete(list.objects, list.resourceVersion)
    } catch (error) {
      if (error instanceof KubeFailure && error.kind !== 'aborted') this.#status.listFailed(error)
      throw error
    }
  }

  async #listBesideWatch(signal: AbortSignal): Promise<FullList<T>> {
    const before = this.#course.version
    const list = await fullList(this.#options.client, this.#resource, this.#options, this.#data, undefined, signal)
    if (before !== undefined && isNewer(before, list.resourceVersion)) {
      // A consistent read is never behind its own watch, unless etcd was put back to an earlier state.
      this.#options.log?.warn(`${resourceText(this.#resource)} went back in time, reading everything anew`)
      this.#course.startOver()
      this.#replace.abort()
    }
    return list
  }

  /** Initial objects are kept apart until they are complete, so that half a list never shows. */
  #collect(side: Map<string, StoredObject<T>>, event: WatchEvent): void {
    if (event.type === 'BOOKMARK') return
    const stored = this.#data.reduce(event.object)
    if (stored === undefined) return
    if (event.type === 'DELETED') side.delete(stored.key)
    else side.set(stored.key, stored)
  }

  #complete(objects: ReadonlyMap<string, StoredObject<T>>, version: string): void {
    this.#course.listed(version)
    this.#liveSince = this.#clock.now()
    this.#presence.seen()
    this.#patience.reset()
    this.#tell(this.#data.replace(objects, undefined))
    this.#status.listed()
    this.#periodic.schedule()
    this.#waiters.wake()
  }

  /** @returns whether it brought anything new */
  #event(event: WatchEvent): boolean {
    const {resourceVersion} = event.object.metadata
    if (event.type === 'BOOKMARK') this.#bookmarkSeen = true
    else {
      const changes = event.type === 'DELETED' ? this.#data.remove(event.object) : this.#data.put(event.object)
      this.#periodic.touched(event.object)
      this.#tell(changes)
    }
    // After the event is applied.
    return this.#course.moved(resourceVersion)
  }

  #tell(changes: readonly StoreChange<T>[]): void {
    for (const change of changes) {
      try {
        this.#options.onChange?.(change)
      } catch (error) {
        this.#options.log?.error('a change handler failed', {key: change.key, error: String(error)})
      }
    }
  }

  /** Reacts to a failed list or watch, and waits as long as the table says. */
  async #recover(failure: KubeFailure, initial: boolean): Promise<void> {
    const verdict = judge(failure, initial)
    if (verdict === 'forbidden') {
      this.#status.enter('forbidden', failure)
      this.#waiters.wake()
      return await this.#sleep(this.#patience.next())
    }
    if (verdict === 'not-served') return await this.#recoverAbsence(failure)
    if (this.#course.after(verdict)) return
    this.#status.failed(failure)
    this.#waiters.wake()
    await this.#sleep(Math.max(this.#backoff.next(), failure.retryAfterMs ?? 0))
  }

  /** A bug of ours must neither end the loop nor make it spin. */
  async #lostFooting(bug: unknown): Promise<void> {
    if (this.#stop.signal.aborted) return
    this.#options.log?.error('the recovery of a source failed', {error: String(bug)})
    await this.#sleep(this.#backoff.next()).catch(() => undefined)
  }

  async #recoverAbsence(failure: KubeFailure): Promise<void> {
    const presence = await this.#presence.ask(this.#stop.signal)
    switch (presence.is) {
      case 'served': {
        const moved = presence.resource.version !== this.#resource.version
        this.#resource = presence.resource
        this.#course.startOver()
        if (moved) return
        break
      }
      case 'doubtful':
        this.#status.failed(failure)
        return await this.#sleep(presence.askAgainMs)
      case 'absent':
        this.#course.startOver()
        this.#tell(this.#data.replace(new Map(), undefined))
        this.#status.enter('absent')
        this.#waiters.wake()
        return await this.#sleep(this.#patience.next())
      case 'unknown':
        break
    }
    this.#status.failed(presence.is === 'unknown' ? (presence.failure ?? failure) : failure)
    await this.#sleep(this.#backoff.next())
  }

  #periodicFailed(failure: KubeFailure): void {
    this.#status.listFailed(failure)
    if (failure.status === 403) this.#status.enter('forbidden', failure)
    // The next watch finds out what it means.
    if (failure.status === 404) this.#replace.abort()
  }

  #drifted(keys: readonly string[], version: string): void {
    const shown = keys.slice(0, 20)
    this.#options.log?.warn(
      `a list of ${resourceText(this.#resource)} showed what its watch had not told; the quiet watch was replaced`,
      {
        keys: shown,
        count: keys.length,
      },
    )
    this.#options.observer?.onDrift?.(keys)
    this.#course.moved(version)
    this.#options.client.dropIdleConnections()
    this.#replace.abort()
  }

  async #sleep(ms: number): Promise<void> {
    this.#status.due(ms)
    await sleep(this.#clock, ms, this.#stop.signal)
  }
}

/** A bug of ours must not end the loop: it counts as a failure of unknown kind. */
function asFailure(error: unknown): KubeFailure {
  if (error instanceof KubeFailure) return error
  const message = error instanceof Error ? error.message : String(error)
  return new KubeFailure(message, {kind: 'transport', code: 'Internal', reason: 'Unexpected', cause: error})
}
