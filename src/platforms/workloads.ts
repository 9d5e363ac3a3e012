import type {KubeObject} from '../model/kubernetes.ts'
import {field, list, record, text} from '../model/fields.ts'
import type {SnapshotIndex} from '../model/snapshot.ts'
import {projectPod, projectWorkload, type ContainerView, type PodSpecView} from './dns/objects.ts'

/** Something that runs containers: a pod, or the template of a workload where no pods are known. */
export interface Runner {
  /** `pod/ns/name`, `daemonset/ns/name`. */
  readonly object: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  readonly spec: PodSpecView
  /** Of a pod: the node it runs on. */
  readonly node?: string
  readonly ready: boolean
  readonly ips: readonly string[]
}

const workloadKinds = ['DaemonSet', 'Deployment', 'StatefulSet', 'ReplicaSet'] as const

/** Pods that are not over, as runners. */
export function podRunners(index: SnapshotIndex): Runner[] {
  return index.list('Pod', '').flatMap((object) => {
    const pod = projectPod(object)
    if (pod.phase === 'Succeeded' || pod.phase === 'Failed' || pod.metadata.deletionTimestamp !== undefined) return []
    const node = text(field(record(object['spec']), 'nodeName'))
    return [
      {
        ...identityOf('Pod', object),
        labels: pod.metadata.labels ?? {},
        annotations: pod.metadata.annotations ?? {},
        spec: pod.spec,
        ...(node === undefined ? {} : {node}),
        ready: pod.ready,
        ips: pod.ips,
      },
    ]
  })
}

/** Pod templates of workloads that are not scaled to 0, as runners. ReplicaSets of a Deployment repeat it and are left out. */
export function workloadRunners(index: SnapshotIndex): Runner[] {
  return workloadKinds.flatMap((kind) =>
    index.list(kind, 'apps').flatMap((object) => {
      const workload = projectWorkload(object)
      if (workload.replicas === 0) return []
      if (kind === 'ReplicaSet' && (workload.metadata.ownerReferences ?? []).length > 0) return []
      const template = record(field(record(field(record(object['spec']), 'template')), 'metadata'))
      return [
        {
          ...identityOf(kind, object),
          labels: workload.templateLabels,
          annotations: textRecord(field(template, 'annotations')),
          spec: workload.spec,
          ready: true,
          ips: [],
        },
      ]
    }),
  )
}

function identityOf(kind: string, object: KubeObject) {
  const {namespace = 'default', name} = object.metadata
  return {object: `${kind.toLowerCase()}/${namespace}/${name}`, kind, namespace, name}
}

function textRecord(value: unknown): Record<string, string> {
  return Object.fromEntries(
    Object.entries(record(value)).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
}

/** Labels that hold all pairs of a selector; an empty selector selects nothing. */
export function selects(
  selector: Readonly<Record<string, string>> | undefined,
  labels: Readonly<Record<string, string>>,
): boolean {
  const pairs = Object.entries(selector ?? {})
  return pairs.length > 0 && pairs.every(([name, value]) => labels[name] === value)
}

/** Command and arguments as one list of words, with `$(NAME)` filled in where the value is known. */
export function wordsOf(runner: Runner, container: ContainerView): string[] {
  return [...container.command, ...container.args].map((word) =>
    word.replaceAll(/\$\(([A-Za-z_][A-Za-z0-9_]*)\)/g, (whole, name: string) => {
      const literal = container.env.find((variable) => variable.name === name)?.value
      if (literal !== undefined && literal !== '') return literal
      // by the downward API: nothing else is ever put into a variable of this name
      return name.endsWith('NAMESPACE') ? runner.namespace : whole
    }),
  )
}

/** Value of a flag in any of Go's spellings; `''` for a flag without a value; undefined if it is not given. The last one counts. */
export function flagOf(words: readonly string[], flag: string): string | undefined {
  const bare = flag.replace(/^-+/, '').toLowerCase()
  let found: string | undefined
  for (const [index, word] of words.entries()) {
    const match = /^--?([^=\s]+)(?:=(.*))?$/s.exec(word)
    if (match === null || match[1]?.toLowerCase() !== bare) continue
    const next = words[index + 1]
    found = match[2] ?? (next !== undefined && !next.startsWith('-') ? next : '')
  }
  return found
}

/** Is a boolean flag on? Given without a value it is. */
export function isFlagOn(words: readonly string[], flag: string): boolean {
  const value = flagOf(words, flag)
  return value !== undefined && !/^(?:false|0|f)$/i.test(value)
}

/** Container ports by name, for target ports that are names. */
export function containerPort(runner: Runner, name: string): number | undefined {
  return runner.spec.containers.flatMap((container) => container.ports).find((entry) => entry.name === name)
    ?.containerPort
}

/** Entries of an object list that are objects. */
export function records(value: unknown): Readonly<Record<string, unknown>>[] {
  return list(value).map(record)
}
