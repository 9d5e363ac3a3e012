import {SrcipError} from '../model/errors.ts'
import {type Answer, header} from './client.ts'
import {resolveLocation} from './http/redirect.ts'
import type {Repository} from './repository.ts'

/** A registry on object storage moves the whole blob while it answers the last request of an upload. */
export const commitTimeout = 600_000

/** An upload that a registry has opened. */
export interface Session {
  location: URL
  /** Smallest chunk that the registry takes, 0 when it names none. */
  readonly chunkMin: number
}

/**
 * The address of the next request of a session. It changes with every answer. An http address of the same host behind a
 * TLS-ending proxy is a known mistake of registries: https at the address we speak to is kept.
 */
export function uploadLocation(target: Repository, answer: Answer): URL {
  const location = header(answer, 'location')
  if (location === undefined)
    throw new SrcipError('Unreachable', `${target.fullName} opened an upload without a Location`)
  const url = resolveLocation(location, answer.url, target.host)
  if (target.state.origin.startsWith('https:') && url.protocol === 'http:') {
    if (url.hostname !== new URL(target.state.origin).hostname)
      throw new SrcipError('Denied', `${target.fullName} wants the upload sent to plain http on another host: refused`)
    target.client.warn(`${target.host} names plain http for uploads; https is kept (set its external address)`)
    return new URL(target.state.origin + url.pathname + url.search)
  }
  return url
}

/** The state in the query is the registry's: the digest is appended, nothing is rebuilt. */
export function withDigest(location: URL, digest: string): URL {
  const url = new URL(location)
  url.search = `${url.search === '' ? '?' : `${url.search}&`}digest=${encodeURIComponent(digest)}`
  return url
}
