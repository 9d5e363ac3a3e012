import {field, list, record, text} from '../model/fields.ts'
import type {KubeObject} from '../model/kubernetes.ts'
import type {SnapshotIndex} from '../model/snapshot.ts'
import {balancerEnvironment, type BalancerEnvironment} from '../platforms/balancers/recognise.ts'
import {readDataPlane, type DataPlane} from '../platforms/cnis/data-plane.ts'
import {allRunners, type Runners} from '../platforms/receivers/recognise.ts'
import {readDns, type DnsView} from './dns-view.ts'
import {readNames, type PublicName} from './public-names.ts'

/** A node as a place where connections arrive. */
export interface NodeView {
  readonly name: string
  readonly addresses: readonly string[]
  readonly podRanges: readonly string[]
  readonly version: string | undefined
}

/** Everything that is the same for every way in, read once. */
export interface ClusterView {
  readonly index: SnapshotIndex
  readonly plane: DataPlane
  readonly balancers: BalancerEnvironment
  readonly runners: Runners
  readonly nodes: readonly NodeView[]
  readonly dns: DnsView
  readonly names: readonly PublicName[]
}

/** Reads a snapshot as far as every way in needs it. */
export function viewCluster(index: SnapshotIndex): ClusterView {
  return {
    index,
    plane: readDataPlane(index),
    balancers: balancerEnvironment(index),
    runners: allRunners(index),
    nodes: viewNodes(index),
    dns: readDns(index),
    names: readNames(index),
  }
}

/** The nodes alone. */
export function viewNodes(index: SnapshotIndex): NodeView[] {
  return index.list('Node', '').map(viewNode)
}

function viewNode(node: KubeObject): NodeView {
  const spec = record(node['spec'])
  const status = record(node['status'])
  const single = text(field(spec, 'podCIDR'))
  const ranges = list(field(spec, 'podCIDRs')).filter((entry): entry is string => typeof entry === 'string')
  return {
    name: node.metadata.name,
    addresses: list(field(status, 'addresses'))
      .map(record)
      .filter((entry) => (text(field(entry, 'type')) ?? '').endsWith('IP'))
      .flatMap((entry) => text(field(entry, 'address')) ?? []),
    podRanges: ranges.length > 0 ? ranges : single === undefined ? [] : [single],
    version: text(field(record(field(status, 'nodeInfo')), 'kubeletVersion')),
  }
}
