import type {MetadataShape} from './metadata.ts'
import type {ShapeFields} from './shape.ts'

/** One kind of a snapshot: how it is found in the API and what is kept of it. */
export interface SnapshotKind {
  readonly group: string
  /** Versions that the shape fits, best first. */
  readonly versions: readonly string[]
  readonly plural: string
  readonly kind: string
  readonly namespaced: boolean
  /**
   * `all`: listed whole. `chosen`: listed, or asked for by labels, and only what matters is kept. `named`: asked for by
   * name. `never`: only taken from files.
   */
  readonly read: 'all' | 'chosen' | 'named' | 'never'
  /** Part of every cluster; the others are asked for only where discovery shows them. */
  readonly builtIn: boolean
  readonly metadata: MetadataShape
  readonly fields: ShapeFields
}
