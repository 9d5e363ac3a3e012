/** Peers of one row that are named; the count holds all of them. */
const named = 5

/** Of peers and how often each was seen: the most frequent ones, and how often all were. */
export function mostFrequent(seen: ReadonlyMap<string, number>): {
  readonly peers: readonly string[]
  readonly count: number
} {
  return {
    peers: [...seen]
      .toSorted(([, a], [, b]) => b - a)
      .slice(0, named)
      .map(([peer]) => peer),
    count: [...seen.values()].reduce((sum, count) => sum + count, 0),
  }
}
