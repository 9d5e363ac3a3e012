const unitMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3, // U+00B5
  μs: 1e-3, // U+03BC
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
}

/**
 * Reads a duration as Go's time.ParseDuration does (`1m30s`, `-1.5h`, `0`).
 * @returns milliseconds, or undefined when the text is no duration or does not fit Go's 64 bits of nanoseconds
 */
export function parseGoDuration(text: string): number | undefined {
  const match = /^([-+]?)(.*)$/s.exec(text)
  const rest = match?.[2] ?? ''
  if (rest === '0') return 0
  if (rest === '') return undefined
  const part = /(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)/y
  let total = 0
  while (part.lastIndex < rest.length) {
    const found = part.exec(rest)
    if (found === null) return undefined
    const [, whole = '', fraction = '', unit = ''] = found
    if (whole === '' && fraction === '') return undefined
    total += Number(`${whole === '' ? '0' : whole}.${fraction === '' ? '0' : fraction}`) * (unitMs[unit] ?? Number.NaN)
  }
  if (!(total <= 2 ** 63 / 1e6)) return undefined
  return match?.[1] === '-' ? 0 - total : total
}

/**
 * Reads `--request-timeout` as kubectl does: a bare whole number is seconds, anything else a Go duration.
 * @returns milliseconds; 0 means no limit; undefined when it is neither, or negative
 */
export function parseRequestTimeout(text: string): number | undefined {
  const ms = /^[-+]?\d+$/.test(text) ? Number(text) * 1000 : parseGoDuration(text)
  return ms === undefined || ms < 0 ? undefined : ms
}
