/**
 * Empty when a series has not grown: its last quarter stays within a bound that the second quarter sets (the first is
 * the time in which caches fill).
 */
export function judgeFlat(name: string, series: readonly number[], bound: {factor: number; more: number}): string {
  const quarter = Math.floor(series.length / 4)
  if (quarter === 0) return ''
  const before = medianOf(series.slice(quarter, 2 * quarter))
  const after = medianOf(series.slice(-quarter))
  const limit = before * bound.factor + bound.more
  return after <= limit ? '' : `${name} grew from ${before} to ${after}, more than ${limit}: ${series.join(' ')}`
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)] ?? 0
}
