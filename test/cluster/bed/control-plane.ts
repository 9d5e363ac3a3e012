import {openSync, readFileSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {killInside} from './actor.ts'
import {apiServerArguments, etcdArguments, kubeconfigText, ready, tokenFile, type User} from './api-server.ts'
import {apiClient, type ApiClient} from './api-client.ts'
import {certificateAuthority, signingKey, type Authority} from './certificates.ts'
import {NODE_NAME, stateFile} from './kubelet.ts'
import {NODE_ADDRESS, type Inside, type Namespaces} from './namespaces.ts'
import {folder} from './state-folder.ts'

/** The API as the bed runs it: on the node's address inside, and through a tunnel for this process. */
export type ControlPlane = {
  api: ApiClient
  authority: Authority
  ca: string
  /** Address for those inside. */
  url: string
  /** Address for this process. */
  tunnelUrl: string
  /** Audit log of the API server: who wrote what, by the server's own account. */
  auditLog: string
  tokenOf(user: string): string
  /** Kills the API server with SIGKILL and starts it anew; resolves when it answers. */
  restartServer(): Promise<void>
  /** Writes a kubeconfig; `outside` is for use by this process instead of one inside. */
  kubeconfig(user: string, options?: {outside?: boolean; token?: string; namespace?: string}): string
}

const port = 6443
/** Writes only: reads and watches of a bed are many. */
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - {level: None, verbs: [get, list, watch]}
  - {level: Metadata}
`
const kubeletPort = 10250

/** Starts etcd, kube-apiserver and the kubelet stand-in on the node. */
export async function startControlPlane(
  namespaces: Namespaces,
  parts: Record<'etcd' | 'kube-apiserver' | 'kubelet', string>,
  users: User[],
): Promise<ControlPlane> {
  const state = namespaces.folder
  const pki = folder(state, 'pki')
  const start = (program: string, name: string, args: string[]): Promise<Inside> =>
    namespaces.start([program, ...args], {output: openSync(join(state, `${name}.log`), 'a')})
  const etcd = await start(parts.etcd, 'etcd', etcdArguments(state, '127.0.0.1', 2379, 2380))
  const authority = await certificateAuthority(pki, 'srcip test bed')
  const names = [
    NODE_ADDRESS,
    '127.0.0.1',
    '10.96.0.1',
    'localhost',
    'kubernetes',
    'kubernetes.default',
    'kubernetes.default.svc',
  ]
  const [serving, kubeletServing, kubeletClient, serviceAccounts] = await Promise.all([
    authority.issue('apiserver', {cn: 'kube-apiserver', names}),
    authority.issue('kubelet', {
      cn: `system:node:${NODE_NAME}`,
      organizations: ['system:nodes'],
      names: [NODE_ADDRESS, NODE_NAME],
    }),
    authority.issue('kubelet-client', {cn: 'kube-apiserver-kubelet-client', names: ['kube-apiserver']}),
    signingKey(join(pki, 'service-accounts.key')),
  ])
  const tokens = tokenFile(join(state, 'tokens.csv'), users)
  const auditLog = join(state, 'audit.log')
  writeFileSync(join(state, 'audit-policy.yaml'), auditPolicy)
  const serverArguments = [
    ...apiServerArguments({etcdPort: 2379, port, bind: '0.0.0.0', serving, serviceAccounts}),
    `--advertise-address=${NODE_ADDRESS}`,
    `--token-auth-file=${tokens.file}`,
    `--kubelet-certificate-authority=${authority.cert}`,
    `--kubelet-client-certificate=${kubeletClient.cert}`,
    `--kubelet-client-key=${kubeletClient.key}`,
    '--kubelet-preferred-address-types=InternalIP',
    `--audit-policy-file=${join(state, 'audit-policy.yaml')}`,
    `--audit-log-path=${auditLog}`,
  ]
  let server = await start(parts['kube-apiserver'], 'kube-apiserver', serverArguments)
  writeFileSync(stateFile(namespaces), '{}')
  await start(parts.kubelet, 'kubelet', [
    `-address=${NODE_ADDRESS}:${kubeletPort}`,
    `-state=${stateFile(namespaces)}`,
    `-cert=${kubeletServing.cert}`,
    `-key=${kubeletServing.key}`,
    `-client-ca=${authority.cert}`,
  ])
  const ca = readFileSync(authority.cert, 'utf8')
  const tunnel = await namespaces.tunnel(NODE_ADDRESS, port)
  const token = tokens.of('admin')
  await ready({url: `https://127.0.0.1:${tunnel}`, ca, token}, [etcd.child, server.child])
  const api = apiClient({port: tunnel, ca, token})
  await registerNode(api)
  const url = `https://${NODE_ADDRESS}:${port}`
  const tunnelUrl = `https://127.0.0.1:${tunnel}`
  return {
    api,
    authority,
    ca,
    url,
    tunnelUrl,
    auditLog,
    tokenOf: tokens.of,
    async restartServer() {
      killInside(server, 'SIGKILL')
      await server.exited
      server = await start(parts['kube-apiserver'], 'kube-apiserver', serverArguments)
      await ready({url: `https://127.0.0.1:${tunnel}`, ca, token}, [etcd.child, server.child])
    },
    kubeconfig(user, options = {}) {
      const file = join(state, `${user.replaceAll(/[^\w-]/g, '_')}${options.outside ? '.outside' : ''}.kubeconfig`)
      const {namespace} = options
      const text = kubeconfigText({
        url: options.outside ? tunnelUrl : url,
        ca,
        name: user,
        token: options.token ?? tokens.of(user),
        namespace,
      })
      writeFileSync(file, text, {mode: 0o600})
      return file
    },
  }
}

async function registerNode(api: ApiClient): Promise<void> {
  const labels = {'kubernetes.io/hostname': NODE_NAME, 'kubernetes.io/os': 'linux'}
  const node = await api.create({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {name: NODE_NAME, labels},
    spec: {podCIDR: '10.244.1.0/24'},
  })
  await api.patch(
    node,
    {
      status: {
        addresses: [{type: 'InternalIP', address: NODE_ADDRESS}],
        conditions: [{type: 'Ready', status: 'True', reason: 'KubeletReady'}],
        daemonEndpoints: {kubeletEndpoint: {Port: kubeletPort}},
        nodeInfo: {
          kubeletVersion: 'v1.36.0',
          operatingSystem: 'linux',
          osImage: 'test bed',
          containerRuntimeVersion: 'bed://1',
        },
      },
    },
    'status',
  )
}
