const units: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
}

/**
 * Reads a duration as kubectl's flags do (Go's time.ParseDuration): `1h30m`, `250ms`, `1.5s`, and `0` without a unit.
 * Returns milliseconds, or undefined if the text is not a duration. A sign is refused: no flag of ours counts backwards.
 */
export function parseDuration(text: string): number | undefined {
  if (text === '0') return 0
  if (!/^(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+$/.test(text)) return undefined
  let total = 0
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/g)) {
    total += Number(amount) * (units[unit as string] as number)
  }
  return Number.isFinite(total) ? total : undefined
}

/** Writes milliseconds the way people read them in logs: `250ms`, `3.2s`, `2m05s`, `1h02m`. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)}ms`
  const seconds = milliseconds / 1000
  if (seconds < 59.95) return `${seconds.toFixed(1).replace('.0', '')}s`
  const whole = Math.round(seconds)
  const minutes = Math.floor(whole / 60)
  if (minutes < 60) return `${minutes}m${String(whole % 60).padStart(2, '0')}s`
  return `${Math.floor(minutes / 60)}h${String(minutes % 60).padStart(2, '0')}m`
}
