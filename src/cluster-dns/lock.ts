import {dnsLeaseName} from '../model/dns.ts'
import {createLeaseLock, type KubeClient, type LeaseLock} from '../kube/index.ts'

/**
 * The Lease that whoever writes cluster DNS holds, in the namespace of the DNS ConfigMap (design.md 5, "Lock"). For `run` it is
 * also its leader election. `acquire` of a command refuses (33) and names the holder while a live one has it.
 */
export function dnsLock(client: KubeClient, namespace: string, identity: string): LeaseLock {
  return createLeaseLock({client, namespace, name: dnsLeaseName, identity})
}
