import {isInRanges, type AddressRange} from '../../model/address-range.ts'

/** Where in the picture an address lies, as far as the snapshot and the flags tell. */
export interface Places {
  /** Addresses of load balancers and the networks that they connect from. */
  readonly balancers: readonly AddressRange[]
  /** Pod networks. */
  readonly pods: readonly AddressRange[]
  /** Addresses of nodes: behind them a masquerade may hide anybody. */
  readonly nodes: readonly AddressRange[]
}

export type Place = 'balancer' | 'pod' | 'node' | 'elsewhere'

/** The smallest place first: a pod network may contain everything else only by mistake of the one who gave it. */
export function placeOf(address: string, places: Places): Place {
  if (isInRanges(places.nodes, address)) return 'node'
  if (isInRanges(places.pods, address)) return 'pod'
  if (isInRanges(places.balancers, address)) return 'balancer'
  return 'elsewhere'
}
