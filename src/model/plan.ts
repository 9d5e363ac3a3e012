import type {Static} from 'typebox'
import type {DeepReadonly} from './deep-readonly.ts'
import type {planSchema} from './schemas/plan.ts'
import type {runListSchema, runResultSchema} from './schemas/run-result.ts'

/** An ordered change of a cluster, before it is made; src/model/schemas/plan.ts is the source. */
export type Plan = DeepReadonly<Static<typeof planSchema>>
export type PlanStep = Plan['steps'][number]
export type PlanOperation = PlanStep['operation']
export type PlanProof = PlanStep['proofs'][number]
export type PlanOrder = Plan['orders'][number]
export type PlanCut = PlanOrder['cuts'][number]

export type PatchOperation = Extract<PlanOperation, {op: 'patch'}>
export type ApplyOperation = Extract<PlanOperation, {op: 'apply'}>
export type DeleteOperation = Extract<PlanOperation, {op: 'delete'}>
export type DnsOperation = Extract<PlanOperation, {op: 'dns'}>
export type PlanObject = PatchOperation['object']
export type FieldChange = PatchOperation['fields'][number]
export type FieldValue = FieldChange['before']
export type DnsRules = DnsOperation['before']

/** What became of a plan, or of its way back. */
export type RunResult = DeepReadonly<Static<typeof runResultSchema>>
export type RunStep = RunResult['steps'][number]

/** The runs that left a record in the cluster. */
export type RunList = DeepReadonly<Static<typeof runListSchema>>
export type RunSummary = RunList['runs'][number]

/** Nothing is left to do for a run: it is neither half done nor under way. */
export function isOver({status}: Pick<RunSummary, 'status'>): boolean {
  return status === 'done' || status === 'rolled-back'
}

/** The field is not there. */
export const absent: FieldValue = {absent: true}

/** The field has this value. */
export function present(value: unknown): FieldValue {
  return {value}
}
