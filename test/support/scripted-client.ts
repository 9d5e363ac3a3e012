import type {KubeObject} from '../../src/model/kubernetes.ts'
import {KubeFailure} from '../../src/kube/index.ts'
import type {
  ClusterConfig,
  Discovery,
  KubeClient,
  ListOptions,
  ListPage,
  Resource,
  WatchEvent,
  WatchOptions,
} from '../../src/kube/index.ts'
import {readStatus, statusFailure} from '../../src/kube/failures/from-status.ts'

export const testConfig: ClusterConfig = {
  source: 'test',
  namespace: 'default',
  server: 'https://kube.example.org',
  insecureSkipTlsVerify: false,
  disableCompression: true,
  user: {},
  impersonate: {groups: [], extra: {}},
}

/** A refusal as a real client reports it. */
export function refusal(status: number, body: object = {}, retryAfterMs?: number): KubeFailure {
  const place = {config: testConfig, about: {verb: 'watch'}}
  return statusFailure(status, readStatus({code: status, ...body}), place, retryAfterMs)
}

export function networkTrouble(reason = 'ECONNRESET'): KubeFailure {
  return new KubeFailure(`no connection (${reason})`, {kind: 'transport', code: 'Unreachable', reason})
}

export function garbage(): KubeFailure {
  return new KubeFailure('a watch event that is no JSON', {kind: 'decode', code: 'Unreachable', reason: 'Undecodable'})
}

/** One watch that the code under test has open; the test speaks for the server. */
export class ScriptedWatch {
  readonly options: WatchOptions
  readonly #queue: (WatchEvent | Error | 'end')[] = []
  #wake: (() => void) | undefined

  constructor(options: WatchOptions) {
    this.options = options
    options.signal?.addEventListener('abort', () => this.#wake?.())
  }

  /** True until the client gives the watch up. */
  get open(): boolean {
    return this.options.signal?.aborted !== true
  }

  /** Sends the response headers. */
  headers(): this {
    this.options.onOpen?.()
    return this
  }

  send(type: WatchEvent['type'], object: KubeObject): this {
    this.options.onBytes?.()
    return this.#push({type, object})
  }

  bookmark(resourceVersion: string, annotations?: Record<string, string>): this {
    const metadata = {name: '', resourceVersion, ...(annotations === undefined ? {} : {annotations})}
    return this.send('BOOKMARK', {metadata})
  }

  /** The bookmark that says: the initial objects are complete. */
  endMark(resourceVersion: string): this {
    return this.bookmark(resourceVersion, {'k8s.io/initial-events-end': 'true'})
  }

  end(): void {
    this.#push('end')
  }

  fail(error: Error): void {
    this.#push(error)
  }

  async *events(): AsyncGenerator<WatchEvent> {
    for (;;) {
      const next = this.#queue.shift()
      if (next === undefined) {
        if (!this.open) throw new KubeFailure('stopped', {kind: 'aborted', code: 'Interrupted'})
        await new Promise<void>((resolve) => (this.#wake = resolve))
      } else if (next === 'end') return
      else if (next instanceof Error) throw next
      else yield next
    }
  }

  #push(item: WatchEvent | Error | 'end'): this {
    this.#queue.push(item)
    this.#wake?.()
    return this
  }
}

export interface ListCall {
  readonly at: number
  readonly resource: Resource
  readonly options: ListOptions
}

/** What a scripted list answers: pages, or an error. */
export type ListAnswer = readonly ListPage<KubeObject>[] | Error

/** The reading half of a KubeClient, with the test in the role of the API server. */
export class ScriptedClient {
  readonly lists: ListCall[] = []
  readonly watches: {at: number; resource: Resource; watch: ScriptedWatch}[] = []
  droppedIdle = 0
  /** Called for each list; default: empty, version 1. */
  onList: (options: ListOptions) => ListAnswer | Promise<ListAnswer> = () => [page('1')]
  /** Called for each new watch, once the client waits for its first event. */
  onWatch: (watch: ScriptedWatch, resource: Resource) => void = (watch) => void watch.headers()
  onDiscover: () => Discovery | Error = () => ({incomplete: [], find: () => undefined})
  discoveries = 0
  /** What /readyz answers. */
  onReadyz: () => number = () => 503
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  get watch(): ScriptedWatch {
    const last = this.watches.at(-1)
    if (last === undefined) throw new Error('no watch was opened')
    return last.watch
  }

  /** Only what a reflector uses; anything else fails loudly. */
  get client(): KubeClient {
    const parts: Partial<KubeClient> = {
      config: testConfig,
      pages: <T>(resource: Resource, options: ListOptions = {}) =>
        this.#pages(resource, options) as AsyncIterable<ListPage<T>>,
      watch: (resource, options = {}) => {
        const watch = new ScriptedWatch(options)
        this.watches.push({at: this.#now(), resource, watch})
        queueMicrotask(() => this.onWatch(watch, resource))
        return watch.events()
      },
      discover: () => {
        this.discoveries += 1
        const answer = this.onDiscover()
        return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer)
      },
      request: ({path}) => {
        if (path !== '/readyz') throw new Error(`nobody scripted ${path}`)
        const status = this.onReadyz()
        return status === 200
          ? Promise.resolve({status, headers: {}, body: Buffer.from('ok')})
          : Promise.reject(refusal(status))
      },
      dropIdleConnections: () => void (this.droppedIdle += 1),
    }
    return parts as KubeClient
  }

  async *#pages(resource: Resource, options: ListOptions): AsyncGenerator<ListPage<KubeObject>> {
    this.lists.push({at: this.#now(), resource, options})
    const answer = await this.onList(options)
    options.signal?.throwIfAborted()
    if (answer instanceof Error) throw answer
    yield* answer
  }
}

export function page(resourceVersion: string, ...items: readonly KubeObject[]): ListPage<KubeObject> {
  return {items, resourceVersion, restarted: false}
}

/** A small Ingress-like object. */
export function object(name: string, resourceVersion: string, fields: {uid?: string; host?: string} = {}): KubeObject {
  const {uid = `uid-${name}`, host = `${name}.example.org`} = fields
  return {metadata: {namespace: 'edge', name, uid, resourceVersion}, spec: {host}}
}
