import {readFileSync, writeFileSync} from 'node:fs'
import type {ChildProcess} from 'node:child_process'
import {publishedNames} from '../../../src/controller/published-names.ts'
import {rightsObjects} from '../../support/rights.ts'
import {apiClient} from '../bed/api-client.ts'
import type {ApiClient} from '../bed/api-client.ts'
import {freePorts} from '../bed/api-server.ts'
import {startApiServer} from '../bed/index.ts'
import type {ApiServer} from '../bed/index.ts'
import type {KubeObject} from '../bed/objects.ts'
import {stateFolder} from '../bed/state-folder.ts'
import {startGate} from '../run/gate.ts'
import type {Gate} from '../run/gate.ts'
import {clusterObjects, rightsNames} from '../run/light-cluster.ts'
import {SoakCoredns, soakCorefile} from './coredns.ts'

/** A real API server, a relay in front of it for the controller alone, and a real CoreDNS that takes what is written. */
export interface SoakCluster {
  readonly api: ApiServer
  readonly admin: ApiClient
  readonly gate: Gate
  readonly coredns: SoakCoredns
  readonly dnsPort: number
  /** The controller's, through the relay. */
  readonly kubeconfig: string
  readonly rights: readonly KubeObject[]
  corefile(): Promise<string>
  /** A foreign edit: reads, changes, writes with the version that was read, and again when somebody was faster. */
  edit(change: (text: string) => string): Promise<void>
  stop(): Promise<void>
}

const configMapPath = '/api/v1/namespaces/kube-system/configmaps/coredns'

export async function startSoakCluster(corednsBinary: string): Promise<SoakCluster> {
  const api = await startApiServer()
  const admin = apiClient({port: api.port, ca: api.ca, token: api.adminToken})
  const state = stateFolder('soak')
  const [dns, metrics] = (await freePorts(2)) as [number, number]
  const rights = rightsObjects(rightsNames) as KubeObject[]
  for (const object of clusterObjects(soakCorefile({dns, metrics}, api.kubeconfig))) {
    await admin.create(onLoopback(object, dns))
  }
  await setReady(admin)
  for (const object of rights) await admin.create(object)
  const {status} = await admin.request<{status: {token: string}}>(
    'POST',
    '/api/v1/namespaces/srcip/serviceaccounts/srcip/token',
    {apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {expirationSeconds: 7200}},
  )
  const direct = api.kubeconfigFor({token: status.token, name: 'srcip'}, {namespace: 'srcip'})
  const gate = await startGate(api.port)
  const kubeconfig = `${api.folder}/gated.kubeconfig`
  writeFileSync(kubeconfig, readFileSync(direct, 'utf8').replaceAll(`:${api.port}`, `:${gate.port}`), {mode: 0o600})
  const read = () => admin.get<{metadata: {resourceVersion: string}; data: {Corefile: string}}>(configMapPath)
  const corefile = async () => (await read()).data.Corefile
  const guard = (child: ChildProcess) => state.guard(child)
  const coredns = new SoakCoredns({binary: corednsBinary, folder: `${state.path}/coredns`, corefile, guard})
  await coredns.start()
  return {
    api,
    admin,
    gate,
    coredns,
    dnsPort: dns,
    kubeconfig,
    rights,
    corefile,
    async edit(change) {
      for (let tries = 1; ; tries++) {
        const {metadata, data} = await read()
        const body = {metadata: {resourceVersion: metadata.resourceVersion}, data: {Corefile: change(data.Corefile)}}
        try {
          await admin.request('PATCH', configMapPath, body, 'application/merge-patch+json')
          return
        } catch (error) {
          if (tries === 20) throw error
        }
      }
    },
    async stop() {
      await coredns.stop()
      admin.close()
      await gate.close()
      await api.stop()
      state.release()
    },
  }
}

/** Cluster DNS of the light cluster, moved to an address and a port that a process of this machine can have. */
function onLoopback(object: KubeObject, port: number): KubeObject {
  const text = JSON.stringify(object).replaceAll('"containerPort":53,', `"containerPort":${port},`)
  const moved = JSON.parse(text.replaceAll('"port":53,', `"port":53,"targetPort":${port},`)) as KubeObject
  const spec = moved['spec'] as {replicas?: number} | undefined
  if (spec?.replicas === 2) spec.replicas = 1
  return moved
}

/** One of the two pods is the process; the other has not become ready. */
async function setReady(admin: ApiClient): Promise<void> {
  const pod = {apiVersion: 'v1', kind: 'Pod', metadata: {name: 'coredns-a', namespace: 'kube-system'}}
  const conditions = [{type: 'Ready', status: 'True'}]
  const ip = '127.0.0.1'
  await admin.patch(pod, {status: {phase: 'Running', podIP: ip, podIPs: [{ip}], conditions}}, 'status')
}

/** Names of ours in a Corefile, sorted. */
export function namesIn(corefile: string): string[] {
  return publishedNames(corefile.split('\n'))
    .map((entry) => entry.name)
    .sort()
}

/** What a Corefile is without our block: no byte of it is ever ours to change. */
export function withoutOurs(corefile: string): string {
  return corefile.replace(/^[ \t]*# === BEGIN srcip [^]*?# === END srcip ===.*\n/m, '')
}
