import type {Static} from 'typebox'
import type {DeepReadonly} from './deep-readonly.ts'
import type {doctorReportSchema} from './schemas/doctor-report.ts'

/** What `doctor` prints; src/model/schemas/doctor-report.ts is the source. */
export type DoctorReport = DeepReadonly<Static<typeof doctorReportSchema>>

/** One way in: a port of a Service that is reachable from outside. */
export type WayIn = DoctorReport['paths'][number]

/** One station between client and application. */
export type Hop = WayIn['hops'][number]

export type Verdict = WayIn['outside']

/** How well a statement about somebody else's software is founded. */
export type Grade = Verdict['grade']

export type Finding = DoctorReport['findings'][number]

/** Worst first, for sorting. */
export const severityRank: Readonly<Record<Finding['severity'], number>> = {error: 0, warning: 1, info: 2}

export type Remedy = Finding['remedies'][number]
