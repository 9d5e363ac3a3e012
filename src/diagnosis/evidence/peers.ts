/** Peers of one row that are named; the count holds all of them. */
const named = 5
/** Different peers that are told apart; those that come later are counted and not named. */
const toldApart = 20_000

/** Peers of one row, and how often each was seen. Its size does not grow with the log. */
export class PeerCount {
  readonly #seen = new Map<string, number>()
  #count = 0

  /** Counts one more. */
  add(peer: string): void {
    this.#count++
    const before = this.#seen.get(peer)
    if (before !== undefined || this.#seen.size < toldApart) this.#seen.set(peer, (before ?? 0) + 1)
  }

  /** The most frequent ones, and how often all were seen. */
  most(): {readonly peers: readonly string[]; readonly count: number} {
    return {
      peers: [...this.#seen]
        .toSorted(([, a], [, b]) => b - a)
        .slice(0, named)
        .map(([peer]) => peer),
      count: this.#count,
    }
  }
}
