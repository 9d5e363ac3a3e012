import {BlockList, isIP} from 'node:net'

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Which proxy the environment asks for, by the rules of Go's net/http (golang.org/x/net/http/httpproxy), which kubectl
 * follows: HTTPS_PROXY or HTTP_PROXY by the scheme of the target, the upper-case name first, NO_PROXY exempts; loopback
 * addresses and `localhost` are never proxied.
 * @param target URL of the API server
 * @returns URL of the proxy, or undefined for a direct connection
 */
export function proxyFromEnvironment(target: URL, env: Environment): string | undefined {
  const name = target.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY'
  // In a CGI process the request's own Proxy header arrives as HTTP_PROXY (CVE-2016-5385).
  if (name === 'HTTP_PROXY' && (env['REQUEST_METHOD'] ?? '') !== '') return undefined
  const proxy = variable(env, name)
  if (proxy === undefined) return undefined
  const host = bareHost(target.hostname)
  const port = target.port === '' ? (target.protocol === 'https:' ? '443' : '80') : target.port
  return isExempt(host, port, variable(env, 'NO_PROXY') ?? '') ? undefined : proxyUrl(proxy)
}

function variable(env: Environment, name: string): string | undefined {
  const value = env[name] ?? ''
  if (value !== '') return value
  const lower = env[name.toLowerCase()] ?? ''
  return lower === '' ? undefined : lower
}

/** `proxy:3128` without a scheme is http. */
function proxyUrl(text: string): string {
  const complete = URL.canParse(text) && new URL(text).host !== ''
  return complete ? text : `http://${text}`
}

/**
 * Whether NO_PROXY exempts this host.
 * @param host lower-case name, or address without brackets
 */
export function isExempt(host: string, port: string, noProxy: string): boolean {
  if (host === 'localhost' || isLoopback(host)) return true
  return noProxy.split(',').some((entry) => entryMatches(entry.trim().toLowerCase(), host.toLowerCase(), port))
}

function entryMatches(entry: string, host: string, port: string): boolean {
  if (entry === '') return false
  if (entry === '*') return true
  if (isPrefix(entry)) return prefixContains(entry, host)
  const {name, port: wanted} = splitPort(entry)
  if (name === '' || (wanted !== '' && wanted !== port)) return false
  if (isIP(name) !== 0) return isIP(host) !== 0 && sameAddress(name, host)
  if (isIP(host) !== 0) return false
  // `example.org` means itself and all below; `.example.org` and `*.example.org` only what is below.
  const below = name.startsWith('*.') ? name.slice(1) : name
  if (below.startsWith('.')) return host.endsWith(below)
  return host === below || host.endsWith(`.${below}`)
}

/** `host:port`, `[v6]:port`, or no port at all. A bare IPv6 address has colons but no port; brackets without a port match nothing. */
function splitPort(entry: string): {name: string; port: string} {
  const bracketed = /^\[([^\]]*)\]:(.*)$/.exec(entry)
  if (bracketed !== null) return {name: bracketed[1] ?? '', port: bracketed[2] ?? ''}
  const parts = entry.split(':')
  return parts.length === 2 ? {name: parts[0] ?? '', port: parts[1] ?? ''} : {name: entry, port: ''}
}

function isPrefix(entry: string): boolean {
  const [address = '', bits = '', ...rest] = entry.split('/')
  if (rest.length > 0 || !/^\d{1,3}$/.test(bits)) return false
  const family = isIP(address)
  return family !== 0 && Number(bits) <= (family === 4 ? 32 : 128)
}

function prefixContains(prefix: string, host: string): boolean {
  const [address = '', bits = ''] = prefix.split('/')
  if (isIP(host) === 0) return false
  const list = new BlockList()
  list.addSubnet(address, Number(bits), familyName(address))
  return list.check(host, familyName(host))
}

function sameAddress(one: string, other: string): boolean {
  const list = new BlockList()
  list.addAddress(one, familyName(one))
  return list.check(other, familyName(other))
}

function isLoopback(host: string): boolean {
  return prefixContains('127.0.0.0/8', host) || (isIP(host) === 6 && sameAddress('::1', host))
}

function familyName(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4'
}

/** URL.hostname keeps the brackets of IPv6. */
export function bareHost(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '')
}
