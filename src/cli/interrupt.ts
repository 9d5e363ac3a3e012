import {setImmediate as turn} from 'node:timers/promises'
import {SrcipError} from '../model/errors.ts'
import {formatDuration} from '../model/duration.ts'

/**
 * One AbortSignal for everything a command does. The first SIGINT or SIGTERM aborts it (the command finishes its request,
 * says where it stopped and exits 130 or 143), a second one ends the process at once; `--timeout` aborts with 124.
 */
export class Interruption {
  readonly #controller = new AbortController()
  readonly #handlers: [NodeJS.Signals, () => void][] = []
  #timer: NodeJS.Timeout | undefined

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Starts listening for signals. Call `release` when the command is over. */
  listen(): void {
    for (const [name, exitCode] of [
      ['SIGINT', 130],
      ['SIGTERM', 143],
    ] as const) {
      const handler = () => {
        if (this.signal.aborted) process.exit(exitCode)
        this.#controller.abort(new SrcipError('Interrupted', `interrupted by ${name}`, {exitCode}))
      }
      process.on(name, handler)
      this.#handlers.push([name, handler])
    }
  }

  /** Aborts after `milliseconds`; 0 means never. */
  limit(milliseconds: number): void {
    if (milliseconds <= 0) return
    this.#timer = setTimeout(() => {
      this.#controller.abort(new SrcipError('Timeout', `gave up after ${formatDuration(milliseconds)} (--timeout)`))
    }, milliseconds)
    this.#timer.unref()
  }

  release(): void {
    clearTimeout(this.#timer)
    for (const [name, handler] of this.#handlers.splice(0)) process.off(name, handler)
  }
}

/**
 * Between two long stretches of pure work: takes in a signal that came meanwhile, and throws it. Two turns, since the first
 * may end before the event loop polls for signals again.
 */
export async function heedSignals(signal: AbortSignal): Promise<void> {
  await turn()
  await turn()
  signal.throwIfAborted()
}
