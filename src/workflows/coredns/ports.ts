import type {CorednsPlan, DnsProof} from '../../model/coredns-plan.ts'

/** A planned change: the document for the person, and the change for the ports. Absent change: nothing to write. */
export interface PlannedChange<Change> {
  readonly document: CorednsPlan
  readonly change: Change | undefined
}

/**
 * What changing cluster DNS needs from outside. `State`, `Change`, `Baseline` and `Written` are the adapter's own data; the workflow only
 * hands them from step to step.
 */
export interface CorednsPorts<State, Change, Baseline, Written> {
  /** Reads cluster DNS, once, as it is now. */
  load(signal: AbortSignal): Promise<State>
  plan(state: State): PlannedChange<Change>
  /** May and can the change be made? Throws 31 or 32. */
  check(state: State, change: Change, signal: AbortSignal): Promise<void>
  /** Takes the Lease of cluster DNS; throws 33 naming the holder. The signal aborts when it is lost. */
  lock(state: State, signal: AbortSignal): Promise<{readonly signal: AbortSignal; release(): Promise<void>}>
  /** What the pods report before the write. */
  baseline(state: State, signal: AbortSignal): Promise<Baseline>
  write(change: Change, dryRun: 'none' | 'server', signal: AbortSignal): Promise<Written>
  /** Waits until every pod shows the change, or until there is evidence against it. Without `written` only the answers are checked. */
  prove(
    state: State,
    change: Change,
    written: Written | undefined,
    baseline: Baseline | undefined,
    signal: AbortSignal,
  ): Promise<DnsProof>
  /** Puts the previous bytes back; the sentence says why it could not. Not stopped by a signal. */
  undo(state: State, written: Written): Promise<{readonly restored: boolean; readonly reason?: string}>
  /** What proves a plan that needs no write; undefined: there is nothing to ask. */
  standing(state: State, document: CorednsPlan): Change | undefined
}
