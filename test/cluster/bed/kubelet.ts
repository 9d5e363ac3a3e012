import {renameSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import type {ApiClient} from './api-client.ts'
import type {Namespaces} from './namespaces.ts'
import {NodePod, type PodSurroundings} from './node-pod.ts'
import {keyOf, type Condition, type ConfigMap, type KubeObject, type Pod, type Secret} from './objects.ts'
import type {Image} from './pod-container.ts'
import {workLoop, type Store} from './store.ts'

/** The name of the bed's one node. */
export const NODE_NAME = 'node-1'

/** The bed's kubelet and scheduler: it runs the pods of the API as processes and reports their status. */
export type Kubelet = {
  /** The pod that runs under `namespace/name`. */
  pod(key: string): NodePod | undefined
  /** Sets the propagation delay of ConfigMaps and Secrets for one pod, in milliseconds. */
  setDelay(key: string, milliseconds: number): void
  stop(): Promise<void>
}

type Settings = {
  api: ApiClient
  namespaces: Namespaces
  pods: Store<Pod>
  configMaps: Store<ConfigMap>
  secrets: Store<Secret>
  ca: string
  images: (image: string) => Image
  resolvConf: (pod: Pod) => string
  /** Delay of pods that have none of their own, in milliseconds. */
  defaultDelay: number
  log: (line: string) => void
  end: AbortSignal
}

/** File that the kubelet stand-in reads to find processes and logs. */
export function stateFile(namespaces: Namespaces): string {
  return join(namespaces.folder, 'kubelet.json')
}

/** Starts the kubelet. */
export function startKubelet(settings: Settings): Kubelet {
  const {api, namespaces, pods, log, end} = settings
  const running = new Map<string, NodePod>()
  const leaving = new Map<string, Promise<void>>()
  const delays = new Map<string, number>()
  const reports = new WeakMap<NodePod, Promise<void>>()
  let lastAddress = 9

  const around: PodSurroundings = {
    namespaces,
    sources: {api, configMaps: settings.configMaps.items, secrets: settings.secrets.items, ca: settings.ca},
    images: settings.images,
    resolvConf: settings.resolvConf,
    serviceEnv: {KUBERNETES_SERVICE_HOST: '10.96.0.1', KUBERNETES_SERVICE_PORT: '443'},
    delay: (pod) => delays.get(keyOf(pod)) ?? settings.defaultDelay,
    log,
    end,
    changed: (pod) => {
      if (end.aborted) return
      writeState(namespaces, running)
      // One report after the other, so that an older one never overwrites a newer.
      reports.set(
        pod,
        (reports.get(pod) ?? Promise.resolve()).then(() => report(pod)),
      )
    },
  }

  async function report(pod: NodePod): Promise<void> {
    if (end.aborted) return
    const status = statusOf(pod)
    try {
      await api.patch(pod.pod, {metadata: {uid: pod.pod.metadata.uid}, status}, 'status')
    } catch (error) {
      if (!end.aborted && running.get(pod.key) === pod) log(`status of pod ${pod.key}: ${(error as Error).message}`)
    }
  }

  function start(pod: Pod): void {
    lastAddress += 1
    // Several hundred pods fit; a test that makes more has other troubles.
    const address =
      pod.metadata.annotations?.['bed.srcip.dev/address'] ??
      `10.244.${1 + Math.floor(lastAddress / 250)}.${1 + (lastAddress % 250)}`
    const nodePod = new NodePod(pod, address, around)
    running.set(keyOf(pod), nodePod)
    nodePod.start().catch((error: Error) => log(`pod ${keyOf(pod)}: ${error.message}`))
  }

  async function remove(key: string, nodePod: NodePod): Promise<void> {
    const grace = pods.items.get(key)?.metadata.deletionGracePeriodSeconds ?? 0
    await nodePod.stop(grace)
    running.delete(key)
    if (end.aborted) return
    writeState(namespaces, running)
    await api.delete(nodePod.pod, {gracePeriodSeconds: 0}).catch(() => {})
  }

  const kick = workLoop(
    'kubelet',
    async () => {
      for (const [key, pod] of pods.items) {
        if (pod.spec.nodeName === undefined) {
          await bind(api, pod)
          continue
        }
        const there = running.get(key)
        if (there === undefined && pod.metadata.deletionTimestamp === undefined) start(pod)
        else if (there === undefined && !leaving.has(key))
          await api.delete(pod, {gracePeriodSeconds: 0}).catch(() => {})
        else if (there?.actor !== undefined) await there.runEphemeral(pod.spec.ephemeralContainers ?? [])
      }
      for (const [key, nodePod] of running) {
        const pod = pods.items.get(key)
        const same = pod?.metadata.uid === nodePod.pod.metadata.uid
        if ((same && pod?.metadata.deletionTimestamp === undefined) || leaving.has(key)) continue
        const gone = remove(key, nodePod).finally(() => {
          leaving.delete(key)
          kick()
        })
        leaving.set(key, gone)
      }
    },
    log,
    end,
  )
  pods.onChange(kick)
  const tell = (kind: 'ConfigMap' | 'Secret') => (key: string) => {
    const [namespace, name = ''] = key.split('/')
    for (const pod of running.values()) if (pod.pod.metadata.namespace === namespace) pod.sourceChanged(kind, name)
  }
  settings.configMaps.onChange(tell('ConfigMap'))
  settings.secrets.onChange(tell('Secret'))
  writeState(namespaces, running)
  return {
    pod: (key) => running.get(key),
    setDelay: (key, milliseconds) => void delays.set(key, milliseconds),
    async stop() {
      await Promise.all([...running.values()].map((pod) => pod.stop(0)))
    },
  }
}

async function bind(api: ApiClient, pod: Pod): Promise<void> {
  const {name, namespace} = pod.metadata
  const target: KubeObject['target'] = {apiVersion: 'v1', kind: 'Node', name: NODE_NAME}
  const binding = {apiVersion: 'v1', kind: 'Binding', metadata: {name, namespace}, target}
  await api.request('POST', `/api/v1/namespaces/${namespace}/pods/${name}/binding`, binding).catch(() => {})
}

function writeState(namespaces: Namespaces, running: ReadonlyMap<string, NodePod>): void {
  const state: Record<string, unknown> = {}
  for (const [key, pod] of running) {
    const containers: Record<string, unknown> = {}
    for (const {name, inside, log, restart} of pod.containers.values()) {
      const previous = restart === 0 ? '' : log.replace(/\.\d+\.log$/, `.${restart - 1}.log`)
      containers[name] = {pid: inside.innerPid, running: pod.isRunning(name), log, previous}
    }
    state[key] = {pid: pod.actor?.innerPid ?? 0, containers}
  }
  const file = stateFile(namespaces)
  writeFileSync(`${file}.new`, JSON.stringify(state))
  renameSync(`${file}.new`, file)
}

/** The status that kubelet would report now. */
function statusOf(pod: NodePod): Record<string, unknown> {
  const {spec} = pod.pod
  const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z')
  const names = spec.containers.map(({name}) => name)
  const ready = names.every((name) => pod.ready.get(name) ?? false)
  const codes = names.map((name) => pod.exits.get(name))
  const ended = spec.restartPolicy === 'Never' && codes.every((code) => code !== undefined)
  const phase = ended ? (codes.every((code) => code === 0) ? 'Succeeded' : 'Failed') : 'Running'
  const condition = (type: string, holds: boolean): Condition => ({
    type,
    status: holds ? 'True' : 'False',
    lastTransitionTime: now,
  })
  return {
    phase,
    podIP: pod.address,
    podIPs: [{ip: pod.address}],
    hostIP: '172.18.0.2',
    hostIPs: [{ip: '172.18.0.2'}],
    startTime: pod.startedAt.replace(/\.\d+Z$/, 'Z'),
    conditions: [
      condition('PodScheduled', true),
      condition('Initialized', true),
      condition('ContainersReady', ready),
      condition('Ready', ready),
    ],
    containerStatuses: spec.containers.map((container) => containerStatus(pod, container.name, container.image)),
    ...(pod.ephemeral.length === 0
      ? {}
      : {ephemeralContainerStatuses: pod.ephemeral.map(({name, image}) => containerStatus(pod, name, image))}),
  }
}

function containerStatus(pod: NodePod, name: string, image: string): Record<string, unknown> {
  const container = pod.containers.get(name)
  const code = pod.exits.get(name)
  const started = container?.startedAt.replace(/\.\d+Z$/, 'Z')
  let state: Record<string, unknown> = {waiting: {reason: 'ContainerCreating', message: pod.waiting}}
  if (code !== undefined)
    state = {terminated: {exitCode: code, reason: code === 0 ? 'Completed' : 'Error', startedAt: started}}
  else if (container !== undefined) state = {running: {startedAt: started}}
  const restartCount = container?.restart ?? 0
  const ready = pod.ready.get(name) ?? false
  const imageID = `bed/${image}`
  return {
    name,
    image,
    imageID,
    ready,
    started: code === undefined,
    restartCount,
    state,
    containerID: `bed://${pod.key}/${name}/${restartCount}`,
  }
}
