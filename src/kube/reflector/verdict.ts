import {KubeFailure} from '../failures/failure.ts'
import {isVersionUnavailable} from '../calls/list.ts'

/** What the loop does about a failure (controller.md 3.4). */
export type Verdict =
  /** The version to resume from is gone: list anew. */
  | 'expired'
  /** The server does not do WatchList: list mode from now on. */
  | 'no-watch-list'
  /** Wait at least `retryAfterMs`, resume. */
  | 'throttled'
  /** 5xx: wait, resume; list anew when it lasts. */
  | 'unavailable'
  | 'forbidden'
  /** 404 on the collection: ask discovery. */
  | 'not-served'
  /** Undecodable: resume from the last good version; the second time list anew. */
  | 'damaged'
  /** Anything else: wait, resume. */
  | 'retry'

/**
 * @param initial the failure came from a watch that asked for the initial objects
 */
export function judge(failure: KubeFailure, initial: boolean): Verdict {
  if (failure.kind === 'decode') return 'damaged'
  if (failure.kind !== 'status') return 'retry'
  if (isVersionUnavailable(failure) || failure.reason === 'Expired' || failure.reason === 'Gone') return 'expired'
  switch (failure.status) {
    case 400:
    case 422:
      // "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"
      return initial ? 'no-watch-list' : 'retry'
    case 403:
      return 'forbidden'
    case 404:
      return 'not-served'
    case 429:
      return 'throttled'
    default:
      return (failure.status ?? 0) >= 500 ? 'unavailable' : 'retry'
  }
}
