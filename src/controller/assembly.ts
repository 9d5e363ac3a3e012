import type {Clock, KubeClient, Log} from '../kube/index.ts'
import {SrcipError} from '../model/errors.ts'
import {ConfigWatch} from './config-watch.ts'
import type {ControllerMetrics} from './controller-metrics.ts'
import {DnsOutput} from './dns-output.ts'
import {EventRecorder} from './events.ts'
import {ExternalDnsOutput} from './external-dns-output.ts'
import {HostsOutput} from './hosts-output.ts'
import {Lane} from './lane.ts'
import type {RunOptions} from './options.ts'
import type {Output} from './output.ts'
import {PortCheck} from './port-check.ts'
import {Reconciler} from './reconciler.ts'
import {Conditions} from './reports.ts'
import type {EventSinkPort} from './reports.ts'
import {reportSource} from './source-reports.ts'
import {Sources} from './sources.ts'

/** Everything that lives as long as the process. */
export interface Parts {
  readonly sources: Sources
  readonly lanes: readonly Lane[]
  /** Lanes that write objects which other processes may write too. */
  readonly leased: ReadonlySet<Lane>
  readonly conditions: Conditions
  readonly events: EventRecorder
  readonly configWatch: ConfigWatch
  readonly ports: PortCheck
  /** Whether we may write now; settled once the Lease is known. */
  readonly leader: {leading: boolean; assert: (signal?: AbortSignal) => Promise<void>}
  /** Namespace of cluster DNS; undefined where no output is written there. */
  readonly dnsNamespace: ((signal: AbortSignal) => Promise<string>) | undefined
}

/** `KEY=VALUE`, as kubectl writes labels. */
function pairsOf(flag: string, texts: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    texts.map((text) => {
      const at = text.indexOf('=')
      if (at < 1) throw new SrcipError('Usage', `${flag} ${text} is not KEY=VALUE`, {hints: [`${flag} KEY=VALUE`]})
      return [text.slice(0, at), text.slice(at + 1)]
    }),
  )
}

/** Puts the parts together; nothing is started. */
export function assemble(what: {
  readonly options: RunOptions
  readonly client: KubeClient
  readonly clock: Clock
  readonly random: () => number
  readonly log: Log
  readonly metrics: ControllerMetrics
  readonly instance: string
}): Parts {
  const {options, client, clock, random, log, metrics, instance} = what
  const self = {apiVersion: 'v1', kind: 'Pod', namespace: client.config.namespace, name: instance}
  const events = new EventRecorder({client, instance, self, clock, log})
  const sink: EventSinkPort = options.dryRun ? {emit: () => undefined} : events
  const conditions = new Conditions(log, sink)
  const lanes: Lane[] = []
  const wake = (): void => {
    for (const lane of lanes) lane.mark()
    if (!options.once) ports.mark()
  }
  const sources = new Sources({
    client,
    families: options.families,
    proxies: options.target === undefined ? undefined : [{target: options.target}],
    proxyNamespace: options.proxyNamespace ?? client.config.namespace,
    endpointsNamespace: options.target?.split('/')[0] ?? options.proxyNamespace ?? client.config.namespace,
    relistMs: options.relistMs,
    once: options.once,
    clock,
    random,
    log,
    onChange: wake,
    onState: (name, status, previous) => reportSource(name, status, previous, conditions, log),
    observer: (name) => metrics.reflector(name),
  })
  const ports = new PortCheck({
    client,
    proxies: () => sources.proxies(),
    clock,
    random,
    log,
    conditions,
    onCompared: (pair) => metrics.setMissingPorts(pair),
  })
  metrics.watchSources(
    () => sources.statuses(),
    () => sources.counts(),
    (monotonic) => (clock.wall() - (clock.now() - monotonic)) / 1000,
  )
  const leader: Parts['leader'] = {leading: false, assert: () => Promise.resolve()}
  const configWatch = new ConfigWatch({client, clock, random, relistMs: options.relistMs, log, onChange: wake})
  const addLane = (output: Output, shared: boolean): Lane => {
    const laneLog = log
    const reconciler = new Reconciler({
      output,
      sources,
      hostOptions: {ingressClasses: options.ingressClasses, hosts: options.hosts, exclude: options.exclude},
      allowEmpty: options.allowEmpty,
      dryRun: options.dryRun,
      clock,
      random,
      log: laneLog,
      conditions: new Conditions(laneLog, sink),
      events: sink,
      assertLeader: () => (shared ? leader.assert() : Promise.resolve()),
      onWritten: () => lane.wrote(),
      onProof: () => lane.mark(),
      observer: metrics.reconciler(output.name),
    })
    const lane = new Lane({name: output.name, reconciler, clock, random, log: laneLog, metrics})
    lanes.push(lane)
    return lane
  }

  const leased = new Set<Lane>()
  let dns: DnsOutput | undefined
  if (options.writeTo.some((place) => place === 'auto' || place === 'corefile' || place === 'import')) {
    dns = new DnsOutput({client, options, clock, log, onConfigMaps: (names) => configWatch.follow(names)})
    leased.add(addLane(dns, true))
  }
  if (options.writeTo.includes('hosts')) addLane(new HostsOutput(client, options.hostsPath, options.wildcards), false)
  if (options.writeTo.includes('external-dns')) {
    const {labels, annotations, as, name, namespace, ttl} = options.externalDns
    const settings = {
      as,
      name,
      ttl,
      namespace: namespace ?? client.config.namespace,
      labels: pairsOf('--external-dns-label', labels),
      annotations: pairsOf('--external-dns-annotation', annotations),
    }
    const {verifyTimeoutMs, wildcards} = options
    leased.add(addLane(new ExternalDnsOutput({client, settings, wildcards, verifyTimeoutMs, clock}), true))
  }
  const found = dns
  return {
    sources,
    lanes,
    leased,
    conditions,
    events,
    configWatch,
    ports,
    leader,
    dnsNamespace: found === undefined ? undefined : (signal) => found.namespace(signal),
  }
}
