import type {Static} from 'typebox'
import type {DeepReadonly} from './deep-readonly.ts'
import type {SrcipDocument} from './documents.ts'
import type {
  mirrorArchiveSchema,
  mirrorNodeConfigSchema,
  mirrorPlanSchema,
  mirrorResultSchema,
  mirrorValuesSchema,
  mirrorVerificationSchema,
  planItem,
} from './schemas/mirror.ts'

/** The documents of `mirror`; src/model/schemas/mirror.ts is the source. */
export type MirrorPlan = SrcipDocument & DeepReadonly<Static<typeof mirrorPlanSchema>>
export type PlanItem = DeepReadonly<Static<typeof planItem>>
export type PlanExtra = PlanItem['extras'][number]

export type MirrorResult = SrcipDocument & DeepReadonly<Static<typeof mirrorResultSchema>>
export type MirrorItemResult = MirrorResult['items'][number]

export type MirrorVerification = SrcipDocument & DeepReadonly<Static<typeof mirrorVerificationSchema>>
export type MirrorCheck = MirrorVerification['items'][number]

export type MirrorArchive = SrcipDocument & DeepReadonly<Static<typeof mirrorArchiveSchema>>

export type MirrorFiles = SrcipDocument &
  DeepReadonly<Static<typeof mirrorValuesSchema> | Static<typeof mirrorNodeConfigSchema>>
