import type {Clock} from './clock.ts'

/** Writes one event: `kind` groups lines of the same sort, `message` names the object and the reason. */
export type Log = (kind: string, message: string) => void

/** Lines of one kind that are written in a window; the rest is counted. */
const burst = 50
/** Milliseconds. */
const window = 10_000

/**
 * Keeps a flood of equal events (a connection storm, a scanner) from filling the disk: at most 50 lines of a kind in 10 seconds, then one that says how many
 * were left out.
 */
export function limitLog(clock: Clock, write: Log): Log {
  const seen = new Map<string, {start: number; count: number}>()
  return (kind, message) => {
    const now = clock.now()
    const entry = seen.get(kind)
    if (!entry || now - entry.start >= window) {
      if (entry && entry.count > burst)
        write(kind, `${entry.count - burst} more lines of the kind ${kind} were left out`)
      seen.set(kind, {start: now, count: 1})
      write(kind, message)
      return
    }
    entry.count++
    if (entry.count <= burst) write(kind, message)
  }
}

/** One JSON line for each event, as log collectors in a cluster read them. */
export function jsonLog(
  write: (line: string) => void,
  now: () => Date = () => new Date(),
  component: 'proxy' | 'whoami' = 'proxy',
): Log {
  return (kind, message) => write(`${JSON.stringify({time: now().toISOString(), component, event: kind, message})}\n`)
}
