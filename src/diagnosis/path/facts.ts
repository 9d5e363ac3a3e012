import {field, list, record, text} from '../../model/fields.ts'
import type {KubeObject} from '../../model/kubernetes.ts'
import {isUnread} from '../../model/snapshot.ts'
import {readPlain, type PlainSource} from '../../platforms/balancers/plain.ts'
import {recogniseBalancer, type RecognisedBalancer} from '../../platforms/balancers/recognise.ts'
import {ignoredKeys, readSender, type IgnoredKey, type Sender} from '../../platforms/balancers/sender.ts'
import {balancerRow} from '../../platforms/balancers/index.ts'
import type {StatusShape} from '../../platforms/balancers/row.ts'
import {clusterPolicyFor, leavesAddressesAlone, type Judged} from '../../platforms/cnis/data-plane.ts'
import {readReceiver, targetPortOf} from '../../platforms/receivers/read.ts'
import {recogniseReceiver, type RecognisedReceiver} from '../../platforms/receivers/recognise.ts'
import type {ReceiverState} from '../../platforms/receivers/state.ts'
import {records} from '../../platforms/workloads.ts'
import type {ClusterView} from '../cluster-view.ts'

/** One address or name that leads in. */
export interface Entry {
  readonly ip?: string
  readonly hostname?: string
  /** As it stands in the status; an open list of words. */
  readonly ipMode?: string
  readonly external?: true
}

/** How a connection gets to a node. */
export type Door = 'balancer' | 'node-port' | 'external-ip' | 'host-port'

/** Everything that the verdicts of one way in rest on: read once, changed by nobody; `--for` makes a changed copy. */
export interface WayFacts {
  readonly cluster: ClusterView
  readonly service: KubeObject
  readonly door: Door
  readonly port: number
  readonly portName: string
  readonly protocol: string
  readonly targetPort: number | undefined
  readonly entries: readonly Entry[]
  /** As it stands; an open list of words, and what is neither of the two is not understood. */
  readonly policy: string
  readonly balancer: RecognisedBalancer
  readonly sender: Sender
  readonly plain: PlainSource | undefined
  /** Every TCP port of the Service gets a header. */
  readonly allPortsSend: boolean
  readonly receiver: RecognisedReceiver
  /** Undefined: no receiver that is known stands there. */
  readonly state: ReceiverState | undefined
  readonly source: Judged<'kept' | 'translated'>
  readonly leftAlone: boolean
  /** Nodes with a pod of this Service that is ready. */
  readonly nodesWithPods: ReadonlySet<string>
  readonly ignored: readonly IgnoredKey[]
  /** It selects pods, pods were read, and there are none. */
  readonly noEndpoints: boolean
  /** What the status will look like, in the state that `--for` asks about; undefined: it is as seen. */
  readonly shape?: Judged<StatusShape>
}

/** Facts of every way in, in a stable order. */
export function waysIn(cluster: ClusterView): WayFacts[] {
  return cluster.index.list('Service', '').flatMap((service) => waysOf(service, cluster))
}

function waysOf(service: KubeObject, cluster: ClusterView): WayFacts[] {
  const spec = record(service['spec'])
  const type = text(field(spec, 'type')) ?? 'ClusterIP'
  const externalIPs = list(field(spec, 'externalIPs')).filter((entry): entry is string => typeof entry === 'string')
  const receiver = recogniseReceiver(service, cluster.index, cluster.runners)
  const door = doorOf(type, externalIPs, receiver)
  if (door === undefined) return []
  const balancer =
    door === 'balancer'
      ? confirmed(recogniseBalancer(service, cluster.balancers), cluster)
      : behindNodes(service, cluster)
  const entries = entriesOf(service, externalIPs, door, cluster)
  const ports = records(field(spec, 'ports')).filter((entry) => typeof field(entry, 'port') === 'number')
  const tcp = ports.filter((entry) => protocolOf(entry) === 'TCP').map((entry) => Number(field(entry, 'port')))
  const senderOf = (port: number): Sender => sender(balancer, service, port, cluster, door)
  const allPortsSend = tcp.every((port) => isSending(senderOf(port)))
  return ports.map((entry): WayFacts => {
    const port = Number(field(entry, 'port'))
    const sends = senderOf(port)
    return {
      cluster,
      service,
      door,
      port,
      portName: text(field(entry, 'name')) ?? '',
      protocol: protocolOf(entry),
      targetPort: targetPortOf(entry, port, receiver.runners),
      entries,
      policy: text(field(spec, 'externalTrafficPolicy')) ?? 'Cluster',
      balancer,
      sender: sends,
      plain:
        balancer.row === undefined ? undefined : readPlain(balancer.row, service, isSending(sends), protocolOf(entry)),
      allPortsSend,
      receiver,
      state: readReceiver(cluster.index, service, receiver, port),
      source: clusterPolicyFor(cluster.plane, service, cluster.index, protocolOf(entry)),
      leftAlone: leavesAddressesAlone(cluster.plane, service),
      nodesWithPods: new Set(
        receiver.runners.flatMap((one) => (one.ready && one.node !== undefined ? [one.node] : [])),
      ),
      ignored: ignoredKeys(balancer.row, service),
      noEndpoints: hasNoEndpoints(service, receiver, cluster),
    }
  })
}

/** Nobody is behind it: the selector takes no pod, all pods are known, and no slice names one. */
function hasNoEndpoints(service: KubeObject, receiver: RecognisedReceiver, {index}: ClusterView): boolean {
  const {namespace, name} = service.metadata
  if (Object.keys(record(field(record(service['spec']), 'selector'))).length === 0) return false
  if (receiver.runners.length > 0 || !['complete', 'absent'].includes(index.state('Pod', namespace))) return false
  return !index
    .list('EndpointSlice', 'discovery.k8s.io')
    .some(
      (slice) =>
        slice.metadata.namespace === namespace &&
        slice.metadata.labels?.['kubernetes.io/service-name'] === name &&
        records(slice['endpoints']).length > 0,
    )
}

/** The provider is told from nodes and status, never from annotations alone, where the right to look at nodes is what is missing. */
function confirmed(found: RecognisedBalancer, {index}: ClusterView): RecognisedBalancer {
  const refused = isUnread(index.state('Node'))
  return found.grade === 'inferred' && refused
    ? {...found, row: undefined, grade: 'unconfirmed', controller: undefined}
    : found
}

/** What is known of whatever stands in front of node ports: only that a Cozystack tenant is fed by its host (node ports 30000 and 30001). */
function behindNodes(service: KubeObject, {index}: ClusterView): RecognisedBalancer {
  const ports = records(field(record(service['spec']), 'ports')).map((entry) => field(entry, 'nodePort'))
  const tenant = index.list('Kubernetes', 'apps.cozystack.io').find((one) => {
    const addons = record(field(record(one['spec']), 'addons'))
    return field(record(field(addons, 'ingressNginx')), 'exposeMethod') === 'Proxied'
  })
  if (tenant === undefined || !ports.includes(30_000)) return outside
  const object = `kubernetes/${tenant.metadata.namespace ?? 'default'}/${tenant.metadata.name}`
  const clue = {object, field: 'spec.addons.ingressNginx.exposeMethod', value: 'Proxied', families: ['cozystack-host']}
  return {...outside, row: balancerRow('cozystack-host'), grade: 'inferred', clues: [clue]}
}

const outside: RecognisedBalancer = {
  row: undefined,
  grade: 'source',
  clues: [],
  contradiction: [],
  controller: undefined,
}

function doorOf(type: string, externalIPs: readonly string[], receiver: RecognisedReceiver): Door | undefined {
  if (type === 'LoadBalancer') return 'balancer'
  if (externalIPs.length > 0) return 'external-ip'
  if (type === 'NodePort') return 'node-port'
  // an ingress on the node's own ports needs no Service of these types to be reached
  if (receiver.row !== undefined && receiver.runners.some((runner) => runner.spec.hostNetwork)) return 'host-port'
  return undefined
}

function entriesOf(
  service: KubeObject,
  externalIPs: readonly string[],
  door: Door,
  cluster: ClusterView,
): readonly Entry[] {
  const status = record(field(record(service['status']), 'loadBalancer'))
  const given = records(field(status, 'ingress')).map((entry): Entry => {
    const [ip, hostname, ipMode] = ['ip', 'hostname', 'ipMode'].map((name) => text(field(entry, name)))
    return {
      ...(ip === undefined ? {} : {ip}),
      ...(hostname === undefined ? {} : {hostname}),
      ...(ipMode === undefined ? {} : {ipMode}),
    }
  })
  const external = externalIPs.map((ip): Entry => ({ip, external: true}))
  if (door === 'balancer') return [...given, ...external]
  if (external.length > 0) return external
  return cluster.nodes.flatMap((node) => node.addresses.map((ip): Entry => ({ip})))
}

function protocolOf(entry: Readonly<Record<string, unknown>>): string {
  return text(field(entry, 'protocol')) ?? 'TCP'
}

function sender(
  balancer: RecognisedBalancer,
  service: KubeObject,
  port: number,
  cluster: ClusterView,
  door: Door,
): Sender {
  if (balancer.row !== undefined) return readSender(balancer.row, service, port, balancer.controller)
  const refused = isUnread(cluster.index.state('Node'))
  const outer =
    door === 'balancer' && refused
      ? 'the same with the right to list nodes'
      : door === 'balancer'
        ? 'a request from outside, and the log of the receiver for "broken header"'
        : outerCheck
  return {
    sends: 'unknown',
    grade: door === 'balancer' && !refused ? 'unconfirmed' : 'source',
    source: 'https://github.com/haproxy/haproxy/blob/50872daa6/doc/configuration.txt',
    check: outer,
  }
}

/** Nothing in the cluster tells what stands in front of a node port. */
export const outerCheck =
  "the outer balancer's configuration (send-proxy or send-proxy-v2), or a fresh connection to it and the log of the receiver"

/** True where a header is known to be written. */
export function isSending(sender: Sender): boolean {
  return sender.sends !== 'no' && sender.sends !== 'unknown'
}

/** `service/NAMESPACE/NAME`. */
export function serviceRef(service: KubeObject): string {
  return `service/${service.metadata.namespace ?? 'default'}/${service.metadata.name}`
}

/** Does the receiver ask for a header on this port, for certain? */
export function isAsking(facts: WayFacts): boolean {
  return facts.state?.asks === 'yes'
}
