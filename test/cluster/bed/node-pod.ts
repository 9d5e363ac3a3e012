import {join} from 'node:path'
import {setTimeout as sleep} from 'node:timers/promises'
import {killInside, startActor, type Actor} from './actor.ts'
import type {Namespaces} from './namespaces.ts'
import type {Container, Pod} from './objects.ts'
import {startContainer, type Image, type RunningContainer} from './pod-container.ts'
import {probe} from './probes.ts'
import {mentions, payloadOf, writeVolume, type Payload, type VolumeSources} from './volumes.ts'

/** What a pod needs of its node. */
export type PodSurroundings = {
  namespaces: Namespaces
  sources: VolumeSources
  images: (image: string) => Image
  resolvConf: (pod: Pod) => string
  serviceEnv: Record<string, string>
  /** Milliseconds between a change of a ConfigMap or Secret and its files in this pod. */
  delay: (pod: Pod) => number
  log: (line: string) => void
  /** The end of the whole bed. */
  end: AbortSignal
  /** Called when something changed that the pod's status shows. */
  changed: (pod: NodePod) => void
}

/** Folder that an automatically mounted service account lies in. */
const accountFolder = '/var/run/secrets/kubernetes.io/serviceaccount'

/** A pod's life on the node: its address, its volumes, its processes, its readiness. */
export class NodePod {
  readonly address: string
  readonly startedAt = new Date().toISOString()
  pod: Pod
  actor: Actor | undefined
  containers = new Map<string, RunningContainer>()
  /** Why the pod cannot start yet, in kubelet's words. */
  waiting = 'ContainerCreating'
  readonly ready = new Map<string, boolean>()
  readonly exits = new Map<string, number>()
  readonly ephemeral: Container[] = []
  readonly #around: PodSurroundings
  readonly #end = new AbortController()
  readonly #payloads = new Map<string, Payload>()
  readonly #timers = new Map<string, NodeJS.Timeout>()

  constructor(pod: Pod, address: string, around: PodSurroundings) {
    this.pod = withAccount(pod)
    this.address = address
    this.#around = around
    around.end.addEventListener('abort', () => this.#end.abort())
  }

  get key(): string {
    return `${this.pod.metadata.namespace}/${this.pod.metadata.name}`
  }

  /** Starts the pod; waits for its volumes first, for as long as it takes. */
  async start(): Promise<void> {
    const {namespaces, resolvConf} = this.#around
    const {name, uid} = this.pod.metadata
    const folder = join(namespaces.folder, 'pods', uid ?? name)
    this.actor = await startActor(namespaces, {name, address: this.address, resolvConf: resolvConf(this.pod), folder})
    for (const volume of this.pod.spec.volumes ?? []) {
      while (!this.#end.signal.aborted && !(await this.#fill(volume.name))) await sleep(100)
    }
    await Promise.all(this.pod.spec.containers.map((container) => this.#run(container, 0)))
  }

  /** Starts the ephemeral containers that the pod has got since; they run once. */
  async runEphemeral(containers: readonly Container[]): Promise<void> {
    for (const container of containers) {
      if (this.ephemeral.some(({name}) => name === container.name)) continue
      this.ephemeral.push(container)
      await this.#run(container, 0)
    }
  }

  /** A ConfigMap or Secret changed: its files follow after this pod's delay, with what it holds by then. */
  sourceChanged(kind: 'ConfigMap' | 'Secret', name: string): void {
    for (const volume of this.pod.spec.volumes ?? []) {
      if (!mentions(volume, kind, name) || this.#timers.has(volume.name)) continue
      const timer = setTimeout(() => {
        this.#timers.delete(volume.name)
        void this.#fill(volume.name).then((wrote) => wrote || this.#around.log(`${this.key}: ${this.waiting}`))
      }, this.#around.delay(this.pod))
      this.#timers.set(volume.name, timer)
    }
  }

  /** Ends the pod: SIGTERM, the grace period, SIGKILL. */
  async stop(graceSeconds: number): Promise<void> {
    this.#end.abort()
    for (const timer of this.#timers.values()) clearTimeout(timer)
    const running = [...this.containers.values()]
    for (const {inside} of running) killInside(inside, 'SIGTERM')
    const gone = Promise.all(running.map(({inside}) => inside.exited))
    await Promise.race([gone, sleep(graceSeconds * 1000, undefined, {ref: false})])
    for (const {inside} of running) killInside(inside, 'SIGKILL')
    await gone
    await this.actor?.stop()
  }

  /** Whether the container's program runs now. */
  isRunning(name: string): boolean {
    return this.containers.has(name) && !this.exits.has(name)
  }

  volumeFolder(name: string): string {
    return join(this.actor?.folder ?? '', 'volumes', name)
  }

  async #fill(name: string): Promise<boolean> {
    const volume = this.pod.spec.volumes?.find((each) => each.name === name)
    if (volume === undefined) return true
    try {
      const payload = await payloadOf(volume, this.pod, this.#around.sources)
      writeVolume(this.volumeFolder(name), payload, this.#payloads.get(name))
      this.#payloads.set(name, payload)
      return true
    } catch (error) {
      this.waiting = `MountVolume.SetUp failed for volume "${name}" : ${(error as Error).message}`
      return false
    }
  }

  async #run(container: Container, restart: number): Promise<void> {
    if (this.#end.signal.aborted || this.actor === undefined) return
    const {images, serviceEnv} = this.#around
    const volumes = new Map((this.pod.spec.volumes ?? []).map(({name}) => [name, this.volumeFolder(name)]))
    const image = images(container.image)
    const running = await startContainer(this.actor, this.pod, container, {image, volumes, serviceEnv, restart})
    this.containers.set(container.name, running)
    this.exits.delete(container.name)
    this.ready.set(container.name, container.readinessProbe === undefined)
    this.#around.changed(this)
    const over = new AbortController()
    if (container.readinessProbe !== undefined) void this.#watchReadiness(container, over.signal)
    void running.inside.exited.then(async (code) => {
      over.abort()
      this.exits.set(container.name, code)
      this.ready.set(container.name, false)
      this.#around.changed(this)
      if (this.ephemeral.includes(container)) return
      const policy = this.pod.spec.restartPolicy ?? 'Always'
      if (policy === 'Never' || (policy === 'OnFailure' && code === 0)) return
      await sleep(Math.min(500 * 2 ** restart, 10_000), undefined, {ref: false})
      await this.#run(container, restart + 1)
    })
  }

  async #watchReadiness(container: Container, over: AbortSignal): Promise<void> {
    const check = container.readinessProbe!
    const {namespaces, changed} = this.#around
    for (let failures = 0; !over.aborted && this.actor !== undefined;) {
      const good = await probe(namespaces, this.actor, container, check)
      failures = good ? 0 : failures + 1
      const was = this.ready.get(container.name) ?? false
      const now = good || (was && failures < (check.failureThreshold ?? 3))
      if (now !== was && !over.aborted) {
        this.ready.set(container.name, now)
        changed(this)
      }
      // Until it is ready the first time a pod is asked more often than kubelet would: tests wait for it.
      await sleep(now ? (check.periodSeconds ?? 10) * 1000 : 150, undefined, {ref: false})
    }
  }
}

/** The pod as the admission plugin would have changed it: with its service account mounted. */
function withAccount(pod: Pod): Pod {
  const {spec} = pod
  const mounted = spec.containers.some(({volumeMounts = []}) =>
    volumeMounts.some(({mountPath}) => mountPath === accountFolder),
  )
  if (spec.automountServiceAccountToken === false || mounted) return pod
  const sources = [
    {serviceAccountToken: {path: 'token', expirationSeconds: 3607}},
    {configMap: {name: 'kube-root-ca.crt'}},
    {downwardAPI: {items: [{path: 'namespace', fieldRef: {fieldPath: 'metadata.namespace'}}]}},
  ]
  const mount = {name: 'kube-api-access', mountPath: accountFolder, readOnly: true}
  const containers = spec.containers.map((each) => ({...each, volumeMounts: [...(each.volumeMounts ?? []), mount]}))
  const volumes = [...(spec.volumes ?? []), {name: 'kube-api-access', projected: {sources}}]
  return {...pod, spec: {...spec, containers, volumes}}
}
