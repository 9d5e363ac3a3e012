import type {KubeClient} from '../../../kube/index.ts'
import type {PlanOperation} from '../../../model/plan.ts'
import type {OperationLook} from '../../../workflows/engine/ports.ts'
import {isAggregated, lookAtAggregated, makeAggregated} from './aggregated.ts'
import {lookAtDns, makeDns, type DnsAccess} from './dns.ts'
import {lookAtApply, lookAtDelete, makeApply, makeDelete} from './owned-objects.ts'
import {lookAtPatch, makePatch} from './patch.ts'

/** How an operation stands in the cluster now. */
export async function lookAt(
  client: KubeClient,
  operation: PlanOperation,
  access: DnsAccess,
  signal: AbortSignal,
): Promise<OperationLook> {
  switch (operation.op) {
    case 'none':
      return {state: 'done', reasons: []}
    case 'patch':
      return isAggregated(operation.object)
        ? await lookAtAggregated(client, operation, signal)
        : await lookAtPatch(client, operation, signal)
    case 'apply':
      return await lookAtApply(client, operation, signal)
    case 'delete':
      return await lookAtDelete(client, operation, signal)
    case 'dns':
      return await lookAtDns(client, operation, access, signal)
  }
}

/** Makes the change; the notes say what was written, object by object. */
export async function make(
  client: KubeClient,
  operation: PlanOperation,
  access: DnsAccess,
  options: {readonly dryRun: 'none' | 'server'; readonly signal: AbortSignal},
): Promise<readonly string[]> {
  switch (operation.op) {
    case 'none':
      return []
    case 'patch':
      if (isAggregated(operation.object)) return await makeAggregated(client, operation, options)
      await makePatch(client, operation, options)
      return []
    case 'apply':
      return await makeApply(client, operation, options)
    case 'delete':
      return await makeDelete(client, operation, options)
    case 'dns':
      return await makeDns(client, operation, access, options)
  }
}
