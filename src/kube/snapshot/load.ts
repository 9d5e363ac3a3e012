import {SrcipError} from '../../model/errors.ts'
import type {EventSink} from '../../model/events.ts'
import type {KubeObject} from '../../model/kubernetes.ts'
import type {SnapshotKind} from '../../model/projection/kind.ts'
import {snapshotKinds, snapshotKindOf, sortObjects} from '../../model/projection/project-object.ts'
import {
  configMapNames,
  isWantedService,
  isWantedWorkload,
  podSelections,
  sliceSelections,
  type Selections,
} from '../../model/projection/wanted.ts'
import {readingSentence, snapshotFormat, type Snapshot, type SnapshotReading} from '../../model/snapshot.ts'
import {hasStatus} from '../failures/failure.ts'
import {resourceText} from '../resources.ts'
import type {Discovery, KubeClient, Resource} from '../types.ts'
import {failed, inParallel, readList, readOne, type CallSettings, type Reading} from './readings.ts'

export interface LoadSnapshotOptions {
  readonly signal?: AbortSignal | undefined
  /** For one page or object, milliseconds; default 20 s. */
  readonly timeoutMs?: number | undefined
  /** Where a list of all namespaces is refused, these are tried one by one. Default: that of the client, and kube-system. */
  readonly namespaces?: readonly string[] | undefined
  /** For `metadata.createdAt`; absent: no such field. */
  readonly now?: Date | undefined
  readonly onEvent?: EventSink | undefined
}

/** Requests under way at a time: enough to hide the way to the server, few enough to hold few pages. */
const width = 4
/** More selections than this, and one list of everything is cheaper. */
const mostSelections = 30
const defaultTimeoutMs = 20_000

/**
 * Reads in one pass everything that `doctor` and its like need, projected (src/model/projection). What is refused or does
 * not answer is a reading with that state, and the rest is there: exit code 23. Throws Denied or Unreachable only when nothing
 * could be read. Rights: docs/rights.md, "doctor".
 */
export async function loadSnapshot(client: KubeClient, options: LoadSnapshotOptions = {}): Promise<Snapshot> {
  return await new Loader(client, options).load()
}

class Loader {
  readonly #client: KubeClient
  readonly #call: CallSettings
  readonly #namespaces: readonly string[]
  readonly #options: LoadSnapshotOptions
  readonly #objects: KubeObject[] = []
  readonly #readings: SnapshotReading[] = []
  #discovery: Discovery | undefined
  #discoveryFailure: Pick<Reading, 'state' | 'message'> | undefined

  constructor(client: KubeClient, options: LoadSnapshotOptions) {
    this.#client = client
    this.#options = options
    const timeoutMs = options.timeoutMs ?? client.config.requestTimeoutMs ?? defaultTimeoutMs
    this.#call = {signal: options.signal, timeoutMs}
    this.#namespaces = [...new Set(options.namespaces ?? [client.config.namespace, 'kube-system'])]
  }

  async load(): Promise<Snapshot> {
    const version = await this.#discover()
    const kinds = snapshotKinds.filter(({read}) => read === 'all')
    await inParallel(kinds, width, (kind) => this.#readAll(kind))
    const services = this.#of('Service')
    const wanted = services.filter(isWantedService)
    const workloads = snapshotKinds.filter(({group, read}) => group === 'apps' && read === 'chosen')
    await inParallel(workloads, width, (kind) =>
      this.#readAll(kind, {
        keep: (object) => isWantedWorkload(object, wanted),
        only: 'parts that are known, and what Services that lead in select',
      }),
    )
    const pods = new Map(
      podSelections(
        services,
        workloads.flatMap(({kind}) => this.#of(kind)),
      ),
    )
    // Without a look at Services: cluster DNS as every installer labels it.
    if (services.length === 0 && !this.#servicesSeen()) pods.set('kube-system', ['k8s-app=kube-dns'])
    await this.#readSelected('', 'Pod', pods, 'pods behind Services that lead in, and of known parts')
    await this.#readSelected(
      'discovery.k8s.io',
      'EndpointSlice',
      sliceSelections(services),
      'slices of Services that lead in',
    )
    await this.#readConfigMaps()
    return this.#finish(version)
  }

  /** What the server serves, and its version. Nothing at all from both: there is no cluster to read. */
  async #discover(): Promise<string | undefined> {
    const say = (message: string): void => this.#options.onEvent?.({type: 'step-progress', step: 'read', message})
    say('what the API serves')
    const [version, discovery] = await Promise.allSettled([
      this.#client.serverVersion(this.#call),
      this.#client.discover(this.#call),
    ])
    if (discovery.status === 'fulfilled') this.#discovery = discovery.value
    else {
      // Nobody knows us: no list will.
      if (hasStatus(discovery.reason, 401)) throw discovery.reason
      this.#discoveryFailure = failed(discovery.reason, false)
      if (version.status === 'rejected' && this.#discoveryFailure.state === 'unreachable') throw discovery.reason
    }
    return version.status === 'fulfilled' ? version.value.gitVersion : undefined
  }

  #of(kind: string): KubeObject[] {
    return this.#objects.filter((object) => object.kind === kind)
  }

  /** The served form of a kind; else the reading that says why there is none. */
  #resource(kind: SnapshotKind): Resource | Pick<Reading, 'state' | 'message'> {
    const {group, plural, versions, namespaced} = kind
    const assumed: Resource = {group, plural, kind: kind.kind, version: versions[0] ?? 'v1', namespaced}
    if (this.#discovery === undefined) {
      // Built-in kinds need no discovery; the others are not waited for one by one on a server that does not answer.
      return kind.builtIn || this.#discoveryFailure?.state === 'denied' ? assumed : (this.#discoveryFailure ?? assumed)
    }
    const served = this.#discovery.find(group, plural, versions)
    if (served !== undefined) return served
    const down = this.#discovery.incomplete.find((one) => one.split('/')[0] === group)
    if (down !== undefined) return {state: 'unreachable', message: `API ${down} did not answer discovery`}
    const other = this.#discovery.find(group, plural)
    return other === undefined
      ? {state: 'absent'}
      : {state: 'unreachable', message: `served as ${group}/${other.version} only, which is not known here`}
  }

  async #readAll(
    kind: SnapshotKind,
    choice: {readonly keep?: (object: KubeObject) => boolean; readonly only?: string} = {},
  ): Promise<void> {
    const resource = this.#resource(kind)
    if ('state' in resource) return this.#note(kind, {...resource, objects: []}, choice)
    const question = {kind, resource, keep: choice.keep}
    const whole = await readList(this.#client, question, this.#call)
    this.#note(kind, whole, {version: resource.version, ...choice})
    if (whole.state !== 'denied' || !kind.namespaced) return
    for (const namespace of this.#namespaces) {
      const part = await readList(this.#client, {...question, namespace}, this.#call)
      // That it is refused everywhere was said once.
      if (part.state !== 'denied') this.#note(kind, part, {version: resource.version, namespace, ...choice})
    }
  }

  /** Objects by label selectors, namespace by namespace, one reading for each. */
  async #readSelected(group: string, name: string, selections: Selections, only: string): Promise<void> {
    const kind = snapshotKindOf(group === '' ? 'v1' : `${group}/v1`, name)
    const resource = kind === undefined ? undefined : this.#resource(kind)
    if (kind === undefined || resource === undefined) return
    if ('state' in resource) return this.#note(kind, {...resource, objects: []}, {only})
    // Nothing to ask for is an answer, where it is known that there is nothing.
    if (selections.size === 0 && this.#servicesSeen()) return this.#note(kind, {state: 'complete', objects: []}, {only})
    const count = [...selections.values()].reduce((sum, selectors) => sum + selectors.length, 0)
    if (count > mostSelections) {
      const asked = [...selections].flatMap(([namespace, texts]) => texts.map((text) => matcher(namespace, text)))
      const keep = (object: KubeObject): boolean => asked.some((matches) => matches(object))
      return await this.#readAll(kind, {keep, only})
    }
    await inParallel([...selections], width, async ([namespace, selectors]) => {
      const parts = await inParallel(selectors, 1, (labelSelector) =>
        readList(this.#client, {kind, resource, namespace, labelSelector}, this.#call),
      )
      this.#note(kind, joined(parts), {version: resource.version, namespace, only})
    })
  }

  #servicesSeen(): boolean {
    return this.#readings.some(
      ({resource, state, namespace}) => resource === 'services' && state === 'complete' && namespace === undefined,
    )
  }

  async #readConfigMaps(): Promise<void> {
    const kind = snapshotKindOf('v1', 'ConfigMap')
    if (kind === undefined) return
    const holders = this.#objects.filter(({kind: name}) =>
      /^(?:Pod|Deployment|DaemonSet|StatefulSet)$/.test(name ?? ''),
    )
    const seen = this.#readings.every((one) => one.group !== 'apps' || one.state === 'complete')
    const resource: Resource = {group: '', version: 'v1', plural: kind.plural, kind: kind.kind, namespaced: true}
    const answers = await inParallel(configMapNames(holders, !seen), width, async (key) => {
      const [namespace = '', name = ''] = key.split('/')
      const reading = await readOne(this.#client, {kind, resource, namespace, name}, this.#call)
      return {namespace, name, reading}
    })
    const groups = Map.groupBy(answers, ({namespace, reading}) => `${namespace} ${reading.state}`)
    for (const group of groups.values()) {
      const [first] = group
      if (first === undefined) continue
      this.#note(
        kind,
        {...first.reading, objects: group.flatMap(({reading}) => reading.objects)},
        {verb: 'get', namespace: first.namespace, names: group.map(({name}) => name)},
      )
    }
  }

  #note(
    kind: SnapshotKind,
    reading: Reading,
    scope: {
      readonly version?: string
      readonly verb?: 'get'
      readonly namespace?: string
      readonly names?: readonly string[]
      readonly only?: string
    },
  ): void {
    for (const object of reading.objects) this.#objects.push(object)
    this.#readings.push({
      group: kind.group,
      version: scope.version ?? kind.versions[0] ?? 'v1',
      resource: kind.plural,
      kind: kind.kind,
      ...(scope.namespace === undefined ? {} : {namespace: scope.namespace}),
      ...(scope.names === undefined ? {} : {names: scope.names}),
      ...(scope.only === undefined ? {} : {only: scope.only}),
      verb: scope.verb ?? 'list',
      state: reading.state,
      ...(reading.message === undefined ? {} : {message: reading.message}),
    })
    if (reading.objects.length > 0 || reading.state !== 'absent') {
      const where = scope.namespace === undefined ? '' : ` in ${scope.namespace}`
      const what = reading.state === 'complete' ? String(reading.objects.length) : reading.state
      const message = `${resourceText(kind)}${where}: ${what}`
      this.#options.onEvent?.({type: 'step-progress', step: 'read', message})
    }
  }

  #finish(version: string | undefined): Snapshot {
    const missing = this.#readings.filter(({state}) => state !== 'complete' && state !== 'absent')
    if (!this.#readings.some(({state}) => state === 'complete' || state === 'partial')) throw nothing(missing)
    const uid = this.#of('Namespace').find(({metadata}) => metadata.name === 'kube-system')?.metadata.uid
    const {now} = this.#options
    return {
      apiVersion: 'srcip.dev/v1alpha1',
      kind: 'Snapshot',
      ...(now === undefined ? {} : {metadata: {createdAt: now.toISOString()}}),
      format: snapshotFormat,
      source: 'cluster',
      anonymised: false,
      cluster: {...(version === undefined ? {} : {version}), ...(uid === undefined ? {} : {uid})},
      readings: sortReadings(this.#readings),
      objects: sortObjects(unique(this.#objects)),
      exitCode: missing.length === 0 ? 0 : 23,
      changed: false,
      warnings: sortReadings(missing).map(readingSentence),
    }
  }
}

/** One pod may be behind two Services. */
function unique(objects: readonly KubeObject[]): KubeObject[] {
  const byKey = new Map<string, KubeObject>()
  for (const object of objects) {
    const {namespace, name} = object.metadata
    byKey.set(`${object.apiVersion}/${object.kind}/${namespace ?? ''}/${name}`, object)
  }
  return [...byKey.values()]
}

function joined(parts: readonly Reading[]): Reading {
  const worst = parts.find(({state}) => state !== 'complete')
  const objects = parts.flatMap((part) => part.objects)
  if (worst === undefined) return {state: 'complete', objects}
  const some = parts.some(({state}) => state === 'complete' || state === 'partial')
  return {...worst, state: some ? 'partial' : worst.state, objects}
}

/** `k=v,k2=v2` or `k in (a,b)`, as wanted.ts writes them. */
function matcher(namespace: string, selector: string): (object: KubeObject) => boolean {
  const one = /^(\S+) in \((.*)\)$/.exec(selector)
  const wanted: readonly (readonly [string, ReadonlySet<string>])[] =
    one === null
      ? selector
          .split(',')
          .map((pair) => [pair.slice(0, pair.indexOf('=')), new Set([pair.slice(pair.indexOf('=') + 1)])])
      : [[one[1] ?? '', new Set((one[2] ?? '').split(','))]]
  return ({metadata}) =>
    metadata.namespace === namespace && wanted.every(([key, values]) => values.has(metadata.labels?.[key] ?? ''))
}

function sortReadings(readings: readonly SnapshotReading[]): SnapshotReading[] {
  const key = (one: SnapshotReading): string =>
    [one.group, one.resource, one.namespace ?? '', one.state, ...(one.names ?? [])].join(' ')
  return readings.toSorted((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0))
}

function nothing(missing: readonly SnapshotReading[]): SrcipError {
  const denied = missing.filter(({state}) => state === 'denied')
  const first = denied[0] ?? missing[0]
  const code = denied.length > 0 ? 'Denied' : 'Unreachable'
  return new SrcipError(
    code,
    `nothing of the cluster could be read: ${first === undefined ? 'no list' : readingSentence(first)}`,
    {
      hints:
        code === 'Denied'
          ? ['ask for the rights of ClusterRole srcip-doctor (docs/rights.md), or for some of them']
          : ['kubectl get --raw /readyz', 'allow more with --request-timeout=60s'],
    },
  )
}
