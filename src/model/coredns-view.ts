import type {Static} from 'typebox'
import type {DeepReadonly} from './deep-readonly.ts'
import type {
  blockSchema,
  corednsLintSchema,
  corednsQuerySchema,
  corednsShowSchema,
  findingSchema,
  podAnswerSchema,
  rewriteSchema,
} from './schemas/coredns-view.ts'

/** What show, query and lint print; what each field means stands in the schemas. */
export type CorednsRewrite = DeepReadonly<Static<typeof rewriteSchema>>
export type CorednsBlock = DeepReadonly<Static<typeof blockSchema>>
export type CorednsShow = DeepReadonly<Static<typeof corednsShowSchema>>
export type PodAnswer = DeepReadonly<Static<typeof podAnswerSchema>>
export type CorednsQuery = DeepReadonly<Static<typeof corednsQuerySchema>>
export type CorednsFinding = DeepReadonly<Static<typeof findingSchema>>
export type CorednsLint = DeepReadonly<Static<typeof corednsLintSchema>>
