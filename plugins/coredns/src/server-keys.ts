import {atLeast} from './directives.ts'
import {readInteger, readNetwork} from './setup/go-values.ts'
import {splitTransport, zonesOfArgument} from './setup/zone-arguments.ts'
import {fqdn, isDomainName, normalizeName} from './simulate/dns-name.ts'
import type {CorefileError, CorednsVersion, ParsedCorefile, ServedZone, ServerBlock, Transport} from './types.ts'

/** Where a transport listens when the key names no port. */
const defaultPorts: Readonly<Record<Transport, string>> = {
  dns: '53',
  tls: '853',
  quic: '853',
  grpc: '443',
  https: '443',
  https3: '443',
  unix: '',
}

/** Release that knows the prefix; older ones take it for part of the name. */
const transportSince: Partial<Record<Transport, string>> = {quic: '1.11.0', unix: '1.11.0', https3: '1.13.2'}

/** A key taken apart, or CoreDNS' words for why it cannot be. */
export type ServerKey =
  {readonly transport: Transport; readonly port: string; readonly zones: readonly string[]} | {readonly error: string}

/**
 * Reads one server key (P2): transport prefix, port behind the last colon, zone or CIDR.
 *
 * @param key environment expanded, comma taken off
 * @param dnsPort default port of the process for plain DNS (`-dns.port`)
 * @returns zones in the form queries are compared with; a CIDR off the octet (IPv4) or nibble (IPv6) gives several
 */
export function readServerKey(key: string, version: CorednsVersion, dnsPort = '53'): ServerKey {
  const {transport, rest} = transportOf(key, version)
  const split = splitHostPort(rest)
  if ('error' in split) return split
  const hosts = zonesOfHost(split.host, version)
  if (!hosts) return {error: `invalid CIDR ${split.host}`}
  // A name may be legal without its final dot only: CoreDNS asks again with it.
  for (const host of hosts) {
    const again = splitHostPort(fqdn(host))
    if ('error' in again) return again
  }
  const port = split.port ?? (transport === 'dns' ? dnsPort : defaultPorts[transport])
  const zones = hosts.map((host) => (atLeast(version, '1.14.7') ? normalizeName(host) : fqdn(host)))
  return {transport, port, zones}
}

function transportOf(key: string, version: CorednsVersion): {transport: Transport; rest: string} {
  const {transport, rest} = splitTransport(key)
  const since = transportSince[transport as Transport]
  if (since && !atLeast(version, since)) return {transport: 'dns', rest: key}
  return {transport: transport as Transport, rest}
}

function splitHostPort(text: string): {host: string; port?: string} | {error: string} {
  const colon = text.lastIndexOf(':')
  if (colon === text.length - 1) return {error: `expecting data after last colon: ${JSON.stringify(text)}`}
  const number = colon === -1 ? undefined : readInteger(text.slice(colon + 1))
  const host = number?.ok ? text.slice(0, colon) : text
  const size = new TextEncoder().encode(host).length
  if (size > 255) return {error: `specified zone is too long: ${size} > 255`}
  if (!isDomainName(host)) return {error: `zone is not a valid domain name: ${host}`}
  return number?.ok ? {host, port: String(number.value)} : {host}
}

/** Zones times addresses of a file: more than any machine can listen for, and than anyone waits for to be judged. */
const listenLimit = 500_000

/** Undefined for a CIDR that CoreDNS refuses. */
function zonesOfHost(host: string, version: CorednsVersion): readonly string[] | undefined {
  if (!readNetwork(host)) return [host]
  const zones = zonesOfArgument(host)
  if (zones.length === 0) return undefined
  return atLeast(version, '1.8.4') ? zones : zones.slice(0, 1)
}

/** What P2 makes of a parsed file. */
export interface InspectedKeys {
  readonly zones: readonly ServedZone[]
  readonly error?: CorefileError
}

/**
 * Reads the keys of every block (P2). Stops at the first bad one, like CoreDNS; its message carries no position there,
 * the error's `line` tells where the key stands all the same.
 */
export function inspectKeys(parsed: ParsedCorefile, dnsPort = '53'): InspectedKeys {
  const zones: ServedZone[] = []
  let listens = 0
  for (const block of parsed.blocks) {
    const before = zones.length
    for (const [index, key] of block.keys.entries()) {
      const read = readServerKey(key, parsed.version, dnsPort)
      if ('error' in read) return {zones, error: keyError(parsed, block, index, read.error)}
      const {transport, port} = read
      for (const zone of read.zones) zones.push({transport, zone, port, block: block.index, key: index})
    }
    const addresses = block.tokens.get('bind')?.length ?? 1
    listens += (zones.length - before) * addresses
    if (listens > listenLimit) {
      const text = `${zones.length - before} zones on ${addresses} addresses are more than can be listened for`
      return {zones: [], error: keyError(parsed, block, 0, text)}
    }
  }
  return {zones}
}

function keyError(parsed: ParsedCorefile, block: ServerBlock, index: number, text: string): CorefileError {
  const token = block.keyTokens[index]
  return {
    phase: 'inspect',
    message: `error inspecting server blocks: ${text}`,
    file: token?.file || parsed.path,
    line: token?.line ?? 0,
    block: block.index,
  }
}

/** `dns://.:53`, with ` on ADDRESS` where it is bound: how CoreDNS names a zone in messages. */
export function formatServedZone(zone: Pick<ServedZone, 'transport' | 'zone' | 'port'>, address = ''): string {
  return `${zone.transport}://${zone.zone}:${zone.port}${address === '' ? '' : ` on ${address}`}`
}
