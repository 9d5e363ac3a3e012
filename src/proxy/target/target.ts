import type {Clock} from '../clock.ts'
import type {PortSpec, ProxyOptions} from '../options.ts'
import type {Candidate} from '../relay/port.ts'
import type {Outcome} from './probe-bytes.ts'
import type {ProbeOrder} from './probe.ts'
import {
  causeFor,
  explain,
  isFit,
  judge,
  unprobed,
  type EndpointCause,
  type EndpointState,
  type Verdict,
} from './verdict.ts'

/** What the target needs from outside. */
export interface TargetPorts {
  readonly clock: Clock
  /** Addresses of a name, or the address itself; rejects when the name does not resolve. */
  resolve(host: string): Promise<readonly string[]>
  probe(order: ProbeOrder): Promise<Outcome>
  /** Addresses of this machine, without loopback ranges. */
  localAddresses(): ReadonlySet<string>
  log(kind: string, message: string): void
  /** Called after every change of what `routes` gives. */
  changed(): void
}

/** Why a port is not ready. */
export interface Cause {
  readonly port: number
  readonly token: EndpointCause | 'target-unresolved' | 'target-is-self'
  readonly message: string
}

/** Plain data: addresses for the connections of one port, best first. */
export interface Route {
  readonly service: number
  readonly candidates: readonly Candidate[]
}

/** Milliseconds between two tries while the name does not resolve or has no answer. */
const hurry = 1000
/** Milliseconds without a probe that came back after which a target no longer counts as this proxy itself. */
const loopMemory = 10_000
/** Bare probes between two tries whether a plain endpoint takes headers meanwhile (a tolerant receiver answers either way). */
const barePerHeader = 3

/**
 * The addresses behind `--to`, and what each takes on each port. Resolves again and again, probes, and says whom to connect to.
 * A name that stops resolving, and a probe that errs, change nothing: what was known stays.
 */
export class Target {
  readonly #options: ProxyOptions
  readonly #ports: TargetPorts
  readonly #instance: string
  readonly #states = new Map<string, EndpointState>()
  readonly #bareSince = new Map<string, number>()
  readonly #probing = new Set<string>()
  #addresses: readonly string[] = []
  #resolveError: string | undefined = 'was not resolved yet'
  /** Ports that lead back here, with the moment in which that was seen last; Infinity where the addresses alone say it. */
  readonly #loops = new Map<number, number>()
  #resolution: Promise<void> | undefined
  #isStopped = false
  /** Number of the loops that count; earlier ones end. */
  #run = 0
  #cancel: (() => void)[] = []
  #routes: readonly Route[] = []

  constructor(options: ProxyOptions, ports: TargetPorts, instance: string) {
    this.#options = options
    this.#ports = ports
    this.#instance = instance
  }

  /** Resolves and probes once, then goes on by itself. */
  async start(): Promise<void> {
    const run = ++this.#run
    const resolved = this.#resolveLoop(run)
    // Addresses that are known are probed also while the resolver hangs: it may take half a minute to fail.
    if (this.#addresses.length === 0) await resolved
    await this.#probeLoop(run)
  }

  stop(): void {
    this.#isStopped = true
    for (const cancel of this.#cancel) cancel()
  }

  /** Where the connections of each port go. */
  get routes(): readonly Route[] {
    return this.#routes
  }

  get addresses(): readonly string[] {
    return this.#addresses
  }

  /** Why the proxy is not ready, a line for each port; none when it is. */
  causes(): readonly Cause[] {
    return this.#options.ports.flatMap((spec) => this.#causeOf(spec) ?? [])
  }

  /** Number of addresses by what they take. */
  verdicts(spec: PortSpec): Readonly<Record<Verdict, number>> {
    const count = {header: 0, plain: 0, unknown: 0}
    for (const address of this.#addresses) count[this.#state(address, spec).verdict]++
    return count
  }

  /** A probe of this process came back to it through the port. */
  loopSeen(service: number): void {
    this.#markLoop(service, this.#ports.clock.now())
    this.#reroute()
  }

  #markLoop(service: number, seenAt: number): void {
    const before = this.#loops.get(service)
    if (before === undefined)
      this.#ports.log('loop', `port ${service}: the target ${this.#options.to} leads back to this proxy`)
    this.#loops.set(service, Math.max(seenAt, before ?? 0))
  }

  /** A Service may be mended without another address: probes that are answered, and none that came back for a while, end the mark. */
  #forgetLoop({service}: PortSpec): void {
    const seenAt = this.#loops.get(service)
    if (seenAt === undefined || this.#ports.clock.now() - seenAt < loopMemory) return
    this.#loops.delete(service)
    this.#ports.log('loop', `port ${service}: the target ${this.#options.to} no longer leads back to this proxy`)
  }

  /** No address took a connection: resolve and probe soon instead of at the next turn. */
  hurry(): void {
    const now = this.#ports.clock.now()
    if (this.#isStopped || now - this.#hurriedAt < hurry) return
    this.#hurriedAt = now
    for (const cancel of this.#cancel.splice(0)) cancel()
    void this.start()
  }

  #hurriedAt = -Infinity

  #causeOf(spec: PortSpec): Cause | undefined {
    const {to, mode} = this.#options
    if (this.#addresses.length === 0) {
      return {
        port: spec.service,
        token: 'target-unresolved',
        message: `${to} ${this.#resolveError ?? 'has no address'}`,
      }
    }
    if (this.#loops.has(spec.service))
      return {port: spec.service, token: 'target-is-self', message: `${to} leads back to this proxy`}
    const states = this.#addresses.map((address) => ({address, state: this.#state(address, spec)}))
    if (states.some(({state}) => isFit(spec.sendsHeader ? mode : 'auto', state))) return undefined
    const [first] = states
    const token = first && causeFor(spec.sendsHeader ? mode : 'auto', first.state)
    if (!first || !token) return undefined
    const more = states.length > 1 ? ` (and ${states.length - 1} more)` : ''
    return {port: spec.service, token, message: `${at(first.address, spec.to)}${more} ${explain(token)}`}
  }

  #state(address: string, spec: PortSpec): EndpointState {
    return this.#states.get(at(address, spec.to) + spec.service) ?? unprobed
  }

  #reroute(): void {
    const {mode} = this.#options
    const routes = this.#options.ports.map((spec) => {
      if (this.#loops.has(spec.service)) return {service: spec.service, candidates: []}
      const all = this.#addresses.map((address) => ({address, state: this.#state(address, spec)}))
      // `auto` sends nothing to an endpoint before it knows what it takes; `always` may try, the receiver decides.
      const usable = all.filter(({state}) => !spec.sendsHeader || mode === 'always' || state.verdict !== 'unknown')
      const fit = (state: EndpointState) => (isFit(spec.sendsHeader ? mode : 'auto', state) ? 0 : 1)
      usable.sort((one, other) => fit(one.state) - fit(other.state))
      return {
        service: spec.service,
        candidates: usable.map(({address, state}) => ({
          address,
          port: spec.to,
          sendsHeader: spec.sendsHeader && (mode === 'always' || state.verdict === 'header'),
          isFit: isFit(spec.sendsHeader ? mode : 'auto', state),
        })),
      }
    })
    if (JSON.stringify(routes) === JSON.stringify(this.#routes)) return
    this.#routes = routes
    this.#ports.changed()
  }

  async #resolveLoop(run: number): Promise<void> {
    // One question at a time: a resolver that hangs would otherwise fill the few threads that all of them share.
    this.#resolution ??= this.#resolveOnce().finally(() => (this.#resolution = undefined))
    await this.#resolution
    const pause =
      this.#resolveError === undefined ? this.#options.resolveInterval : Math.min(hurry, this.#options.resolveInterval)
    this.#later(run, pause, () => void this.#resolveLoop(run))
  }

  async #resolveOnce(): Promise<void> {
    try {
      const found = [...new Set(await this.#ports.resolve(this.#options.to))].toSorted()
      if (found.length === 0) throw new Error('has no address')
      this.#resolveError = undefined
      if (found.join() !== this.#addresses.join()) {
        this.#ports.log('resolved', `target ${this.#options.to} is ${found.join(', ')}`)
        this.#addresses = found
        this.#findSelf()
        for (const key of this.#states.keys()) if (!this.#isCurrent(key)) this.#states.delete(key)
        this.#reroute()
      }
    } catch (error) {
      this.#resolveError = `does not resolve: ${(error as NodeJS.ErrnoException).code ?? (error as Error).message}`
      this.#ports.log(
        'unresolved',
        `target ${this.#options.to} ${this.#resolveError}${this.#addresses.length > 0 ? '; the last addresses stay in use' : ''}`,
      )
    }
  }

  #isCurrent(key: string): boolean {
    return this.#options.ports.some((spec) =>
      this.#addresses.some((address) => at(address, spec.to) + spec.service === key),
    )
  }

  /** Ports whose target is a port that this process listens on. Seen again at each change of addresses; marks that a probe left are cleared, too. */
  #findSelf(): void {
    this.#loops.clear()
    const local = this.#ports.localAddresses()
    const {ports, listenAddress} = this.#options
    for (const spec of ports) {
      if (!ports.some((other) => other.listen === spec.to)) continue
      if (this.#addresses.some((address) => leadsTo(listenAddress, address, local)))
        this.#markLoop(spec.service, Infinity)
    }
  }

  /**
   * One round for every address and port. In `auto` a slow answer delays nobody else: each is asked again only when its own probe is over. In `always` the
   * next round waits for this one, and comes sooner while something is wrong.
   */
  async #probeLoop(run: number): Promise<void> {
    const {mode, probeInterval, ports} = this.#options
    const round = Promise.all(ports.flatMap((spec) => this.#addresses.map((address) => this.#probeOne(address, spec))))
    if (mode === 'auto') this.#later(run, probeInterval, () => void this.#probeLoop(run))
    await round
    if (mode === 'auto') return
    const pause = this.causes().length > 0 ? Math.min(hurry, probeInterval) : probeInterval
    this.#later(run, pause, () => void this.#probeLoop(run))
  }

  async #probeOne(address: string, spec: PortSpec): Promise<void> {
    const key = at(address, spec.to) + spec.service
    if (this.#probing.has(key)) return
    this.#probing.add(key)
    const before = this.#states.get(key) ?? unprobed
    const after = await this.#judgeOne(address, spec, before, key)
    this.#probing.delete(key)
    if (this.#isStopped || !this.#addresses.includes(address)) return
    this.#states.set(key, after)
    const isLoop = this.#loops.has(spec.service)
    if (after.failures === 0) this.#forgetLoop(spec)
    if (isLoop && !this.#loops.has(spec.service)) this.#reroute()
    if (after.verdict === before.verdict && after.cause === before.cause) return
    const words = after.cause
      ? `${at(address, spec.to)} ${explain(after.cause)}`
      : `${at(address, spec.to)} takes ${after.verdict === 'header' ? 'a PROXY header' : 'plain connections'}`
    this.#ports.log('probe', `port ${spec.service}: ${words}`)
    this.#reroute()
  }

  async #judgeOne(address: string, spec: PortSpec, before: EndpointState, key: string): Promise<EndpointState> {
    const {version, probeHost: host, probeTimeout: timeout} = this.#options
    const ask = (kind: PortSpec['probe'], isBare: boolean) =>
      this.#ports.probe({
        address,
        port: spec.to,
        kind,
        version: isBare ? undefined : version,
        servicePort: spec.service,
        instance: this.#instance,
        host,
        timeout,
      })
    // A port without header has nothing to ask but whether it takes connections.
    if (!spec.sendsHeader) return judge(before, undefined, await ask('tcp', true))
    if (spec.probe === 'tcp') return judge(before, await ask('tcp', false), undefined)
    const bare = this.#bareSince.get(key) ?? 0
    if (before.verdict === 'plain' && before.failures === 0 && bare < barePerHeader) {
      this.#bareSince.set(key, bare + 1)
      const plain = await ask(spec.probe, true)
      if (plain === 'answer') return judge(before, undefined, plain)
    }
    this.#bareSince.set(key, 0)
    const withHeader = await ask(spec.probe, false)
    if (withHeader === 'answer' || withHeader === 'unreachable') return judge(before, withHeader, undefined)
    return judge(before, withHeader, await ask(spec.probe, true))
  }

  #later(run: number, milliseconds: number, action: () => void): void {
    // A loop that `hurry` has replaced while it waited for an answer ends here.
    if (this.#isStopped || run !== this.#run) return
    const cancel = this.#ports.clock.after(milliseconds, () => {
      this.#cancel = this.#cancel.filter((other) => other !== cancel)
      if (!this.#isStopped) action()
    })
    this.#cancel.push(cancel)
  }
}

/** Address and port as one text. */
export function at(address: string, port: number): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`
}

/** True if a connection to `address` reaches a socket of this machine that listens on `listen`. */
function leadsTo(listen: string, address: string, local: ReadonlySet<string>): boolean {
  // Linux takes a connection to the unspecified address for one to loopback (ip(7)); a resolver may well answer 0.0.0.0.
  const reached = address === '0.0.0.0' ? '127.0.0.1' : address === '::' ? '::1' : address
  if (!isAny(listen)) return reached === listen
  const isFamilyHeard = listen === '::' || !reached.includes(':')
  return isFamilyHeard && (isLoopback(reached) || local.has(reached))
}

function isLoopback(address: string): boolean {
  return address === '::1' || address.startsWith('127.')
}

function isAny(address: string): boolean {
  return address === '::' || address === '0.0.0.0'
}
