import {randomUUID} from 'node:crypto'
import {hostname} from 'node:os'
import {createKubeClient, createLeaseLock, loadKubeconfig, sleep, systemClock} from '../kube/index.ts'
import type {Clock, KubeClient, LeaseLock, Log} from '../kube/index.ts'
import {componentLabel, dnsLeaseName} from '../model/dns.ts'
import {assemble} from './assembly.ts'
import type {Parts} from './assembly.ts'
import {Backoff} from './backoff.ts'
import {createControllerMetrics} from './controller-metrics.ts'
import type {ControllerMetrics} from './controller-metrics.ts'
import {interpretOnly} from './heap-trim.ts'
import {aborted} from './lane.ts'
import {sayLastWords} from './last-words.ts'
import {createLog} from './log.ts'
import {runOnce} from './once.ts'
import type {RunOptions, RunProcess} from './options.ts'
import {serveHealth} from './process-health.ts'

/**
 * `srcip run`: keeps its outputs in step with the sources until the signal aborts. Resolves with the exit code: 0 for an
 * end that was asked for; `--once` ends with the code of its one pass. Rejects with SrcipErrors that no waiting can cure.
 */
export async function run(options: RunOptions, process: RunProcess): Promise<number> {
  const clock = systemClock
  const log = createLog({
    level: options.logLevel,
    format: options.logFormat,
    write: process.writeLog,
    wall: () => clock.wall(),
  })
  interpretOnly()
  const quiet = sayLastWords(log)
  try {
    return await runWith(options, process, clock, log)
  } finally {
    quiet()
  }
}

async function runWith(options: RunOptions, process: RunProcess, clock: Clock, log: Log): Promise<number> {
  const metrics = createControllerMetrics()
  const client = await openClient(options, metrics, log)
  const instance = options.env['POD_NAME'] ?? hostname()
  const parts = assemble({options, client, clock, random: Math.random, log, metrics, instance})
  const health = await serveHealth(parts, options, process.signal, clock, metrics)
  const {server, namespace} = client.config
  log.info('srcip run starts', {version: options.version, server, namespace, instance})
  let lock: LeaseLock | undefined
  try {
    parts.sources.start()
    lock = await createLock(parts, {options, client, clock, log, metrics, instance, signal: process.signal})
    if (process.signal.aborted) return 0
    parts.leader.assert = (signal) => lock?.assertHeld(signal) ?? Promise.resolve()
    if (options.once) return await runOnce(parts, options, lock, process.signal)
    await work(parts, lock, process.signal)
    return 0
  } finally {
    log.info('srcip run ends')
    await Promise.all([
      parts.sources.stop(),
      parts.configWatch.stop(),
      parts.ports.stop(),
      ...parts.lanes.map((lane) => lane.reconciler.proofs.close()),
    ])
    await parts.events.close(2000)
    if (options.once) await lock?.release()
    client.close()
    await health?.close()
  }
}

/** The connection of a controller: counted, logged, with the user agent of `run`. */
export async function openClient(
  options: Pick<RunOptions, 'kube' | 'env' | 'version'>,
  metrics: ControllerMetrics,
  log: Log,
): Promise<KubeClient> {
  const config = await loadKubeconfig(options.kube, options.env)
  return createKubeClient(config, {
    userAgent: `kubectl-srcip/${options.version} (${process.platform}/${process.arch}) run`,
    observer: metrics.request,
    onWarning: (text) => log.warn('the API server warns', {warning: text}),
    log,
    env: options.env,
  })
}

/** Works on every lane; those of shared objects only while the Lease is ours. */
async function work(parts: Parts, lock: LeaseLock | undefined, shutdown: AbortSignal): Promise<void> {
  const never = new AbortController().signal
  const own = parts.lanes.filter((lane) => !parts.leased.has(lane))
  const shared = parts.lanes.filter((lane) => parts.leased.has(lane))
  await Promise.all([
    ...own.map((lane) => lane.work(never, shutdown)),
    lock?.elect(async (lost) => {
      await Promise.all(shared.map((lane) => lane.work(lost, shutdown)))
    }, shutdown),
    aborted(shutdown),
  ])
}

/** The Lease in the namespace of the DNS ConfigMap, or in our own; undefined where nothing shared is written. */
async function createLock(
  parts: Parts,
  env: {
    options: RunOptions
    client: KubeClient
    clock: Clock
    log: Log
    metrics: ControllerMetrics
    instance: string
    signal: AbortSignal
  },
): Promise<LeaseLock | undefined> {
  const {options, client, clock, log, metrics, instance, signal} = env
  if (parts.leased.size === 0 || (options.dryRun && options.once)) return undefined
  const namespace = await leaseNamespace(parts, client, clock, log, options.once, signal)
  return createLeaseLock({
    client,
    namespace,
    name: dnsLeaseName,
    identity: `${instance}_${randomUUID()}`,
    labels: {[componentLabel]: 'controller'},
    clock,
    log,
    onHolder: (holder, ours) => {
      parts.leader.leading = ours
      metrics.setLeader(ours)
      log.info(ours ? 'this process holds the Lease' : 'this process does not hold the Lease', {
        lease: `${namespace}/${dnsLeaseName}`,
        holder: holder?.identity,
      })
    },
  })
}

/** Waits until cluster DNS is found, unless nothing is written there. */
async function leaseNamespace(
  parts: Parts,
  client: KubeClient,
  clock: Clock,
  log: Log,
  once: boolean,
  signal: AbortSignal,
): Promise<string> {
  if (parts.dnsNamespace === undefined) return client.config.namespace
  const backoff = new Backoff(800, 30_000, Math.random)
  for (;;) {
    try {
      return await parts.dnsNamespace(signal)
    } catch (error) {
      if (signal.aborted) return client.config.namespace
      if (once) throw error
      log.warn('cluster DNS was not found yet', {error})
      await sleep(clock, backoff.step(), signal).catch(() => undefined)
    }
  }
}
