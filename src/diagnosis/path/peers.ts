import {isInRanges, readRange, type AddressRange} from '../../model/address-range.ts'
import type {Trust} from '../../platforms/receivers/state.ts'
import type {WayFacts} from './facts.ts'

/** Who stands at the other end of the connection that a receiver accepts. */
export interface Peers {
  readonly addresses: readonly string[]
  readonly what: string
}

/**
 * The peer of a connection from outside: a node when the service proxy translated it, else what the balancer shows, which
 * nothing in the cluster tells.
 */
export function outsidePeers(facts: WayFacts): Peers | undefined {
  if (facts.plain?.direct === true || facts.door === 'host-port') return undefined
  if (facts.policy === 'Local' || facts.source.value !== 'translated') return undefined
  if (facts.receiver.row?.transparent !== undefined) return undefined
  return nodes(facts)
}

/** The peer of a short-circuited call of a pod: its node under policy Cluster, the pod itself under Local (platforms.md 3.1). */
export function insidePeers(facts: WayFacts): Peers | undefined {
  if (facts.policy === 'Cluster') return nodes(facts)
  const samples = facts.cluster.nodes.flatMap((node) => node.podRanges.map(firstOf))
  return {addresses: samples, what: 'pods'}
}

function nodes(facts: WayFacts): Peers {
  return {addresses: facts.cluster.nodes.flatMap((node) => node.addresses), what: 'nodes'}
}

function firstOf(range: string): string {
  return range.split('/')[0] ?? ''
}

/** Does a list hold all of IPv4 and nothing of IPv6, while the peers have both? */
export function trustsOneFamily(trust: Trust, peers: Peers | undefined): boolean {
  if (trust.kind !== 'ranges' || peers === undefined) return false
  const ranges = trust.ranges.map(readRange).filter((range): range is AddressRange => range !== undefined)
  const all = ranges.some(({bits, bytes}) => bits === 0 && bytes.length === 4)
  const others = peers.addresses.filter((address) => address.includes(':'))
  return (
    all &&
    others.length > 0 &&
    others.length < peers.addresses.length &&
    !others.every((address) => isInRanges(ranges, address))
  )
}

/** Does a list hold something that is no range? */
export function unreadableRanges(trust: Trust): string[] {
  return trust.kind === 'ranges' ? trust.ranges.filter((one) => one !== 'unix:' && readRange(one) === undefined) : []
}

/** Are these peers in a list? `some` where only part of them is; undefined where it cannot be told. */
export function isListed(trust: Trust, peers: Peers | undefined): 'all' | 'some' | 'none' | undefined {
  if (trust.kind === 'anyone') return 'all'
  if (trust.kind === 'nobody') return 'none'
  if (trust.kind === 'unknown') return undefined
  const ranges = trust.ranges.map(readRange).filter((range): range is AddressRange => range !== undefined)
  // what the receiver makes of a list with a word in it is not known
  if (ranges.length !== trust.ranges.filter((one) => one !== 'unix:').length) return undefined
  if (ranges.some((range) => range.bits === 0 && range.bytes.length === 4)) {
    const addresses = peers?.addresses ?? []
    const covered = addresses.filter((address) => !address.includes(':'))
    if (addresses.length === 0 || covered.length > 0) return 'all'
  }
  if (peers === undefined || peers.addresses.length === 0) return undefined
  const inside = peers.addresses.filter((address) => isInRanges(ranges, address)).length
  if (inside === peers.addresses.length) return 'all'
  return inside === 0 ? 'none' : 'some'
}
