import type {ObjectRef} from '../model/kubernetes.ts'
import type {Log} from '../kube/index.ts'

/** Reasons of events, a closed list (controller.md 3.9 and design.md 5). */
export type EventReason =
  | 'Applied'
  | 'Proved'
  | 'Reverted'
  | 'Unconfirmed'
  | 'SourceForbidden'
  | 'SourceAbsent'
  | 'SourceStale'
  | 'SourceSynced'
  | 'RemovalHeld'
  | 'ConfigMapImmutable'
  | 'TooLarge'
  | 'WriteDenied'
  | 'WriteBlocked'
  | 'WriteAltered'
  | 'MarkersDamaged'
  | 'ForeignWriter'
  | 'NamesRefused'
  | 'NoReadyEndpoint'
  | 'PortsMissing'
  | 'FeedsNotFound'
  | 'Drift'

export interface EventSinkPort {
  emit(event: {
    readonly regarding: ObjectRef | undefined
    readonly type: 'Normal' | 'Warning'
    readonly reason: EventReason
    readonly action: string
    readonly note: string
  }): void
}

/**
 * Says each thing once: a log line and an event when a condition begins or changes, a log line when it ends. A loop that
 * runs every few seconds must not fill the log with the same sentence.
 */
export class Conditions {
  readonly #log: Log
  readonly #events: EventSinkPort
  readonly #active = new Map<string, string>()

  constructor(log: Log, events: EventSinkPort) {
    this.#log = log
    this.#events = events
  }

  /** Begins or changes the condition `key`; the same note again says nothing. */
  raise(
    key: string,
    what: {
      readonly reason: EventReason
      readonly note: string
      readonly regarding?: ObjectRef | undefined
      readonly action?: string
      readonly fields?: Readonly<Record<string, unknown>>
    },
  ): void {
    if (this.#active.get(key) === what.note) return
    this.#active.set(key, what.note)
    this.#log.warn(what.note, {reason: what.reason, ...what.fields})
    this.#events.emit({
      regarding: what.regarding,
      type: 'Warning',
      reason: what.reason,
      action: what.action ?? 'Reconcile',
      note: what.note,
    })
  }

  /** Ends the condition, if it was on. */
  clear(key: string, note: string): void {
    if (this.#active.delete(key)) this.#log.info(note)
  }

  /** Conditions that are on, for readiness and status. */
  get active(): ReadonlyMap<string, string> {
    return this.#active
  }
}
