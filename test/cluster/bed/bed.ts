import {appendFileSync} from 'node:fs'
import {join} from 'node:path'
import type {RecordType} from 'dns-packet'
import {startActor, type Actor, type ExecOptions, type ExecResult} from './actor.ts'
import type {User} from './api-server.ts'
import {collectionPath, type ApiClient} from './api-client.ts'
import {startBalancer, type Balancer, type SendProxy} from './balancer.ts'
import type {Authority} from './certificates.ts'
import {
  CLUSTER_DNS,
  dnsDeployment,
  dnsObjects,
  dnsTemplate,
  ingressObjects,
  kubeadmCorefile,
} from './cluster-objects.ts'
import {startControlPlane, type ControlPlane} from './control-plane.ts'
import type {DnsAnswer} from './dns-question.ts'
import {bedImages} from './images.ts'
import {startIngressController} from './ingress-controller.ts'
import {startKubelet, type Kubelet} from './kubelet.ts'
import {namespacesMissing, startNamespaces, type Namespaces} from './namespaces.ts'
import type {NodePod} from './node-pod.ts'
import type {
  ConfigMap,
  Deployment,
  EndpointSlice,
  Ingress,
  KubeObject,
  Pod,
  ReplicaSet,
  Secret,
  Service,
} from './objects.ts'
import {partPaths, type PartName} from './parts.ts'
import type {Image} from './pod-container.ts'
import {startPublicDns} from './public-dns.ts'
import {runningBed, toolsFolder, until} from './running-bed.ts'
import {POD_RANGE, SERVICE_RANGE, startServices} from './services.ts'
import {mirror, type Store} from './store.ts'
import {replicaSetOf, startCollector, startWorkloads} from './workloads.ts'

/** Parts that a full bed needs; for `describeWithParts`. */
export const BED_PARTS = [
  'etcd',
  'kube-apiserver',
  'kubectl',
  'kubelet',
  'coredns-1.14.7',
  'coredns-1.11.3',
  'nginx',
  'haproxy',
  'iptables',
  'ip',
  'unshare',
  'openssl',
  'curl',
] as const satisfies readonly PartName[]

/** Addresses of those outside the cluster. */
export const OUTSIDE = {
  client: '203.0.113.7',
  balancer: '192.0.2.10',
  dns: '192.0.2.53',
  laptop: '198.51.100.20',
} as const

type CorednsVersion = '1.14.7' | '1.11.3'

export type BedOptions = {
  /** One pod a version; several versions are one Deployment amid a paused rollout. */
  coredns?: CorednsVersion[]
  ingress?: 'nginx-strict' | 'nginx-plain' | 'none'
  /** What the balancer sends; by default what the ingress wants. */
  sendProxy?: SendProxy
  /** How long connections of before a reload of the balancer may go on; by default 2s, so that no old process stays behind. */
  balancerHardStop?: string
  /** Text of the Corefile; by default kubeadm's with `reload`. */
  corefile?: string
  /** Argument of the reload line in kubeadm's Corefile, by default the shortest that CoreDNS takes. */
  reload?: string
  /** Milliseconds until a changed ConfigMap reaches a pod's files. */
  propagationDelay?: number
  users?: User[]
  /** Programs behind further image names. */
  images?: Record<string, Image>
  /** Zones whose every name the public DNS answers with the balancer's address. */
  publicZones?: string[]
}

/** A running bed. */
export type Bed = {
  folder: string
  api: ApiClient
  control: ControlPlane
  authority: Authority
  namespaces: Namespaces
  kubelet: Kubelet
  client: Actor
  laptop: Actor
  balancer: Balancer
  pods: Store<Pod>
  /** The pod that runs as `namespace/name`; throws when there is none. */
  pod(key: string): NodePod
  /** Running CoreDNS pods behind kube-dns, in order of their names. */
  corednsPods(): NodePod[]
  /** A command on the laptop, which reaches the API but no pod; kubectl and the product are on its PATH. */
  cli(argv: string[], options?: ExecOptions & {user?: string}): Promise<ExecResult>
  /** A command in a pod's network, with the pod's resolver. */
  inPod(key: string, argv: string[], options?: ExecOptions): Promise<ExecResult>
  /** A DNS question from the node, over TCP; by default to the cluster's DNS Service. */
  resolve(name: string, options?: {server?: string; type?: RecordType}): Promise<DnsAnswer>
  /** What a pod's containers have logged, without the time stamps. */
  podLog(key: string): Promise<string>
  /** Creates objects through the API. */
  create(...objects: KubeObject[]): Promise<void>
  /**
   * Waits until these pods are ready, and the namespace's Deployments complete, and Services lead there. Without labels
   * all pods of the namespace.
   */
  waitReady(namespace: string, labels?: Record<string, string>, seconds?: number): Promise<void>
  /** Ends the bed; with `keep` its folder with all logs stays and is named on stderr. */
  stop(options?: {keep?: boolean}): Promise<void>
}

/** Starts the bed; throws when a part is missing, with the reason. */
export async function start(options: BedOptions = {}): Promise<Bed> {
  const parts = await partPaths(BED_PARTS)
  const reason = namespacesMissing()
  if ('missing' in parts) throw new Error(`test bed: missing part ${parts.missing}`)
  if (reason !== undefined) throw new Error(`test bed: ${reason}`)
  const namespaces = await startNamespaces()
  const ending = new AbortController()
  try {
    return await startInside(options, parts, namespaces, ending)
  } catch (error) {
    ending.abort()
    await namespaces.stop({keep: true})
    throw new Error(`the bed did not start (logs in ${namespaces.folder}): ${(error as Error).message}`, {cause: error})
  }
}

async function startInside(
  options: BedOptions,
  parts: Record<(typeof BED_PARTS)[number], string>,
  namespaces: Namespaces,
  ending: AbortController,
): Promise<Bed> {
  const end = ending.signal
  const logFile = join(namespaces.folder, 'bed.log')
  const log = (line: string) => {
    if (!end.aborted) appendFileSync(logFile, `${new Date().toISOString()} ${line}\n`)
  }
  const outsideResolver = `nameserver ${OUTSIDE.dns}\n`
  const actor = (name: keyof typeof OUTSIDE) =>
    startActor(namespaces, {name, address: OUTSIDE[name], resolvConf: outsideResolver})
  const [control, client, balancerActor, dns, laptop] = await Promise.all([
    startControlPlane(namespaces, parts, options.users ?? []),
    actor('client'),
    actor('balancer'),
    actor('dns'),
    actor('laptop'),
  ])
  await startPublicDns(
    dns,
    parts['coredns-1.14.7'],
    options.publicZones ?? ['example.org', 'example.net'],
    OUTSIDE.balancer,
  )
  const {api} = control
  const store = <T extends KubeObject>(apiVersion: string, kind: string) =>
    mirror<T>(api, collectionPath(apiVersion, kind), end)
  const stores = {
    pods: store<Pod>('v1', 'Pod'),
    services: store<Service>('v1', 'Service'),
    configMaps: store<ConfigMap>('v1', 'ConfigMap'),
    secrets: store<Secret>('v1', 'Secret'),
    namespaces: store<KubeObject>('v1', 'Namespace'),
    slices: store<EndpointSlice>('discovery.k8s.io/v1', 'EndpointSlice'),
    deployments: store<Deployment>('apps/v1', 'Deployment'),
    replicaSets: store<ReplicaSet>('apps/v1', 'ReplicaSet'),
    ingresses: store<Ingress>('networking.k8s.io/v1', 'Ingress'),
  }
  await Promise.all(Object.values(stores).map(({synced}) => synced))
  const {pods, services, configMaps, secrets, slices, deployments, replicaSets, ingresses} = stores
  const certificate = await control.authority.issue('ingress', {
    cn: 'example.org',
    names: ['example.org', '*.example.org'],
  })
  const shared = {api, log, end}
  let kubelet: Kubelet | undefined
  const ingress = startIngressController({
    ...shared,
    kubelet: () => kubelet!,
    ingresses,
    services,
    secrets,
    configMaps,
    pods,
    certificate,
  })
  const nginx: Image = {
    entrypoint: [parts.nginx, '-c', '$(BED_FOLDER)/nginx.conf', '-g', 'daemon off;'],
    ignoresArguments: true,
    prepare: ingress.prepare,
  }
  const tools = toolsFolder(namespaces.folder, parts.kubectl)
  const coredns = new Map([
    ['1.14.7', parts['coredns-1.14.7']],
    ['1.11.3', parts['coredns-1.11.3']],
  ])
  kubelet = startKubelet({
    ...shared,
    namespaces,
    pods,
    configMaps,
    secrets,
    ca: control.ca,
    images: bedImages({tools, coredns, nginx, further: new Map(Object.entries(options.images ?? {}))}),
    resolvConf: (pod) => (pod.spec.dnsPolicy === 'Default' ? outsideResolver : clusterResolver(pod)),
    defaultDelay: options.propagationDelay ?? 300,
  })
  startWorkloads({...shared, deployments, replicaSets, pods})
  startCollector({
    ...shared,
    namespaces: stores.namespaces,
    owned: [pods, services, slices, deployments, replicaSets, configMaps] as Store<KubeObject>[],
  })
  const node = startServices({...shared, namespaces, services, slices, pods, filters: laptopFilters()})
  const strict = (options.ingress ?? 'nginx-strict') === 'nginx-strict'
  const balancer = await startBalancer({
    ...shared,
    actor: balancerActor,
    haproxy: parts.haproxy,
    services,
    sendProxy: options.sendProxy ?? (strict ? 'v2' : 'off'),
    hardStop: options.balancerHardStop ?? '2s',
  })
  const bed = runningBed({
    namespaces,
    control,
    kubelet,
    client,
    laptop,
    balancer,
    pods,
    deployments,
    settled: node.settled,
    ending,
    tools,
  })
  await createCluster(bed, options)
  return bed
}

function clusterResolver(pod: Pod): string {
  const namespace = pod.metadata.namespace ?? 'default'
  const search = `${namespace}.svc.cluster.local svc.cluster.local cluster.local`
  return `search ${search}\nnameserver ${CLUSTER_DNS}\noptions ndots:5\n`
}

/** Those outside reach the node and the balancer, and neither pods nor Services. */
function laptopFilters(): string[] {
  return [OUTSIDE.client, OUTSIDE.laptop].flatMap((source) =>
    [POD_RANGE, SERVICE_RANGE].map(
      (range) => `-A FORWARD -s ${source}/32 -d ${range} -m conntrack --ctstate NEW -j REJECT`,
    ),
  )
}

async function createCluster(bed: Bed, options: BedOptions): Promise<void> {
  const versions = options.coredns ?? ['1.14.7', '1.11.3']
  await bed.create(...dnsObjects(options.corefile ?? kubeadmCorefile(options.reload ?? '2s 1s')))
  const deployment = await bed.api.create(dnsDeployment(versions))
  if (deployment.spec.paused === true) {
    for (const version of new Set(versions)) {
      const replicas = versions.filter((each) => each === version).length
      // The first is the Deployment's own template as the API server completed it.
      const template = version === versions[0] ? deployment.spec.template : dnsTemplate(version)
      await bed.api.create(replicaSetOf(deployment, template, replicas))
    }
  }
  const ingress = options.ingress ?? 'nginx-strict'
  if (ingress !== 'none') {
    await bed.create(...ingressObjects({proxyProtocol: ingress === 'nginx-strict'}))
    await bed.waitReady('ingress-nginx')
  }
  await bed.waitReady('kube-system')
  await until(
    'cluster DNS answers',
    20,
    async () => (await bed.resolve('kubernetes.default.svc.cluster.local')).addresses[0] === '10.96.0.1',
  )
}
