import {apiVersion} from '../../model/documents.ts'
import {exitCodes} from '../../model/errors.ts'
import type {RunList, RunResult} from '../../model/plan.ts'
import type {KubeClient} from '../../kube/index.ts'
import {resumeRun, rollBackRun} from '../../workflows/engine/run-plan.ts'
import {assertPlanFits} from '../../workflows/engine/seal-plan.ts'
import type {RunFlagValues} from './flags.ts'
import {findRecord, listRecords, summaryOf} from './records.ts'
import {clusterUid, withEngine, type RunContext} from './session.ts'

/** `resume` and `rollback`: a run by its record in the cluster, from any machine. */
export async function continueRun(
  direction: 'forward' | 'back',
  id: string,
  flags: RunFlagValues,
  context: RunContext,
): Promise<RunResult> {
  const {client, signal} = context
  const {record, namespace, resourceVersion} = await findRecord(client, id, flags.namespace, signal)
  assertPlanFits(record.plan, await clusterUid(client, signal), `the record of run ${id}`)
  const question = direction === 'forward' ? `go on with run ${id}?` : `take run ${id} back?`
  return await withEngine(context, flags, {namespace, recordVersion: resourceVersion, question}, (ports, options) =>
    direction === 'forward' ? resumeRun(ports, record, options) : rollBackRun(ports, record, options),
  )
}

/** `runs`: what has left a record. */
export async function listRuns(
  client: KubeClient,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<RunList> {
  const {found, broken} = await listRecords(client, namespace, signal)
  return {
    apiVersion,
    kind: 'RunList',
    runs: found.map(summaryOf),
    exitCode: exitCodes.Ok,
    changed: false,
    warnings: broken.map((name) => `${name} does not hold a record that can be read`),
  }
}
