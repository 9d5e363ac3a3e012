import type {Static} from 'typebox'
import type {DeepReadonly} from './deep-readonly.ts'
import type {
  corednsPlanSchema,
  editSchema,
  hostSchema,
  refusalSchema,
  sourceSchema,
  targetSchema,
} from './schemas/coredns-plan.ts'
import type {corednsResultSchema, podProofSchema} from './schemas/coredns-result.ts'

/** The documents of cluster DNS; what each field means stands in the schemas. */
export type CorednsSource = DeepReadonly<Static<typeof sourceSchema>>
export type CorednsTarget = DeepReadonly<Static<typeof targetSchema>>
export type CorednsHost = DeepReadonly<Static<typeof hostSchema>>
export type CorednsRefusal = DeepReadonly<Static<typeof refusalSchema>>
export type CorednsEdit = DeepReadonly<Static<typeof editSchema>>
export type CorednsPlan = DeepReadonly<Static<typeof corednsPlanSchema>>
export type CorednsResult = DeepReadonly<Static<typeof corednsResultSchema>>
export type PodProof = DeepReadonly<Static<typeof podProofSchema>>
export type PodVerdict = PodProof['verdict']

/** One text before and after; `null` is absent. */
export interface CorednsTextChange {
  readonly source: string
  readonly key: string
  readonly before: string | null
  readonly after: string | null
}

/** `done`: every counting pod is. `failed`: there is evidence against the change. `unconfirmed`: neither. */
export interface DnsProof {
  readonly verdict: PodVerdict
  readonly pods: readonly PodProof[]
}
