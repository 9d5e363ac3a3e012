import type {Grade} from '../../model/doctor.ts'
import {field, record, text} from '../../model/fields.ts'
import type {KubeObject} from '../../model/kubernetes.ts'
import type {SnapshotIndex} from '../../model/snapshot.ts'
import {imageTag, isImageOf} from '../versions.ts'
import {podRunners, records, selects, wordsOf, workloadRunners, type Runner} from '../workloads.ts'
import {receiverRows} from './index.ts'
import type {ReceiverRow} from './row.ts'

/** One thing that says which receiver stands behind a Service. */
export interface ReceiverClue {
  readonly object: string
  readonly field: string
  readonly value: string
  readonly id: string
  /** Classes and gateways first, then what runs, labels last. */
  readonly rank: 'class' | 'process' | 'label'
}

/** A Gateway that a Service belongs to. */
export interface OwningGateway {
  readonly namespace: string
  readonly name: string
  readonly object: KubeObject | undefined
  readonly classObject: KubeObject | undefined
}

/** What stands behind a Service. */
export interface RecognisedReceiver {
  readonly row: ReceiverRow | undefined
  readonly grade: Grade
  readonly clues: readonly ReceiverClue[]
  /** Ids that different clues name. */
  readonly contradiction: readonly string[]
  /** Pods behind the Service; templates of workloads where no pods are known. */
  readonly runners: readonly Runner[]
  /** Everything that runs in the namespace of the Service: some controllers are configured beside their proxies. */
  readonly neighbours: readonly Runner[]
  readonly gateway?: OwningGateway
  readonly version: string | undefined
  /** May there be pods that were not read? */
  readonly podsKnown: boolean
}

/** All runners, read once for every Service. */
export interface Runners {
  readonly pods: readonly Runner[]
  readonly workloads: readonly Runner[]
}

/** Projects pods and workload templates. */
export function allRunners(index: SnapshotIndex): Runners {
  return {pods: podRunners(index), workloads: workloadRunners(index)}
}

/** Pods that a Service's selector takes, or the templates that would make them. */
export function runnersBehind(service: KubeObject, runners: Runners, index: SnapshotIndex): Runner[] {
  const namespace = service.metadata.namespace ?? 'default'
  const selector = textRecord(field(record(service['spec']), 'selector'))
  if (selector === undefined) {
    const names = podsOfSlices(service, index)
    const pods = runners.pods.filter((pod) => pod.namespace === namespace && names.has(pod.name))
    // on the node's own ports nobody needs the Service, which then often selects nothing: its name is all that ties the two together
    const onNodes = (one: Runner): boolean =>
      one.spec.hostNetwork && one.namespace === namespace && one.name === service.metadata.name
    return pods.length > 0 ? pods : runners.workloads.filter(onNodes)
  }
  const of = (all: readonly Runner[]): Runner[] =>
    all.filter((one) => one.namespace === namespace && selects(selector, one.labels))
  const pods = of(runners.pods)
  return pods.length > 0 ? pods : of(runners.workloads)
}

function podsOfSlices(service: KubeObject, index: SnapshotIndex): Set<string> {
  const names = new Set<string>()
  for (const slice of index.list('EndpointSlice', 'discovery.k8s.io')) {
    if (slice.metadata.namespace !== service.metadata.namespace) continue
    if (slice.metadata.labels?.['kubernetes.io/service-name'] !== service.metadata.name) continue
    for (const endpoint of records(slice['endpoints'])) {
      const name = text(field(record(field(endpoint, 'targetRef')), 'name'))
      if (name !== undefined) names.add(name)
    }
  }
  return names
}

/** Which ingress or gateway controller a Service leads to; no row means an application of its own, or unknown. */
export function recogniseReceiver(service: KubeObject, index: SnapshotIndex, runners: Runners): RecognisedReceiver {
  const behind = runnersBehind(service, runners, index)
  const gateway = owningGateway(service, index)
  const clues = [
    ...gatewayClues(gateway),
    ...behind.flatMap(processClues),
    ...ingressClues(service, index),
    ...labelClues(service, behind),
  ]
  const processes = idsOf(clues, 'process')
  const classes = idsOf(clues, 'class')
  const labels = idsOf(clues, 'label')
  // what runs and what the class says must agree; labels only fill a gap
  const strong =
    processes.length > 0 && classes.length > 0 ? [...new Set([...processes, ...classes])] : [...classes, ...processes]
  const agreed = processes.filter((id) => classes.includes(id))
  const ids = agreed.length === 1 ? agreed : strong.length > 0 ? strong : labels
  const row = ids.length === 1 ? receiverRows.find(({id}) => id === ids[0]) : undefined
  return {
    row,
    grade: strong.length > 0 ? 'source' : labels.length > 0 ? 'inferred' : 'unconfirmed',
    clues,
    contradiction: ids.length > 1 ? ids : [],
    runners: behind,
    neighbours: [...runners.workloads, ...runners.pods].filter(
      (one) => one.namespace === (service.metadata.namespace ?? 'default'),
    ),
    ...(gateway === undefined ? {} : {gateway}),
    version: row === undefined ? undefined : versionOf(row, behind),
    podsKnown: behind.length > 0 || ['complete', 'absent'].includes(index.state('Pod', service.metadata.namespace)),
  }
}

function idsOf(clues: readonly ReceiverClue[], rank: ReceiverClue['rank']): string[] {
  return [...new Set(clues.filter((one) => one.rank === rank).map((one) => one.id))].toSorted()
}

function processClues(runner: Runner): ReceiverClue[] {
  const clues: ReceiverClue[] = []
  for (const container of runner.spec.containers) {
    const words = wordsOf(runner, container)
    const program = words
      .slice(0, 3)
      .filter((word) => !word.startsWith('-'))
      .map((word) => word.split('/').at(-1) ?? '')
    for (const {id, match} of receiverRows) {
      const command = match.commands.find((name) => program.includes(name))
      // images of mirrors and rebuilds keep the last part of their name at best: a command counts as much
      if (command !== undefined && (id !== 'caddy' || isImageOf(container.image, match.images)))
        clues.push({object: runner.object, field: 'spec.containers[].args', value: command, id, rank: 'process'})
      else if (isImageOf(container.image, match.images))
        clues.push({
          object: runner.object,
          field: 'spec.containers[].image',
          value: container.image,
          id,
          rank: 'process',
        })
    }
  }
  return clues
}

/** Does this pod or template run that receiver, by its command or image? */
export function runsAs(runner: Runner, id: string): boolean {
  return processClues(runner).some((clue) => clue.id === id)
}

function labelClues(service: KubeObject, behind: readonly Runner[]): ReceiverClue[] {
  const selector = textRecord(field(record(service['spec']), 'selector')) ?? {}
  const places: readonly (readonly [string, string, Readonly<Record<string, string>>])[] = [
    [objectOf(service), 'spec.selector', selector],
    [objectOf(service), 'metadata.labels', service.metadata.labels ?? {}],
    ...behind.map((runner) => [runner.object, 'metadata.labels', runner.labels] as const),
  ]
  return receiverRows.flatMap(({id, match}) =>
    match.labels.flatMap((wanted) => {
      const place = places.find(([, , labels]) => selects(wanted, labels))
      if (place === undefined) return []
      const [name, value] = Object.entries(wanted)[0] ?? ['', '']
      return [{object: place[0], field: place[1], value: `${name}=${value}`, id, rank: 'label' as const}]
    }),
  )
}

/** The Gateway that this Service was made for. */
export function owningGateway(service: KubeObject, index: SnapshotIndex): OwningGateway | undefined {
  const labels = {...textRecord(field(record(service['spec']), 'selector')), ...service.metadata.labels}
  const owner = service.metadata.ownerReferences?.find(({kind}) => kind === 'Gateway')
  const name =
    labels['gateway.envoyproxy.io/owning-gateway-name'] ??
    labels['gateway.networking.k8s.io/gateway-name'] ??
    labels['io.cilium.gateway/owning-gateway'] ??
    owner?.name
  const namespace = labels['gateway.envoyproxy.io/owning-gateway-namespace'] ?? service.metadata.namespace ?? 'default'
  const byAddress = name === undefined ? gatewayByAddress(service, index) : undefined
  if (name === undefined && byAddress === undefined) return undefined
  const object = byAddress ?? index.get('Gateway', namespace, name as string, gatewayGroup)
  const className = text(field(record(object?.['spec']), 'gatewayClassName'))
  return {
    namespace: byAddress?.metadata.namespace ?? namespace,
    name: byAddress?.metadata.name ?? (name as string),
    object,
    classObject: className === undefined ? undefined : index.get('GatewayClass', undefined, className, gatewayGroup),
  }
}

const gatewayGroup = 'gateway.networking.k8s.io'

function gatewayByAddress(service: KubeObject, index: SnapshotIndex): KubeObject | undefined {
  const own = new Set(statusAddresses(service))
  if (own.size === 0) return undefined
  return index
    .list('Gateway', gatewayGroup)
    .find((gateway) =>
      records(field(record(gateway['status']), 'addresses')).some((entry) =>
        own.has(text(field(entry, 'value')) ?? ''),
      ),
    )
}

function gatewayClues(gateway: OwningGateway | undefined): ReceiverClue[] {
  const controller = text(field(record(gateway?.classObject?.['spec']), 'controllerName'))
  if (gateway === undefined || controller === undefined) return []
  return receiverRows
    .filter(({match}) => match.gatewayControllers.some((start) => controller.startsWith(start)))
    .map(({id}) => ({
      object: `gatewayclass/${gateway.classObject?.metadata.name ?? ''}`,
      field: 'spec.controllerName',
      value: controller,
      id,
      rank: 'class' as const,
    }))
}

/** The class of Ingresses that were given this Service's addresses. */
function ingressClues(service: KubeObject, index: SnapshotIndex): ReceiverClue[] {
  const own = new Set(statusAddresses(service))
  if (own.size === 0) return []
  const clues = new Map<string, ReceiverClue>()
  for (const ingress of index.list('Ingress', 'networking.k8s.io')) {
    const status = record(field(record(ingress['status']), 'loadBalancer'))
    const shares = records(field(status, 'ingress')).some(
      (entry) => own.has(text(field(entry, 'ip')) ?? '') || own.has(text(field(entry, 'hostname')) ?? ''),
    )
    if (!shares) continue
    const className =
      ingress.metadata.annotations?.['kubernetes.io/ingress.class'] ??
      text(field(record(ingress['spec']), 'ingressClassName')) ??
      ''
    const object = index.get('IngressClass', undefined, className)
    const controller = text(field(record(object?.['spec']), 'controller'))
    if (controller === undefined) continue
    for (const {id, match} of receiverRows) {
      if (!match.ingressControllers.some((start) => controller.startsWith(start))) continue
      clues.set(id, {
        object: `ingressclass/${className}`,
        field: 'spec.controller',
        value: controller,
        id,
        rank: 'class',
      })
    }
  }
  return [...clues.values()]
}

/** Addresses and host names in the status of a Service. */
export function statusAddresses(service: KubeObject): string[] {
  const status = record(field(record(service['status']), 'loadBalancer'))
  return records(field(status, 'ingress')).flatMap((entry) =>
    [text(field(entry, 'ip')), text(field(entry, 'hostname'))].filter((value) => value !== undefined),
  )
}

function versionOf(row: ReceiverRow, behind: readonly Runner[]): string | undefined {
  for (const runner of behind) {
    for (const container of runner.spec.containers) {
      const isIt =
        isImageOf(container.image, row.match.images) ||
        wordsOf(runner, container)
          .slice(0, 3)
          .some((word) => row.match.commands.includes(word.split('/').at(-1) ?? ''))
      if (isIt) return imageTag(container.image)
    }
  }
  return undefined
}

function textRecord(value: unknown): Record<string, string> | undefined {
  const pairs = Object.entries(record(value)).filter((entry): entry is [string, string] => typeof entry[1] === 'string')
  return pairs.length === 0 ? undefined : Object.fromEntries(pairs)
}

function objectOf(service: KubeObject): string {
  return `service/${service.metadata.namespace ?? 'default'}/${service.metadata.name}`
}
