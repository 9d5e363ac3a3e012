import type {Static} from 'typebox'
import type {SrcipDocument} from './documents.ts'
import type {cleanupReportSchema} from './schemas/cleanup-report.ts'

/** What `cleanup` prints; src/model/schemas/cleanup-report.ts is the source. */
export type CleanupReport = SrcipDocument & Static<typeof cleanupReportSchema>

/** What became of one object of ours. */
export type CleanedObject = CleanupReport['objects'][number]
