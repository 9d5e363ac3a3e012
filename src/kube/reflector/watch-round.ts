import {KubeFailure} from '../failures/failure.ts'
import type {Clock} from '../clock.ts'
import type {KubeClient, Resource, WatchEvent} from '../types.ts'
import {IdleTimer} from './idle-timer.ts'

/** How one watch ended, when it was not by a failure. */
export type WatchEnd =
  /** The server ended the stream in good order. */
  | 'end'
  /** It ended at once, with nothing new said. */
  | 'short'
  /** It had lived, and the connection broke: what a balancer on the way does to a stream that it finds idle. */
  | 'cut'
  /** Our idle limit ended it. */
  | 'idle'
  /** The stream ended, or fell silent, before it said that the initial objects are complete. */
  | 'no-end-mark'
  /** We ended it ourselves, to open another. */
  | 'replaced'

export interface WatchRoundOptions {
  readonly client: KubeClient
  readonly clock: Clock
  readonly resource: Resource
  readonly namespace?: string | undefined
  readonly labelSelector?: string | undefined
  readonly fieldSelector?: string | undefined
  readonly resourceVersion: string | undefined
  /** Ask for the present objects first (WatchList). */
  readonly initial: boolean
  readonly timeoutSeconds: number
  readonly initialIdleMs: number
  /** Asked for each time the timer is armed, since it changes with what is known of the source. */
  readonly idleMs: () => number
  readonly signal: AbortSignal
  /** Aborted to have the stream replaced. */
  readonly replace: AbortSignal
  readonly onOpen: () => void
  readonly onBytes: (live: boolean) => void
  /** An event of the initial phase, or a live one. */
  readonly onInitial: (event: WatchEvent) => void
  /** The initial objects are complete as of this version. */
  readonly onComplete: (resourceVersion: string) => void
  /** @returns whether it brought anything new */
  readonly onEvent: (event: WatchEvent) => boolean
}

const endMark = 'k8s.io/initial-events-end'
const shortMs = 1000

/**
 * Runs one watch from its request to its end.
 * @throws KubeFailure for what the server or the network did; the caller's own abort comes out as kind `aborted`
 */
export async function watchRound(options: WatchRoundOptions): Promise<WatchEnd> {
  const {client, clock, signal} = options
  const controller = new AbortController()
  let ended: WatchEnd | undefined
  const idle = new IdleTimer(clock, () => {
    ended = live ? 'idle' : 'no-end-mark'
    controller.abort()
  })
  const onStop = (): void => controller.abort(signal.reason)
  const onReplace = (): void => {
    ended = 'replaced'
    controller.abort()
  }
  signal.addEventListener('abort', onStop, {once: true})
  options.replace.addEventListener('abort', onReplace, {once: true})
  let live = !options.initial
  let progress = false
  let openedAt = Infinity
  const limit = (): number => (live ? options.idleMs() : options.initialIdleMs)
  idle.arm(limit())
  try {
    signal.throwIfAborted()
    const watch = client.watch(options.resource, {
      namespace: options.namespace,
      labelSelector: options.labelSelector,
      fieldSelector: options.fieldSelector,
      resourceVersion: options.resourceVersion,
      sendInitialEvents: options.initial,
      timeoutSeconds: options.timeoutSeconds,
      // The idle timer above is the limit; a proxy may hold the headers back until the first event.
      headersTimeoutMs: 0,
      signal: controller.signal,
      onOpen: () => {
        openedAt = clock.now()
        options.onOpen()
      },
      onBytes: () => {
        idle.arm(limit())
        options.onBytes(live)
      },
    })
    for await (const event of watch) {
      if (live) progress = options.onEvent(event) || progress
      else if (isEndMark(event)) {
        live = true
        progress = true
        options.onComplete(event.object.metadata.resourceVersion ?? '')
        // The start-up limit is shorter, and the next byte may be a minute away.
        idle.arm(limit())
      } else options.onInitial(event)
    }
  } catch (error) {
    if (signal.aborted || !(error instanceof KubeFailure)) throw error
    if (ended !== undefined && error.kind === 'aborted') return ended
    const lived = live && (progress || clock.now() - openedAt >= shortMs)
    if (error.kind === 'transport' && lived) return 'cut'
    throw error
  } finally {
    idle.stop()
    signal.removeEventListener('abort', onStop)
    options.replace.removeEventListener('abort', onReplace)
    // Ends the request when a handler threw.
    controller.abort()
  }
  if (ended !== undefined) return ended
  if (!live) return 'no-end-mark'
  return !progress && clock.now() - openedAt < shortMs ? 'short' : 'end'
}

function isEndMark(event: WatchEvent): boolean {
  return event.type === 'BOOKMARK' && event.object.metadata.annotations?.[endMark] === 'true'
}
