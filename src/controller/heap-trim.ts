import {setFlagsFromString} from 'node:v8'
import {runInNewContext} from 'node:vm'

type Collect = (options?: {type: 'major'; execution: 'sync'; flavor: 'last-resort'}) => void

/** Below this there is nothing worth the pause. */
const worthBytes = 40 * 1024 * 1024

/**
 * Has V8 interpret and not compile: a controller works for some milliseconds now and then, and what the compilers keep for
 * that (feedback, code) is 11 MB of 105 with 5,000 Ingresses. It costs some 7 % more CPU. Takes effect for code that has not run hot yet.
 */
export function interpretOnly(): void {
  for (const flag of ['--no-sparkplug', '--no-maglev', '--no-opt']) setFlagsFromString(flag)
}

/**
 * Gives memory back after work that has used much of it for a moment: planning 10,000 names makes some 60 MB of garbage
 * that V8 would keep for years in a process that is idle for the rest of the day. Takes some 30 ms; does nothing on a
 * small heap, nor where V8 offers no collector.
 */
export function createHeapTrim(): () => void {
  let collect: Collect | undefined
  try {
    // Collect early rather than grow: read by V8 at each collection, so it may be set while we run.
    setFlagsFromString('--optimize-for-size')
    setFlagsFromString('--expose-gc')
    collect = runInNewContext('gc') as Collect | undefined
    setFlagsFromString('--no-expose-gc')
  } catch {
    return () => undefined
  }
  return () => {
    if (process.memoryUsage().heapTotal > worthBytes)
      collect?.({type: 'major', execution: 'sync', flavor: 'last-resort'})
  }
}
