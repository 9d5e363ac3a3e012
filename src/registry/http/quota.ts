import type {IncomingHttpHeaders} from 'node:http'

/** What a registry says of its limit on reading manifests. */
export interface Quota {
  readonly remaining: number
  readonly limit?: number
  readonly windowSeconds?: number
}

/** A limit with the host it belongs to, and what a run uses of it. */
export interface KnownQuota extends Quota {
  readonly host: string
  readonly needed: number
}

/** `100;w=21600` (Docker Hub's form of draft-ietf-httpapi-ratelimit-headers). */
function readPart(value: string | string[] | undefined): {count: number; window: number | undefined} | undefined {
  const match = /^\s*(\d{1,15})(?:\s*;.*?\bw=(\d{1,9}))?/.exec(String(value ?? ''))
  if (match === null) return undefined
  return {count: Number(match[1]), window: match[2] === undefined ? undefined : Number(match[2])}
}

/** Reads `ratelimit-limit` and `ratelimit-remaining`; undefined when they say nothing that can be read. */
export function readQuota(headers: IncomingHttpHeaders): Quota | undefined {
  const remaining = readPart(headers['ratelimit-remaining'])
  if (remaining === undefined) return undefined
  const limit = readPart(headers['ratelimit-limit'])
  const window = remaining.window ?? limit?.window
  return {
    remaining: remaining.count,
    ...(limit === undefined ? {} : {limit: limit.count}),
    ...(window === undefined ? {} : {windowSeconds: window}),
  }
}
