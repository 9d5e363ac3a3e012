import {hasStatus, type KubeClient} from '../../kube/index.ts'
import {SrcipError} from '../../model/errors.ts'
import {isOver} from '../../model/plan.ts'
import {freeIfGone, workflowLock} from '../workflow/lock.ts'
import {listRecords} from '../workflow/records.ts'

/**
 * What a run of `enable` or `disable` still needs must not be taken out under it: refused (33) while one holds the lock, (32) while one is
 * half done and can go on or back.
 */
export async function assertNoRun(
  client: KubeClient,
  namespace: string | undefined,
  {evenInUse, signal}: {readonly evenInUse: boolean; readonly signal: AbortSignal},
): Promise<void> {
  const lock = workflowLock(client, namespace ?? 'kube-system', `cleanup:${process.pid}`)
  if ((await lock.read(signal).catch(unlessDenied)) !== undefined) await freeIfGone(lock, signal)
  if (evenInUse) return
  const {found} = (await listRecords(client, namespace, signal).catch(unlessDenied)) ?? {found: []}
  const open = found.filter(({record}) => !isOver(record))
  if (open.length === 0) return
  const ids = open.map(({record}) => record.id)
  throw new SrcipError('Precondition', `run ${ids.join(', ')} is not over: its record says how to go on or back`, {
    hints: [
      ...ids.flatMap((id) => [`kubectl srcip rollback ${id}`, `kubectl srcip resume ${id}`]),
      '--even-in-use takes the record out all the same',
    ],
  })
}

/** Who may not look at runs takes out what he may all the same. */
function unlessDenied(error: unknown): undefined {
  if (hasStatus(error, 403)) return undefined
  throw error
}
