/**
 * Time as the Kubernetes side of the house sees it. Durations are only ever measured with `now()`, which a set clock or
 * a leap second cannot move (controller.md 4, fault 7); `wall()` is for what is written down or compared with a
 * certificate or a token.
 */
export interface Clock {
  /** Monotonic milliseconds, any origin. */
  now(): number
  /** Milliseconds since 1970, UTC. */
  wall(): number
  /** Calls `run` once after `ms` milliseconds; the returned function cancels it and may be called at any time. */
  after(ms: number, run: () => void): () => void
}

/** The process's own clock. Its timers keep the process alive: whoever waits owns an AbortSignal to end the wait. */
export const systemClock: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
  after: (ms, run) => {
    // setTimeout turns anything above 2^31-1 ms into 1 ms.
    const timer = setTimeout(run, Math.min(ms, 2 ** 31 - 1))
    return () => clearTimeout(timer)
  },
}

/** Resolves after `ms`, or at once with the signal's reason as rejection when it is aborted. */
export async function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted()
  await new Promise<void>((resolve, reject) => {
    const onAbort = (): void => {
      cancel()
      reject(signal?.reason as Error)
    }
    const cancel = clock.after(ms, () => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    })
    signal?.addEventListener('abort', onAbort, {once: true})
  })
}
