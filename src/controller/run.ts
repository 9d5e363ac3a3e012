import {randomUUID} from 'node:crypto'
import {hostname} from 'node:os'
import {createKubeClient, createLeaseLock, loadKubeconfig, sleep, systemClock} from '../kube/index.ts'
import type {Clock, KubeClient, LeaseLock, Log} from '../kube/index.ts'
import {componentLabel, dnsLeaseName} from '../model/dns.ts'
import {SrcipError} from '../model/errors.ts'
import {Backoff} from './backoff.ts'
import {ConfigWatch} from './config-watch.ts'
import {createControllerMetrics} from './controller-metrics.ts'
import type {ControllerMetrics} from './controller-metrics.ts'
import {DnsOutput} from './dns-output.ts'
import {EventRecorder} from './events.ts'
import {liveness, readiness, startHealthServer} from './health.ts'
import {createLog} from './log.ts'
import {runOnce} from './once.ts'
import type {RunOptions, RunProcess} from './options.ts'
import {Pace} from './pace.ts'
import {WorkQueue} from './queue.ts'
import {Reconciler} from './reconciler.ts'
import {Conditions} from './reports.ts'
import {reportSource} from './source-reports.ts'
import {Sources} from './sources.ts'
import type {WatchedName} from './sources.ts'

/** Milliseconds between writes, and how many may come at once (design.md 5, "Pace"). */
const writeIntervalMs = 5000
const writeBurst = 3
/** Level trigger: compare with the live object this often, +-10 %. */
const resyncMs = 600_000
/** A pass under way when the process is told to end may take this long. */
const graceMs = 10_000

/**
 * `srcip run`: keeps cluster DNS in step with the sources until the signal aborts. Resolves with the exit code: 0 for an
 * end that was asked for; `--once` ends with the code of its one pass. Rejects with SrcipErrors that no waiting can cure.
 */
export async function run(options: RunOptions, process: RunProcess): Promise<number> {
  const clock = systemClock
  const random = Math.random
  const log = createLog({
    level: options.logLevel,
    format: options.logFormat,
    write: process.writeLog,
    wall: () => clock.wall(),
  })
  const metrics = createControllerMetrics()
  const config = await loadKubeconfig(options.kube, options.env)
  const client = createKubeClient(config, {
    userAgent: `kubectl-srcip/${options.version} (${globalThis.process.platform}/${globalThis.process.arch}) run`,
    observer: metrics.request,
    onWarning: (text) => log.warn('the API server warns', {warning: text}),
    log,
    env: options.env,
  })
  const instance = options.env['POD_NAME'] ?? hostname()
  const parts = assemble({options, client, clock, random, log, metrics, instance})
  let leading = false
  let lock: LeaseLock | undefined
  const health = options.once
    ? undefined
    : await startHealthServer({
        address: options.healthAddress,
        clock,
        livez: (lastBeat) => liveness({now: clock.now(), lastBeat, reconcilingMs: parts.queue?.runningMs}),
        readyz: () =>
          readiness({
            sources: parts.sources.statuses(),
            required: options.requiredSources as readonly WatchedName[],
            relistMs: options.relistMs,
            now: clock.now(),
            shuttingDown: process.signal.aborted,
            leading,
            output: outputNote(parts.reconciler),
          }),
        metrics: () => metrics.registry.expose(),
      }).catch((error: unknown) => {
        const message = error instanceof Error ? error.message : String(error)
        throw new SrcipError('Usage', `--health-address ${options.healthAddress}: ${message}`, {cause: error})
      })
  log.info('srcip run starts', {version: options.version, server: config.server, namespace: config.namespace, instance})
  try {
    parts.sources.start()
    if (options.dryRun && options.once) return await runOnce(parts, options, undefined, process.signal)
    const namespace = await dnsNamespace(parts.output, clock, random, log, options.once, process.signal)
    if (namespace === undefined) return 0
    lock = createLeaseLock({
      client,
      namespace,
      name: dnsLeaseName,
      identity: `${instance}_${randomUUID()}`,
      labels: {[componentLabel]: 'controller'},
      clock,
      random,
      log,
      onHolder: (holder, ours) => {
        leading = ours
        metrics.setLeader(ours)
        log.info(ours ? 'this process holds the Lease' : 'another process holds the Lease', {
          lease: `${namespace}/${dnsLeaseName}`,
          holder: holder?.identity,
        })
      },
    })
    parts.leader.assert = (signal) => lock?.assertHeld(signal) ?? Promise.resolve()
    if (options.once) return await runOnce(parts, options, lock, process.signal)
    await lock.elect(
      (signal) => lead(parts, {clock, random, log, metrics, shutdown: process.signal}, signal),
      process.signal,
    )
    return 0
  } finally {
    log.info('srcip run ends')
    await Promise.all([parts.sources.stop(), parts.configWatch.stop(), parts.reconciler.proofs.close()])
    await parts.events.close(2000)
    if (options.once) await lock?.release()
    client.close()
    await health?.close()
  }
}

/** Everything that lives as long as the process. */
export interface Parts {
  readonly sources: Sources
  readonly output: DnsOutput
  readonly reconciler: Reconciler
  readonly conditions: Conditions
  readonly events: EventRecorder
  readonly configWatch: ConfigWatch
  readonly pace: Pace
  /** Says whether we may write now; settled once the Lease is known. */
  readonly leader: {assert: (signal?: AbortSignal) => Promise<void>}
  /** The queue of the present leadership. */
  queue: WorkQueue | undefined
}

function assemble(what: {
  options: RunOptions
  client: KubeClient
  clock: Clock
  random: () => number
  log: Log
  metrics: ControllerMetrics
  instance: string
}): Parts {
  const {options, client, clock, random, log, metrics, instance} = what
  const self = {apiVersion: 'v1', kind: 'Pod', namespace: client.config.namespace, name: instance}
  const events = new EventRecorder({client, instance, self, clock, log})
  const conditions = new Conditions(log, options.dryRun ? {emit: () => undefined} : events)
  const wake = (): void => parts.queue?.mark()
  const sources = new Sources({
    client,
    families: options.families,
    proxies: options.target === undefined ? undefined : [{target: options.target}],
    proxyNamespace: options.proxyNamespace ?? client.config.namespace,
    relistMs: options.relistMs,
    clock,
    random,
    log,
    onChange: wake,
    onState: (name, status, previous) => reportSource(name, status, previous, conditions, log),
    observer: (name) => metrics.reflector(name),
  })
  metrics.watchSources(
    () => sources.statuses(),
    () => sources.counts(),
    (monotonic) => (clock.wall() - (clock.now() - monotonic)) / 1000,
  )
  const configWatch = new ConfigWatch({client, clock, random, log, onChange: wake})
  const output = new DnsOutput({client, options, clock, log, onConfigMaps: (names) => configWatch.follow(names)})
  const pace = new Pace(clock, writeIntervalMs, writeBurst)
  const leader: Parts['leader'] = {assert: () => Promise.resolve()}
  const reconciler = new Reconciler({
    output,
    sources,
    hostOptions: {ingressClasses: options.ingressClasses, hosts: options.hosts, exclude: options.exclude},
    allowEmpty: options.allowEmpty,
    dryRun: options.dryRun,
    clock,
    random,
    log,
    conditions,
    events,
    assertLeader: () => leader.assert(),
    onWritten: () => pace.spend(),
    onProof: wake,
    observer: metrics.reconciler(output.name),
  })
  const parts: Parts = {sources, output, reconciler, conditions, events, configWatch, pace, leader, queue: undefined}
  return parts
}

/** The time of leadership: a queue of its own, so that a lost Lease leaves nothing behind that could still write. */
async function lead(
  parts: Parts,
  env: {clock: Clock; random: () => number; log: Log; metrics: ControllerMetrics; shutdown: AbortSignal},
  lost: AbortSignal,
): Promise<void> {
  const {clock, random, log, metrics, shutdown} = env
  const scope = new AbortController()
  const queue = new WorkQueue({
    clock,
    random,
    work: () => parts.reconciler.reconcile(scope.signal),
    paceDelay: () => parts.pace.delay(),
    onError: (error) => {
      if (!scope.signal.aborted) log.error('a pass failed', {error})
    },
    observer: metrics.queue,
  })
  parts.queue = queue
  queue.mark()
  const cancelResync = repeat(
    clock,
    () => resyncMs * (0.9 + 0.2 * random()),
    () => queue.mark(),
  )
  try {
    await aborted(AbortSignal.any([lost, shutdown]))
    // Told to end: the pass under way may finish. The Lease lost: nothing may be written any more.
    if (lost.aborted && !shutdown.aborted) scope.abort(new Error('the Lease is lost'))
    const cancel = clock.after(graceMs, () => scope.abort(new Error('shutting down')))
    await queue.close()
    cancel()
  } finally {
    cancelResync()
    scope.abort(new Error('leadership has ended'))
    parts.queue = undefined
    await parts.reconciler.proofs.close()
  }
}

/** Namespace of the DNS ConfigMap, where the Lease lies. Waits for it; undefined when the signal came first. */
async function dnsNamespace(
  output: DnsOutput,
  clock: Clock,
  random: () => number,
  log: Log,
  once: boolean,
  signal: AbortSignal,
): Promise<string | undefined> {
  const backoff = new Backoff(800, 30_000, random)
  for (;;) {
    try {
      return await output.namespace(signal)
    } catch (error) {
      if (signal.aborted) return undefined
      if (once) throw error
      log.warn('cluster DNS was not found yet', {error})
      await sleep(clock, backoff.step(), signal).catch(() => undefined)
      if (signal.aborted) return undefined
    }
  }
}

function outputNote(reconciler: Reconciler): string {
  const state = reconciler.state
  const proof = reconciler.proofs.verdict
  const what = 'reason' in state ? `${state.result}: ${state.reason}` : `${state.result}, ${state.names} names`
  return proof === 'none' ? what : `${what}, newest write ${proof}`
}

function repeat(clock: Clock, interval: () => number, run: () => void): () => void {
  let cancel = (): void => undefined
  const next = (): void => {
    cancel = clock.after(interval(), () => {
      run()
      next()
    })
  }
  next()
  return () => cancel()
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), {once: true}))
}
