import type {Static} from 'typebox'
import type {DeepReadonly} from './deep-readonly.ts'
import type {verifyReportSchema} from './schemas/verify-report.ts'

/** What `verify` prints; src/model/schemas/verify-report.ts is the source. */
export type VerifyReport = DeepReadonly<Static<typeof verifyReportSchema>>

/** One question that was put to the real thing, and what came of it. */
export type VerifyCheck = VerifyReport['checks'][number]
