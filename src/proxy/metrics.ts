import type {Verdict} from './target/verdict.ts'

/** What one port counts; plain data, so that it passes between processes as it is. */
export interface PortCounters {
  /** Port of the Service; the label `port` of every metric. */
  readonly port: number
  accepted: number
  active: number
  connected: number
  connectSeconds: number
  headersSent: number
  readonly headersRead: {honoured: number; ignored: number; refused: number}
  /** Bytes from clients to the target, and back. Counted when a connection ends and at each reading of the counters. */
  bytesUp: number
  bytesDown: number
  readonly errors: Record<string, number>
}

/** Counters at zero for a port, named by its Service port. */
export function newCounters(port: number): PortCounters {
  return {
    port,
    accepted: 0,
    active: 0,
    connected: 0,
    connectSeconds: 0,
    headersSent: 0,
    headersRead: {honoured: 0, ignored: 0, refused: 0},
    bytesUp: 0,
    bytesDown: 0,
    errors: {},
  }
}

/** Adds up counters of the same port from several processes. */
export function sumCounters(port: number, parts: readonly PortCounters[]): PortCounters {
  const sum = newCounters(port)
  for (const part of parts.filter((each) => each.port === port)) {
    for (const name of [
      'accepted',
      'active',
      'connected',
      'connectSeconds',
      'headersSent',
      'bytesUp',
      'bytesDown',
    ] as const)
      sum[name] += part[name]
    for (const name of ['honoured', 'ignored', 'refused'] as const) sum.headersRead[name] += part.headersRead[name]
    for (const [reason, count] of Object.entries(part.errors)) sum.errors[reason] = (sum.errors[reason] ?? 0) + count
  }
  return sum
}

/** What one process of the proxy takes. */
export interface ProcessUsage {
  readonly cpuSeconds: number
  readonly residentBytes: number
  readonly openFiles: number
  readonly eventLoopLagSeconds: number
}

export interface MetricsInput {
  readonly engine: string
  readonly isReady: boolean
  readonly isDraining: boolean
  readonly counters: readonly PortCounters[]
  readonly verdicts: readonly {readonly port: number; readonly count: Readonly<Record<Verdict, number>>}[]
  readonly processes: readonly ProcessUsage[]
  /** Seconds since the epoch. */
  readonly startTime: number
}

type Sample = readonly [labels: Readonly<Record<string, string | number>>, value: number]

/** The Prometheus text format (version 0.0.4) of everything; names as in docs/proxy-engines.md, the same for both engines. */
export function renderMetrics(input: MetricsInput): string {
  const {counters} = input
  const perPort = (value: (each: PortCounters) => number): Sample[] =>
    counters.map((each) => [{port: each.port}, value(each)])
  const sum = (value: (each: ProcessUsage) => number) => input.processes.reduce((total, each) => total + value(each), 0)
  const largest = (value: (each: ProcessUsage) => number) => Math.max(0, ...input.processes.map(value))
  return [
    metric('srcip_proxy_ready', 'gauge', '1 if the target answers as --send-proxy demands', [
      [{}, input.isReady ? 1 : 0],
    ]),
    metric('srcip_proxy_draining', 'gauge', '1 after SIGTERM', [[{}, input.isDraining ? 1 : 0]]),
    metric('srcip_proxy_engine_info', 'gauge', 'which engine relays', [[{engine: input.engine}, 1]]),
    metric(
      'srcip_proxy_connections_total',
      'counter',
      'connections accepted',
      perPort((each) => each.accepted),
    ),
    metric(
      'srcip_proxy_connections_active',
      'gauge',
      'connections open now',
      perPort((each) => each.active),
    ),
    metric(
      'srcip_proxy_connection_errors_total',
      'counter',
      'connections that failed or were refused, by reason',
      counters.flatMap((each): Sample[] =>
        Object.entries(each.errors).map(([reason, count]) => [{port: each.port, reason}, count]),
      ),
    ),
    metric(
      'srcip_proxy_connect_seconds_sum',
      'counter',
      'seconds from accepting a client to its connection to the target',
      perPort((each) => each.connectSeconds),
    ),
    metric(
      'srcip_proxy_connect_seconds_count',
      'counter',
      'connections made to the target',
      perPort((each) => each.connected),
    ),
    metric(
      'srcip_proxy_headers_sent_total',
      'counter',
      'PROXY headers sent to the target',
      perPort((each) => each.headersSent),
    ),
    metric(
      'srcip_proxy_headers_received_total',
      'counter',
      'PROXY headers from clients under --accept-proxy',
      counters.flatMap((each): Sample[] =>
        Object.entries(each.headersRead).map(([result, count]) => [{port: each.port, result}, count]),
      ),
    ),
    metric(
      'srcip_proxy_bytes_total',
      'counter',
      'payload bytes relayed',
      counters.flatMap((each): Sample[] => [
        [{port: each.port, direction: 'to_target'}, each.bytesUp],
        [{port: each.port, direction: 'to_client'}, each.bytesDown],
      ]),
    ),
    metric(
      'srcip_proxy_target_endpoints',
      'gauge',
      'addresses of the target by what they take',
      input.verdicts.flatMap(({port, count}): Sample[] =>
        Object.entries(count).map(([takes, number]) => [{port, takes}, number]),
      ),
    ),
    metric('srcip_proxy_processes', 'gauge', 'processes of the proxy', [[{}, input.processes.length]]),
    metric('process_cpu_seconds_total', 'counter', 'user and system CPU time of all processes', [
      [{}, sum((each) => each.cpuSeconds)],
    ]),
    metric('process_resident_memory_bytes', 'gauge', 'resident memory of all processes', [
      [{}, sum((each) => each.residentBytes)],
    ]),
    metric('process_open_fds', 'gauge', 'open file descriptors of all processes', [
      [{}, sum((each) => each.openFiles)],
    ]),
    metric('process_start_time_seconds', 'gauge', 'start of the process since the epoch', [[{}, input.startTime]]),
    metric(
      'nodejs_eventloop_lag_seconds',
      'gauge',
      'largest event loop delay of all processes since the last reading',
      [[{}, largest((each) => each.eventLoopLagSeconds)]],
    ),
  ].join('')
}

function metric(name: string, type: 'counter' | 'gauge', help: string, samples: readonly Sample[]): string {
  const lines = samples.map(([labels, value]) => {
    const pairs = Object.entries(labels).map(
      ([label, text]) => `${label}="${String(text).replaceAll(/[\\"]/g, '\\$&')}"`,
    )
    return `${name}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${value}\n`
  })
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`
}
