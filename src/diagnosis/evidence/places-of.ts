import {readRange, type AddressRange} from '../../model/address-range.ts'
import type {SnapshotIndex} from '../../model/snapshot.ts'
import {viewNodes} from '../cluster-view.ts'
import type {Places} from './places.ts'

/**
 * Reads the places out of a snapshot. Where a balancer connects from stands nowhere in a cluster, so its ranges are given: `balancers`
 * are texts such as 192.0.2.0/24, checked by the caller.
 */
export function placesOf(index: SnapshotIndex, balancers: readonly AddressRange[]): Places {
  const nodes = viewNodes(index)
  const ranges = (texts: readonly string[]): AddressRange[] => texts.flatMap((text) => readRange(text) ?? [])
  const podRanges = ranges(nodes.flatMap((node) => node.podRanges))
  return {
    balancers,
    nodes: ranges(nodes.flatMap((node) => node.addresses)),
    pods: podRanges,
    gateways: podRanges.map(firstAddress),
  }
}

function firstAddress({bytes}: AddressRange): AddressRange {
  const first = Uint8Array.from(bytes)
  first[first.length - 1]! |= 1
  return {bytes: first, bits: first.length * 8}
}
