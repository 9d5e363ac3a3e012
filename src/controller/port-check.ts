import type {ProxyService} from '../hosts/index.ts'
import {resources} from '../kube/index.ts'
import type {Clock, KubeClient, Log} from '../kube/index.ts'
import {field, list, port, record, text} from '../model/fields.ts'
import type {Conditions} from './reports.ts'

/** An ingress Service may get a port at any time, and is not watched: one right to read it by name is enough. */
const againMs = 600_000
/** After the proxy Services have changed. */
const quietMs = 1000

export interface PortCheckOptions {
  readonly client: Pick<KubeClient, 'find'>
  readonly proxies: () => readonly ProxyService[]
  readonly clock: Clock
  readonly random: () => number
  readonly log: Log
  readonly conditions: Conditions
  /** Ports that a proxy lacks, each time they are compared. */
  readonly onCompared?: (pair: {readonly proxy: string; readonly feeds: string; readonly missing: number}) => void
}

/**
 * Compares the ports of each proxy Service with those of the ingress Service that it stands for (`srcip.dev/feeds`), since the proxy
 * itself sees no API (design.md 5): a name leads to the proxy with all its ports, and one that the proxy lacks is dead for pods.
 */
export class PortCheck {
  readonly #options: PortCheckOptions
  readonly #notes = new Map<string, string>()
  #seen = ''
  #cancel: (() => void) | undefined
  #running: Promise<void> | undefined
  readonly #stop = new AbortController()

  constructor(options: PortCheckOptions) {
    this.#options = options
  }

  /** What was found, by proxy, in words. */
  get notes(): ReadonlyMap<string, string> {
    return this.#notes
  }

  /** Something has changed; only other proxies or ports are a reason to look. */
  mark(): void {
    const wanted = JSON.stringify(this.#pairs())
    if (wanted === this.#seen || this.#stop.signal.aborted) return
    this.#seen = wanted
    this.#plan(quietMs)
  }

  async stop(): Promise<void> {
    this.#cancel?.()
    this.#stop.abort(new Error('stopped'))
    await this.#running
  }

  /** Compares now. Never rejects: what cannot be read is said. */
  async compare(signal: AbortSignal = this.#stop.signal): Promise<void> {
    const pairs = this.#pairs()
    const gone = [...this.#notes.keys()].filter((target) => !pairs.some((pair) => pair.target === target))
    for (const target of gone) {
      this.#notes.delete(target)
      this.#options.conditions.clear(keyOf(target), `proxy Service ${target} stands for no ingress Service any more`)
    }
    await Promise.all(pairs.map((pair) => this.#compare(pair, signal)))
  }

  #pairs(): Pair[] {
    return this.#options
      .proxies()
      .flatMap(({target, feeds, ports = []}) => (feeds === undefined ? [] : [{target, feeds, ports}]))
  }

  #plan(ms: number): void {
    const {clock, random} = this.#options
    this.#cancel?.()
    this.#cancel = clock.after(ms, () => {
      this.#running = this.compare().then(() => {
        if (!this.#stop.signal.aborted && this.#notes.size > 0) this.#plan(againMs * (0.9 + 0.2 * random()))
      })
    })
  }

  async #compare({target, feeds, ports}: Pair, signal: AbortSignal): Promise<void> {
    const {client, conditions, log, onCompared} = this.#options
    const [namespace = '', name = ''] = feeds.split('/')
    let service
    try {
      service = await client.find(resources.services, {namespace, name}, {signal})
    } catch (error) {
      if (signal.aborted) return
      const note = `not compared with service/${feeds}: ${error instanceof Error ? error.message : String(error)}`
      if (this.#notes.get(target) !== note) log.warn(`ports of proxy Service ${target}: ${note}`)
      this.#notes.set(target, note)
      return
    }
    const wanted = service === undefined ? undefined : tcpPorts(service)
    const missing = wanted?.filter((one) => !ports.includes(one)) ?? []
    onCompared?.({proxy: target, feeds, missing: missing.length})
    if (wanted !== undefined && missing.length === 0) {
      this.#notes.set(target, `all ports of service/${feeds}`)
      conditions.clear(keyOf(target), `proxy Service ${target} has all ports of service/${feeds}`)
      return
    }
    const note =
      wanted === undefined
        ? `service/${feeds}, which it stands for, does not exist`
        : `lacks ${missing.length === 1 ? 'port' : 'ports'} ${missing.join(', ')} of service/${feeds}: dead for pods under the names that lead to the proxy`
    this.#notes.set(target, note)
    const [proxyNamespace = '', proxyName = ''] = target.split('/')
    conditions.raise(keyOf(target), {
      reason: wanted === undefined ? 'FeedsNotFound' : 'PortsMissing',
      note: `proxy Service ${target}: ${note}`,
      regarding: {apiVersion: 'v1', kind: 'Service', namespace: proxyNamespace, name: proxyName},
      action: 'Compare',
    })
  }
}

interface Pair {
  readonly target: string
  readonly feeds: string
  readonly ports: readonly number[]
}

function keyOf(target: string): string {
  return `ports ${target}`
}

/** UDP (HTTP/3) is no business of a TCP proxy. */
function tcpPorts(service: unknown): number[] {
  return list(field(record(field(record(service), 'spec')), 'ports')).flatMap((entry) => {
    const given = record(entry)
    const number = port(field(given, 'port'))
    return number === undefined || (text(field(given, 'protocol')) ?? 'TCP') !== 'TCP' ? [] : [number]
  })
}
