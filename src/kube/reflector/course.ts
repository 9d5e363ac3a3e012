import type {Clock} from '../clock.ts'
import {isNewer} from './resource-version.ts'
import type {ListReason} from './types.ts'
import type {Verdict} from './verdict.ts'

const unavailableMs = 60_000
const hurryAgainMs = 30_000
/** A second unreadable event within this time is answered by a list. */
const damagedAgainMs = 300_000

/** What the next round of a source does: list or watch, from which version, in which way. */
export class Course {
  /** Why a list is needed; undefined: watch on. */
  need: ListReason | undefined = 'first'
  /** Where to resume; undefined: from the beginning. */
  version: string | undefined
  /** Whether the server is believed to stream the initial objects (WatchList). */
  watchList = true
  readonly #clock: Clock
  #damagedAt = Number.NEGATIVE_INFINITY
  #hurriedAt = Number.NEGATIVE_INFINITY
  #unavailableSince: number | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** A complete list as of this version is there. */
  listed(version: string): void {
    this.version = version
    this.need = undefined
  }

  /** An event of this version has been applied; never goes backwards. Returns whether it was new. */
  moved(version: string | undefined): boolean {
    if (version === undefined || version === this.version) return false
    if (this.version !== undefined && isNewer(this.version, version)) return false
    this.version = version
    return true
  }

  /** Everything is to be read anew. */
  startOver(): void {
    this.need = 'first'
    this.version = undefined
  }

  /** The server answers. */
  available(): void {
    this.#unavailableSince = undefined
  }

  /**
   * Plans the next round after a failure.
   * @returns true when it may start at once, false when it has to wait for the backoff
   */
  after(verdict: Verdict): boolean {
    switch (verdict) {
      case 'no-watch-list':
        this.watchList = false
        return true
      case 'expired':
        // Not even from the beginning: the server does not understand the question.
        if (this.need !== undefined && this.version === undefined) this.watchList = false
        // A list that cannot be had from the last version is had without one.
        if (this.need !== undefined) this.version = undefined
        this.need ??= 'expired'
        return this.#mayHurry()
      case 'damaged': {
        const again = this.#clock.now() - this.#damagedAt < damagedAgainMs
        this.#damagedAt = this.#clock.now()
        if (again && this.need !== undefined) this.watchList = false
        if (again) this.need ??= 'damaged'
        return this.#mayHurry()
      }
      case 'unavailable':
        this.#unavailableSince ??= this.#clock.now()
        if (this.#clock.now() - this.#unavailableSince < unavailableMs) return false
        // Perhaps only the streamed list fails: an old aggregated API may answer 500 where it means "unknown".
        if (this.need !== undefined) this.watchList = false
        this.need ??= 'unavailable'
        return false
      default:
        return false
    }
  }

  /** The first trouble in a while is answered at once; one after the other waits, whatever happened in between. */
  #mayHurry(): boolean {
    if (this.#clock.now() - this.#hurriedAt < hurryAgainMs) return false
    this.#hurriedAt = this.#clock.now()
    return true
  }
}
