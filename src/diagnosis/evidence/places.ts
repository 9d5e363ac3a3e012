import {longestPrefix, type AddressRange} from '../../model/address-range.ts'

/** Where in the picture an address lies, as far as the snapshot and the flags tell. */
export interface Places {
  /** Addresses of load balancers and the networks that they connect from. */
  readonly balancers: readonly AddressRange[]
  /** Pod networks, and pods one by one. */
  readonly pods: readonly AddressRange[]
  /** Addresses of nodes: behind them a masquerade may hide anybody. */
  readonly nodes: readonly AddressRange[]
  /** The first address of each node's pod range: what a masquerade inside the node looks like. */
  readonly gateways: readonly AddressRange[]
  /** All pod networks are among `pods`: an address outside of them is no pod. Where this is false, any address may be one. */
  readonly podsKnown: boolean
}

/** `elsewhere` is outside of the cluster for certain, `unknown` may be anything. */
export type Place = 'loopback' | 'balancer' | 'gateway' | 'pod' | 'node' | 'elsewhere' | 'unknown'

const loopback: readonly AddressRange[] = [
  {bytes: Uint8Array.of(127, 0, 0, 0), bits: 8},
  {bytes: Uint8Array.from({length: 16}, (_, at) => (at === 15 ? 1 : 0)), bits: 128},
]

/** The smallest range that holds an address says what it is: a balancer may have an address out of a pod network, or the other way round. */
export function placeOf(address: string, places: Places): Place {
  if (longestPrefix(loopback, address) !== undefined) return 'loopback'
  const found = (
    [
      ['node', places.nodes],
      ['gateway', places.gateways],
      ['pod', places.pods],
      ['balancer', places.balancers],
    ] as const
  ).flatMap(([place, ranges]) => {
    const bits = longestPrefix(ranges, address)
    return bits === undefined ? [] : [{place, bits}]
  })
  const [best] = found.toSorted((a, b) => b.bits - a.bits)
  return best?.place ?? (places.podsKnown ? 'elsewhere' : 'unknown')
}

/** Addresses whose place is kept; beyond that it is looked up again. */
const remembered = 50_000

/** {@link placeOf} for many addresses: a log names the same few again and again, and a cluster may have thousands of ranges. */
export function placeFinder(places: Places): (address: string) => Place {
  const known = new Map<string, Place>()
  return (address) => {
    const before = known.get(address)
    if (before !== undefined) return before
    if (known.size >= remembered) known.clear()
    const place = placeOf(address, places)
    known.set(address, place)
    return place
  }
}
