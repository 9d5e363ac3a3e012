import type {ShapeFields} from './shape.ts'

/** Custom resources of one API group. */
export interface Row {
  readonly group: string
  readonly versions: readonly string[]
  readonly kinds: Readonly<Record<string, readonly [kind: string, fields: ShapeFields]>>
  /** These of `kinds` belong to the whole cluster. */
  readonly clusterWide?: readonly string[]
}

/** A reference to another object. */
export const target: ShapeFields = {
  group: 'scalar',
  kind: 'scalar',
  name: 'scalar',
  namespace: 'scalar',
  sectionName: 'scalar',
}

/** A label selector. */
export const selector: ShapeFields = {matchLabels: 'pairs', matchExpressions: 'tree'}
