import {readBaseline} from '../cluster-dns/observe.ts'
import type {PodBaseline} from '../cluster-dns/observe.ts'
import type {PodAccess} from '../cluster-dns/pod-access.ts'
import type {Clock} from '../kube/index.ts'

/** A CoreDNS pod as cluster-dns knows it. */
export type DnsPod = Parameters<typeof readBaseline>[1][number]

/** How long a pod is asked for its counters before a write. */
const patienceMs = 3000
/** The same while the process starts, when the first write waits for nothing else. */
const soundingMs = 1000
/** The same for a pod that did not answer the last time: it has had its time. */
const impatienceMs = 400

/**
 * Reads the counters of the pods before each write, and does not let a pod that cannot be asked hold the write up twice.
 * Such a pod gets no baseline: its metrics then prove nothing, and unless its log speaks it ends as `unconfirmed`.
 * Counters are always read anew; only the knowledge who is silent is kept.
 */
export class PodBaselines {
  readonly #clock: Clock
  readonly #silent = new Set<string>()
  #sounded: Promise<unknown> | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Finds out once, beside other work, which pods are silent. Never rejects. */
  sound(access: () => PodAccess, pods: readonly DnsPod[], signal: AbortSignal): void {
    this.#sounded ??= this.#ask(access(), pods, signal, soundingMs).catch(() => undefined)
  }

  /** What each pod reports now, by `NAMESPACE/NAME`, without those that do not answer in time. */
  async read(access: PodAccess, pods: readonly DnsPod[], signal: AbortSignal): Promise<Map<string, PodBaseline>> {
    await this.#sounded
    return await this.#ask(access, pods, signal, patienceMs)
  }

  async #ask(
    access: PodAccess,
    pods: readonly DnsPod[],
    signal: AbortSignal,
    limitMs: number,
  ): Promise<Map<string, PodBaseline>> {
    signal.throwIfAborted()
    const found = new Map<string, PodBaseline>()
    await Promise.all(
      pods.map(async (pod) => {
        const id = `${pod.namespace}/${pod.name}`
        const end = new AbortController()
        const cancel = this.#clock.after(this.#silent.has(id) ? impatienceMs : limitMs, () => end.abort())
        try {
          const baseline = (await readBaseline(access, [pod], AbortSignal.any([signal, end.signal]))).get(id)
          if (baseline !== undefined) found.set(id, baseline)
          // A pod without `prometheus` answers at once, and is not silent.
          this.#silent.delete(id)
        } catch (error) {
          if (!end.signal.aborted) throw error
          this.#silent.add(id)
        } finally {
          cancel()
        }
      }),
    )
    for (const id of this.#silent)
      if (!pods.some((pod) => `${pod.namespace}/${pod.name}` === id)) this.#silent.delete(id)
    return found
  }
}
