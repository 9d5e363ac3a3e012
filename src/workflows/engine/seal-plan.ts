import {apiVersion} from '../../model/documents.ts'
import {exitCodes, SrcipError} from '../../model/errors.ts'
import type {Plan} from '../../model/plan.ts'
import {planHash} from './canonical.ts'

/** What a planner decides; the frame around it is always the same. */
export type PlanDraft = Omit<Plan, 'apiVersion' | 'kind' | 'hash' | 'exitCode' | 'changed' | 'metadata'>

/** The finished document: same draft, same bytes. `changed` says whether carrying it out would change anything. */
export function sealPlan(draft: PlanDraft): Plan {
  const plan: Omit<Plan, 'hash'> = {
    apiVersion,
    kind: 'Plan',
    ...draft,
    exitCode: exitCodes.Ok,
    changed: draft.steps.length > 0,
  }
  return {...plan, hash: planHash(plan)}
}

/** A plan from a file: is it what was written, and is it for this cluster? Throws 32 when not. */
export function assertPlanFits(plan: Plan, clusterUid: string, file: string): void {
  if (planHash(plan) !== plan.hash)
    throw new SrcipError('Precondition', `${file} was edited after it was planned: its hash does not fit`, {
      object: file,
      hints: ['plan again with --plan -o json'],
    })
  if (plan.cluster.uid !== clusterUid)
    throw new SrcipError(
      'Precondition',
      `${file} was planned for another cluster (uid ${plan.cluster.uid}, here ${clusterUid})`,
      {object: file, hints: ['choose the cluster with --context, or plan again']},
    )
}
