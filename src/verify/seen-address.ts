import {isIP} from 'node:net'
import {plainAddress, withoutPort} from '../model/address.ts'
import type {WhoamiAnswer} from '../model/whoami.ts'

/** The address that an echo says it has seen, and where in its answer that stands. */
export interface SeenAddress {
  readonly address: string
  readonly where: string
}

/** Names under which well-known echoes give the address, best first: whoami, httpbin and the like, Traefik's whoami, echo-server. */
const fields = ['client.address', 'client', 'origin', 'ip', 'client_ip', 'clientIp', 'remote_addr', 'remoteAddr']
const headerNames = ['x-real-ip', 'x-forwarded-for', 'x-envoy-external-address']

/**
 * Reads the client address out of what an echo answered: our `whoami`, JSON echoes that repeat the headers they got, Traefik's
 * `Name: value` lines, or a body that is nothing but one address. Undefined when there is no address in it, or several that differ
 * in a place that should hold one. Hostile bodies are only searched, never evaluated.
 */
export function seenAddress(body: string): SeenAddress | undefined {
  const bare = body.trim()
  if (isIP(bare) !== 0) return {address: plain(bare), where: 'body'}
  if (bare.startsWith('{')) return fromJson(bare)
  return fromLines(bare)
}

function fromJson(text: string): SeenAddress | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  for (const field of fields) {
    const address = addressIn(at(value, field.split('.')))
    if (address !== undefined) return {address, where: field}
  }
  for (const path of [['headers'], ['request', 'headers'], ['http', 'forwarded']]) {
    const headers = at(value, path)
    if (typeof headers !== 'object' || headers === null) continue
    const lower = new Map(Object.entries(headers).map(([name, one]) => [name.toLowerCase(), one as unknown]))
    for (const name of headerNames) {
      const address = addressIn(lower.get(name))
      if (address !== undefined) return {address, where: [...path, name].join('.')}
    }
  }
  return undefined
}

function fromLines(text: string): SeenAddress | undefined {
  const lines = text.split(/\r?\n/).slice(0, 200)
  for (const name of [...headerNames, 'client_address', 'remoteaddr']) {
    for (const line of lines) {
      const found = /^\s*([A-Za-z_-]{1,40})\s*[:=]\s*(.{1,200})$/.exec(line)
      if (found === null || found[1]!.toLowerCase() !== name) continue
      const address = addressIn(found[2])
      if (address !== undefined) return {address, where: found[1]!}
    }
  }
  return undefined
}

function at(value: unknown, path: readonly string[]): unknown {
  let current = value
  for (const name of path) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, name)) return undefined
    current = (current as Record<string, unknown>)[name]
  }
  return current
}

/** One address, with or without a port behind it; the first of a chain is what the last proxy believed. */
function addressIn(value: unknown): string | undefined {
  const text = (Array.isArray(value) ? (value[0] as unknown) : value) ?? undefined
  if (typeof text !== 'string') return undefined
  const word = text.split(',')[0]!.trim()
  const bare = withoutPort(word)
  return isIP(bare) === 0 ? undefined : plain(bare)
}

/** One spelling, so that two texts of one address are equal; what is no address stays as it is. */
export function plain(address: string): string {
  return plainAddress(address) ?? address
}

/**
 * Our own `whoami` behind an HTTP proxy that it does not trust says that proxy's address, although the client's stands in a header:
 * then the echo was started wrongly, and this is the advice. Undefined for every other answer.
 */
export function trustAdvice(body: string, wanted: string): string | undefined {
  let answer: Partial<WhoamiAnswer>
  try {
    answer = JSON.parse(body) as Partial<WhoamiAnswer>
  } catch {
    return undefined
  }
  const {kind, client, peer, http} = answer
  if (kind !== 'Whoami' || client?.from !== 'peer' || peer?.trusted !== false) return undefined
  const claims = Object.values(http?.forwarded ?? {}).flatMap((value) => value.split(',').map((word) => word.trim()))
  return claims.includes(wanted)
    ? `the address stands in a header, but this whoami does not trust ${client.address}: start it with --trusted-cidr`
    : undefined
}
