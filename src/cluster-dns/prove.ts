import type {DnsProof, PodProof} from '../model/coredns-plan.ts'
import type {EventSink} from '../model/events.ts'
import {sleep, systemClock, type Clock} from '../kube/index.ts'
import type {DnsPod} from '../platforms/dns/locate.ts'
import type {PodAccess} from './pod-access.ts'
import {observePod, type PodBaseline, type PodObservation} from './observe.ts'
import type {DnsProbe} from './types.ts'

export interface ProveOptions {
  readonly access: PodAccess
  /** Pods behind the DNS Service now; asked anew in every round, so that a pod that comes or goes is seen. */
  readonly pods: (signal?: AbortSignal) => Promise<readonly DnsPod[]>
  /** After a restart: pods that started before it and cannot have the change. They are waited for until they are gone. */
  readonly stale?: ReadonlySet<string>
  /** SHA-512 that every pod must report; null when it cannot be predicted: then the probes and a clean log decide. */
  readonly hash: string | null
  readonly probes: readonly DnsProbe[]
  /** What the pods reported before the write, by `NAMESPACE/NAME`; a pod that is not in it is new. */
  readonly baseline: ReadonlyMap<string, PodBaseline>
  /** `clock.now()` of the write; undefined: nothing was written, only the answers are checked. */
  readonly writtenAt?: number | undefined
  /** Default 180 s (design.md 5: kubelet sync + reload interval and jitter). */
  readonly verifyTimeoutMs?: number
  /** Default 2 s. */
  readonly intervalMs?: number
  readonly clock?: Clock
  readonly signal?: AbortSignal | undefined
  readonly onEvent?: EventSink
}

export const defaultVerifyTimeoutMs = 180_000
const defaultIntervalMs = 2000

/**
 * Waits until every counting pod has taken the change, or until there is evidence against it. Evidence (design.md 5, "Undone"):
 * the failed-reload counter rose; a parse or reload error in the log; a pod that answers DNS, but not the new answer, when the
 * time is up. A pod that cannot be asked is no evidence: it is `unconfirmed`, never `done`.
 * Throws only what the signal throws.
 */
export async function proveChange(options: ProveOptions): Promise<DnsProof> {
  const clock = options.clock ?? systemClock
  const start = clock.now()
  const deadline = start + (options.verifyTimeoutMs ?? defaultVerifyTimeoutMs)
  const done = new Map<string, PodProof>()
  let last = new Map<string, PodObservation>()
  let listing: string | undefined
  for (;;) {
    options.signal?.throwIfAborted()
    const pods = await options.pods(options.signal).catch((error: unknown) => {
      options.signal?.throwIfAborted()
      listing = `the pods could not be listed: ${messageOf(error)}`
      return undefined
    })
    if (pods !== undefined) {
      listing = undefined
      const counting = pods.filter((pod) => pod.counting)
      const waiting = counting.filter((pod) => !done.has(idOf(pod)))
      last = new Map(
        await Promise.all(
          waiting.map(async (pod): Promise<[string, PodObservation]> => [
            idOf(pod),
            await observe(pod, options, clock),
          ]),
        ),
      )
      for (const pod of waiting) {
        const seen = last.get(idOf(pod))
        if (seen === undefined) continue
        if (seen.failure !== undefined) return failed(pod, seen.failure, pods, done, last)
        if (options.stale?.has(idOf(pod)) === true || !isDone(seen, options)) continue
        const afterMs = Math.round(clock.now() - (options.writtenAt ?? start))
        done.set(idOf(pod), {namespace: pod.namespace, name: pod.name, verdict: 'done', afterMs})
        options.onEvent?.({
          type: 'step-progress',
          step: 'verify',
          message: `pod/${pod.namespace}/${pod.name} answers with the change`,
          done: counting.filter((entry) => done.has(idOf(entry))).length,
          total: counting.length,
        })
      }
      // a pod set that is empty proves nothing
      if (counting.length > 0 && counting.every((pod) => done.has(idOf(pod))))
        return {verdict: 'done', pods: counting.map((pod) => proofOf(pod, done))}
      if (clock.now() >= deadline) return judge(counting, done, last, options.stale ?? new Set())
    } else if (clock.now() >= deadline) {
      return {
        verdict: 'unconfirmed',
        pods: [
          ...done.values(),
          ...(listing === undefined
            ? []
            : [{namespace: '', name: '', verdict: 'unconfirmed' as const, reason: listing}]),
        ],
      }
    }
    await sleep(
      clock,
      Math.min(options.intervalMs ?? defaultIntervalMs, Math.max(1, deadline - clock.now())),
      options.signal,
    )
  }
}

function observe(pod: DnsPod, options: ProveOptions, clock: Clock): Promise<PodObservation> {
  const sinceSeconds = options.writtenAt === undefined ? undefined : (clock.now() - options.writtenAt) / 1000 + 1
  return observePod(options.access, pod, {
    baseline: options.baseline.get(idOf(pod)),
    probes: options.probes,
    hash: options.hash,
    sinceSeconds,
    signal: options.signal,
  })
}

/** Hash seen and probes right; where nothing was written, or the hash is unknown, the answers alone count. */
function isDone(seen: PodObservation, options: ProveOptions): boolean {
  const hash = options.hash === null || options.writtenAt === undefined || seen.hash === 'seen'
  return hash && seen.probe === 'right'
}

/** The time is up. Only a pod that spoke and spoke wrongly is evidence. */
function judge(
  counting: readonly DnsPod[],
  done: ReadonlyMap<string, PodProof>,
  last: ReadonlyMap<string, PodObservation>,
  stale: ReadonlySet<string>,
): DnsProof {
  const pods = counting.map((pod): PodProof => {
    const finished = done.get(idOf(pod))
    if (finished !== undefined) return finished
    const seen = last.get(idOf(pod))
    const name = {namespace: pod.namespace, name: pod.name}
    if (seen?.probe === 'wrong')
      return {...name, verdict: 'failed', reason: seen.probeReason ?? 'does not give the new answer'}
    if (seen?.probe === 'right' && stale.has(idOf(pod)))
      return {...name, verdict: 'unconfirmed', reason: 'has not been replaced by the restart yet'}
    if (seen?.probe === 'right')
      return {
        ...name,
        verdict: 'unconfirmed',
        reason: seen.hashReason ?? 'answers right, but its configuration hash could not be read',
      }
    return {...name, verdict: 'unconfirmed', reason: seen?.probeReason ?? 'could not be asked'}
  })
  if (pods.length === 0) {
    return {
      verdict: 'unconfirmed',
      pods: [{namespace: '', name: '', verdict: 'unconfirmed', reason: 'no pod behind the DNS Service is Ready'}],
    }
  }
  const verdict = pods.some((pod) => pod.verdict === 'failed') ? 'failed' : 'unconfirmed'
  return {verdict, pods}
}

function failed(
  pod: DnsPod,
  reason: string,
  pods: readonly DnsPod[],
  done: ReadonlyMap<string, PodProof>,
  last: ReadonlyMap<string, PodObservation>,
): DnsProof {
  return {
    verdict: 'failed',
    pods: pods
      .filter((entry) => entry.counting)
      .map((entry): PodProof => {
        const name = {namespace: entry.namespace, name: entry.name}
        if (entry === pod) return {...name, verdict: 'failed', reason}
        const other = last.get(idOf(entry))?.failure
        if (other !== undefined) return {...name, verdict: 'failed', reason: other}
        return done.get(idOf(entry)) ?? {...name, verdict: 'unconfirmed', reason: 'was not waited for'}
      }),
  }
}

function proofOf(pod: DnsPod, done: ReadonlyMap<string, PodProof>): PodProof {
  return done.get(idOf(pod)) ?? {namespace: pod.namespace, name: pod.name, verdict: 'unconfirmed'}
}

function idOf(pod: DnsPod): string {
  return `${pod.namespace}/${pod.name}`
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
