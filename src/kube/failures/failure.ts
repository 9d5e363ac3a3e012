import {SrcipError} from '../../model/errors.ts'
import type {ErrorCode} from '../../model/errors.ts'
import type {RequestSubject} from '../types.ts'

/**
 * Where a call broke:
 * `transport` before or during the exchange (DNS, TCP, TLS, proxy, reset), `status` an HTTP answer that is not 2xx or an
 * ERROR event of a watch, `decode` an answer that is not what it should be, `deadline` a time limit of ours, `aborted` the caller.
 */
export type FailureKind = 'transport' | 'status' | 'decode' | 'deadline' | 'aborted'

export interface FailureOptions {
  readonly kind: FailureKind
  readonly code: ErrorCode
  readonly status?: number | undefined
  /** `reason` of the Status object (`NotFound`, `Expired`), or the system's error code (`ECONNREFUSED`). */
  readonly reason?: string | undefined
  /** What the server said, without our own words around it. */
  readonly serverMessage?: string | undefined
  readonly retryAfterMs?: number | undefined
  readonly about?: RequestSubject | undefined
  readonly hints?: readonly string[]
  readonly object?: string | undefined
  readonly exitCode?: number | undefined
  readonly cause?: unknown
}

/** Every failure of a call to the cluster, in one shape: what a loop decides by, and what a person reads. */
export class KubeFailure extends SrcipError {
  readonly kind: FailureKind
  readonly status: number | undefined
  readonly reason: string | undefined
  readonly serverMessage: string | undefined
  readonly retryAfterMs: number | undefined
  readonly about: RequestSubject | undefined

  constructor(message: string, options: FailureOptions) {
    super(options.code, message, {
      ...(options.hints === undefined ? {} : {hints: options.hints}),
      ...(options.object === undefined ? {} : {object: options.object}),
      ...(options.exitCode === undefined ? {} : {exitCode: options.exitCode}),
      cause: options.cause,
    })
    this.name = 'KubeFailure'
    this.kind = options.kind
    this.status = options.status
    this.reason = options.reason
    this.serverMessage = options.serverMessage
    this.retryAfterMs = options.retryAfterMs
    this.about = options.about
  }
}

/** True for a KubeFailure with this HTTP status (any status if none is given). */
export function hasStatus(error: unknown, ...statuses: readonly number[]): error is KubeFailure & {status: number} {
  if (!(error instanceof KubeFailure) || error.status === undefined) return false
  return statuses.length === 0 || statuses.includes(error.status)
}
