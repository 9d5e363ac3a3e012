import {resources, type KubeClient, type LeaseHolder} from '../../kube/index.ts'
import {workflowLeaseName} from '../../model/dns.ts'
import {SrcipError} from '../../model/errors.ts'
import {freeIfGone, workflowLock} from './lock.ts'

/**
 * Takes the lock of a run away from a holder that will not give it back. A holder that is alive is seen by its renewals and refused
 * (33): its run would go on writing. Returns who held it; undefined: nobody did.
 */
export async function unlock(
  client: KubeClient,
  namespace: string,
  {
    force,
    approve,
    signal,
  }: {
    readonly force: boolean
    readonly approve: (holder: LeaseHolder) => Promise<boolean>
    readonly signal: AbortSignal
  },
): Promise<LeaseHolder | undefined> {
  const lock = workflowLock(client, namespace, `unlock:${process.pid}`)
  const holder = await lock.read(signal)
  if (holder === undefined) return undefined
  if (!(await approve(holder))) throw new SrcipError('Usage', 'the lock was left alone: it was not confirmed')
  if (force) {
    await client.delete(resources.leases, {namespace, name: workflowLeaseName}, {signal})
    return holder
  }
  await freeIfGone(lock, signal)
  return holder
}
