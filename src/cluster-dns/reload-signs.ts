/** What a CoreDNS pod says about its configuration through metrics and log (corefile.md 8). Pure readers of text. */

export interface ReloadMetrics {
  /** `coredns_reload_failed_total`, summed; undefined when the metric is absent. */
  readonly failedTotal?: number
  /**
   * `coredns_reload_version_info{value}` lower case. Absent after a process start; carries the new hash already when the reload
   * then fails, so it proves nothing without the counter. With several series the one with value 1.
   */
  readonly hash?: string
}

/** Reads the two reload metrics out of a Prometheus text exposition. Lines that do not parse are passed over. */
export function readReloadMetrics(exposition: string): ReloadMetrics {
  let failedTotal: number | undefined
  let hash: string | undefined
  for (const line of exposition.split('\n')) {
    if (line.startsWith('coredns_reload_failed_total')) {
      const value = Number(/^coredns_reload_failed_total(?:\{[^}]*\})?\s+(\S+)/.exec(line)?.[1])
      if (Number.isFinite(value)) failedTotal = (failedTotal ?? 0) + value
    } else if (line.startsWith('coredns_reload_version_info{')) {
      const match = /^coredns_reload_version_info\{([^}]*)\}\s+(\S+)/.exec(line)
      if (match === null || Number(match[2]) !== 1) continue
      hash = /(?:^|,)value="([0-9a-fA-F]+)"/.exec(match[1] ?? '')?.[1]?.toLowerCase() ?? hash
    }
  }
  return {...(failedTotal === undefined ? {} : {failedTotal}), ...(hash === undefined ? {} : {hash})}
}

export interface ReloadLog {
  /** Hashes of `Running configuration SHA512 = …`, in the order of the log; the last one is what runs. */
  readonly hashes: readonly string[]
  /** Lines that say a Corefile was refused, in the order of the log, as they stand there. */
  readonly errors: readonly string[]
}

const refusals = [
  /plugin\/reload: Corefile parse failed/,
  /plugin\/reload: Corefile changed but reload failed/,
  /\[ERROR\] Restart failed/,
]

/** Longest piece of a log line that goes into a message. */
const excerptLength = 400

/** A log line for a message: without the time that kubelet puts in front, without control characters, not too long. */
export function excerptOf(line: string): string {
  return line
    .replace(/^\d{4}-\d\d-\d\dT\S+ /, '')
    .replace(/[^\x20-\x7e]/g, '?')
    .slice(0, excerptLength)
}

/** Reads a pod's log. Errors before the last good reload are history and are left out. */
export function readReloadLog(log: string): ReloadLog {
  const hashes: string[] = []
  let errors: string[] = []
  for (const line of log.split('\n')) {
    const hash = /Running configuration (?:SHA512|MD5) = ([0-9a-fA-F]+)/.exec(line)?.[1]
    if (hash !== undefined) {
      hashes.push(hash.toLowerCase())
      errors = []
    } else if (refusals.some((pattern) => pattern.test(line))) {
      errors.push(line)
    }
  }
  return {hashes, errors}
}
