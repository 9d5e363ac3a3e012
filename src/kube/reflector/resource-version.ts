const decimal = /^[1-9]\d*$/

/**
 * Compares two resource versions of one resource as KEP-5504 allows: decimals of any length, by length, then as text.
 * @returns negative, zero or positive; undefined when they cannot be compared (an aggregated API with versions of its own)
 */
export function compareResourceVersions(one: string, other: string): number | undefined {
  if (one === other) return 0
  if (!decimal.test(one) || !decimal.test(other)) return undefined
  if (one.length !== other.length) return one.length - other.length
  return one < other ? -1 : 1
}

/** True only when `one` is known to be newer. */
export function isNewer(one: string, other: string): boolean {
  const order = compareResourceVersions(one, other)
  return order !== undefined && order > 0
}
