import {openSync} from 'node:fs'
import {join} from 'node:path'
import {startActor, type Actor} from './actor.ts'
import {startControlPlane, type ControlPlane} from './control-plane.ts'
import {NODE_NAME} from './kubelet.ts'
import {startNamespaces, type Inside, type Namespaces} from './namespaces.ts'
import type {KubeObject} from './objects.ts'
import {requirePart} from './parts.ts'
import {until} from './running-bed.ts'

/** Parts that two nodes with the real kube-proxy need. */
export const KUBE_PROXY_PARTS = [
  'etcd',
  'kube-apiserver',
  'kubelet',
  'kube-proxy',
  'iptables',
  'nftables',
  'ip',
  'unshare',
  'openssl',
] as const

/** How kube-proxy writes its rules. */
export type ProxyMode = 'nftables' | 'iptables'

/** A node: a network namespace with its own kube-proxy. */
export interface ProxyNode {
  readonly name: string
  readonly address: string
  readonly actor: Actor
}

/** Two nodes with the real kube-proxy, a client outside, and one pod on the first node. */
export interface KubeProxyNodes {
  readonly control: ControlPlane
  readonly namespaces: Namespaces
  readonly client: Actor
  readonly nodes: readonly ProxyNode[]
  readonly pod: {readonly address: string; start(argv: string[]): Promise<Inside>}
  stop(): Promise<void>
}

const clientAddress = '203.0.113.7'
const podAddress = '10.244.11.5'
const podLabels = {app: 'echo'}
/** Not the address that the node itself has as its gateway. */
const podGateway = '10.244.11.1'

/** Starts API server, nodes, kube-proxies, client and pod. The routes are those of a network without overlay. */
export async function startKubeProxyNodes(mode: ProxyMode): Promise<KubeProxyNodes> {
  const [etcd, server, kubelet, kubeProxy] = await Promise.all(
    (['etcd', 'kube-apiserver', 'kubelet', 'kube-proxy'] as const).map(requirePart),
  )
  const namespaces = await startNamespaces()
  try {
    const parts = {etcd: etcd!, 'kube-apiserver': server!, kubelet: kubelet!}
    const control = await startControlPlane(namespaces, parts, [{name: 'kube-proxy', groups: ['system:masters']}])
    const actorOf = (name: string, address: string): Promise<Actor> =>
      startActor(namespaces, {name, address, resolvConf: ''})
    const client = await actorOf('client', clientAddress)
    const nodes: ProxyNode[] = []
    for (const [name, address, podRange] of [
      ['node-a', '172.18.0.11', '10.244.11.0/24'],
      ['node-b', '172.18.0.12', '10.244.12.0/24'],
    ] as const) {
      const actor = await actorOf(name, address)
      await namespaces.run([
        'ip',
        'route',
        'add',
        podRange,
        'via',
        address,
        'onlink',
        'dev',
        await linkTo(namespaces, address),
      ])
      await sh(namespaces, actor.pid, 'echo 1 > /proc/sys/net/ipv4/ip_forward')
      await control.api.create({
        apiVersion: 'v1',
        kind: 'Node',
        metadata: {name, labels: {'kubernetes.io/hostname': name}},
        spec: {podCIDR: podRange, podCIDRs: [podRange]},
      })
      const node = {apiVersion: 'v1', kind: 'Node', metadata: {name}}
      await control.api.patch(node, {status: {addresses: [{type: 'InternalIP', address}]}}, 'status')
      nodes.push({name, address, actor})
    }
    // The node of the control plane takes no part in this.
    await control.api.delete({apiVersion: 'v1', kind: 'Node', metadata: {name: NODE_NAME}})
    const pod = await startPod(namespaces, nodes[0]!.actor)
    await registerPod(control, nodes[0]!.name)
    for (const {name, actor} of nodes) {
      const output = openSync(join(namespaces.folder, `kube-proxy-${name}.log`), 'a')
      await actor.start(
        [
          kubeProxy!,
          `--kubeconfig=${control.kubeconfig('kube-proxy')}`,
          `--hostname-override=${name}`,
          `--proxy-mode=${mode}`,
          '--cluster-cidr=10.244.0.0/16',
          '--conntrack-max-per-core=0',
          '--conntrack-tcp-timeout-established=0',
          '--conntrack-tcp-timeout-close-wait=0',
          '--metrics-bind-address=127.0.0.1:10249',
          '--healthz-bind-address=127.0.0.1:10256',
        ],
        {output},
      )
    }
    return {control, namespaces, client, nodes, pod, stop: () => namespaces.stop()}
  } catch (error) {
    await namespaces.stop({keep: true})
    throw new Error(`the nodes did not start (logs in ${namespaces.folder})`, {cause: error})
  }
}

/** Creates a NodePort Service for the pod and waits until a node that must answer does. */
export async function exposePod(
  nodes: KubeProxyNodes,
  options: {readonly policy: 'Cluster' | 'Local'; readonly nodePort: number},
): Promise<KubeObject> {
  const {api} = nodes.control
  const name = `echo-${options.policy.toLowerCase()}`
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {name, namespace: 'default'},
    spec: {
      type: 'NodePort',
      externalTrafficPolicy: options.policy,
      selector: podLabels,
      ports: [{name: 'http', port: 80, targetPort: 8080, nodePort: options.nodePort}],
    },
  }
  await api.create(service)
  await api.create({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {name: `${name}-1`, namespace: 'default', labels: {'kubernetes.io/service-name': name}},
    addressType: 'IPv4',
    endpoints: [{addresses: [nodes.pod.address], conditions: {ready: true}, nodeName: nodes.nodes[0]!.name}],
    ports: [{name: 'http', port: 8080, protocol: 'TCP'}],
  })
  await until('the first node leads to the pod', 60, async () => {
    const url = `http://${nodes.nodes[0]!.address}:${options.nodePort}/`
    return (await nodes.client.exec(['curl', '-sf', '-m', '2', url])).code === 0
  })
  return service
}

/** The Pod as the API shows it; its network and program are made by hand. */
async function registerPod({api}: ControlPlane, nodeName: string): Promise<void> {
  const pod = {apiVersion: 'v1', kind: 'Pod', metadata: {name: 'echo', namespace: 'default', labels: podLabels}}
  const containers = [{name: 'echo', image: 'bed/echo:1', ports: [{name: 'http', containerPort: 8080}]}]
  await api.create({...pod, spec: {nodeName, containers}})
  const status = {
    phase: 'Running',
    podIP: podAddress,
    podIPs: [{ip: podAddress}],
    conditions: [{type: 'Ready', status: 'True'}],
  }
  await api.patch(pod, {status}, 'status')
}

async function linkTo(namespaces: Namespaces, address: string): Promise<string> {
  const route = await namespaces.run(['ip', 'route', 'get', address])
  return / dev (\S+)/.exec(route)![1]!
}

async function sh(namespaces: Namespaces, target: number, script: string): Promise<void> {
  await namespaces.run(['sh', '-c', script], {target})
}

/** A network namespace behind the node, as a CNI with routes makes it. */
async function startPod(namespaces: Namespaces, node: Actor): Promise<KubeProxyNodes['pod']> {
  const holder = await namespaces.start(['unshare', '--net', '--', 'sleep', 'infinity'], {target: node.pid})
  await until('the pod has its namespace', 10, async () => {
    const [own, other] = await Promise.all(
      [holder.pid, node.pid].map((target) => namespaces.run(['readlink', '/proc/self/ns/net'], {target})),
    )
    return own !== other
  })
  const outer = [
    `link add pod0 type veth peer name eth0 netns ${holder.innerPid}`,
    'link set pod0 up',
    `addr add ${podGateway}/32 dev lo`,
    `route add ${podAddress}/32 dev pod0 src ${node.address}`,
  ]
  const inner = [
    'link set lo up',
    'link set eth0 up',
    `addr add ${podAddress}/32 dev eth0`,
    `route add ${podGateway} dev eth0`,
    `route add default via ${podGateway}`,
  ]
  const batch = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('')
  await namespaces.run(['ip', '-batch', '-'], {target: node.pid, input: batch(outer)})
  await namespaces.run(['ip', '-batch', '-'], {target: holder.pid, input: batch(inner)})
  return {address: podAddress, start: (argv) => namespaces.start(argv, {target: holder.pid})}
}
