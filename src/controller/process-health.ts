import type {Clock} from '../kube/index.ts'
import {SrcipError} from '../model/errors.ts'
import type {Parts} from './assembly.ts'
import type {ControllerMetrics} from './controller-metrics.ts'
import {liveness, readiness, startHealthServer} from './health.ts'
import type {HealthServer} from './health.ts'
import type {Lane} from './lane.ts'
import type {RunOptions} from './options.ts'
import type {WatchedName} from './sources.ts'

/** Binds the probes before the first call to the API server; not for one pass that ends by itself. */
export async function serveHealth(
  parts: Parts,
  options: RunOptions,
  shutdown: AbortSignal,
  clock: Clock,
  metrics: ControllerMetrics,
): Promise<HealthServer | undefined> {
  if (options.once) return undefined
  try {
    return await startHealthServer({
      address: options.healthAddress,
      clock,
      livez: (lastBeat) => {
        const running = parts.lanes.map((lane) => lane.runningMs ?? 0)
        return liveness({
          now: clock.now(),
          lastBeat,
          reconcilingMs: Math.max(0, ...running),
          sources: parts.sources.statuses(),
        })
      },
      readyz: () =>
        readiness({
          sources: parts.sources.statuses(),
          required: options.requiredSources as readonly WatchedName[],
          relistMs: options.relistMs,
          now: clock.now(),
          shuttingDown: shutdown.aborted,
          leading: parts.leader.leading,
          outputs: parts.lanes.map((lane) => ({name: lane.name, note: noteOf(lane)})),
          ports: parts.ports.notes,
        }),
      metrics: () => metrics.registry.expose(),
    })
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    throw new SrcipError('Usage', `--health-address ${options.healthAddress}: ${message}`, {
      hints: ['give another one: --health-address HOST:PORT'],
      cause: error,
    })
  }
}

function noteOf(lane: Lane): string {
  const {state, proofs, withheld} = lane.reconciler
  const what = 'reason' in state ? `${state.result}: ${state.reason}` : `${state.result}, ${state.names} names`
  const waits =
    withheld.length === 0
      ? ''
      : `; ${withheld.length} names wait: no-ready-endpoint (${[...new Set(withheld.map((host) => host.target))].join(', ')})`
  return proofs.verdict === 'none' ? `${what}${waits}` : `${what}; newest write: ${proofs.verdict}${waits}`
}
