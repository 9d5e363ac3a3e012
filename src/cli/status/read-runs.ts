import {hasStatus, type KubeClient} from '../../kube/index.ts'
import {isOver, type RunSummary} from '../../model/plan.ts'
import type {StatusRow} from '../../model/status.ts'
import {listRecords, recordName, summaryOf} from '../workflow/records.ts'

/** Rows for the runs of `enable` and `disable` that have left a record; without the right to look, none. */
export async function readRuns(client: KubeClient, signal: AbortSignal): Promise<StatusRow[]> {
  try {
    const {found} = await listRecords(client, undefined, signal)
    return runRows(found.map(summaryOf))
  } catch (error) {
    if (hasStatus(error, 403)) return []
    throw error
  }
}

/** Every run that is not over, and the last one that is: it tells since when things are as they are. Pure. */
export function runRows(runs: readonly RunSummary[]): StatusRow[] {
  const open = runs.filter((run) => !isOver(run))
  const last = runs.findLast(isOver)
  return [
    ...open.map((run) =>
      rowOf(
        run,
        'warning',
        ` at step ${run.step}: kubectl srcip resume ${run.id}, or kubectl srcip rollback ${run.id}`,
      ),
    ),
    ...(last === undefined ? [] : [rowOf(last, 'ok', '')]),
  ]
}

function rowOf(run: RunSummary, state: StatusRow['state'], more: string): StatusRow {
  return {
    row: 'run',
    object: `configmap/${run.namespace}/${recordName(run.id)}`,
    state,
    detail: `${run.operation} of ${run.subject}: ${run.status}${more}, since ${run.started} by ${run.by}`,
  }
}
