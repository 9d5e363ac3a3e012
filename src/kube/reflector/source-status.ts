import type {Clock} from '../clock.ts'
import type {KubeFailure} from '../failures/failure.ts'
import type {Log} from '../types.ts'
import type {SourceState, SourceStatus} from './types.ts'

/** Keeps the state of one source, and says each change once: to the log, and to whoever listens. */
export class StatusKeeper {
  readonly #name: string
  readonly #clock: Clock
  readonly #log: Log | undefined
  readonly #onState: ((status: SourceStatus) => void) | undefined
  #status: SourceStatus

  constructor(name: string, clock: Clock, log: Log | undefined, onState: ((status: SourceStatus) => void) | undefined) {
    this.#name = name
    this.#clock = clock
    this.#log = log
    this.#onState = onState
    this.#status = {state: 'syncing', everSynced: false, since: clock.now(), lastSeen: clock.now()}
  }

  get current(): SourceStatus {
    return this.#status
  }

  /** A byte, an event or a list has come. */
  alive(): void {
    this.#status = {...this.#status, lastSeen: this.#clock.now()}
  }

  /** The loop has moved, and its own timers move it again within this many milliseconds. */
  due(withinMs: number): void {
    this.#status = {...this.#status, dueBy: this.#clock.now() + withinMs}
  }

  /** The loop has ended as it should. */
  ended(): void {
    const {dueBy: _dueBy, ...rest} = this.#status
    this.#status = rest
  }

  /** A complete list has come (or its like). */
  listed(): void {
    const {listFailure: _listFailure, listFailingSince: _since, ...rest} = this.#status
    const now = this.#clock.now()
    this.#status = {...rest, lastList: now, lastSeen: now, everSynced: true}
    this.enter('synced')
  }

  /** A list failed, whatever the watch does meanwhile. */
  listFailed(failure: KubeFailure): void {
    const listFailingSince = this.#status.listFailingSince ?? this.#clock.now()
    this.#status = {...this.#status, listFailure: failure, listFailingSince}
  }

  /** The watch works again. */
  watching(): void {
    const {everSynced, state, listFailure} = this.#status
    // A watch that was opened before the right was taken away goes on for minutes.
    if (everSynced && state !== 'absent' && listFailure?.status !== 403) this.enter('synced')
  }

  failed(failure: KubeFailure | undefined): void {
    this.enter(this.#status.everSynced ? 'stale' : 'syncing', failure)
  }

  enter(state: SourceState, failure?: KubeFailure): void {
    const {failure: _before, ...rest} = this.#status
    const changed = state !== rest.state
    this.#status = {
      ...rest,
      state,
      ...(failure === undefined ? {} : {failure}),
      ...(changed ? {since: this.#clock.now()} : {}),
    }
    if (!changed) return
    const fields = {source: this.#name, from: rest.state, ...(failure === undefined ? {} : {error: failure.message})}
    if (state === 'synced' || state === 'syncing') this.#log?.info(`source ${this.#name} is ${state}`, fields)
    else
      this.#log?.warn(`source ${this.#name} is ${state}, its names are ${state === 'absent' ? 'gone' : 'kept'}`, fields)
    this.#onState?.(this.#status)
  }
}
