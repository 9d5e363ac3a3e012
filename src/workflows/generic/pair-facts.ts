import {diagnose} from '../../diagnosis/diagnose.ts'
import {readDns} from '../../diagnosis/dns-view.ts'
import {serviceRef} from '../../diagnosis/path/facts.ts'
import {projectProxyService, similarServices} from '../../hosts/index.ts'
import type {DoctorReport, WayIn} from '../../model/doctor.ts'
import {SrcipError} from '../../model/errors.ts'
import {field, record, text, textPairs} from '../../model/fields.ts'
import type {KubeObject} from '../../model/kubernetes.ts'
import type {SnapshotIndex} from '../../model/snapshot.ts'
import {projectWorkload} from '../../platforms/dns/objects.ts'
import {configOf} from '../../platforms/receivers/config-map-reader.ts'
import {readReceiver, targetPortOf} from '../../platforms/receivers/read.ts'
import {allRunners, recogniseReceiver} from '../../platforms/receivers/recognise.ts'
import {records} from '../../platforms/workloads.ts'

/** One port of the ingress Service that carries HTTP or TLS. */
export interface PairPort {
  readonly port: number
  /** Port inside the pods. */
  readonly podPort: number
  readonly tls: boolean
}

/** The proxy that stands in front of the receiver for callers inside, as far as there is one. */
export interface ExistingProxy {
  readonly namespace: string
  readonly name: string
  readonly mode: 'always' | 'auto'
  /** Helm release that owns it; undefined: ours, or somebody's by hand. */
  readonly release?: string
  readonly selector: Readonly<Record<string, string>>
  readonly ports: readonly {readonly port: number; readonly listen: number}[]
  /** Its Deployment in full, read beside the snapshot, which holds no more than is judged by. */
  readonly deployment?: KubeObject
}

/** One plain pair: ingress-nginx behind a balancer outside of the cluster. */
export interface PairFacts {
  readonly service: {
    readonly namespace: string
    readonly name: string
    readonly selector: Readonly<Record<string, string>>
    readonly ports: readonly PairPort[]
    /** Ports that carry something else, such as the TCP services of ingress-nginx (B41): each has a switch of its own. */
    readonly others: readonly number[]
  }
  /** Addresses of the balancer. */
  readonly addresses: readonly string[]
  readonly hosts: readonly string[]
  /** Lines of ours that stand in cluster DNS. */
  readonly standing: readonly {readonly name: string; readonly target: string}[]
  readonly ingressClasses: readonly string[]
  /** ConfigMap that the receiver's own arguments name. */
  readonly config: {readonly namespace: string; readonly name: string; readonly object: KubeObject}
  readonly asks: boolean
  readonly proxy?: ExistingProxy
  /** A Deployment of `srcip run` is there. */
  readonly hasRun: boolean
  /** Its ports with their verdicts, as `doctor` gives them. */
  readonly ways: readonly WayIn[]
}

/** Only this receiver is switched yet; the others are rows of the same plan later. */
const receiverId = 'ingress-nginx'

/**
 * Finds the pair in a snapshot. `service`: NAMESPACE/NAME, where there are several. Throws 32 with what `doctor` recommends where
 * it is another platform, several, or not to be seen. Pure.
 */
export function findPair(
  index: SnapshotIndex,
  operation: 'enable' | 'disable',
  service: string | undefined,
): PairFacts {
  const report = diagnose(index, {for: operation, service})
  const chosen = chooseService(index, report, service)
  const {namespace = 'default', name} = chosen.metadata
  const receiver = recogniseReceiver(chosen, index, allRunners(index))
  const object = `service/${namespace}/${name}`
  if (receiver.row?.id !== receiverId)
    throw new SrcipError(
      'Precondition',
      `${object} leads to ${receiver.row?.title ?? 'a receiver that is not known'}: only ingress-nginx is switched yet`,
      {object, hints: recommended(report)},
    )
  const config = configOf({index, runners: receiver.runners}, ['--configmap'])
  if (config?.object === undefined)
    throw new SrcipError(
      'Precondition',
      config === undefined
        ? `the pods behind ${object} name no ConfigMap with --configmap: there is nothing to switch`
        : `configmap/${config.namespace}/${config.name}, which --configmap names, ${config.known ? 'is not there' : 'could not be read'}`,
      {object, hints: ['kubectl srcip doctor shows what was read']},
    )
  const ways = report.paths.filter((way) => way.namespace === namespace && way.service === name)
  const ports = portsOf(chosen, receiver.runners)
  const first = ports[0]
  const state = first === undefined ? undefined : readReceiver(index, chosen, receiver, first.port)
  if (state === undefined || state.asks === 'unknown' || state.asks === 'some')
    throw new SrcipError('Precondition', `${object}: its pods do not agree on whether they ask for the PROXY header`, {
      object,
      hints: ['wait for the rollout, then try again', 'kubectl srcip doctor shows each pod'],
    })
  const proxy = existingProxy(index, `${namespace}/${name}`)
  return {
    service: {
      namespace,
      name,
      selector: textPairs(field(record(chosen['spec']), 'selector')),
      ports,
      others: allPorts(chosen).filter((port) => !ports.some((one) => one.port === port)),
    },
    addresses: [...new Set(ways.flatMap((way) => way.addresses))].filter(
      (one) => !/[a-z]/i.test(one) || one.includes(':'),
    ),
    hosts: [...new Set(ways.flatMap((way) => way.hosts))].filter((host) => !host.startsWith('*')).toSorted(),
    standing: standingLines(index),
    ingressClasses: classesOf(index),
    config: {namespace: config.namespace, name: config.name, object: config.object},
    asks: state.asks === 'yes',
    ...(proxy === undefined ? {} : {proxy}),
    hasRun: index
      .list('Deployment', 'apps')
      .some((one) => one.metadata.labels?.['srcip.dev/component'] === 'controller'),
    ways,
  }
}

function chooseService(index: SnapshotIndex, report: DoctorReport, wanted: string | undefined): KubeObject {
  const found = [...new Set(report.paths.filter(isPair).map((way) => `${way.namespace}/${way.service}`))]
  const name = wanted ?? (found.length === 1 ? found[0] : undefined)
  if (name === undefined)
    throw new SrcipError(
      'Precondition',
      found.length === 0
        ? 'no Service of ingress-nginx behind a balancer outside of the cluster is found: other receivers and clouds are not switched yet'
        : `there are several: ${found.join(', ')}`,
      {hints: found.length === 0 ? recommended(report) : found.map((one) => `--service ${one}`)},
    )
  const service = index.list('Service', '').find((one) => serviceRef(one) === `service/${name}`)
  if (service !== undefined) return service
  const names = index
    .list('Service', '')
    .map(({metadata: {namespace = 'default', name: own}}) => ({namespace, name: own}))
  // A release that was renamed, or another namespace (B38).
  const alike = similarServices(name, names)
  throw new SrcipError('Precondition', `there is no service/${name}`, {
    hints: [...(alike.length === 0 ? [] : [`did you mean ${alike.join(' or ')}?`]), 'kubectl get services -A'],
  })
}

/** Balancers that a cloud or the cluster itself runs are switched by other means than a person at a configuration file. */
function isPair({platform}: WayIn): boolean {
  return platform.receiver === receiverId && [undefined, 'outer-proxy', 'unknown'].includes(platform.balancer)
}

function recommended(report: DoctorReport): string[] {
  const remedies = report.findings.flatMap(({id, title, remedies: all}) =>
    all.slice(0, 1).map((one) => `doctor recommends for ${id} (${title}): ${one.text}`),
  )
  return remedies.length > 0 ? remedies.slice(0, 3) : ['kubectl srcip doctor shows every way in']
}

function portsOf(service: KubeObject, runners: Parameters<typeof targetPortOf>[2]): PairPort[] {
  return records(field(record(service['spec']), 'ports')).flatMap((entry) => {
    const port = field(entry, 'port')
    const name = text(field(entry, 'name')) ?? ''
    if (typeof port !== 'number' || (port !== 80 && port !== 443 && !/^https?$/.test(name))) return []
    const podPort = targetPortOf(entry, port, runners)
    if (podPort === undefined) return []
    return [{port, podPort, tls: port === 443 || name === 'https'}]
  })
}

function allPorts(service: KubeObject): number[] {
  return records(field(record(service['spec']), 'ports')).flatMap((entry) => {
    const port = field(entry, 'port')
    return typeof port === 'number' ? [port] : []
  })
}

/** Only exact names lead to a Service of ours by a line that a plan can put back. */
function standingLines(index: SnapshotIndex): {readonly name: string; readonly target: string}[] {
  const ours = new Set(index.list('Service', '').flatMap((one) => projectProxyService(one)?.target ?? []))
  return readDns(index).rules.flatMap(({name, target}) => (ours.has(target) ? [{name, target}] : []))
}

function classesOf(index: SnapshotIndex): string[] {
  return index
    .list('IngressClass', 'networking.k8s.io')
    .filter((one) => text(field(record(one['spec']), 'controller')) === 'k8s.io/ingress-nginx')
    .map((one) => one.metadata.name)
}

function existingProxy(index: SnapshotIndex, feeds: string): ExistingProxy | undefined {
  const service = index.list('Service', '').find((one) => {
    const proxy = projectProxyService(one)
    return proxy !== undefined && (proxy.feeds ?? feeds) === feeds
  })
  if (service === undefined) return undefined
  const {namespace = '', name} = service.metadata
  const deployment = index.get('Deployment', namespace, name, 'apps')
  const words = deployment === undefined ? [] : (projectWorkload(deployment).spec.containers[0]?.args ?? [])
  const release = deployment?.metadata.annotations?.['meta.helm.sh/release-name']
  return {
    namespace,
    name,
    mode: words.includes('--send-proxy=auto') ? 'auto' : 'always',
    ...(release === undefined ? {} : {release}),
    selector: textPairs(field(record(service['spec']), 'selector')),
    ports: listenPorts(words),
  }
}

function listenPorts(words: readonly string[]): ExistingProxy['ports'] {
  return words.flatMap((word) => {
    const [, port, listen] = /^--port=(\d+)=(\d+)/.exec(word) ?? []
    return port === undefined ? [] : [{port: Number(port), listen: Number(listen)}]
  })
}
