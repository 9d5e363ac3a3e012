import type {IncomingMessage} from 'node:http'
import {SrcipError} from '../../model/errors.ts'
import {limits} from '../limits.ts'
import {redactUrl} from '../text.ts'
import type {Transport, TransportRequest} from './transport.ts'

const redirects = new Set([301, 302, 303, 307, 308])

/**
 * Follows redirects of a GET or HEAD by hand. Authorization goes to the registry's own origin and nowhere else (a presigned
 * storage address even fails with it); https never becomes http; addresses nearer to us than the registry are refused.
 */
export async function followRedirect(
  transport: Transport,
  registry: {readonly host: string; readonly origin: string},
  request: TransportRequest,
  response: IncomingMessage,
): Promise<{response: IncomingMessage; url: URL}> {
  let current = response
  let url = request.url
  if (request.method !== 'GET' && request.method !== 'HEAD') return {response: current, url}
  for (let hops = 0; redirects.has(current.statusCode ?? 0); hops++) {
    const {location} = current.headers
    current.resume()
    if (location === undefined) throw new SrcipError('Unreachable', `${registry.host} redirects without saying where`)
    if (hops >= limits.redirects)
      throw new SrcipError('Unreachable', `${registry.host} redirects more than ${limits.redirects} times`)
    const next = resolveLocation(location, url, registry.host)
    if (url.protocol === 'https:' && next.protocol !== 'https:') {
      throw new SrcipError('Denied', `${registry.host} redirects from https to ${redactUrl(next)}: refused`)
    }
    const own = next.origin === registry.origin
    const {authorization, ...others} = request.headers
    const headers = own && authorization !== undefined ? {...others, authorization} : others
    url = next
    current = await transport.send({
      ...request,
      url,
      headers,
      ...(own ? {} : {chosenBy: {registry: registry.host, reach: transport.reachOf(registry.origin)}}),
    })
  }
  return {response: current, url}
}

/** Makes a Location absolute. @throws SrcipError Unreachable when it is no http address */
export function resolveLocation(location: string, base: URL, host: string): URL {
  let url: URL
  try {
    url = new URL(location, base)
  } catch {
    throw new SrcipError('Unreachable', `${host} names an address that cannot be read`)
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new SrcipError('Denied', `${host} names a ${url.protocol} address: refused`)
  url.username = ''
  url.password = ''
  return url
}
