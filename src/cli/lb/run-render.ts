import {readSnapshotFiles, type KubeClient} from '../../kube/index.ts'
import {resources} from '../../kube/resources.ts'
import {backendsByHand} from '../../lb/by-hand.ts'
import type {Balancer} from '../../lb/balancer.ts'
import {fromCluster, type ClusterSide} from '../../lb/from-cluster.ts'
import {renderBalancer, type Rendered} from '../../lb/render.ts'
import {parseIP} from '../../model/address.ts'
import {SrcipError} from '../../model/errors.ts'
import {indexSnapshot} from '../../model/snapshot.ts'
import type {LbFlagValues} from './flags.ts'

export interface LbContext {
  /** Called only where neither -f nor --backend is given. */
  readonly open: () => Promise<KubeClient>
  readonly signal: AbortSignal
}

/** `lb render`: `service` is the argument as typed. Throws Usage (2) for words that mean nothing, Precondition (32) for what cannot be. */
export async function runRender(
  balancer: Balancer,
  service: string | undefined,
  flags: LbFlagValues,
  context: LbContext,
): Promise<Rendered> {
  const listen = flags['listen-address']
  if (listen !== undefined && parseIP(listen) === undefined)
    throw new SrcipError('Usage', `--listen-address ${JSON.stringify(listen)} is not an address`)
  const idleTimeout = flags['idle-timeout'] ?? 0
  const connectTimeout = flags['connect-timeout'] ?? 0
  if (idleTimeout === 0 || connectTimeout === 0)
    throw new SrcipError(
      'Usage',
      '--idle-timeout and --connect-timeout have to be longer than 0: these programs know no "never"',
    )
  const side = await backends(service, flags, context)
  const {text, warnings} = renderBalancer(balancer, {
    ...side,
    header: flags['proxy-protocol'],
    listen,
    idleTimeout,
    connectTimeout,
  })
  return {text, warnings: [...side.warnings, ...warnings]}
}

async function backends(
  service: string | undefined,
  flags: LbFlagValues,
  {open, signal}: LbContext,
): Promise<ClusterSide> {
  if (flags.backend !== undefined) {
    if (service !== undefined)
      throw new SrcipError('Usage', `either ${service} or --backend says where connections go, not both`)
    return {ports: backendsByHand(flags.backend), nodeHealthPort: undefined, warnings: []}
  }
  const name = /^(?:svc|services?)\/([^/]+)$/.exec(service ?? '')?.[1]
  if (name === undefined)
    throw new SrcipError(
      'Usage',
      service === undefined ? 'no Service is named' : `${JSON.stringify(service)} names no Service`,
      {
        hints: ['write svc/NAME with -n for its namespace, or --backend PORT=ADDRESS:PORT'],
      },
    )
  if (flags.filename !== undefined) {
    const index = indexSnapshot(await readSnapshotFiles(flags.filename, {signal}))
    const all = index.list('Service', '').filter(({metadata}) => metadata.name === name)
    const found = all.filter(
      ({metadata}) => flags.namespace === undefined || (metadata.namespace ?? 'default') === flags.namespace,
    )
    const [one] = found
    if (one === undefined || found.length > 1)
      throw new SrcipError(
        'Precondition',
        `${found.length === 0 ? 'no' : 'more than one'} Service ${name} in these files`,
        {
          object: `service/${name}`,
          hints: all.map(({metadata}) => `-n ${metadata.namespace ?? 'default'}`),
        },
      )
    return fromCluster(one, index.list('Node', ''), flags.port)
  }
  const client = await open()
  const namespace = client.config.namespace
  const [found, {items}] = await Promise.all([
    client.find(resources.services, {namespace, name}, {signal}),
    client.list(resources.nodes, {signal}),
  ])
  if (found === undefined)
    throw new SrcipError('Precondition', `there is no Service ${namespace}/${name}`, {
      object: `service/${namespace}/${name}`,
      hints: ['kubectl get services -A'],
    })
  return fromCluster(found, items, flags.port)
}
