import {createServer} from 'node:http'
import type {AddressInfo} from 'node:net'
import type {Clock, SourceStatus} from '../kube/index.ts'
import type {WatchedName} from './sources.ts'

/** One line of `/readyz?verbose`. */
export interface Check {
  readonly name: string
  readonly ok: boolean
  /** Why, also when it is well. */
  readonly note: string
}

export interface HealthInput {
  readonly sources: ReadonlyMap<WatchedName, SourceStatus>
  readonly required: readonly WatchedName[]
  readonly relistMs: number
  readonly now: number
  readonly shuttingDown: boolean
  readonly leading: boolean
  /** What the last pass of each output came to, in words. */
  readonly outputs: readonly {readonly name: string; readonly note: string}[]
  /** By proxy Service: how its ports compare with those of its ingress. */
  readonly ports?: ReadonlyMap<string, string>
}

/**
 * Readiness (controller.md 3.8): required sources have been seen whole once in this process; then it stays, also while
 * the API server is away, until lists of a required source have failed for two relist intervals. Pure.
 */
export function readiness(input: HealthInput): Check[] {
  const checks: Check[] = []
  for (const [name, status] of input.sources) {
    const cause = status.failure === undefined ? '' : `: ${status.failure.message}`
    const seconds = Math.round((input.now - status.since) / 1000)
    const required = input.required.includes(name)
    // A healthy source is listed every interval (+-20 %), also while its watch seems alive: a mute watch proves nothing.
    const listAge = input.now - (status.lastList ?? -Infinity)
    const unlisted = status.everSynced && status.state !== 'absent' && listAge > 2 * input.relistMs
    const ok = !required || (status.everSynced && !unlisted)
    const note = [
      `${status.state} for ${seconds}s${cause}`,
      ...listTrouble(status, input.now),
      ...(unlisted ? [`no complete list for ${Math.round(listAge / 1000)}s`] : []),
      ...(required ? [] : ['not required']),
    ].join(', ')
    checks.push({name: `source ${name}`, ok, note})
  }
  checks.push({name: 'leader', ok: true, note: input.leading ? 'this process writes' : 'another process writes'})
  for (const {name, note} of input.outputs) checks.push({name: `output ${name}`, ok: true, note})
  // No cause to be unready: our names stay right, and another process of ours would find the same.
  for (const [proxy, note] of input.ports ?? []) checks.push({name: `ports ${proxy}`, ok: true, note})
  checks.push({name: 'shutdown', ok: !input.shuttingDown, note: input.shuttingDown ? 'shutting down' : 'running'})
  return checks
}

/** Lists that fail beside a watch that goes on. */
function listTrouble({failure, listFailure, listFailingSince}: SourceStatus, now: number): string[] {
  if (listFailure === undefined || listFailingSince === undefined || failure === listFailure) return []
  return [`lists fail for ${Math.round((now - listFailingSince) / 1000)}s: ${listFailure.message}`]
}

/** Lines as Kubernetes' own components print them: `[+]name ok` and `[-]name failed`, with the note behind. */
export function renderChecks(kind: 'livez' | 'readyz', checks: readonly Check[], verbose: boolean): string {
  const ok = checks.every((check) => check.ok)
  if (ok && !verbose) return 'ok'
  const lines = checks.map(
    ({name, ok: good, note}) => `[${good ? '+' : '-'}]${name} ${good ? 'ok' : 'failed'}: ${note}`,
  )
  return `${lines.join('\n')}\n${kind} check ${ok ? 'passed' : 'failed'}\n`
}

export interface LivenessInput {
  readonly now: number
  /** When the heartbeat timer last fired. */
  readonly lastBeat: number
  /** Milliseconds that the present pass has been running. */
  readonly reconcilingMs: number | undefined
  readonly sources: ReadonlyMap<WatchedName, SourceStatus>
}

/** How far a source loop may be behind its own timers. A page of a list has 60 s, discovery a few times 15 s. */
const overdueMs = 5 * 60_000

/**
 * Liveness (controller.md 3.8): our own loops move. A source loop in a timed wait, or one that an API server keeps
 * failing, does move. Never the API server: restarting us does not bring it back. Pure.
 */
export function liveness(input: LivenessInput): Check[] {
  const lag = input.now - input.lastBeat
  const pass = input.reconcilingMs ?? 0
  const stuck = [...input.sources].filter(([, {dueBy}]) => dueBy !== undefined && input.now - dueBy >= overdueMs)
  const notes = stuck.map(([name, {dueBy = 0}]) => `${name} has stood still for ${seconds(input.now - dueBy)}s`)
  return [
    {name: 'event-loop', ok: lag < 10_000, note: `last beat ${Math.round(lag)} ms ago`},
    {name: 'reconcile', ok: pass < 120_000, note: `running for ${Math.round(pass)} ms`},
    {name: 'source-loops', ok: stuck.length === 0, note: stuck.length === 0 ? 'all move' : notes.join(', ')},
  ]
}

function seconds(ms: number): number {
  return Math.round(ms / 1000)
}

export interface HealthServerOptions {
  /** `host:port`, `:port` or `[::1]:port`; port 0 takes a free one. */
  readonly address: string
  readonly clock: Clock
  readonly livez: (lastBeat: number) => readonly Check[]
  readonly readyz: () => readonly Check[]
  readonly metrics: () => string
}

export interface HealthServer {
  readonly port: number
  close(): Promise<void>
}

/**
 * The probes' own HTTP server: `/livez`, `/readyz` (each `?verbose`) and `/metrics`. Bound before the first call to the
 * API server. Rejects when the address cannot be had.
 */
export async function startHealthServer(options: HealthServerOptions): Promise<HealthServer> {
  let lastBeat = options.clock.now()
  const beat = setInterval(() => (lastBeat = options.clock.now()), 1000)
  beat.unref()
  const server = createServer({requestTimeout: 10_000, headersTimeout: 10_000}, (request, response) => {
    const {pathname, searchParams} = new URL(request.url ?? '/', 'http://health')
    const answer = (status: number, body: string, type = 'text/plain; charset=utf-8'): void => {
      response.writeHead(status, {'content-type': type, 'cache-control': 'no-store'})
      response.end(request.method === 'HEAD' ? undefined : body)
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') return answer(405, 'only GET\n')
    const verbose = searchParams.has('verbose')
    if (pathname === '/metrics') return answer(200, options.metrics(), 'text/plain; version=0.0.4; charset=utf-8')
    if (pathname === '/livez' || pathname === '/readyz') {
      const checks = pathname === '/livez' ? options.livez(lastBeat) : options.readyz()
      const body = renderChecks(pathname === '/livez' ? 'livez' : 'readyz', checks, verbose)
      return answer(checks.every((check) => check.ok) ? 200 : 503, body)
    }
    answer(404, 'try /livez, /readyz or /metrics\n')
  })
  const {host, port} = splitAddress(options.address)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({port, ...(host === '' ? {} : {host})}, () => {
      server.off('error', reject)
      resolve()
    })
  })
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      clearInterval(beat)
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

/** Splits `host:port`; an address without a port is a RangeError. */
export function splitAddress(address: string): {host: string; port: number} {
  const match = /^(?:\[([^\]]*)\]|([^:]*)):(\d{1,5})$/.exec(address)
  const port = Number(match?.[3])
  if (match === null || port > 65_535) throw new RangeError(`${JSON.stringify(address)} is not HOST:PORT or :PORT`)
  return {host: match[1] ?? match[2] ?? '', port}
}
