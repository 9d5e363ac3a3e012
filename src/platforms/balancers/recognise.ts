import type {Grade} from '../../model/doctor.ts'
import {field, record, text} from '../../model/fields.ts'
import type {KubeObject} from '../../model/kubernetes.ts'
import type {SnapshotIndex} from '../../model/snapshot.ts'
import {imageTag, isImageOf} from '../versions.ts'
import {podRunners, records, workloadRunners, type Runner} from '../workloads.ts'
import {balancerRows} from './index.ts'
import type {BalancerRow} from './row.ts'

/** One thing that says which balancer it is. */
export interface Clue {
  readonly object: string
  readonly field: string
  readonly value: string
  readonly families: readonly string[]
}

/** A controller of a balancer that runs in the cluster. */
export interface BalancerController {
  readonly row: BalancerRow
  readonly runner: Runner
  readonly version: string | undefined
  readonly environment: Readonly<Record<string, string>>
  /** `NAME=VALUE` lines of the cloud.conf that it mounts, as far as a ConfigMap shows them. */
  readonly settings: Readonly<Record<string, string>>
}

/** What the cluster as a whole says about its balancers: nodes and controllers. Made once. */
export interface BalancerEnvironment {
  readonly controllers: readonly BalancerController[]
  readonly clues: readonly Clue[]
}

/** Which balancer feeds a Service. No row: unknown. `contradiction`: several, and nothing decides. */
export interface RecognisedBalancer {
  readonly row: BalancerRow | undefined
  readonly grade: Grade
  readonly clues: readonly Clue[]
  readonly contradiction: readonly string[]
  readonly controller: BalancerController | undefined
}

/** Looks at nodes and controllers. */
export function balancerEnvironment(index: SnapshotIndex): BalancerEnvironment {
  const controllers: BalancerController[] = []
  const seen = new Set<string>()
  for (const runner of [...workloadRunners(index), ...podRunners(index)]) {
    if (isControlPlaneVip(runner)) continue
    for (const container of runner.spec.containers) {
      for (const row of balancerRows) {
        if (!isImageOf(container.image, row.match.images ?? [])) continue
        const key = `${row.id} ${container.image}`
        if (seen.has(key)) continue
        seen.add(key)
        controllers.push({
          row,
          runner,
          version: imageTag(container.image),
          settings: cloudConf(index, runner),
          environment: Object.fromEntries(
            container.env.flatMap(({name, value}) => (value === undefined ? [] : [[name, value]])),
          ),
        })
      }
    }
  }
  const clues: Clue[] = [
    ...controllers.map(({row, runner}) => clue(runner.object, 'spec.containers[].image', row.title, [row.family])),
    ...providerClues(index),
    ...ciliumClues(index),
  ]
  return {controllers, clues}
}

/** kube-vip may run for the API server's address only. */
function isControlPlaneVip(runner: Runner): boolean {
  return runner.spec.containers.some(
    (container) =>
      isImageOf(container.image, ['/kube-vip']) &&
      container.env.some(({name, value}) => name === 'svc_enable' && value === 'false'),
  )
}

/** Settings of a cloud.conf in a mounted ConfigMap; usually it is a Secret, and nothing is known. */
function cloudConf(index: SnapshotIndex, runner: Runner): Record<string, string> {
  const maps = runner.spec.volumes.flatMap((volume) => volume.sources.flatMap((source) => source.configMap?.name ?? []))
  const texts = maps.flatMap((name) => {
    const data = record(index.get('ConfigMap', runner.namespace, name, '')?.['data'])
    return Object.values(data).filter((value): value is string => typeof value === 'string')
  })
  const lines = texts.join('\n').matchAll(/^[ \t]*([\w-]+)[ \t]*=[ \t]*"?([^"\n]*?)"?[ \t]*$/gm)
  return Object.fromEntries([...lines].map(([, name = '', value = '']) => [name, value]))
}

function providerClues(index: SnapshotIndex): Clue[] {
  const clues = new Map<string, Clue>()
  for (const node of index.list('Node', '')) {
    const id = text(field(record(node['spec']), 'providerID'))
    if (id === undefined) continue
    const families = familiesOf(
      balancerRows.filter((row) => (row.match.providerIDs ?? []).some((start) => id.startsWith(start))),
    )
    const key = families.join(' ')
    if (families.length > 0 && !clues.has(key))
      clues.set(
        key,
        clue(`node/${node.metadata.name}`, 'spec.providerID', id.split('/').slice(0, 3).join('/'), families),
      )
  }
  return [...clues.values()]
}

/** Cilium announces addresses of Services only where that is switched on. */
function ciliumClues(index: SnapshotIndex): Clue[] {
  const config = index.get('ConfigMap', 'kube-system', 'cilium-config')
  const data = record(config?.['data'])
  return ['enable-l2-announcements', 'enable-bgp-control-plane', 'enable-lb-ipam']
    .filter((key) => field(data, key) === 'true')
    .filter((key) => key !== 'enable-lb-ipam' || index.list('CiliumLoadBalancerIPPool').length > 0)
    .slice(0, 1)
    .map((key) => clue('configmap/kube-system/cilium-config', `data.${key}`, 'true', ['cilium-lb']))
}

/**
 * Which balancer feeds this Service. What only that controller writes decides; then nodes and controllers; annotations tell
 * what somebody wanted, and count alone only where nothing else is known.
 */
export function recogniseBalancer(service: KubeObject, environment: BalancerEnvironment): RecognisedBalancer {
  const written = writtenClues(service)
  const wanted = annotationClues(service)
  const around = environment.clues
  const decided = familiesOfClues(written)
  const near = familiesOfClues(around)
  const asked = familiesOfClues(wanted)
  const both = near.filter((family) => asked.includes(family))
  const [families, clues, grade] = ((): [readonly string[], readonly Clue[], Grade] => {
    if (decided.length > 0) return [decided, written, 'source']
    // nodes of a cloud and a controller of our own: the Service's annotations may tell which of them has it
    if (near.length > 1 && both.length === 1) return [both, [...around, ...wanted], 'inferred']
    if (near.length > 0) return [near, around, 'source']
    return [asked, wanted, 'inferred']
  })()
  const all = [...new Set([...written, ...around, ...wanted])]
  if (families.length !== 1) {
    return {
      row: undefined,
      grade: 'unconfirmed',
      clues: all,
      contradiction: families.length > 1 ? [...families] : [],
      controller: undefined,
    }
  }
  const row = chooseRow(families[0] as string, service)
  const controller = environment.controllers.find((entry) => entry.row.id === row?.id)
  return {row, grade, clues: clues.length > 0 ? clues : all, contradiction: [], controller}
}

/** Marks that no person sets: the class, annotations and labels of the controller itself, host names in the status. */
function writtenClues(service: KubeObject): Clue[] {
  const object = objectOf(service)
  const clues: Clue[] = []
  const byClass = text(field(record(service['spec']), 'loadBalancerClass'))
  if (byClass !== undefined) {
    const families = familiesOf(
      balancerRows.filter((row) =>
        (row.match.classes ?? []).some((one) => (one.endsWith('/') ? byClass.startsWith(one) : byClass === one)),
      ),
    )
    if (families.length > 0) clues.push(clue(object, 'spec.loadBalancerClass', byClass, families))
  }
  const marks = {...service.metadata.labels, ...service.metadata.annotations}
  for (const row of balancerRows) {
    for (const key of row.match.written ?? []) {
      if (marks[key] !== undefined) clues.push(clue(object, `metadata.annotations["${key}"]`, marks[key], [row.family]))
    }
  }
  for (const hostname of statusHostnames(service)) {
    const families = familiesOf(
      balancerRows.filter((row) => (row.match.hostnames ?? []).some((end) => hostname.endsWith(end))),
    )
    if (families.length > 0) clues.push(clue(object, 'status.loadBalancer.ingress[].hostname', hostname, families))
  }
  return clues
}

function annotationClues(service: KubeObject): Clue[] {
  const clues: Clue[] = []
  for (const [key, value] of Object.entries(service.metadata.annotations ?? {})) {
    const families = familiesOf(
      balancerRows.filter((row) => row.match.annotations.some((prefix) => key.startsWith(prefix))),
    )
    if (families.length > 0) clues.push(clue(objectOf(service), `metadata.annotations["${key}"]`, value, families))
  }
  return clues
}

/** Of the rows of one family, the one that this Service asks for. */
function chooseRow(family: string, service: KubeObject): BalancerRow | undefined {
  const rows = balancerRows.filter((row) => row.family === family)
  const annotations = service.metadata.annotations ?? {}
  const byClass = text(field(record(service['spec']), 'loadBalancerClass')) ?? ''
  const pick = (id: string): BalancerRow | undefined => rows.find((row) => row.id === id)
  switch (family) {
    case 'aws': {
      const type = annotations['service.beta.kubernetes.io/aws-load-balancer-type'] ?? ''
      if (['service.k8s.aws/nlb', 'eks.amazonaws.com/nlb'].includes(byClass)) return pick('aws-lbc')
      if (['external', 'nlb-ip', 'nlb-instance'].includes(type)) return pick('aws-lbc')
      return pick(type === 'nlb' ? 'aws-nlb' : 'aws-elb')
    }
    case 'alibaba':
      return pick(
        byClass === 'alibabacloud.com/nlb' ||
          statusHostnames(service).some((name) => name.endsWith('.nlb.aliyuncs.com'))
          ? 'alibaba-nlb'
          : 'alibaba-clb',
      )
    case 'openstack':
      return pick(
        Object.keys(annotations).some((key) => key.startsWith('loadbalancer.ovhcloud.com/')) ? 'ovh' : 'openstack',
      )
    default:
      return rows[0]
  }
}

/** Host names in the status of a Service. */
export function statusHostnames(service: KubeObject): string[] {
  const status = record(field(record(service['status']), 'loadBalancer'))
  return records(field(status, 'ingress')).flatMap((entry) => text(field(entry, 'hostname')) ?? [])
}

function clue(object: string, where: string, value: string, families: readonly string[]): Clue {
  return {object, field: where, value, families}
}

function familiesOf(rows: readonly BalancerRow[]): string[] {
  return [...new Set(rows.map((row) => row.family))].toSorted()
}

/** Families that a set of clues leaves: what all of them agree on, else everything that any of them names. */
function familiesOfClues(clues: readonly Clue[]): string[] {
  const all = [...new Set(clues.flatMap((entry) => entry.families))]
  const agreed = all.filter((family) => clues.every((entry) => entry.families.includes(family)))
  return (agreed.length > 0 ? agreed : all).toSorted()
}

function objectOf(service: KubeObject): string {
  return `service/${service.metadata.namespace ?? 'default'}/${service.metadata.name}`
}
