import {createLeaseLock, type KubeClient, type LeaseLock} from '../../kube/index.ts'
import {componentLabel, workflowLeaseName} from '../../model/dns.ts'

/** The Lease that one run at a time holds: of the cluster in kube-system, of a tenant in its namespace (design.md 6). */
export function workflowLock(client: KubeClient, namespace: string, identity: string): LeaseLock {
  return createLeaseLock({client, namespace, name: workflowLeaseName, identity, labels: {[componentLabel]: 'run'}})
}

/**
 * Frees the Lease of a holder that is gone: waits for as long as the Lease lasts, and refuses (33) when somebody renews it meanwhile,
 * since that run would go on writing.
 */
export async function freeIfGone(lock: LeaseLock, signal: AbortSignal): Promise<void> {
  await lock.acquire({signal})
  await lock.release()
}
