import {fieldManager} from '../model/dns.ts'
import {SrcipError} from '../model/errors.ts'
import {resources, type CallOptions, type KubeClient, type Resource} from '../kube/index.ts'
import type {DnsLocation} from '../platforms/dns/locate.ts'

const restartable: Readonly<Record<string, Resource>> = {
  Deployment: resources.deployments,
  DaemonSet: resources.daemonSets,
}

/** What `kubectl rollout restart` sets. */
const restartedAt = 'kubectl.kubernetes.io/restartedAt'

/**
 * Restarts CoreDNS as `kubectl rollout restart` does, for a Corefile without the plugin reload. Returns at once: the rollout is
 * proved pod by pod like any other change.
 *
 * @param at time for the annotation, RFC 3339
 */
export async function restartCoredns(
  client: KubeClient,
  location: DnsLocation,
  at: string,
  options: CallOptions = {},
): Promise<void> {
  const {namespace, workload} = location
  const resource = workload === undefined ? undefined : restartable[workload.kind]
  if (workload === undefined || resource === undefined) {
    throw new SrcipError('Precondition', 'CoreDNS cannot be restarted: its pods belong to no Deployment or DaemonSet', {
      object: `service/${namespace}/${location.service.name}`,
      hints: ['restart the pods yourself, one after the other'],
    })
  }
  await client.mergePatch(
    resource,
    {namespace, name: workload.name},
    {spec: {template: {metadata: {annotations: {[restartedAt]: at}}}}},
    {...options, fieldManager},
  )
}
