import type {Static} from 'typebox'
import type {DeepReadonly} from './deep-readonly.ts'
import type {statusReportSchema} from './schemas/status-report.ts'

/** What `status` prints; src/model/schemas/status-report.ts is the source. */
export type StatusReport = DeepReadonly<Static<typeof statusReportSchema>>

export type StatusRow = StatusReport['rows'][number]
