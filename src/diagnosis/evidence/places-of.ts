import {isInRanges, readRange, type AddressRange} from '../../model/address-range.ts'
import type {WayIn} from '../../model/doctor.ts'
import {field, list, record, text} from '../../model/fields.ts'
import type {SnapshotIndex} from '../../model/snapshot.ts'
import {statusAddresses} from '../../platforms/receivers/recognise.ts'
import {viewNodes} from '../cluster-view.ts'
import type {Places} from './places.ts'

/** What the person at the keyboard knows and no object of the cluster tells, or was not read. */
export interface GivenPlaces {
  readonly balancers: readonly AddressRange[]
  readonly pods: readonly AddressRange[]
  readonly nodes: readonly AddressRange[]
}

/** Nothing was given. */
export const noGivenPlaces: GivenPlaces = {balancers: [], pods: [], nodes: []}

const ranges = (texts: readonly string[]): AddressRange[] => texts.flatMap((one) => readRange(one) ?? [])

/**
 * Reads the places out of a snapshot. Where a balancer connects from stands nowhere in a cluster, so its ranges are given. Pod ranges
 * are believed complete when somebody gave them, or when every node has one and every pod that was read lies in one: a CNI with
 * address pools of its own leaves `spec.podCIDR` behind as a word without meaning.
 */
export function placesOf(index: SnapshotIndex, given: GivenPlaces, ways: readonly WayIn[] = []): Places {
  const nodes = viewNodes(index)
  const podRanges = ranges(nodes.flatMap((node) => node.podRanges))
  const podAddresses = addressesOfPods(index)
  const complete =
    index.state('Node') === 'complete' &&
    nodes.length > 0 &&
    nodes.every((node) => node.podRanges.length > 0) &&
    podAddresses.every((address) => isInRanges(podRanges, address))
  return {
    balancers: given.balancers,
    nodes: [...given.nodes, ...ranges([...nodes.flatMap((node) => node.addresses), ...announcedNodes(index, ways)])],
    pods: [...given.pods, ...podRanges, ...ranges(podAddresses)],
    gateways: [...given.pods, ...podRanges].map(firstAddress),
    podsKnown: given.pods.length > 0 || complete,
  }
}

/** Addresses of pods that are not their node's. */
function addressesOfPods(index: SnapshotIndex): string[] {
  return index.list('Pod', '').flatMap((pod) => {
    if (field(record(pod['spec']), 'hostNetwork') === true) return []
    const status = record(pod['status'])
    const all = list(field(status, 'podIPs')).map((one) => text(field(record(one), 'ip')))
    return [...all, text(field(status, 'podIP'))].filter((one) => one !== undefined)
  })
}

/** servicelb of k3s announces addresses of nodes, and no others (platforms.md 1.3). */
function announcedNodes(index: SnapshotIndex, ways: readonly WayIn[]): string[] {
  return ways
    .filter(({platform}) => platform.balancer === 'k3s-servicelb')
    .flatMap(({namespace, service}) => {
      const object = index.get('Service', namespace, service, '')
      return object === undefined ? [] : statusAddresses(object)
    })
}

function firstAddress({bytes}: AddressRange): AddressRange {
  const first = Uint8Array.from(bytes)
  first[first.length - 1]! |= 1
  return {bytes: first, bits: first.length * 8}
}
