import type {DnsPod} from '../platforms/dns/locate.ts'
import type {DnsConnection} from './dns/connection.ts'
import {addressesOf} from './dns/message.ts'
import type {PodAccess} from './pod-access.ts'
import {excerptOf, readReloadLog, readReloadMetrics} from './reload-signs.ts'
import type {DnsProbe} from './types.ts'

/** What a pod reported before a write. */
export interface PodBaseline {
  /** Undefined: the metrics could not be read. */
  readonly failedTotal?: number
  readonly hash?: string
  /** Refusals that stood in the log already, whole lines with their time: those are of an earlier text. */
  readonly errors: ReadonlySet<string>
}

/** One look at one pod. */
export interface PodObservation {
  /** `seen`: it runs the expected configuration. `unavailable`: neither metrics nor log could be read. */
  readonly hash: 'seen' | 'other' | 'unavailable'
  readonly hashReason?: string
  /** `wrong`: it answered, with something else. `unavailable`: no answer at all. */
  readonly probe: 'right' | 'wrong' | 'unavailable'
  readonly probeReason?: string
  /** Evidence that the pod refused the new configuration. */
  readonly failure?: string
}

export interface ObserveOptions {
  /** Undefined: the pod is newer than the write. */
  readonly baseline: PodBaseline | undefined
  readonly probes: readonly DnsProbe[]
  readonly hash: string | null
  /** Seconds since the write; undefined: nothing was written, the log is not read. */
  readonly sinceSeconds: number | undefined
  readonly signal?: AbortSignal | undefined
}

/** Seconds of log that are read before a write: more than lies between the two readings and their rounding. */
const historySeconds = 120

/** Reads counter, hash and recent refusals of every counting pod before a write; what cannot be read is left out. */
export async function readBaseline(
  access: PodAccess,
  pods: readonly DnsPod[],
  signal?: AbortSignal,
): Promise<Map<string, PodBaseline>> {
  const entries = await Promise.all(
    pods.map(async (pod): Promise<[string, PodBaseline]> => {
      const [metricsText, logText] = await Promise.all([
        attempt(() => access.metrics(pod, signal), signal),
        attempt(() => access.log(pod, historySeconds, signal), signal),
      ])
      const metrics = 'error' in metricsText ? undefined : readReloadMetrics(metricsText.value)
      const errors = new Set('error' in logText ? [] : readReloadLog(logText.value).errors)
      return [
        `${pod.namespace}/${pod.name}`,
        {
          errors,
          // the counter exists from the start of the process; without it the plugin prometheus is on, reload is not
          ...(metrics === undefined ? {} : {failedTotal: metrics.failedTotal ?? 0}),
          ...(metrics?.hash === undefined ? {} : {hash: metrics.hash}),
        },
      ]
    }),
  )
  return new Map(entries)
}

/** Metrics, log and DNS of one pod, read side by side. Never rejects but for the signal. */
export async function observePod(access: PodAccess, pod: DnsPod, options: ObserveOptions): Promise<PodObservation> {
  const {signal} = options
  const [configuration, probe] = await Promise.all([
    observeConfiguration(access, pod, options),
    askProbes(access, pod, options.probes, signal),
  ])
  return {...configuration, ...probe}
}

async function observeConfiguration(
  access: PodAccess,
  pod: DnsPod,
  options: ObserveOptions,
): Promise<Pick<PodObservation, 'hash' | 'hashReason' | 'failure'>> {
  const {baseline, hash, sinceSeconds, signal} = options
  if (sinceSeconds === undefined) return {hash: 'unavailable', hashReason: 'nothing was written'}
  const [metricsText, logText] = await Promise.all([
    attempt(() => access.metrics(pod, signal), signal),
    attempt(() => access.log(pod, sinceSeconds, signal), signal),
  ])
  const log = 'error' in logText ? undefined : readReloadLog(logText.value)
  const metrics = 'error' in metricsText ? undefined : readReloadMetrics(metricsText.value)
  const lastError = log?.errors.findLast((line) => baseline?.errors.has(line) !== true)
  if (lastError !== undefined) return {hash: 'other', failure: `its log says: ${excerptOf(lastError)}`}
  const before = baseline?.failedTotal
  const now = metrics?.failedTotal
  // a counter that fell belongs to a restarted process and starts anew
  if (before !== undefined && now !== undefined && now > before) {
    return {hash: 'other', failure: `coredns_reload_failed_total rose from ${before} to ${now}`}
  }
  if (hash === null) return {hash: 'unavailable', hashReason: 'the hash cannot be predicted'}
  // the log line is written after the new configuration serves, the metric already before that: it needs the counter beside it
  if (log?.hashes.at(-1) === hash) return {hash: 'seen'}
  if (metrics?.hash === hash && before !== undefined) return {hash: 'seen'}
  if ('error' in metricsText && 'error' in logText) {
    return {
      hash: 'unavailable',
      hashReason: `neither metrics (${metricsText.error}) nor log (${logText.error}) could be read`,
    }
  }
  return {hash: 'other', hashReason: 'has not loaded the new configuration yet'}
}

/** All probes over one connection; the first that is not right decides. */
export async function askProbes(
  access: PodAccess,
  pod: DnsPod,
  probes: readonly DnsProbe[],
  signal?: AbortSignal,
): Promise<Pick<PodObservation, 'probe' | 'probeReason'>> {
  if (probes.length === 0) return {probe: 'right'}
  const connection = await attempt(() => access.dns(pod, signal), signal)
  if ('error' in connection) return {probe: 'unavailable', probeReason: `DNS could not be asked: ${connection.error}`}
  try {
    for (const probe of probes) {
      const reason = await attempt(() => checkProbe(connection.value, probe, signal), signal)
      if ('error' in reason) return {probe: 'unavailable', probeReason: `DNS gave no answer: ${reason.error}`}
      if (reason.value !== undefined) return {probe: 'wrong', probeReason: reason.value}
    }
    return {probe: 'right'}
  } finally {
    connection.value.close()
  }
}

/** Undefined when the answer is right, else what came back. */
async function checkProbe(
  connection: DnsConnection,
  probe: DnsProbe,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const expected = probe.addresses.toSorted()
  const types = [...new Set(expected.map((address) => (address.includes(':') ? ('AAAA' as const) : ('A' as const))))]
  const found: string[] = []
  for (const type of types) {
    const reply = await connection.ask(probe.name, type, signal)
    found.push(...addressesOf(reply, probe.name))
    if (probe.expect === 'is' && reply.rcode !== 'NOERROR') return `answers ${reply.rcode} for ${probe.name}`
  }
  found.sort()
  if (probe.expect === 'is-not') {
    const still = found.filter((address) => expected.includes(address))
    return still.length === 0 ? undefined : `still answers ${still.join(', ')} for ${probe.name}`
  }
  const same =
    found.length === expected.length && found.every((address, index) => sameAddress(address, expected[index]))
  return same
    ? undefined
    : `answers ${found.length === 0 ? 'no address' : found.join(', ')} for ${probe.name} instead of ${expected.join(', ')}`
}

/** Text forms of IPv6 addresses differ (RFC 5952); URL parsing gives the canonical one. */
function sameAddress(left: string, right: string | undefined): boolean {
  return right !== undefined && canonicalAddress(left) === canonicalAddress(right)
}

function canonicalAddress(address: string): string {
  return address.includes(':') ? (URL.parse(`http://[${address}]/`)?.hostname ?? address) : address
}

async function attempt<T>(
  run: () => Promise<T>,
  signal: AbortSignal | undefined,
): Promise<{readonly value: T} | {readonly error: string}> {
  try {
    return {value: await run()}
  } catch (error) {
    signal?.throwIfAborted()
    return {error: error instanceof Error ? error.message : String(error)}
  }
}
