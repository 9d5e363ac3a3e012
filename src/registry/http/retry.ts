import {NetworkFault} from './network-fault.ts'

/** Statuses that another try may mend: mirror.md 3.8, and the 52x of well-known front proxies. */
const worthARetry = new Set([408, 425, 429, 499, 500, 502, 503, 504, 520, 521, 522, 523, 524])

export function isRetryStatus(status: number): boolean {
  return worthARetry.has(status)
}

const networkCodes = new Set([
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ECONNREFUSED',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ECONNABORTED',
  'STALE',
  'STALL',
  'HPE_INVALID_CONSTANT',
  'ERR_STREAM_PREMATURE_CLOSE',
])

export function isRetryFault(error: unknown): error is NetworkFault {
  return error instanceof NetworkFault && networkCodes.has(error.code)
}

export interface RetryPolicy {
  /** Tries in all for one request. */
  readonly attempts: number
  /** First upper bound of the random wait, in milliseconds; doubles with each try. */
  readonly base: number
  readonly longest: number
  /** Longest single wait that a server may ask for, and the sum for one host, in milliseconds. */
  readonly longestAsked: number
  readonly budget: number
}

export const usualRetries: RetryPolicy = {
  attempts: 6,
  base: 500,
  longest: 30_000,
  longestAsked: 120_000,
  budget: 600_000,
}

/** Full jitter: a random wait below min(longest, base · 2^n). */
export function backoff(policy: RetryPolicy, attempt: number, random: () => number): number {
  return random() * Math.min(policy.longest, policy.base * 2 ** attempt)
}

/**
 * Reads Retry-After: seconds, or an HTTP date (RFC 9110, 10.2.3). A date is compared with the server's own Date where it
 * sent one, since its clock may differ from ours.
 * @returns milliseconds to wait, or undefined when the header is absent or cannot be read
 */
export function readRetryAfter(
  value: string | undefined,
  serverDate: string | undefined,
  now: number,
): number | undefined {
  const text = value?.trim()
  if (text === undefined || text === '') return undefined
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000
  // Date.parse takes far more than HTTP dates ("-5" is a year).
  const until = /^[A-Z][a-z]+, /.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(until)) return undefined
  const reference = serverDate === undefined ? Number.NaN : Date.parse(serverDate)
  return Math.max(0, until - (Number.isNaN(reference) ? now : reference))
}
