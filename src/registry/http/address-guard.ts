import {lookup as systemLookup, type LookupAddress, type LookupOptions} from 'node:dns'
import {BlockList, isIP} from 'node:net'
import {SrcipError} from '../../model/errors.ts'

/** How near an address is to this machine; a registry may not send us to one that is nearer than itself. */
export type Reach = 'public' | 'private' | 'local'

function blockList(subnets: readonly [string, number][]): BlockList {
  const list = new BlockList()
  for (const [net, prefix] of subnets) list.addSubnet(net, prefix, net.includes(':') ? 'ipv6' : 'ipv4')
  return list
}

/** Loopback, link-local (cloud metadata lives there), unspecified, multicast, broadcast. */
const local = blockList([
  ['0.0.0.0', 8],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['224.0.0.0', 4],
  ['255.255.255.255', 32],
  ['::', 128],
  ['::1', 128],
  ['fe80::', 10],
  ['ff00::', 8],
])
/** RFC 1918, RFC 6598, RFC 4193. */
const privateNets = blockList([
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['100.64.0.0', 10],
  ['fc00::', 7],
])

/** Classifies an address; an IPv4 address inside IPv6 (`::ffff:a.b.c.d`, 64:ff9b::/96) counts as what it holds. */
export function reachOf(address: string): Reach {
  // Addresses of sockets and lookups are well formed; node's own isIPv6 compiles a large expression at its first call.
  const family = address.includes(':') ? 'ipv6' : 'ipv4'
  const embedded = family === 'ipv6' ? embeddedIpv4(address) : undefined
  if (embedded !== undefined) return reachOf(embedded)
  if (local.check(address, family)) return 'local'
  return privateNets.check(address, family) ? 'private' : 'public'
}

function embeddedIpv4(address: string): string | undefined {
  const canonical = new URL(`http://[${address.split('%')[0]}]/`).hostname.slice(1, -1)
  const match = /^(?:::ffff:|64:ff9b::)([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(canonical)
  if (match === null) return undefined
  const high = Number.parseInt(match[1] ?? '', 16)
  const low = Number.parseInt(match[2] ?? '', 16)
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`
}

const order: Readonly<Record<Reach, number>> = {local: 0, private: 1, public: 2}

/** May a registry with this reach send us to that address? */
export function mayLeadTo(from: Reach, to: Reach): boolean {
  return order[to] >= order[from]
}

type LookupCallback = (error: NodeJS.ErrnoException | null, address: string | LookupAddress[], family?: number) => void

/**
 * A `lookup` for sockets that refuses addresses nearer to this machine than the registry itself: checked on the
 * resolved address, so that a name that changes its answer (DNS rebinding) does not slip past.
 */
export function guardedLookup(from: Reach, registry: string) {
  return (hostname: string, options: LookupOptions, callback: LookupCallback): void => {
    systemLookup(hostname, {...options, all: true}, (error, addresses) => {
      if (error !== null) return callback(error, [])
      const wrong = addresses.find((entry) => !mayLeadTo(from, reachOf(entry.address)))
      if (wrong !== undefined) return callback(refusal(registry, hostname, wrong.address), [])
      const [first] = addresses
      if (options.all === true || first === undefined) return callback(null, addresses)
      callback(null, first.address, first.family)
    })
  }
}

/** Literal addresses never reach a lookup, so they are checked before the socket is opened. */
export function refuseLiteral(from: Reach, registry: string, hostname: string): void {
  const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
  if (isIP(bare) !== 0 && !mayLeadTo(from, reachOf(bare))) throw refusal(registry, hostname, bare)
}

function refusal(registry: string, hostname: string, address: string): SrcipError {
  const shown = hostname === address ? hostname : `${hostname} (${address})`
  return new SrcipError(
    'Denied',
    `${registry} leads to ${shown}, an address of this machine or its own network: refused`,
  )
}
