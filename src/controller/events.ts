import {resources} from '../kube/index.ts'
import type {Clock, KubeClient, Log} from '../kube/index.ts'
import {hasStatus, sleep} from '../kube/index.ts'
import type {KubeObject, ObjectRef} from '../model/kubernetes.ts'
import type {EventSinkPort} from './reports.ts'

const controllerName = 'srcip.dev/run'
/** Repeats within this time are counted on the first event instead of making a new one. */
const seriesMs = 6 * 60_000
const queueLimit = 1000
const tries = 12
const retryMs = 10_000

type Emitted = Parameters<EventSinkPort['emit']>[0]

export interface EventRecorderOptions {
  readonly client: Pick<KubeClient, 'create' | 'mergePatch'>
  /** This process, in `reportingInstance`. */
  readonly instance: string
  /** Regarding and namespace of events about nothing in particular. */
  readonly self: ObjectRef
  readonly clock: Clock
  readonly log: Log
}

interface Series {
  readonly name: string
  readonly namespace: string
  count: number
  until: number
}

/**
 * Writes events.k8s.io/v1 Events in the background, one after the other. A server that refuses is tried 12 times 10 s
 * apart (a refusal of the right not at all), a queue of over 1000 drops the oldest: events are news, not state.
 */
export class EventRecorder implements EventSinkPort {
  readonly #options: EventRecorderOptions
  readonly #queue: Emitted[] = []
  readonly #series = new Map<string, Series>()
  readonly #stop = new AbortController()
  #running: Promise<void> | undefined
  #serial = 0
  #denied = false

  constructor(options: EventRecorderOptions) {
    this.#options = options
  }

  emit(event: Emitted): void {
    if (this.#stop.signal.aborted) return
    if (this.#queue.length >= queueLimit) this.#queue.shift()
    this.#queue.push(event)
    this.#running ??= this.#drain().finally(() => (this.#running = undefined))
  }

  /** Waits up to `ms` for the queue to empty, then gives up what is left. */
  async close(ms: number): Promise<void> {
    const cancel = this.#options.clock.after(ms, () => this.#stop.abort(new Error('shutting down')))
    await this.#running?.catch(() => undefined)
    cancel()
    this.#stop.abort(new Error('shutting down'))
  }

  async #drain(): Promise<void> {
    for (;;) {
      const event = this.#queue.shift()
      if (event === undefined) return
      await this.#send(event)
    }
  }

  async #send(event: Emitted): Promise<void> {
    const {clock, log} = this.#options
    for (let attempt = 1; attempt <= tries && !this.#stop.signal.aborted; attempt++) {
      try {
        await this.#write(event)
        this.#denied = false
        return
      } catch (error) {
        if (hasStatus(error, 401, 403)) {
          if (!this.#denied) log.warn('events are not written', {error})
          this.#denied = true
          return
        }
        if (hasStatus(error, 400, 404, 409, 422)) {
          log.debug('an event was not taken', {error})
          return
        }
        await sleep(clock, retryMs, this.#stop.signal).catch(() => undefined)
      }
    }
  }

  async #write(event: Emitted): Promise<void> {
    const {clock, client} = this.#options
    const regarding = event.regarding ?? this.#options.self
    const key = JSON.stringify([regarding, event.reason, event.action, event.type, event.note])
    const known = this.#series.get(key)
    const now = clock.now()
    if (known !== undefined && known.until > now) {
      known.count++
      known.until = now + seriesMs
      try {
        await client.mergePatch(
          resources.events,
          {namespace: known.namespace, name: known.name},
          {series: {count: known.count, lastObservedTime: microTime(clock.wall())}},
          {signal: this.#stop.signal},
        )
        return
      } catch (error) {
        if (!hasStatus(error, 404)) throw error
        this.#series.delete(key)
      }
    }
    for (const [other, series] of this.#series) if (series.until <= now) this.#series.delete(other)
    const namespace = regarding.namespace ?? 'default'
    const name = `srcip.${Math.trunc(clock.wall()).toString(16)}.${this.#serial++}.${this.#options.instance
      .slice(-8)
      .toLowerCase()
      .replace(/[^a-z0-9]/g, '0')}`
    await client.create(resources.events, this.#object(event, regarding, namespace, name), {signal: this.#stop.signal})
    this.#series.set(key, {name, namespace, count: 1, until: now + seriesMs})
  }

  #object(event: Emitted, regarding: ObjectRef, namespace: string, name: string): KubeObject {
    return {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: {name, namespace},
      eventTime: microTime(this.#options.clock.wall()),
      reportingController: controllerName,
      reportingInstance: this.#options.instance.slice(0, 128),
      action: event.action,
      reason: event.reason,
      type: event.type,
      regarding,
      note: cut(event.note, 1024),
    }
  }
}

/** MicroTime with exactly six fraction digits: the API server refuses three (controller.md 3.7). */
export function microTime(wallMs: number): string {
  return new Date(wallMs).toISOString().replace(/\.(\d{3})Z$/, '.$1000Z')
}

/** At most `bytes` of UTF-8, never half a character. */
function cut(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text
  return (
    Buffer.from(text)
      .subarray(0, bytes - 3)
      .toString('utf8')
      .replace(/\uFFFD+$/, '') + '...'
  )
}
