import type {HostSources, ProxyService, RouteSource} from '../hosts/index.ts'
import {projectProxyService} from '../hosts/index.ts'
import {createReflector, resources} from '../kube/index.ts'
import type {
  Clock,
  KubeClient,
  Log,
  Reflector,
  ReflectorObserver,
  Resource,
  SourceStatus,
  StoreChange,
} from '../kube/index.ts'
import {projectSlice} from './proxy-endpoints.ts'
import type {SliceSource} from './proxy-endpoints.ts'
import {sourceKinds, sourceNames} from './source-kinds.ts'
import type {SourceKind, SourceKinds, SourceName, SourceObjects} from './source-kinds.ts'

/** A source as health and metrics see it: the kinds of names, `proxies` for the proxy Services, `endpoints` for what stands behind them. */
export type WatchedName = SourceName | 'proxies' | 'endpoints'

export interface SourcesOptions {
  readonly client: KubeClient
  readonly families: readonly ('ingress' | 'gateway')[]
  /** Kinds to read, and how; default all. */
  readonly kinds?: SourceKinds
  /** Proxies that the caller has settled; undefined: Services with our label in `proxyNamespace` are watched. */
  readonly proxies: readonly ProxyService[] | undefined
  readonly proxyNamespace: string
  /** Where their EndpointSlices are watched; undefined: nobody asks for readiness. */
  readonly endpointsNamespace?: string
  readonly relistMs: number
  /** One pass: nothing waits for what the cluster does not serve. */
  readonly once?: boolean
  readonly clock: Clock
  readonly random: () => number
  readonly log: Log
  /** Something that can change the set of names has changed. */
  readonly onChange: () => void
  readonly onState?: (name: WatchedName, status: SourceStatus, previous: SourceStatus | undefined) => void
  readonly observer?: (name: WatchedName) => ReflectorObserver
  /** For tests; default the real one. */
  readonly reflector?: typeof createReflector
}

/** Sources that only narrow what the others name: without the right to read them nothing is narrowed, and nothing waits for them. */
const advisory: ReadonlySet<WatchedName> = new Set(['endpoints', 'clienttrafficpolicies'])

/** Seen whole, or known to stay unseen. */
function isSettled({everSynced, state}: Pick<SourceStatus, 'everSynced' | 'state'>): boolean {
  return everSynced || state === 'forbidden' || state === 'absent'
}

/**
 * All watched kinds together. Remembers which objects went missing by a list instead of before our eyes, because the
 * whole-set rule trusts the two differently (design.md 5).
 */
export class Sources {
  readonly #reflectors = new Map<WatchedName, Reflector<unknown>>()
  readonly #options: SourcesOptions
  /** Objects (`ingress/demo/web`) that a list no longer held, until they come back. */
  readonly #lostByList = new Set<string>()
  /** Of the advisory ones: seen, or known that they cannot be. */
  readonly #settled = new Map([...advisory].map((name) => [name, Promise.withResolvers<void>()]))

  constructor(options: SourcesOptions) {
    this.#options = options
    const kinds = options.kinds ?? sourceKinds
    for (const name of sourceNames) {
      const kind = kinds[name]
      if (kind !== undefined && options.families.includes(kind.family)) this.#add(name, kind)
    }
    if (options.proxies === undefined) this.#addProxies()
    if (options.endpointsNamespace !== undefined) this.#addEndpoints(options.endpointsNamespace)
  }

  #add(name: SourceName, kind: SourceKind<SourceObjects[SourceName]>): void {
    this.#watch(name, {
      resource: kind.resource,
      versions: kind.versions,
      project: kind.project,
      sourceWord: kind.sourceWord,
    })
  }

  #addProxies(): void {
    this.#watch<ProxyService>('proxies', {
      resource: resources.services,
      versions: ['v1'],
      namespace: this.#options.proxyNamespace,
      labelSelector: 'srcip.dev/component=proxy',
      project: projectProxyService,
      sourceWord: undefined,
    })
  }

  #addEndpoints(namespace: string): void {
    this.#watch<SliceSource>('endpoints', {
      resource: resources.endpointSlices,
      versions: ['v1'],
      namespace,
      project: projectSlice,
      sourceWord: undefined,
    })
  }

  #watch<T>(
    name: WatchedName,
    what: {
      resource: Resource
      versions: readonly string[]
      namespace?: string
      labelSelector?: string
      project: (object: unknown) => T | undefined
      sourceWord: string | undefined
    },
  ): void {
    const {client, clock, random, log, relistMs, once = false, onState, observer} = this.#options
    let previous: SourceStatus | undefined
    const reflector = (this.#options.reflector ?? createReflector)<T>({
      client,
      resource: what.resource,
      versions: what.versions,
      ...(what.namespace === undefined ? {} : {namespace: what.namespace}),
      ...(what.labelSelector === undefined ? {} : {labelSelector: what.labelSelector}),
      project: what.project,
      clock,
      random,
      relistMs,
      once,
      log: withoutStates(log),
      onChange: (change) => this.#changed(change, what.sourceWord),
      onState: (status) => {
        onState?.(name, status, previous)
        if (isSettled(status)) this.#settled.get(name)?.resolve()
        const news = previous === undefined || previous.state !== status.state || !previous.everSynced
        previous = status
        if (news) this.#options.onChange()
      },
      ...(observer === undefined ? {} : {observer: observer(name)}),
    })
    this.#reflectors.set(name, reflector)
  }

  #changed(change: StoreChange<unknown>, sourceWord: string | undefined): void {
    if (sourceWord !== undefined) {
      const source = `${sourceWord}/${change.key}`
      if (change.type !== 'delete') this.#lostByList.delete(source)
      else if (change.tombstone) this.#lostByList.add(source)
      else this.#lostByList.delete(source)
    }
    // Status and annotation updates are most of the traffic; only what the projection keeps can change a name.
    if (change.type === 'update' && sameContent(change.object.value, change.previous?.value)) return
    this.#options.onChange()
  }

  start(): void {
    for (const reflector of this.#reflectors.values()) reflector.start()
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#reflectors.values()].map((reflector) => reflector.stop()))
  }

  /** Resolves when every source is seen whole or known to be absent. */
  async waitForSync(signal: AbortSignal): Promise<void> {
    await Promise.all(
      [...this.#reflectors].map(
        ([name, reflector]) => this.#settled.get(name)?.promise ?? reflector.waitForSync(signal),
      ),
    )
  }

  /** One consistent list of every source that is served. Rejects if one fails. */
  async relist(signal: AbortSignal): Promise<void> {
    const served = [...this.#reflectors].filter(
      ([name, {state}]) => state !== 'absent' && !(state === 'forbidden' && name === 'clienttrafficpolicies'),
    )
    await Promise.all(served.map(([, reflector]) => reflector.relist(signal)))
  }

  statuses(): Map<WatchedName, SourceStatus> {
    return new Map([...this.#reflectors].map(([name, reflector]) => [name, reflector.status]))
  }

  counts(): Map<WatchedName, number> {
    return new Map([...this.#reflectors].map(([name, reflector]) => [name, reflector.store.size]))
  }

  /** Every source that is not absent has been seen whole in this process. */
  get complete(): boolean {
    return [...this.#reflectors].every(
      ([name, {status}]) => advisory.has(name) || status.state === 'absent' || status.everSynced,
    )
  }

  /** Went missing by a list and not before our eyes. */
  lostByList(source: string): boolean {
    return this.#lostByList.has(source)
  }

  proxies(): readonly ProxyService[] {
    return this.#options.proxies ?? this.#values<ProxyService>('proxies')
  }

  /**
   * Whether a proxy Service has a ready endpoint; undefined where that is not known: its namespace is not watched, or may not be.
   * Not seen yet is no: a start must not publish names that nobody serves.
   */
  proxyIsReady(target: string): boolean | undefined {
    const reflector = this.#reflectors.get('endpoints')
    if (reflector === undefined || target.split('/')[0] !== this.#options.endpointsNamespace) return undefined
    const {everSynced, state} = reflector.status
    if (!everSynced) return isSettled({everSynced, state}) ? undefined : false
    return this.#values<SliceSource>('endpoints').some((slice) => slice.service === target && slice.ready)
  }

  hostSources(): HostSources {
    return {
      ingresses: this.#values('ingresses'),
      ingressClasses: this.#values('ingressclasses'),
      gateways: this.#values('gateways'),
      listenerSets: this.#values('listenersets'),
      routes: (['httproutes', 'grpcroutes', 'tlsroutes'] as const).flatMap((name) => this.#values<RouteSource>(name)),
      ...(this.#reflectors.get('namespaces')?.status.everSynced === true
        ? {namespaces: this.#values<SourceObjects['namespaces']>('namespaces')}
        : {}),
      trafficPolicies: this.#values('clienttrafficpolicies'),
    }
  }

  #values<T>(name: WatchedName): T[] {
    const reflector = this.#reflectors.get(name)
    return reflector === undefined ? [] : [...reflector.store.values()].map((stored) => stored.value as T)
  }
}

/** Changes of state are reported by us, under the word that the person knows the source by. */
function withoutStates(log: Log): Log {
  const quiet =
    (level: 'info' | 'warn') =>
    (message: string, fields?: Readonly<Record<string, unknown>>): void =>
      log[message.startsWith('source ') ? 'debug' : level](message, fields)
  return {...log, info: quiet('info'), warn: quiet('warn')}
}

/** Equality of two projections but for the version of the object. */
function sameContent(a: unknown, b: unknown): boolean {
  return content(a) === content(b)
}

function content(value: unknown): string {
  return JSON.stringify(value, (key, entry: unknown) => (key === 'resourceVersion' ? undefined : entry))
}
