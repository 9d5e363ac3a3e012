import {randomBytes} from 'node:crypto'
import {lookup} from 'node:dns/promises'
import {isIP} from 'node:net'
import {plainAddress} from '../model/address.ts'
import {SrcipError} from '../model/errors.ts'
import {systemClock, type Clock} from './clock.ts'
import type {EngineEvents, RelayEngine} from './engines/engine.ts'
import {HealthServer, type Check} from './health.ts'
import {limitLog, type Log} from './log.ts'
import {fitToMachine, readMachine} from './machine.ts'
import {renderMetrics} from './metrics.ts'
import {HaproxyEngine} from './engines/haproxy.ts'
import {NodeRelay} from './engines/node.ts'
import {Occupancy, occupancyBytes} from './engines/occupancy.ts'
import {runThread, threadStart} from './engines/thread.ts'
import {ThreadsEngine} from './engines/threads.ts'
import type {ProxyOptions} from './options.ts'
import {instanceLength} from './target/probe-bytes.ts'
import {probe} from './target/probe.ts'
import {at, Target} from './target/target.ts'

export interface SuperviseOptions {
  readonly log: Log
  /** Aborting it begins the drain. */
  readonly signal: AbortSignal
  readonly clock?: Clock
}

/** Milliseconds between two looks at how many connections are left while draining. */
const drainStep = 100

/**
 * `srcip proxy`: listens, keeps the target known, answers health and metrics, and ends when the signal is aborted and the connections are gone or the drain
 * limit is over. Resolves with the number of connections that were cut; rejects when a port cannot be listened on.
 */
export async function superviseProxy(
  given: ProxyOptions,
  {log: write, signal, clock = systemClock}: SuperviseOptions,
): Promise<number> {
  const {options, warnings} = fitToMachine(given, readMachine())
  const thread = threadStart()
  if (thread) {
    await runThread(options, thread)
    return 0
  }
  const log = limitLog(clock, write)
  const instance = randomBytes(instanceLength / 2).toString('hex')
  let target: Target | undefined
  const events: EngineEvents = {
    log,
    loopSeen: (service) => target?.loopSeen(service),
    exhausted: () => target?.hurry(),
  }
  const state = {isDraining: false, hasRoutes: false}
  const engine = createEngine(options, instance, clock, events)
  target = new Target(
    options,
    {
      clock,
      probe,
      log,
      resolve,
      localAddresses: () => readMachine().addresses,
      changed: () =>
        void engine.route(target?.routes ?? []).then(
          () => (state.hasRoutes = true),
          (error: Error) => log('route', `cannot change the routes: ${error.message}`),
        ),
    },
    instance,
  )
  const health = new HealthServer({
    checks: () => checks(options, target, state),
    dead: () => engine.dead(),
    metrics: () => metrics(options, engine, target, state.isDraining),
  })
  const {healthAddress} = options
  // Health first: a probe must find the reason why a port could not be had, or why the target does not answer.
  const healthPort =
    healthAddress &&
    (await health.listen(healthAddress.host, healthAddress.port).catch((error: Error) => {
      throw new SrcipError(
        'Precondition',
        `cannot listen on --health-address ${healthAddress.host}:${healthAddress.port}: ${error.message}`,
        {cause: error},
      )
    }))
  try {
    await engine.start().catch((error: NodeJS.ErrnoException) => {
      throw listenError(error, options)
    })
    const known = target.start()
    for (const warning of [...warnings, ...warningsAbout(options)]) log('warning', `warning: ${warning}`)
    log(
      'listening',
      `${engine.name} engine: ${options.ports.map((spec) => `port ${spec.service} on ${at(options.listenAddress, spec.listen)}`).join(', ')}${healthAddress && healthPort !== undefined ? `, health on ${at(healthAddress.host, healthPort)}` : ''}`,
    )
    void known
    await aborted(signal)
    state.isDraining = true
    return await drain(options, engine, log)
  } finally {
    target.stop()
    await engine.cut()
    health.close()
  }
}

function createEngine(options: ProxyOptions, instance: string, clock: Clock, events: EngineEvents): RelayEngine {
  if (options.engine === 'haproxy') return new HaproxyEngine(options, clock, events)
  if (options.workers > 1) return new ThreadsEngine(options, instance, clock, events)
  const occupancy = new Occupancy(new ArrayBuffer(occupancyBytes(1)), 0, options.maxConnections)
  return new NodeRelay({options, instance, isShared: false, occupancy}, clock, events)
}

/** A port that cannot be had, in words a person can act on. */
function listenError(error: NodeJS.ErrnoException, {ports, listenAddress}: ProxyOptions): Error {
  if (error.code !== 'EADDRINUSE' && error.code !== 'EACCES' && error.code !== 'EADDRNOTAVAIL') return error
  const list = ports.map(({listen}) => listen).join(', ')
  return new SrcipError('Precondition', `cannot listen on ${listenAddress}, ports ${list}: ${error.message}`, {
    hints: ['--port SERVICE=LISTEN takes any free LISTEN; ports below 1024 need a right that a Pod does not have'],
    cause: error,
  })
}

/** Not ready at once, then no new connections, then no connections. Returns how many had to be cut. */
async function drain(options: ProxyOptions, engine: RelayEngine, log: Log): Promise<number> {
  log('draining', `draining: ${await engine.active()} connections are open`)
  // Endpoints and kube-proxy need a moment to hear of it; connections that still arrive are served.
  await sleep(options.drainDelay)
  await engine.stopAccepting()
  const end = performance.now() + options.drainTimeout
  while ((await engine.active()) > 0 && performance.now() < end) await sleep(drainStep)
  const left = await engine.active()
  if (left > 0) log('drained', `--drain-timeout is over: ${left} connections are cut`)
  else log('drained', 'drained: no connection is left')
  return left
}

function warningsAbout(options: ProxyOptions): string[] {
  const warnings: string[] = []
  if (options.acceptProxy && options.trusted.length === 0) {
    warnings.push(
      '--accept-proxy without --trusted-cidr: no PROXY header will be honoured, those that come are taken off',
    )
  }
  if (options.engine === 'haproxy' && options.firstByteTimeout > 0) {
    warnings.push('--first-byte-timeout is off: HAProxy has no such limit')
  }
  return warnings
}

function checks(
  options: ProxyOptions,
  target: Target | undefined,
  {isDraining, hasRoutes}: {isDraining: boolean; hasRoutes: boolean},
): Check[] {
  const causes = target?.causes() ?? []
  return [
    {name: 'shutdown', cause: isDraining ? {token: 'draining', message: 'the proxy was told to end'} : undefined},
    {
      name: 'engine',
      cause: hasRoutes ? undefined : {token: 'no-routes', message: 'the engine has not been given a target yet'},
    },
    ...options.ports.map((spec) => ({
      name: `port-${spec.service}`,
      cause: causes.find((cause) => cause.port === spec.service),
    })),
  ]
}

async function metrics(
  options: ProxyOptions,
  engine: RelayEngine,
  target: Target | undefined,
  isDraining: boolean,
): Promise<string> {
  return renderMetrics({
    engine: engine.name,
    isReady: !isDraining && target?.causes().length === 0,
    isDraining,
    counters: await engine.counters(),
    verdicts: options.ports.map((spec) => ({
      port: spec.service,
      count: target?.verdicts(spec) ?? {header: 0, plain: 0, unknown: 0},
    })),
    processes: await engine.usage(),
    startTime: Math.round(performance.timeOrigin) / 1000,
  })
}

/** Addresses of a host as the system's resolver gives them: search list and /etc/hosts included, as names of Services need them. */
async function resolve(host: string): Promise<readonly string[]> {
  const found = isIP(host) === 0 ? await lookup(host, {all: true, verbatim: true}) : [{address: host}]
  // Plain forms only: ::ffff:10.0.0.1 is the same target as 10.0.0.1, and must be seen when it is this proxy.
  return found.flatMap(({address}) => plainAddress(address) ?? [])
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), {once: true})
  })
}

function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}
