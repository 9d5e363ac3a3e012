import type {Static} from 'typebox'
import type {DeepReadonly} from './deep-readonly.ts'
import type {errorSchema} from './schemas/error.ts'
import type {versionSchema} from './schemas/version.ts'

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
export type ErrorDocument = DeepReadonly<Static<typeof errorSchema>>

/** What `version` prints. */
export type VersionDocument = DeepReadonly<Static<typeof versionSchema>>
