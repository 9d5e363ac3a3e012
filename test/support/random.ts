/** Repeatable random numbers: the same seed gives the same sequence on every machine (mulberry32). */
export interface Random {
  /** 0 <= value < 1. */
  next(): number
  /** 0 <= value < limit, whole. */
  below(limit: number): number
  chance(probability: number): boolean
  pick<T>(list: readonly T[]): T
}

export function seeded(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
  const below = (limit: number): number => Math.floor(next() * limit)
  return {
    next,
    below,
    chance: (probability) => next() < probability,
    pick: (list) => {
      const index = below(list.length)
      if (list.length === 0) throw new Error('cannot pick from an empty list')
      return list[index] as never
    },
  }
}
