import {createHash} from 'node:crypto'
import {isDeepStrictEqual} from 'node:util'
import {ApiFailure, type ApiClient} from './api-client.ts'
import {NODE_NAME} from './kubelet.ts'
import {NODE_ADDRESS, type Namespaces} from './namespaces.ts'
import {
  controllerReference,
  hasLabels,
  isReady,
  keyOf,
  type Endpoint,
  type EndpointSlice,
  type Pod,
  type Service,
} from './objects.ts'
import {workLoop, type Store} from './store.ts'

/** Addresses that pods get. */
export const POD_RANGE = '10.244.0.0/16'

/** Addresses that Services get. */
export const SERVICE_RANGE = '10.96.0.0/16'

type Settings = {
  api: ApiClient
  namespaces: Namespaces
  services: Store<Service>
  slices: Store<EndpointSlice>
  pods: Store<Pod>
  /** Further lines for the filter table, such as the laptop's. */
  filters: string[]
  log: (line: string) => void
  end: AbortSignal
}

const serviceLabel = 'kubernetes.io/service-name'

/** The EndpointSlice controller and kube-proxy of the bed. */
export type Services = {
  /** Whether the slices and the packet rules are those that the pods and Services of this moment ask for. */
  settled(): boolean
}

/** Starts to write EndpointSlices from Services and pods, and packet rules from both. */
export function startServices(settings: Settings): Services {
  const {services, slices, pods, log, end} = settings
  let rules = ''
  const wantedRules = () => packetRules([...services.items.values()], [...slices.items.values()], settings.filters)
  const syncSlices = workLoop('endpoint slices', () => writeSlices(settings), log, end)
  const syncRules = workLoop(
    'packet rules',
    async () => {
      const wanted = wantedRules()
      if (wanted === rules) return
      await settings.namespaces.run(['iptables-restore'], {input: wanted})
      rules = wanted
    },
    log,
    end,
  )
  services.onChange(syncSlices)
  pods.onChange(syncSlices)
  services.onChange(syncRules)
  slices.onChange(syncRules)
  syncRules()
  return {
    settled: () => wantedSlices(settings).every(({before, slice}) => isSame(before, slice)) && rules === wantedRules(),
  }
}

/** The slice that each Service should have, beside the one that it has. */
function wantedSlices({services, slices, pods}: Settings): {before: EndpointSlice | undefined; slice: EndpointSlice}[] {
  return [...services.items.values()]
    .filter(({spec, metadata}) => spec.selector !== undefined && metadata.deletionTimestamp === undefined)
    .map((service) => {
      const slice = sliceOf(service, [...pods.items.values()])
      return {before: slices.items.get(keyOf(slice)), slice}
    })
}

function isSame(before: EndpointSlice | undefined, after: EndpointSlice): boolean {
  const content = ({endpoints = [], ports = []}: EndpointSlice) => ({endpoints, ports})
  return before !== undefined && isDeepStrictEqual(content(before), content(after))
}

async function writeSlices(settings: Settings): Promise<void> {
  const {api} = settings
  for (const {before, slice} of wantedSlices(settings)) {
    if (isSame(before, slice)) continue
    const {endpoints, ports} = slice
    try {
      await (before === undefined ? api.create(slice) : api.patch(before, {endpoints, ports}))
    } catch (error) {
      // Made a moment ago, and not yet back through the watch: its own event brings us here again.
      if (!(error instanceof ApiFailure && (error.status === 409 || error.status === 404))) throw error
    }
  }
}

function sliceOf(service: Service, pods: Pod[]): EndpointSlice {
  const namespace = service.metadata.namespace ?? 'default'
  const behind = pods
    .filter(
      (pod) => pod.metadata.namespace === namespace && hasLabels(pod, service.spec.selector ?? {}) && pod.status?.podIP,
    )
    .filter(({status}) => status?.phase === 'Running')
    .toSorted((a, b) => a.metadata.name.localeCompare(b.metadata.name))
  const ports = (service.spec.ports ?? []).map(({name, port, protocol = 'TCP', targetPort}) => ({
    name: name ?? '',
    port: targetNumber(targetPort ?? port, behind[0]) ?? port,
    protocol,
  }))
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: `${service.metadata.name}-${createHash('sha256')
        .update(service.metadata.uid ?? '')
        .digest('hex')
        .slice(0, 5)}`,
      namespace,
      labels: {
        [serviceLabel]: service.metadata.name,
        'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
      },
      ownerReferences: [controllerReference(service)],
    },
    addressType: 'IPv4',
    endpoints: behind.map((pod) => endpointOf(pod, service)),
    ports,
  }
}

function endpointOf(pod: Pod, service: Service): Endpoint {
  const terminating = pod.metadata.deletionTimestamp !== undefined
  const serving = isReady(pod)
  const {name, namespace, uid} = pod.metadata
  return {
    addresses: [pod.status?.podIP ?? ''],
    conditions: {
      ready: (serving || service.spec.publishNotReadyAddresses === true) && !terminating,
      serving,
      terminating,
    },
    targetRef: {kind: 'Pod', namespace: namespace ?? 'default', name, uid: uid ?? ''},
    nodeName: NODE_NAME,
  }
}

function targetNumber(port: number | string, pod: Pod | undefined): number | undefined {
  if (typeof port === 'number') return port
  const ports = pod?.spec.containers.flatMap((container) => container.ports ?? []) ?? []
  return ports.find(({name}) => name === port)?.containerPort
}

/**
 * The node's whole rule set, as kube-proxy in iptables mode would treat these Services: cluster addresses for
 * everyone, load balancer addresses for pods only (the short cut that makes the hairpin), node ports for the balancer.
 */
export function packetRules(services: Service[], slices: EndpointSlice[], filters: string[]): string {
  const chains: string[] = []
  const entries: string[] = []
  const rules: string[] = []
  const rejects: string[] = []
  // A pod that reaches itself through a Service would see its own address as source and drop the packet.
  const hairpins = new Set<string>()
  for (const service of services) {
    const {clusterIP = 'None', ports = [], externalTrafficPolicy = 'Cluster'} = service.spec
    if (clusterIP === 'None' || service.spec.type === 'ExternalName') continue
    for (const port of ports) {
      const protocol = (port.protocol ?? 'TCP').toLowerCase()
      const backends = backendsOf(service, slices, port.name ?? '')
      const match = (address: string, number: number) => `-d ${address}/32 -p ${protocol} --dport ${number}`
      const balancers = (service.status?.loadBalancer?.ingress ?? []).filter(
        ({ip, ipMode}) => ip !== undefined && ipMode !== 'Proxy',
      )
      const fronts = [
        match(clusterIP, port.port),
        ...balancers.map(({ip}) => `-s ${POD_RANGE} ${match(ip ?? '', port.port)}`),
        ...(port.nodePort === undefined ? [] : [match(NODE_ADDRESS, port.nodePort)]),
      ]
      if (backends.length === 0) {
        for (const front of fronts) rejects.push(`${front} -j REJECT --reject-with icmp-port-unreachable`)
        continue
      }
      const chain = `BED-${createHash('sha256')
        .update(`${keyOf(service)} ${port.name} ${protocol} ${port.port}`)
        .digest('hex')
        .slice(0, 16)}`
      chains.push(chain)
      for (const front of fronts) entries.push(`-A BED-SERVICES ${front} -j ${chain}`)
      if (port.nodePort !== undefined && externalTrafficPolicy === 'Cluster') {
        rules.push(`-A ${chain} ${match(NODE_ADDRESS, port.nodePort)} -j MARK --set-mark 0x4000`)
      }
      backends.forEach((backend, index) => {
        const left = backends.length - index
        const share = left === 1 ? '' : ` -m statistic --mode random --probability ${(1 / left).toFixed(5)}`
        hairpins.add(`-A POSTROUTING -s ${backend.address}/32 -d ${backend.address}/32 -j MASQUERADE`)
        rules.push(`-A ${chain} -p ${protocol}${share} -j DNAT --to-destination ${backend.address}:${backend.port}`)
      })
    }
  }
  return [
    '*nat',
    ':PREROUTING ACCEPT [0:0]',
    ':INPUT ACCEPT [0:0]',
    ':OUTPUT ACCEPT [0:0]',
    ':POSTROUTING ACCEPT [0:0]',
    ':BED-SERVICES - [0:0]',
    ...chains.map((chain) => `:${chain} - [0:0]`),
    '-A PREROUTING -j BED-SERVICES',
    '-A OUTPUT -j BED-SERVICES',
    '-A POSTROUTING -m mark --mark 0x4000 -j MASQUERADE',
    ...hairpins,
    ...entries,
    ...rules,
    'COMMIT',
    '*filter',
    ':INPUT ACCEPT [0:0]',
    ':FORWARD ACCEPT [0:0]',
    ':OUTPUT ACCEPT [0:0]',
    ...filters,
    ...rejects.flatMap((rule) => [`-A FORWARD ${rule}`, `-A OUTPUT ${rule}`]),
    // What still goes to the range of Services belongs to none.
    `-A FORWARD -d ${SERVICE_RANGE} -m conntrack ! --ctstate DNAT -j REJECT --reject-with icmp-host-unreachable`,
    'COMMIT',
    '',
  ].join('\n')
}

function backendsOf(service: Service, slices: EndpointSlice[], portName: string): {address: string; port: number}[] {
  return slices
    .filter(
      ({metadata}) =>
        metadata.namespace === service.metadata.namespace && metadata.labels?.[serviceLabel] === service.metadata.name,
    )
    .flatMap(({endpoints, ports}) => {
      const port = ports?.find(({name}) => (name ?? '') === portName)?.port
      if (port === undefined) return []
      return (endpoints ?? [])
        .filter(({conditions}) => conditions?.ready !== false)
        .flatMap(({addresses}) => addresses.map((address) => ({address, port})))
    })
}
