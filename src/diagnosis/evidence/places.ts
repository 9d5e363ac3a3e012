import {isInRanges, type AddressRange} from '../../model/address-range.ts'

/** Where in the picture an address lies, as far as the snapshot and the flags tell. */
export interface Places {
  /** Addresses of load balancers and the networks that they connect from. */
  readonly balancers: readonly AddressRange[]
  /** Pod networks. */
  readonly pods: readonly AddressRange[]
  /** Addresses of nodes: behind them a masquerade may hide anybody. */
  readonly nodes: readonly AddressRange[]
  /** The first address of each node's pod range: what a masquerade inside the node looks like. */
  readonly gateways: readonly AddressRange[]
}

export type Place = 'loopback' | 'balancer' | 'gateway' | 'pod' | 'node' | 'elsewhere'

const loopback: readonly AddressRange[] = [
  {bytes: Uint8Array.of(127, 0, 0, 0), bits: 8},
  {bytes: Uint8Array.from({length: 16}, (_, at) => (at === 15 ? 1 : 0)), bits: 128},
]

/** The smallest place first: a pod network may contain everything else only by mistake of the one who gave it. */
export function placeOf(address: string, places: Places): Place {
  if (isInRanges(loopback, address)) return 'loopback'
  if (isInRanges(places.nodes, address)) return 'node'
  if (isInRanges(places.gateways, address)) return 'gateway'
  if (isInRanges(places.pods, address)) return 'pod'
  if (isInRanges(places.balancers, address)) return 'balancer'
  return 'elsewhere'
}
