import {BlockList, isIP} from 'node:net'
import {SrcipError} from '../../model/errors.ts'
import {redactUrl} from '../text.ts'

/** Which forward proxy a request goes through. */
export interface ProxyRules {
  /** The proxy's address (may hold user information), or undefined for a direct connection. */
  proxyFor(url: URL): URL | undefined
}

interface Exception {
  matches(hostname: string, port: string): boolean
}

/** One entry of NO_PROXY: `*`, a CIDR, an address, a name (and all below it), each with an optional port. */
function readException(entry: string): Exception | undefined {
  const text = entry.trim().toLowerCase()
  if (text === '') return undefined
  if (text === '*') return {matches: () => true}
  const cidr = /^(.+)\/(\d{1,3})$/.exec(text)
  if (cidr !== null && isIP(cidr[1] ?? '') !== 0) {
    const family = isIP(cidr[1] ?? '') === 6 ? 'ipv6' : 'ipv4'
    const list = new BlockList()
    try {
      list.addSubnet(cidr[1] ?? '', Number(cidr[2]), family)
    } catch {
      return undefined
    }
    return {matches: (hostname) => isIP(hostname) !== 0 && list.check(hostname, isIP(hostname) === 6 ? 'ipv6' : 'ipv4')}
  }
  const bracket = /^\[([^\]]+)\](?::(\d+))?$/.exec(text)
  const withPort = bracket ?? (isIP(text) === 6 ? null : /^([^:]+)(?::(\d+))?$/.exec(text))
  const name = (withPort?.[1] ?? text).replace(/^\*?\./, '')
  const wantedPort = withPort?.[2]
  return {
    matches: (hostname, port) =>
      (wantedPort === undefined || wantedPort === port) &&
      (hostname === name || (isIP(hostname) === 0 && hostname.endsWith(`.${name}`))),
  }
}

function isLoopback(hostname: string): boolean {
  return (
    hostname === 'localhost' || hostname.endsWith('.localhost') || hostname === '::1' || hostname.startsWith('127.')
  )
}

function readProxy(name: string, value: string | undefined): URL | undefined {
  if (value === undefined || value.trim() === '') return undefined
  const text = value.includes('://') ? value : `http://${value}`
  let url: URL
  try {
    url = new URL(text)
  } catch {
    throw new SrcipError('Usage', `${name} is not an address of a proxy`)
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new SrcipError('Usage', `${name} names ${redactUrl(url)}; only http and https proxies are supported`)
  }
  return url
}

/**
 * Proxy rules of the environment, as curl and Go read them: lower case wins over upper case, NO_PROXY takes names, dots,
 * ports, addresses and CIDRs, loopback is always direct. HTTP_PROXY in upper case is ignored where REQUEST_METHOD is set (httpoxy).
 * @throws SrcipError Usage when a variable holds no proxy address
 */
export function proxiesFromEnvironment(env: NodeJS.ProcessEnv): ProxyRules {
  const pick = (name: string): string | undefined => env[name.toLowerCase()] ?? env[name]
  const everything = readProxy('ALL_PROXY', pick('ALL_PROXY'))
  const http =
    readProxy('HTTP_PROXY', env['REQUEST_METHOD'] === undefined ? pick('HTTP_PROXY') : env['http_proxy']) ?? everything
  const https = readProxy('HTTPS_PROXY', pick('HTTPS_PROXY')) ?? everything
  const exceptions = (pick('NO_PROXY') ?? '')
    .split(/[,\s]+/)
    .map(readException)
    .filter((entry): entry is Exception => entry !== undefined)
  return {
    proxyFor(url) {
      const hostname = url.hostname.replace(/^\[|\]$/g, '').toLowerCase()
      const port = url.port === '' ? (url.protocol === 'https:' ? '443' : '80') : url.port
      if (isLoopback(hostname) || exceptions.some((entry) => entry.matches(hostname, port))) return undefined
      return url.protocol === 'https:' ? https : http
    },
  }
}
