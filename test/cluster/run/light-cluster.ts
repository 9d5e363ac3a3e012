import {readFileSync, writeFileSync} from 'node:fs'
import {CLUSTER_DNS, kubeadmCorefile} from '../bed/cluster-objects.ts'
import {apiClient} from '../bed/api-client.ts'
import type {ApiClient} from '../bed/api-client.ts'
import {startApiServer} from '../bed/index.ts'
import type {ApiServer} from '../bed/index.ts'
import type {KubeObject} from '../bed/objects.ts'
import {startGate} from './gate.ts'
import type {Gate} from './gate.ts'
import {rightsObjects} from '../../support/rights.ts'

/**
 * A real API server with what `srcip run` finds in a cluster: cluster DNS as objects (its pods answer nobody here), the
 * proxy Service, and the identity and rights of charts/srcip. For tests about the API; those about answers need the bed.
 */
export interface LightCluster {
  readonly api: ApiServer
  readonly admin: ApiClient
  /** In front of the API server, for the controller alone. */
  readonly gate: Gate
  /** Kubeconfig of the controller's ServiceAccount through the gate, with a token as kubelet would mount it. */
  readonly kubeconfig: string
  corefile(): Promise<string>
  /** Names between our markers, sorted. */
  names(): Promise<string[]>
  setCorefile(text: string): Promise<void>
  stop(): Promise<void>
}

export const dnsPods = ['coredns-a', 'coredns-b']

export async function startLightCluster(
  options: {corefile?: string; arguments?: string[]} = {},
): Promise<LightCluster> {
  const api = await startApiServer({arguments: options.arguments ?? []})
  const admin = apiClient({port: api.port, ca: api.ca, token: api.adminToken})
  try {
    for (const object of clusterObjects(options.corefile ?? kubeadmCorefile())) await admin.create(object)
    for (const name of dnsPods) await setPodReady(admin, name)
    for (const object of rightsObjects(rightsNames)) await admin.create(object as KubeObject)
    const {status} = await admin.request<{status: {token: string}}>(
      'POST',
      '/api/v1/namespaces/srcip/serviceaccounts/srcip/token',
      {apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {expirationSeconds: 3600}},
    )
    const direct = api.kubeconfigFor({token: status.token, name: 'srcip'}, {namespace: 'srcip'})
    const gate = await startGate(api.port)
    const kubeconfig = `${api.folder}/gated.kubeconfig`
    writeFileSync(kubeconfig, readFileSync(direct, 'utf8').replaceAll(`:${api.port}`, `:${gate.port}`), {mode: 0o600})
    const path = '/api/v1/namespaces/kube-system/configmaps/coredns'
    const corefile = async (): Promise<string> => {
      const {data} = await admin.get<{data: {Corefile: string}}>(path)
      return data.Corefile
    }
    return {
      api,
      admin,
      gate,
      kubeconfig,
      corefile,
      names: async () =>
        [...(await corefile()).matchAll(/rewrite name exact (\S+) /g)].map((match) => match[1] ?? '').sort(),
      setCorefile: async (text) => {
        await admin.request('PATCH', path, {data: {Corefile: text}}, 'application/merge-patch+json')
      },
      stop: async () => {
        admin.close()
        await gate.close()
        await api.stop()
      },
    }
  } catch (error) {
    admin.close()
    await api.stop()
    throw error
  }
}

export const rightsNames = {
  name: 'srcip',
  namespace: 'srcip',
  dnsNamespace: 'kube-system',
  dnsConfigMaps: ['coredns'],
}

/** Cluster DNS as kubeadm leaves it, without anybody who would run its pods, and the proxy Service. */
export function clusterObjects(corefile: string): KubeObject[] {
  const labels = {'k8s-app': 'kube-dns'}
  const template = {
    metadata: {labels},
    spec: {
      containers: [
        {
          name: 'coredns',
          image: 'registry.k8s.io/coredns/coredns:v1.14.7',
          args: ['-conf', '/etc/coredns/Corefile'],
          ports: [{containerPort: 53, protocol: 'TCP'}],
          volumeMounts: [{name: 'config-volume', mountPath: '/etc/coredns', readOnly: true}],
        },
      ],
      volumes: [{name: 'config-volume', configMap: {name: 'coredns', items: [{key: 'Corefile', path: 'Corefile'}]}}],
    },
  }
  const meta = {name: 'coredns', namespace: 'kube-system'}
  return [
    {apiVersion: 'v1', kind: 'Namespace', metadata: {name: 'srcip'}},
    {apiVersion: 'v1', kind: 'Namespace', metadata: {name: 'demo'}},
    {apiVersion: 'v1', kind: 'ConfigMap', metadata: meta, data: {Corefile: corefile}},
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {name: 'kube-dns', namespace: 'kube-system', labels},
      spec: {clusterIP: CLUSTER_DNS, selector: labels, ports: [{name: 'dns-tcp', port: 53, protocol: 'TCP'}]},
    },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: meta,
      spec: {replicas: 2, selector: {matchLabels: labels}, template},
    },
    ...dnsPods.map((name) => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {name, namespace: 'kube-system', labels},
      spec: template.spec,
    })),
    proxyService('srcip-proxy'),
    proxySlice('srcip-proxy'),
  ]
}

/** What the endpoint controller would write for a proxy Service with one pod. */
export function proxySlice(name: string, ready = true): KubeObject {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {name: `${name}-1`, namespace: 'srcip', labels: {'kubernetes.io/service-name': name}},
    addressType: 'IPv4',
    endpoints: [{addresses: ['192.0.2.80'], conditions: {ready}}],
    ports: [{name: 'http', port: 8080, protocol: 'TCP'}],
  }
}

/** A proxy Service as the chart makes it. */
export function proxyService(name: string, annotations: Record<string, string> = {}): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {name, namespace: 'srcip', labels: {'srcip.dev/component': 'proxy'}, annotations},
    spec: {
      selector: {app: name},
      ports: [
        {name: 'http', port: 80, protocol: 'TCP'},
        {name: 'https', port: 443, protocol: 'TCP'},
      ],
    },
  }
}

async function setPodReady(admin: ApiClient, name: string): Promise<void> {
  const pod = {apiVersion: 'v1', kind: 'Pod', metadata: {name, namespace: 'kube-system'}}
  const status = {
    phase: 'Running',
    podIP: '192.0.2.53',
    podIPs: [{ip: '192.0.2.53'}],
    conditions: [{type: 'Ready', status: 'True'}],
  }
  await admin.patch(pod, {status}, 'status')
}

/** An Ingress for these hosts. */
export function ingress(name: string, hosts: readonly string[], more: Record<string, unknown> = {}): KubeObject {
  const backend = {service: {name: 'web', port: {number: 80}}}
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: {name, namespace: 'demo'},
    spec: {
      ingressClassName: 'nginx',
      rules: hosts.map((host) => ({host, http: {paths: [{path: '/', pathType: 'Prefix', backend}]}})),
      ...more,
    },
  }
}
