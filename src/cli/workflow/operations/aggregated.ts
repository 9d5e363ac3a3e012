import {resources, type KubeClient} from '../../../kube/index.ts'
import {SrcipError} from '../../../model/errors.ts'
import {refText, type KubeObject} from '../../../model/kubernetes.ts'
import type {PatchOperation, PlanObject} from '../../../model/plan.ts'
import {lookAtFields, patchBody, readField, valueText} from '../../../workflows/engine/fields.ts'
import type {OperationLook} from '../../../workflows/engine/ports.ts'
import {keyOf, resourceOf} from './resource.ts'

/** Cozystack's aggregated API: it ignores dryRun and a stale resourceVersion (cozystack.md 5, from pkg/registry/apps/application/rest.go). */
const aggregatedGroup = 'apps.cozystack.io'

export function isAggregated(object: PlanObject): boolean {
  return object.group === aggregatedGroup
}

/** As for any patch, and the HelmRelease behind the object must stand a rebuild: each write drops what others put onto it. */
export async function lookAtAggregated(
  client: KubeClient,
  operation: PatchOperation,
  signal: AbortSignal,
): Promise<OperationLook> {
  const live = await client.find<KubeObject>(resourceOf(operation.object), keyOf(operation.object), {signal})
  const look = lookAtFields(live, operation)
  if (look.state !== 'todo') return look
  const reasons = await rebuildLosses(client, operation.object, signal)
  return reasons.length > 0 ? {state: 'moved', reasons} : look
}

/**
 * Reads the object and its HelmRelease right before the write, patches only the planned keys, and reads back, since the server would
 * take a stale write without a word. A dry run sends nothing: the server would store it.
 */
export async function makeAggregated(
  client: KubeClient,
  operation: PatchOperation,
  {dryRun, signal}: {readonly dryRun: 'none' | 'server'; readonly signal: AbortSignal},
): Promise<string[]> {
  const name = refText(operation.object)
  const look = await lookAtAggregated(client, operation, signal)
  if (look.state === 'moved') throw new SrcipError('Precondition', look.reasons.join('; '), {object: name})
  if (dryRun === 'server')
    return [
      `${name}: computed here, not checked by the server, which ignores dryRun and would store it: ${operation.fields
        .map(({path, before, after}) => `${path.join('.')}: ${valueText(before)} -> ${valueText(after)}`)
        .join(', ')}`,
    ]
  if (look.state === 'done') return []
  const resource = resourceOf(operation.object)
  await client.mergePatch(resource, keyOf(operation.object), patchBody(operation.fields), {signal})
  const stored = await client.find<KubeObject>(resource, keyOf(operation.object), {signal})
  const after = lookAtFields(stored, operation)
  if (after.state === 'done') return [`${name} patched and read back`]
  throw new SrcipError(
    'Conflict',
    `${name} was written and does not read back so: ${operation.fields
      .map(({path}) => `${path.join('.')} is ${valueText(readField(stored, path))}`)
      .join(', ')}`,
    {object: name, hints: ['somebody writes it at the same time: find out who, then plan again']},
  )
}

/** What a write through this API would drop from the HelmRelease that stores the object. */
async function rebuildLosses(client: KubeClient, object: PlanObject, signal: AbortSignal): Promise<string[]> {
  const prefixes: Readonly<Record<string, string>> = {kuberneteses: 'kubernetes-', tenants: 'tenant-', ingresses: ''}
  const name = `${prefixes[object.plural] ?? ''}${object.name}`
  const release = await client.find<KubeObject>(resources.helmReleases, {namespace: object.namespace, name}, {signal})
  if (release === undefined) return []
  const text = `helmrelease/${object.namespace}/${name}`
  const {annotations = {}, finalizers = []} = release.metadata as KubeObject['metadata'] & {
    readonly finalizers?: readonly string[]
  }
  const spec = release['spec'] as {readonly suspend?: boolean} | undefined
  const foreign = Object.keys(annotations).filter(
    (key) => !/^(?:reconcile\.fluxcd\.io|kubectl\.kubernetes\.io|meta\.helm\.sh)\//.test(key),
  )
  const hooks = finalizers.filter((one) => one !== 'finalizers.fluxcd.io')
  return [
    ...(spec?.suspend === true ? [`${text} is suspended: the write would resume it`] : []),
    ...foreign.map((key) => `${text} carries annotation ${key}, which the write would drop`),
    ...hooks.map((one) => `${text} carries finalizer ${one}, which the write would drop`),
  ]
}
