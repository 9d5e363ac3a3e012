import type {CorednsVersion} from '../types.ts'

/** What setup code of a plugin knows of its server block. */
export interface SetupContext {
  readonly version: CorednsVersion
  /** Zones of the block's keys, normalised, CIDR keys expanded. */
  readonly zones: readonly string[]
  /** Argument of the `root` plugin, '' without it. */
  readonly root: string
  /** Pattern that could not be judged, and why. Setup goes on as if it were right; the caller reports it. */
  readonly unclear: (what: string, line: number, file: string) => void
}
