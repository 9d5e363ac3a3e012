import {createHash} from 'node:crypto'
import {makeWrites, undoWrites} from '../cluster-dns/write.ts'
import type {UndoneWrite} from '../cluster-dns/write.ts'
import {loadDnsLocation} from '../cluster-dns/load.ts'
import {planCorednsChange} from '../cluster-dns/plan/plan-change.ts'
import type {CorednsChange} from '../cluster-dns/plan/plan-change.ts'
import type {PlaceMode} from '../cluster-dns/plan/request.ts'
import {createPodAccess} from '../cluster-dns/pod-access.ts'
import type {PodAccess} from '../cluster-dns/pod-access.ts'
import {proveChange} from '../cluster-dns/prove.ts'
import {loadDnsState, stateOfLocation} from '../cluster-dns/state.ts'
import type {DnsChange, DnsState, DoneWrite} from '../cluster-dns/types.ts'
import {resources} from '../kube/index.ts'
import type {Clock, KubeClient, Log} from '../kube/index.ts'
import type {PodProof} from '../model/coredns-plan.ts'
import type {ObjectMeta, ObjectRef} from '../model/kubernetes.ts'
import type {ConfigMapName} from './config-watch.ts'
import {keyOf} from './names-guard.ts'
import type {Published} from './names-guard.ts'
import type {RunOptions} from './options.ts'
import type {Output, OutputPlan, OutputView, Proof, WrittenOutput} from './output.ts'
import {PodBaselines} from './pod-baselines.ts'
import type {DnsPod} from './pod-baselines.ts'
import {publishedInState, serviceOf} from './published-names.ts'

export interface DnsOutputOptions {
  readonly client: KubeClient
  readonly options: Pick<
    RunOptions,
    'dnsService' | 'owner' | 'wildcards' | 'before' | 'writeTo' | 'via' | 'verifyTimeoutMs'
  >
  readonly clock: Clock
  readonly log: Log
  /** Told at each read which ConfigMaps hold, or could hold, lines of ours. */
  readonly onConfigMaps: (names: readonly ConfigMapName[]) => void
}

/** Cluster DNS as an output: all of it goes through src/cluster-dns, as the `coredns` commands do. */
export class DnsOutput implements Output {
  readonly name = 'dns'
  readonly #options: DnsOutputOptions
  readonly #baselines: PodBaselines
  readonly #undone = new WeakMap<WrittenOutput, readonly UndoneWrite[]>()

  constructor(options: DnsOutputOptions) {
    this.#options = options
    this.#baselines = new PodBaselines(options.clock)
  }

  /** Namespace of cluster DNS. Rejects while it cannot be found. */
  async namespace(signal: AbortSignal): Promise<string> {
    const {client, options} = this.#options
    const location = await loadDnsLocation(client, {...this.#load(), signal})
    // Beside the listing of the sources: the first write must not wait for pods that do not answer.
    const access = () => accessTo(stateOfLocation(location, new Map()), client, options.via)
    this.#baselines.sound(access, countingPods(location.pods), signal)
    return location.namespace
  }

  async read(targets: readonly string[], signal: AbortSignal): Promise<OutputView> {
    const {client, options} = this.#options
    const state = await loadDnsState(client, {...this.#load(), targets: targets.filter(isService), signal})
    const {location} = state
    const namespace = location?.namespace ?? ''
    this.#options.onConfigMaps(configMapsOf(state).map((name) => ({namespace, name})))
    const published = publishedInState(state, options.owner, targets)
    const name = location?.corefile.configMap ?? ''
    const object: ObjectRef = {apiVersion: 'v1', kind: 'ConfigMap', namespace, name}
    return {
      version: versionOf(state),
      published,
      object,
      managers: () => this.#managers(object, location?.corefile.key ?? ''),
      plan: (names, spared) => this.#plan(state, published, targets, names, spared),
    }
  }

  #load() {
    const service = this.#options.options.dnsService
    return service === undefined ? {} : {service}
  }

  #plan(
    state: DnsState,
    published: readonly Published[],
    targets: readonly string[],
    names: readonly Published[],
    spared: readonly string[],
  ): OutputPlan {
    const {options} = this.#options
    const planFor = (hosts: readonly Published[]): CorednsChange =>
      planCorednsChange(state, {
        operation: 'apply',
        hosts,
        targets,
        spared,
        owner: options.owner,
        wildcards: options.wildcards,
        before: options.before,
        // Whether an empty set is meant has been decided before the plan is made.
        allowEmpty: true,
        mode: modeOf(options.writeTo),
      })
    let planned = planFor(names)
    const whole = planned.document.refused.find((entry) => entry.name === '*')
    const refused = planned.document.refused.filter((entry) => entry.name !== '*')
    const wanted = new Set(names.map(keyOf))
    if (whole === undefined && planned.document.hosts.length === 0 && refused.length > 0) {
      // Not one name is taken, and names that nobody wants any more must go all the same.
      if (published.some((entry) => !wanted.has(keyOf(entry)))) planned = planFor([])
    }
    const {document, change, corefile} = planned
    const taken = new Map(
      document.hosts.map((host) => [keyOf(host), {name: host.name, kind: host.kind, target: serviceOf(host.target)}]),
    )
    const stays = whole !== undefined || (change === undefined && document.hosts.length === 0 && refused.length > 0)
    return {
      changes: change !== undefined,
      refused,
      blocked: whole === undefined ? undefined : {code: whole.code, reason: whole.reason, remedy: whole.remedy},
      warnings: document.warnings,
      published: stays ? published : [...taken.values()],
      bytes: (corefile ?? state.corefile.bytes).length,
      write: (signal) => this.#write(state, change, signal),
    }
  }

  async #write(state: DnsState, change: DnsChange | undefined, signal: AbortSignal): Promise<WrittenOutput> {
    if (change === undefined) throw new Error('a plan without a change has nothing to write')
    const {client, clock, options} = this.#options
    const access = accessTo(state, client, options.via)
    const pods = countingPods(state.location?.pods ?? [])
    let baseline = await this.#baselines.read(access, pods, signal)
    let done: readonly DoneWrite[] = await makeWrites(client, change.writes, {signal})
    let writtenAt = clock.now()
    const written: WrittenOutput = {
      prove: async (stop) => {
        const {verdict, pods: proofs} = await proveChange({
          access,
          pods: async (listing) => (await loadDnsLocation(client, {...this.#load(), signal: listing})).pods,
          hash: change.hash,
          probes: change.probes,
          baseline,
          writtenAt,
          verifyTimeoutMs: options.verifyTimeoutMs,
          clock,
          signal: stop,
        })
        return {verdict, details: proofs.map(detailOf)}
      },
      undo: async (stop) => {
        const undone = await undoWrites(client, done, {clock, signal: stop})
        this.#undone.set(written, undone)
        const failed = undone.find((entry) => !entry.restored)
        return failed === undefined
          ? {restored: true}
          : {restored: false, ...(failed.reason === undefined ? {} : {reason: failed.reason})}
      },
      renew: async (stop) => {
        baseline = await this.#baselines.read(access, pods, stop)
        writtenAt = clock.now()
      },
      standsAgain: (later) => {
        done = standingAgain(done, this.#undone.get(later) ?? [])
        writtenAt = clock.now()
      },
    }
    return written
  }

  /** Who else has written the key, the latest first. */
  async #managers(object: ObjectRef, key: string): Promise<readonly string[]> {
    const {namespace, name} = object
    const live = await this.#options.client
      .find(resources.configMaps, {namespace, name}, {timeoutMs: 5000})
      .catch(() => undefined)
    return live === undefined ? [] : foreignManagers(live.metadata, key)
  }
}

/** Field managers of one key of `data` that are not ours, the latest first. */
export function foreignManagers(metadata: Pick<ObjectMeta, 'managedFields'>, key: string): string[] {
  const entries = (metadata.managedFields ?? []).filter((entry) => {
    const data = (entry.fieldsV1 as {readonly 'f:data'?: Readonly<Record<string, unknown>>} | undefined)?.['f:data']
    return entry.manager !== 'kubectl-srcip' && data !== undefined && Object.hasOwn(data, `f:${key}`)
  })
  const sorted = entries.toSorted((a, b) => (b.time ?? '').localeCompare(a.time ?? ''))
  return [...new Set(sorted.flatMap((entry) => entry.manager ?? []))]
}

/** What a plan depends on beside the names: the texts, their container, and the Services that are targets. */
function versionOf(state: DnsState): string {
  const {location, services, corefile, files, version} = state
  const hash = createHash('sha256')
  hash.update(JSON.stringify([corefile.uid, corefile.resourceVersion, version, location?.corefile.live]))
  hash.update(
    JSON.stringify([location?.corefile.immutable, location?.owner, location?.nodeLocal, location?.environment]),
  )
  hash.update(corefile.bytes)
  for (const [path, bytes] of files) hash.update(path).update(bytes)
  for (const [name, service] of services ?? []) {
    hash.update(JSON.stringify([name, service?.type, service?.clusterIPs, service?.headless, service?.externalName]))
  }
  return hash.digest('hex')
}

function accessTo(state: DnsState, client: KubeClient, via: RunOptions['via']): PodAccess {
  return createPodAccess({
    client,
    container: state.location?.container.name ?? 'coredns',
    dnsPort: state.location?.dnsPort ?? 53,
    metricsPort: metricsPortOf(state),
    via,
  })
}

/** Port of the first `prometheus` line; the plugin's default is 9153. */
function metricsPortOf(state: DnsState): number | undefined {
  const line = /^[\t ]*prometheus\b[\t ]*(\S*)/m.exec(Buffer.from(state.corefile.bytes).toString('utf8'))
  if (line === null) return undefined
  const port = Number(/:(\d+)$/.exec(line[1] ?? '')?.[1] ?? 9153)
  return port > 0 && port < 65_536 ? port : undefined
}

function configMapsOf(state: DnsState): string[] {
  const names = [
    state.location?.corefile.configMap,
    ...(state.location?.mounts ?? []).flatMap((mount) => (mount.forbidden ? [] : mount.configMap)),
  ]
  return [...new Set(names.filter((name) => name !== undefined))]
}

/** Which place of cluster DNS --write-to allows; with both, or `auto`, the plan decides block by block. */
export function modeOf(writeTo: RunOptions['writeTo']): PlaceMode {
  const [only, ...others] = writeTo.filter((place) => place === 'auto' || place === 'corefile' || place === 'import')
  return only === undefined || others.length > 0 ? 'auto' : only
}

function detailOf(pod: PodProof): Proof['details'][number] {
  return {
    subject: `pod/${pod.namespace}/${pod.name}`,
    verdict: pod.verdict,
    ...(pod.reason === undefined ? {} : {reason: pod.reason}),
    ...(pod.afterMs === undefined ? {} : {afterMs: pod.afterMs}),
  }
}

/**
 * Writes with the versions that the way back of a later one has produced. Only where that left exactly our text: had
 * somebody edited the key between the two writes, putting back ours would take that edit with it.
 */
export function standingAgain(done: readonly DoneWrite[], undone: readonly UndoneWrite[]): readonly DoneWrite[] {
  const versionOfKey = (write: DoneWrite): string | undefined => {
    const later = undone.filter(
      (entry) => entry.write.namespace === write.namespace && entry.write.configMap === write.configMap,
    )
    const same = later.find((entry) => entry.write.key === write.key)
    return same?.restored === true && same.write.before === write.after ? later[0]?.write.resourceVersion : undefined
  }
  return done.map((write) => ({...write, resourceVersion: versionOfKey(write) ?? write.resourceVersion}))
}

function countingPods(pods: readonly DnsPod[]): DnsPod[] {
  return pods.filter((pod) => pod.counting)
}

function isService(target: string): boolean {
  return target.includes('/')
}
