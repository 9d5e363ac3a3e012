import type {Clock} from '../clock.ts'
import type {KubeClient, Log} from '../types.ts'

/** Who holds a Lease, as its record says. The times are the holder's own clock: show them, compare nothing with them. */
export interface LeaseHolder {
  readonly identity: string
  readonly acquireTime?: string
  readonly renewTime?: string
  readonly durationSeconds: number
  readonly transitions: number
}

export interface LeaseOptions {
  readonly client: KubeClient
  readonly namespace: string
  readonly name: string
  /** Unique for this process: `<pod>_<uuid>`, or user@host:pid:run id for the command line. */
  readonly identity: string
  /** Labels of a Lease that we create. */
  readonly labels?: Readonly<Record<string, string>>
  /** Seconds; default 15. */
  readonly durationSeconds?: number
  /** Milliseconds after the last success at which the holder gives up; default 10 s. */
  readonly renewDeadlineMs?: number
  /** Milliseconds between tries; default 2 s. */
  readonly retryMs?: number
  readonly clock?: Clock
  /** 0 <= x < 1. */
  readonly random?: () => number
  readonly log?: Log
  /** Told when holding begins or ends, and when the observed holder changes. */
  readonly onHolder?: (holder: LeaseHolder | undefined, ours: boolean) => void
}

/** One Lease, as a lock for a command and as the leader election of `run`. */
export interface LeaseLock {
  /** True while the last renewal is younger than the renew deadline. Ask immediately before every write. */
  readonly held: boolean
  /** Last observed holder other than nobody. */
  readonly holder: LeaseHolder | undefined
  /** Reads the record; undefined when there is none or nobody holds it. */
  read(signal?: AbortSignal): Promise<LeaseHolder | undefined>
  /**
   * Takes the Lease and keeps renewing it until `release`. Free: at once. Held: watches the record; expired by observation:
   * takes over; seen alive: waits up to `waitMs` (default 0), then rejects with a Conflict (33) that names the holder.
   * The returned signal aborts when the Lease is lost.
   */
  acquire(options?: {waitMs?: number; signal?: AbortSignal}): Promise<AbortSignal>
  /** Leader election: waits for the Lease, runs `lead` with a signal that aborts on loss, and starts over. Ends when `signal` aborts; then releases. */
  elect(lead: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void>
  /**
   * Rejects with a Conflict unless the Lease is ours now. When wall and monotonic clocks have drifted apart by over 5 s
   * (suspend, clock set) the record is read first.
   */
  assertHeld(signal?: AbortSignal): Promise<void>
  /** Stops renewing and gives the Lease back (holder "", 1 s), within 5 s; never rejects. Call after the last write has ended. */
  release(): Promise<void>
}
