import type {DoctorReport} from '../../model/doctor.ts'
import {field, list, record, text, textPairs} from '../../model/fields.ts'
import type {KubeObject} from '../../model/kubernetes.ts'
import type {SnapshotIndex} from '../../model/snapshot.ts'
import {selects} from '../../platforms/workloads.ts'

/** A pod whose log tells how connections arrive. */
export interface ReceiverPod {
  readonly namespace: string
  readonly name: string
  readonly container: string | undefined
  /** Ports that the Service's ports lead to. */
  readonly ports: readonly number[]
  /** Services of its namespace that lead to it. */
  readonly services: readonly string[]
}

/** Pods of one Service whose logs are read at most. */
const podsAService = 10
/** Names of containers that stand in the data path, where a pod has several. */
const dataPath = /controller|nginx|traefik|haproxy|envoy|proxy|caddy|kong|apisix|router/

/** The pods behind every way in that leads to a receiver we know, by the selector of its Service. */
export function receiverPods(report: DoctorReport, index: SnapshotIndex): ReceiverPod[] {
  const behind = new Map(
    report.paths
      .filter(({platform}) => platform.receiver !== undefined)
      .map(({namespace, service}) => [`${namespace}/${service}`, {namespace, service}] as const),
  )
  const found = new Map<string, ReceiverPod>()
  for (const {namespace, service} of behind.values()) {
    const spec = record(index.get('Service', namespace, service, '')?.['spec'])
    const selector = textPairs(field(spec, 'selector'))
    const pods = index
      .list('Pod', '')
      .filter(({metadata}) => metadata.namespace === namespace && selects(selector, metadata.labels ?? {}))
    for (const pod of pods.slice(0, podsAService)) {
      const names = list(field(record(pod['spec']), 'containers')).flatMap(
        (one) => text(field(record(one), 'name')) ?? [],
      )
      const container = names.find((name) => dataPath.test(name)) ?? names[0]
      const key = `${namespace}/${pod.metadata.name}`
      const {ports = [], services = []} = found.get(key) ?? {}
      found.set(key, {
        namespace,
        name: pod.metadata.name,
        container,
        ports: [...new Set([...ports, ...targetPorts(spec, pod)])],
        services: [...services, service],
      })
    }
  }
  return [...found.values()]
}

/** Numbers of the Service's target ports; names are container ports of the pod. */
function targetPorts(service: Readonly<Record<string, unknown>>, pod: KubeObject): number[] {
  const named = list(field(record(pod['spec']), 'containers'))
    .flatMap((one) => list(field(record(one), 'ports')))
    .map(record)
  const ports = list(field(service, 'ports')).flatMap((one): number[] => {
    const port = record(one)
    const target = field(port, 'targetPort') ?? field(port, 'port')
    if (typeof target === 'number') return [target]
    const found = field(named.find((entry) => field(entry, 'name') === target) ?? {}, 'containerPort')
    return typeof found === 'number' ? [found] : []
  })
  return [...new Set(ports)]
}
