import {changeCluster, type ChangeFlagValues, type ClusterChangeOptions} from './change-command.ts'
import {findOtherControllers, refuseRunning, stopOthers} from './other-controllers.ts'

/** `coredns adopt` on a cluster: nobody else writes any more, then the change as `apply` makes it. */
export async function adoptInCluster(
  options: Omit<ClusterChangeOptions, 'operation' | 'beforeWrite' | 'flags'> & {
    readonly flags: ChangeFlagValues & {readonly 'stop-other': boolean}
  },
): ReturnType<typeof changeCluster> {
  const {client, flags, onEvent, signal, say} = options
  const controllers = await findOtherControllers(client, signal)
  const stops = flags['stop-other']
  if (flags['dry-run'] === 'none' && !stops) refuseRunning(controllers)
  const running = controllers.filter(({pods}) => pods.length > 0)
  if (flags['dry-run'] !== 'none') {
    for (const {tool, namespace, name} of running)
      say(`warning: deployment/${namespace}/${name} of ${tool} is running: refused without --stop-other`)
  }
  return await changeCluster({
    ...options,
    operation: 'adopt',
    beforeWrite: () =>
      stopOthers(
        client,
        stops ? controllers.filter(({replicas, pods}) => replicas + pods.length > 0) : [],
        onEvent,
        signal,
      ),
  })
}
