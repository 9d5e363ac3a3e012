/** One line of a bench: what was done, what we needed, what the peer needed in the same run. */
export interface BenchRow {
  readonly work: string
  readonly ours: string
  readonly peer: string
  /** Ours divided by the peer's; undefined where the peer is missing, which `peer` then says by name. */
  readonly ratio: number | undefined
  /** What design.md 9 or an issue asks for, in words; never asserted. */
  readonly goal: string
}

export interface Bench {
  readonly title: string
  run(progress: (line: string) => void): Promise<readonly BenchRow[]>
}

/** Median of measured values; throws on none, since a figure nobody measured is no figure. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted[Math.floor((sorted.length - 1) / 2)]
  if (middle === undefined) throw new Error('nothing was measured')
  return middle
}

/**
 * Runs the two in turn (A B A B …), so that a machine that slows down slows both, and returns the medians.
 * Values are whatever the functions return, usually milliseconds.
 */
export async function interleave(
  rounds: number,
  ours: () => Promise<number> | number,
  peer: () => Promise<number> | number,
): Promise<{ours: number; peer: number; ratio: number}> {
  const a: number[] = []
  const b: number[] = []
  for (let round = 0; round < rounds; round++) {
    a.push(await ours())
    b.push(await peer())
  }
  return {ours: median(a), peer: median(b), ratio: median(a.map((value, index) => value / (b[index] as number)))}
}

/** Milliseconds that `work` takes on the wall clock. */
export async function timed(work: () => unknown): Promise<number> {
  const started = performance.now()
  await work()
  return performance.now() - started
}
