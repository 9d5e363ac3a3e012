import type {SrcipDocument} from '../model/documents.ts'

export const outputFormats = ['table', 'wide', 'json', 'yaml', 'name', 'diff', 'html', 'junit'] as const
export type OutputFormat = (typeof outputFormats)[number]

export interface ViewOptions {
  readonly wide: boolean
  readonly headers: boolean
  readonly color: boolean
  /** Columns of the terminal; undefined in a pipe, where nothing is ever cut. */
  readonly columns: number | undefined
}

/** How one kind of result looks to a person. json and yaml come from the document itself. */
export interface View<T extends SrcipDocument> {
  table(result: T, options: ViewOptions): string
  /** Lines for `-o name`, each `kind/namespace/name` or the bare name of what has no object. */
  name?(result: T): readonly string[]
  diff?(result: T, options: ViewOptions): string
  /** One file that can be attached to a ticket. */
  html?(result: T): string
  /** JUnit XML for CI systems. */
  junit?(result: T): string
}
