import {parseIP} from '../model/address.ts'
import {SrcipError} from '../model/errors.ts'
import {list, port as portOf, record, text} from '../model/fields.ts'
import type {KubeObject} from '../model/kubernetes.ts'
import type {Backend, BalancerPort} from './balancer.ts'

export interface ClusterSide {
  readonly ports: readonly BalancerPort[]
  readonly nodeHealthPort: number | undefined
  readonly warnings: readonly string[]
}

/**
 * The node ports of a Service on every node that takes traffic from balancers: ready, and without the label that the cloud
 * controllers heed, too (kubernetes.io/docs/reference/labels-annotations-taints, node.kubernetes.io/exclude-from-external-load-balancers).
 * Throws Precondition (32) where nothing could be reached from outside.
 */
export function fromCluster(
  service: KubeObject,
  nodes: readonly KubeObject[],
  only: readonly number[] = [],
): ClusterSide {
  const name = `service/${service.metadata.namespace ?? 'default'}/${service.metadata.name}`
  const spec = record(service['spec'])
  const warnings: string[] = []
  const backends = nodes.flatMap((node) => {
    const why = unfit(node, text(list(spec['ipFamilies'])[0]))
    if (typeof why === 'object') return [why]
    warnings.push(`node/${node.metadata.name} is left out: ${why}`)
    return []
  })
  const ports = list(spec['ports'])
    .map(record)
    .filter(({port}) => only.length === 0 || only.includes(Number(port)))
    .flatMap(({port, nodePort, protocol = 'TCP'}) => {
      const [from, to] = [portOf(port), portOf(nodePort)]
      if (protocol === 'TCP' && from !== undefined && to !== undefined)
        return [{port: from, backends: backends.map((one) => ({...one, port: to}))}]
      const why = protocol === 'TCP' ? 'it has no node port' : 'the PROXY header of these programs is for TCP'
      warnings.push(`port ${String(port)}/${String(protocol)} of ${name} is left out: ${why}`)
      return []
    })
  const refuse = (message: string, hint: string): never => {
    throw new SrcipError('Precondition', message, {object: name, hints: [hint, ...warnings]})
  }
  if (ports.length === 0)
    refuse(`${name} has no TCP port with a node port`, 'give the backends by hand: --backend PORT=ADDRESS:PORT')
  if (backends.length === 0) refuse('no node can take connections', 'kubectl get nodes -o wide')
  const health = spec['externalTrafficPolicy'] === 'Local' ? portOf(spec['healthCheckNodePort']) : undefined
  return {ports, nodeHealthPort: health, warnings}
}

function unfit(node: KubeObject, family: string | undefined): Backend | string {
  const {labels = {}, name} = node.metadata
  if ('node.kubernetes.io/exclude-from-external-load-balancers' in labels)
    return 'it has the label node.kubernetes.io/exclude-from-external-load-balancers'
  const status = record(node['status'])
  const ready = list(status['conditions'])
    .map(record)
    .find(({type}) => type === 'Ready')
  if (ready !== undefined && ready['status'] !== 'True') return 'it is not ready'
  const addresses = list(status['addresses'])
    .map(record)
    .filter(({type}) => type === 'InternalIP')
    .map(({address}) => text(address) ?? '')
    .filter((address) => parseIP(address) !== undefined)
  const address = addresses.find((one) => family === undefined || one.includes(':') === (family === 'IPv6'))
  return address === undefined
    ? `it has no InternalIP${family === undefined ? '' : ` of ${family}`}`
    : {name, address, port: 0}
}
