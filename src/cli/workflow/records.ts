import {hasStatus, resources, type KubeClient} from '../../kube/index.ts'
import {componentLabel} from '../../model/dns.ts'
import {SrcipError} from '../../model/errors.ts'
import type {KubeObject} from '../../model/kubernetes.ts'
import {isOver, type RunSummary} from '../../model/plan.ts'
import {planHash} from '../../workflows/engine/canonical.ts'
import type {RunRecord} from '../../workflows/engine/ports.ts'

const prefix = 'srcip-run-'
const runLabel = {[componentLabel]: 'run'}

/** Run ids as they are made: time first, so that a list is in order. */
export const runIdPattern = /^[0-9]{8}-[0-9]{6}-[0-9a-f]{6}$/

/** ConfigMap of a run, beside the lock. */
export function recordName(id: string): string {
  return `${prefix}${id}`
}

/** Stores records with the version that was seen last as precondition; one process holds one store. */
export function createRecordStore(client: KubeClient, namespace: string) {
  let version: string | undefined
  return {
    /** A record that was read: later saves replace exactly this version. */
    adopt(resourceVersion: string | undefined): void {
      version = resourceVersion
    },
    async save(record: RunRecord, signal: AbortSignal): Promise<void> {
      const data = dataOf(record)
      const name = recordName(record.id)
      try {
        const stored =
          version === undefined
            ? await client.create<KubeObject>(
                resources.configMaps,
                {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name, namespace, labels: runLabel}, data},
                {signal},
              )
            : await client.mergePatch<KubeObject>(
                resources.configMaps,
                {namespace, name},
                // the plan does not change: only the state is written again
                {data: {'run.json': data['run.json']}},
                {signal, resourceVersion: version},
              )
        version = stored.metadata.resourceVersion
      } catch (error) {
        if (!hasStatus(error, 409)) throw error
        // the answer to our own write may have been lost: then what stands there is ours
        const live = await client.find<KubeObject>(resources.configMaps, {namespace, name}, {signal})
        const stored = (live?.['data'] as Readonly<Record<string, string>> | undefined)?.['run.json']
        if (live === undefined || stored !== data['run.json'])
          throw new SrcipError('Conflict', `configmap/${namespace}/${name} is written by somebody else, too`, {
            object: `configmap/${namespace}/${name}`,
            hints: ['kubectl srcip runs'],
            cause: error,
          })
        version = live.metadata.resourceVersion
      }
    },
  }
}

function dataOf(record: RunRecord): Readonly<Record<'plan.json' | 'run.json', string>> {
  const {plan, ...state} = record
  return {'plan.json': `${JSON.stringify(plan, undefined, 1)}\n`, 'run.json': `${JSON.stringify(state)}\n`}
}

/** A record with the namespace and the version it was read from. */
export interface FoundRecord {
  readonly record: RunRecord
  readonly namespace: string
  readonly resourceVersion: string | undefined
}

/** All runs of a namespace (of every one that may be listed, without it), in the order they were started. */
export async function listRecords(
  client: KubeClient,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<{readonly found: readonly FoundRecord[]; readonly broken: readonly string[]}> {
  const {items} = await client.list<KubeObject>(resources.configMaps, {
    namespace,
    labelSelector: `${componentLabel}=run`,
    signal,
  })
  const found: FoundRecord[] = []
  const broken: string[] = []
  for (const item of items.filter(({metadata}) => metadata.name.startsWith(prefix))) {
    const record = readRecord(item)
    if (record === undefined) broken.push(`configmap/${item.metadata.namespace}/${item.metadata.name}`)
    else
      found.push({
        record,
        namespace: item.metadata.namespace ?? '',
        resourceVersion: item.metadata.resourceVersion,
      })
  }
  return {found: found.toSorted((a, b) => (a.record.started < b.record.started ? -1 : 1)), broken}
}

/** One run by its id. Throws 2 for what is no id, 32 when there is no such record or it cannot be read. */
export async function findRecord(
  client: KubeClient,
  id: string,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<FoundRecord> {
  if (!runIdPattern.test(id))
    throw new SrcipError('Usage', `${JSON.stringify(id)} is no id of a run`, {hints: ['kubectl srcip runs']})
  const {found, broken} = await listRecords(client, namespace, signal)
  const match = found.find(({record}) => record.id === id)
  if (match !== undefined) return match
  const unreadable = broken.find((name) => name.endsWith(recordName(id)))
  throw unreadable === undefined
    ? new SrcipError('Precondition', `there is no record of run ${id}`, {hints: ['kubectl srcip runs']})
    : new SrcipError('Precondition', `${unreadable} does not hold a record that can be read: it was edited`, {
        object: unreadable,
        hints: ['look at the plan in it and put the values back by hand, or run kubectl srcip doctor'],
      })
}

/** The record of a ConfigMap; undefined for one that is not as we wrote it: the plan's hash must fit. */
function readRecord(object: KubeObject): RunRecord | undefined {
  const data = object['data'] as Readonly<Record<string, string>> | undefined
  try {
    const plan = JSON.parse(data?.['plan.json'] ?? '') as RunRecord['plan']
    const state = JSON.parse(data?.['run.json'] ?? '') as Omit<RunRecord, 'plan'>
    if (planHash(plan) !== plan.hash || !runIdPattern.test(state.id)) return undefined
    if (!Number.isInteger(state.cursor) || state.cursor < -1 || state.cursor >= plan.steps.length) return undefined
    return {...state, plan}
  } catch {
    return undefined
  }
}

/** One line of `runs`. */
export function summaryOf({record, namespace}: FoundRecord): RunSummary {
  const {id, plan, status, cursor, started, by} = record
  return {
    ...{id, namespace, status, started, by},
    operation: plan.operation,
    platform: plan.platform,
    subject: plan.scope.subject,
    step: isOver(record) ? '' : (plan.steps[Math.max(cursor, 0)]?.id ?? ''),
  }
}
