import {monitorEventLoopDelay} from 'node:perf_hooks'
import type {ReflectorObserver, RequestObserver, SourceStatus} from '../kube/index.ts'
import {Registry} from './metrics.ts'
import type {QueueObserver} from './queue.ts'
import type {ReconcilerObserver} from './reconciler.ts'
import type {WatchedName} from './sources.ts'

const seconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
const states = ['syncing', 'synced', 'stale', 'forbidden', 'absent'] as const

/** Every metric of `srcip run`, under the names that dashboards for controller-runtime, client-go and node already know. */
export function createControllerMetrics() {
  const registry = new Registry()
  const reconciles = registry.counter('controller_runtime_reconcile_total', 'Passes of the work loop by result.')
  const reconcileErrors = registry.counter('controller_runtime_reconcile_errors_total', 'Passes that failed.')
  const terminalErrors = registry.counter(
    'controller_runtime_terminal_reconcile_errors_total',
    'Passes that ended in something that only a change of the inputs can cure.',
  )
  const reconcileTime = registry.histogram('controller_runtime_reconcile_time_seconds', 'Duration of a pass.', seconds)
  const workers = registry.gauge('controller_runtime_max_concurrent_reconciles', 'Passes that may run at once.')
  const active = registry.gauge('controller_runtime_active_workers', 'Passes that run now.')
  const depth = registry.gauge('workqueue_depth', 'Outputs waiting for a pass.')
  const adds = registry.counter('workqueue_adds_total', 'Marks put on the queue.')
  const queued = registry.histogram('workqueue_queue_duration_seconds', 'From the first mark to the pass.', seconds)
  const worked = registry.histogram('workqueue_work_duration_seconds', 'Duration of the work.', seconds)
  const retries = registry.counter('workqueue_retries_total', 'Passes that come again after a failure.')
  const requests = registry.counter('rest_client_requests_total', 'Requests to the API server by code and method.')
  const requestTime = registry.histogram('rest_client_request_duration_seconds', 'To the end of the headers.', seconds)
  const requestRetries = registry.counter('rest_client_request_retries_total', 'Requests that were sent again.')
  const leader = registry.gauge('leader_election_master_status', '1 while this process holds the Lease.')
  const sourceState = registry.gauge('srcip_source_state', '1 for the state that a source is in.')
  const sourceObjects = registry.gauge('srcip_source_objects', 'Objects of a source.')
  const lastEvent = registry.gauge('srcip_source_last_event_timestamp_seconds', 'Last sign of life of a source.')
  const watchEnds = registry.counter('srcip_watch_restarts_total', 'Watches that ended, by reason.')
  const relists = registry.counter('srcip_relists_total', 'Lists taken, by reason.')
  const drift = registry.counter('srcip_relist_drift_total', 'Objects that a list found different from the store.')
  const hosts = registry.gauge('srcip_hosts', 'Names published.')
  const withheld = registry.gauge('srcip_names_withheld', 'Names that wait before they are written, by reason.')
  const portsMissing = registry.gauge(
    'srcip_proxy_ports_missing',
    'TCP ports of the ingress Service that the proxy Service lacks.',
  )
  const bytes = registry.gauge('srcip_output_bytes', 'Size of the text that holds the names.')
  const writes = registry.counter('srcip_writes_total', 'Writes and their proofs, by result.')
  const foreign = registry.counter('srcip_foreign_rewrites_total', 'Times that another writer took our names out.')
  processMetrics(registry)
  leader.set({name: 'srcip-dns'}, 0)

  const queue = (controller: string): QueueObserver => {
    const labels = {name: controller, controller}
    workers.set({controller}, 1)
    active.set({controller}, 0)
    depth.set(labels, 0)
    return {
      onMark: () => {
        adds.add(labels)
        depth.set(labels, 1)
      },
      onStart: (waitedMs) => {
        depth.set(labels, 0)
        active.set({controller}, 1)
        queued.observe(labels, waitedMs / 1000)
      },
      onEnd: (tookMs, outcome) => {
        active.set({controller}, 0)
        const result = outcome === 'done' ? 'success' : outcome === 'error' ? 'error' : 'requeue_after'
        reconciles.add({controller, result})
        if (result === 'error') reconcileErrors.add({controller})
        if (result !== 'success') retries.add(labels)
        reconcileTime.observe({controller}, tookMs / 1000)
        worked.observe(labels, tookMs / 1000)
      },
    }
  }
  const reconciler = (output: string): ReconcilerObserver => ({
    onHosts: (count) => hosts.set({output}, count),
    onWithheld: (count) => withheld.set({output, reason: 'no-ready-endpoint'}, count),
    onBytes: (size) => bytes.set({output}, size),
    onWrite: (result) => writes.add({output, result}),
    onForeignRewrite: () => foreign.add({output}),
    onBlocked: () => terminalErrors.add({controller: output}),
  })
  const reflector = (source: WatchedName): ReflectorObserver => ({
    onList: (reason) => relists.add({source, reason}),
    onWatchEnd: (reason) => watchEnds.add({source, reason}),
    onDrift: (keys) => drift.add({}, keys.length),
  })
  const request: RequestObserver = {
    onRequest: ({method, host, verb, code, seconds: took}) => {
      requests.add({code, method, host})
      requestTime.observe({verb, host}, took)
    },
    onRetry: ({method, host, code}) => requestRetries.add({code, method, host}),
  }
  return {
    registry,
    queue,
    reconciler,
    reflector,
    request,
    setMissingPorts: (pair: {proxy: string; feeds: string; missing: number}) =>
      portsMissing.set({proxy: pair.proxy, ingress: pair.feeds}, pair.missing),
    setLeader: (held: boolean) => leader.set({name: 'srcip-dns'}, held ? 1 : 0),
    /** Looked up at each exposition. `wallOf` turns monotonic milliseconds into seconds since 1970. */
    watchSources: (
      statuses: () => ReadonlyMap<WatchedName, SourceStatus>,
      counts: () => ReadonlyMap<WatchedName, number>,
      wallOf: (monotonicMs: number) => number,
    ) =>
      registry.onExpose(() => {
        for (const [source, status] of statuses()) {
          for (const state of states) sourceState.set({source, state}, status.state === state ? 1 : 0)
          lastEvent.set({source}, wallOf(status.lastSeen))
        }
        for (const [source, count] of counts()) sourceObjects.set({source}, count)
      }),
  }
}

export type ControllerMetrics = ReturnType<typeof createControllerMetrics>

function processMetrics(registry: Registry): void {
  const resident = registry.gauge('process_resident_memory_bytes', 'Resident memory size.')
  const heap = registry.gauge('nodejs_heap_size_used_bytes', 'Heap in use.')
  const cpu = registry.counter('process_cpu_seconds_total', 'User and system CPU time.')
  const started = registry.gauge('process_start_time_seconds', 'Start of the process since 1970.')
  const lag = registry.gauge(
    'nodejs_eventloop_lag_p99_seconds',
    '99th percentile of the event loop delay since the last scrape.',
  )
  const handles = registry.gauge('nodejs_active_resources_total', 'Active handles and requests.')
  const histogram = monitorEventLoopDelay({resolution: 20})
  histogram.enable()
  started.set({}, performance.timeOrigin / 1000)
  registry.onExpose(() => {
    const memory = process.memoryUsage()
    const usage = process.cpuUsage()
    resident.set({}, memory.rss)
    heap.set({}, memory.heapUsed)
    cpu.set({}, (usage.user + usage.system) / 1e6)
    handles.set({}, process.getActiveResourcesInfo().length)
    lag.set({}, histogram.percentile(99) / 1e9)
    histogram.reset()
  })
}
