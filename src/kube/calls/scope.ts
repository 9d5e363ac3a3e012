import type {Clock} from '../clock.ts'

/** The life of one call: it ends at its time limit, when the caller wants, or with the client. */
export interface CallScope {
  readonly signal: AbortSignal
  /** True when it was our time limit that ended it. */
  expired(): boolean
  /** Milliseconds until the limit; Infinity without one. */
  remaining(): number
  /** Takes the time limit away (the headers of a stream have come), keeps the rest. */
  lift(): void
  /** Must be called when the call is over: the outer signals live longer than it. */
  dispose(): void
}

/** Joins a time limit (milliseconds; 0 is none) and the caller's signals. AbortSignal.any keeps its sources alive for too long. */
export function openScope(clock: Clock, limitMs: number, ...outer: readonly (AbortSignal | undefined)[]): CallScope {
  const controller = new AbortController()
  let expired = false
  const cancels: (() => void)[] = []
  for (const signal of outer) {
    if (signal === undefined) continue
    if (signal.aborted) controller.abort(signal.reason)
    const onAbort = (): void => controller.abort(signal.reason)
    signal.addEventListener('abort', onAbort, {once: true})
    cancels.push(() => signal.removeEventListener('abort', onAbort))
  }
  const until = limitMs > 0 ? clock.now() + limitMs : Number.POSITIVE_INFINITY
  const stopTimer =
    limitMs > 0
      ? clock.after(limitMs, () => {
          expired = true
          controller.abort(new Error('time limit'))
        })
      : (): void => undefined
  return {
    signal: controller.signal,
    expired: () => expired,
    remaining: () => until - clock.now(),
    lift: stopTimer,
    dispose: () => {
      stopTimer()
      for (const cancel of cancels) cancel()
    },
  }
}
