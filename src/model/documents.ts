/** The group and version of every document that this product prints or reads. */
export const apiVersion = 'srcip.dev/v1alpha1'

/** The frame around every result on stdout with `-o json|yaml` (design.md 3, Documents). */
export interface SrcipDocument {
  readonly apiVersion: typeof apiVersion
  readonly kind: string
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly exitCode: number
  readonly changed: boolean
  readonly warnings: readonly string[]
}

/** What stdout gets instead of a result when a command fails with `-o json|yaml`. */
export interface ErrorDocument extends SrcipDocument {
  readonly kind: 'Error'
  readonly code: string
  readonly message: string
  readonly object?: string
  readonly hints: readonly string[]
}
