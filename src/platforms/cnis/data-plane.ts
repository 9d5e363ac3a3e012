import type {Grade} from '../../model/doctor.ts'
import {field, record, text} from '../../model/fields.ts'
import type {KubeObject} from '../../model/kubernetes.ts'
import {isUnread, type SnapshotIndex} from '../../model/snapshot.ts'
import {shared} from '../sources.ts'
import {compareVersions, holdsIn, imageTag, isImageOf} from '../versions.ts'
import {podRunners, workloadRunners, type Runner} from '../workloads.ts'
import {cniRows, kubeProxyRow} from './rows.ts'
import type {CniRow} from './row.ts'

/** A statement that may be unknown, with its ground. */
export interface Judged<T> {
  readonly value: T | undefined
  readonly grade: Grade
  readonly source: string
  readonly check?: string
}

/** What handles Services on the nodes, and the CNI. Made once for a cluster. */
export interface DataPlane {
  /** `kube-proxy`, the id of a CNI that replaces it, or `unknown`. */
  readonly proxy: string
  readonly title: string
  readonly cni: string | undefined
  readonly version: string | undefined
  /** Are the addresses of balancers in its rules at all? */
  readonly shortCircuits: boolean
  readonly honoursIpMode: Judged<boolean>
  /** Source of a connection from outside under policy Cluster. */
  readonly cluster: Judged<'kept' | 'translated'>
  readonly seen: readonly {readonly object: string; readonly field: string; readonly value: string}[]
  /** kube-proxy's mode, where its configuration is seen. */
  readonly mode?: string
  /** Several that cannot all be right. */
  readonly contradiction: readonly string[]
  readonly row: CniRow | undefined
  /** What could not be read and may say otherwise, in words of RBAC; undefined: everything was read. */
  readonly unread?: string
}

interface Present {
  readonly row: CniRow
  readonly runner: Runner
  readonly version: string | undefined
}

const where = 'verify outside: look at the address that the application sees'

/** Finds the service proxy of a cluster, and says what it could not look at. */
export function readDataPlane(index: SnapshotIndex): DataPlane {
  const plane = seenPlane(index)
  const unread = unreadOf(plane, index)
  return unread === undefined ? plane : {...plane, unread}
}

/** Kinds that tell which service proxy runs, or how it is set, and were not read. */
function unreadOf(plane: DataPlane, index: SnapshotIndex): string | undefined {
  const lacks = (kind: string): boolean => isUnread(index.state(kind))
  if (lacks('DaemonSet')) return 'daemonsets'
  if (lacks('ConfigMap')) return 'configmaps of kube-system'
  if (plane.cni === 'calico' && lacks('FelixConfiguration')) return 'felixconfigurations'
  // kube-proxy inside the process of k3s, and its version where no image tells it
  return lacks('Node') && (plane.version === undefined || plane.proxy === 'unknown') ? 'nodes' : undefined
}

function seenPlane(index: SnapshotIndex): DataPlane {
  const runners = [...workloadRunners(index), ...podRunners(index)]
  const present = cniRows.flatMap((row) => findRow(row, runners) ?? [])
  const kubeProxy = findRow(kubeProxyRow, runners)
  const replacing = present.filter((one) => replaces(one, index, kubeProxy !== undefined))
  const cni = present.find((one) => one.row.id !== 'flannel') ?? present[0]
  if (replacing.length > 1) {
    return {...unknownPlane(cni?.row.id), contradiction: replacing.map(({row}) => row.title)}
  }
  const [one] = replacing
  if (one !== undefined) return planeOf(one, index, cni?.row.id)
  if (kubeProxy !== undefined) {
    const mode = kubeProxyMode(index)
    const plane = planeOf({...kubeProxy, version: kubeProxy.version ?? oldestKubelet(index)}, index, cni?.row.id)
    return mode === undefined ? plane : {...plane, mode}
  }
  return builtIn(index) ?? unknownPlane(cni?.row.id, cni?.row)
}

function findRow(row: CniRow, runners: readonly Runner[]): Present | undefined {
  for (const runner of runners) {
    const container = runner.spec.containers.find(({image}) => isImageOf(image, row.images))
    const named = runner.kind === 'DaemonSet' && row.daemonSets.includes(runner.name)
    if (container === undefined && !named) continue
    return {row, runner, version: imageTag((container ?? runner.spec.containers[0])?.image ?? '')}
  }
  return undefined
}

/** `mode` of the KubeProxyConfiguration that kubeadm-like clusters keep in a ConfigMap. */
function kubeProxyMode(index: SnapshotIndex): string | undefined {
  const config = configValue(index, 'kube-proxy', 'config.conf')
  return /^mode:\s*"?([a-z]+)/m.exec(config ?? '')?.[1]
}

/** k3s and its kin run kube-proxy inside their own process; the kubelet's version says so. */
function builtIn(index: SnapshotIndex): DataPlane | undefined {
  const version = oldestKubelet(index)
  if (version === undefined || !/\+(?:k3s|rke2)/.test(version)) return undefined
  const node = index.list('Node', '')[0]
  return {
    ...planeOf({row: kubeProxyRow, runner: nobody, version}, index, version.includes('+k3s') ? 'flannel' : undefined),
    seen: [{object: `node/${node?.metadata.name ?? ''}`, field: 'status.nodeInfo.kubeletVersion', value: version}],
  }
}

const nobody: Runner = {
  object: '',
  kind: '',
  namespace: '',
  name: '',
  labels: {},
  annotations: {},
  spec: {hostNetwork: false, containers: [], volumes: []},
  ready: true,
  ips: [],
}

/** The oldest kubelet; kube-proxy may not be newer than it by much, and is made from the same release. */
function oldestKubelet(index: SnapshotIndex): string | undefined {
  const versions = index
    .list('Node', '')
    .flatMap((node) => text(field(record(field(record(node['status']), 'nodeInfo')), 'kubeletVersion')) ?? [])
  return versions.toSorted((a, b) => compareVersions(a, b) ?? 0)[0]
}

function replaces(one: Present, index: SnapshotIndex, kubeProxy: boolean): boolean {
  switch (one.row.replacesKubeProxy.value) {
    case 'yes':
      return true
    case 'no':
      return false
    case 'setting':
      break
  }
  switch (one.row.id) {
    case 'cilium': {
      const value = configValue(index, 'cilium-config', 'kube-proxy-replacement')
      return value === undefined ? !kubeProxy : /^(?:true|strict)$/.test(value)
    }
    case 'calico':
      return calicoEbpf(index, one.runner)
    case 'antrea':
      return /\bproxyAll:\s*true/.test(antreaConfig(index))
    case 'kube-router': {
      const words = one.runner.spec.containers.flatMap((container) => [...container.command, ...container.args])
      return !kubeProxy && !words.some((word) => /^--?run-service-proxy=false/.test(word))
    }
    default:
      return false
  }
}

function planeOf(one: Present, index: SnapshotIndex, cni: string | undefined): DataPlane {
  const {row, version} = one
  const ipMode = row.honoursIpMode
  const honours = ipMode.value === 'setting' ? undefined : holdsIn(ipMode.value, version)
  return {
    proxy: row.id,
    title: version === undefined ? row.title : `${row.title} ${version}`,
    cni,
    version,
    shortCircuits: !(row.id === 'antrea' && /\bproxyLoadBalancerIPs:\s*false/.test(antreaConfig(index))),
    honoursIpMode: {
      value: honours,
      grade: honours === undefined ? 'unconfirmed' : ipMode.grade,
      source: ipMode.source,
      check: ipMode.check ?? `find the version of ${row.title}: ipMode is honoured ${sinceText(ipMode.value)}`,
    },
    cluster: clusterPolicy(one, index),
    seen:
      one.runner === nobody
        ? []
        : [{object: one.runner.object, field: 'spec.containers[].image', value: one.version ?? '(no tag)'}],
    contradiction: [],
    row,
  }
}

function sinceText(since: CniRow['honoursIpMode']['value']): string {
  if (typeof since === 'string') return since
  return `from ${since.from}${since.except === undefined ? '' : `, not in ${since.except.join(', ')}`}`
}

/** Nothing was recognised: what kube-proxy does is what every replacement copies, yet nobody has seen it here. */
function unknownPlane(cni: string | undefined, row?: CniRow): DataPlane {
  const check = 'kubectl get daemonsets -A: which CNI, and does kube-proxy run'
  return {
    proxy: 'unknown',
    title: 'the service proxy of the nodes (not seen)',
    cni,
    version: undefined,
    shortCircuits: true,
    honoursIpMode: {value: undefined, grade: 'unconfirmed', source: shared.ipMode, check},
    cluster:
      row?.cluster.grade === 'unconfirmed'
        ? {value: undefined, grade: 'unconfirmed', source: row.cluster.source, check: where}
        : {value: 'translated', grade: 'inferred', source: shared.kubeProxy, check},
    seen: [],
    contradiction: [],
    row: undefined,
  }
}

function clusterPolicy(one: Present, index: SnapshotIndex): Judged<'kept' | 'translated'> {
  const cell = one.row.cluster
  const said = {grade: cell.grade, source: cell.source, ...(cell.check === undefined ? {} : {check: cell.check})}
  if (cell.value !== 'setting') return {value: cell.value, ...said}
  if (one.row.id === 'cilium') {
    const mode = configValue(index, 'cilium-config', 'bpf-lb-mode') ?? 'snat'
    if (mode === 'snat') return {value: 'translated', ...said}
    const dispatch = configValue(index, 'cilium-config', 'bpf-lb-dsr-dispatch') ?? 'opt'
    const tunnelled = configValue(index, 'cilium-config', 'routing-mode') === 'tunnel'
    const vxlan = (configValue(index, 'cilium-config', 'tunnel-protocol') ?? 'vxlan') === 'vxlan'
    // with VXLAN there is no DSR, and option dispatch needs native routing: the agent refuses or falls back
    if (tunnelled && (vxlan || dispatch === 'opt'))
      return {
        value: undefined,
        ...said,
        grade: 'unconfirmed',
        check: 'cilium-dbg status --verbose: Mode under KubeProxyReplacement Details',
      }
    return {value: 'kept', ...said}
  }
  if (one.row.id === 'antrea')
    return {value: /\bdefaultLoadBalancerMode:\s*"?dsr/.test(antreaConfig(index)) ? 'kept' : 'translated', ...said}
  return {value: undefined, ...said, grade: 'unconfirmed', check: where}
}

/** Does a Service ask for another way of forwarding than the cluster's? */
export function clusterPolicyFor(
  plane: DataPlane,
  service: KubeObject,
  index: SnapshotIndex,
  protocol = 'TCP',
): Judged<'kept' | 'translated'> {
  const annotations = service.metadata.annotations ?? {}
  if (plane.proxy === 'cilium' && configValue(index, 'cilium-config', 'bpf-lb-mode-annotation') === 'true') {
    const mode = annotations['service.cilium.io/forwarding-mode']
    if (mode === 'dsr') return {...plane.cluster, value: 'kept', grade: plane.row?.cluster.grade ?? 'inferred'}
    if (mode === 'snat') return {...plane.cluster, value: 'translated', grade: plane.row?.cluster.grade ?? 'inferred'}
  }
  // hybrid is DSR for TCP and SNAT for the rest
  if (plane.proxy === 'cilium' && protocol !== 'TCP' && configValue(index, 'cilium-config', 'bpf-lb-mode') === 'hybrid')
    return {...plane.cluster, value: 'translated'}
  if (plane.proxy === 'antrea') {
    const mode = annotations['service.antrea.io/load-balancer-mode']
    if (mode === 'dsr' || mode === 'nat') return {...plane.cluster, value: mode === 'dsr' ? 'kept' : 'translated'}
  }
  if (plane.proxy === 'kube-router' && annotations['kube-router.io/service.dsr'] !== undefined)
    return {...plane.cluster, value: 'kept'}
  return plane.cluster
}

/** Does this Service ask the service proxy to leave its balancer addresses alone? */
export function leavesAddressesAlone(plane: DataPlane, service: KubeObject): boolean {
  if (!plane.shortCircuits) return true
  return (
    plane.proxy === 'kube-router' && service.metadata.annotations?.['kube-router.io/service.skiplbips'] !== undefined
  )
}

function configValue(index: SnapshotIndex, name: string, key: string): string | undefined {
  const map = index.list('ConfigMap', '').find((one) => one.metadata.name === name)
  return text(field(record(map?.['data']), key))
}

function antreaConfig(index: SnapshotIndex): string {
  const map = index.list('ConfigMap', '').find((one) => one.metadata.name.startsWith('antrea-config'))
  return text(field(record(map?.['data']), 'antrea-agent.conf')) ?? ''
}

/** FelixConfiguration `default`, else the environment of calico-node. */
function calicoEbpf(index: SnapshotIndex, runner: Runner): boolean {
  const felix = index.list('FelixConfiguration').find((one) => one.metadata.name === 'default')
  const enabled = field(record(felix?.['spec']), 'bpfEnabled')
  if (typeof enabled === 'boolean') return enabled
  return runner.spec.containers.some((container) =>
    container.env.some(({name, value}) => name === 'FELIX_BPFENABLED' && value?.toLowerCase() === 'true'),
  )
}
