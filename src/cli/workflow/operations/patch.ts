import {hasStatus, type KubeClient} from '../../../kube/index.ts'
import {SrcipError} from '../../../model/errors.ts'
import {refText, type KubeObject} from '../../../model/kubernetes.ts'
import type {PatchOperation} from '../../../model/plan.ts'
import {lookAtFields, patchBody, readField} from '../../../workflows/engine/fields.ts'
import {sameValue} from '../../../workflows/engine/canonical.ts'
import type {OperationLook} from '../../../workflows/engine/ports.ts'
import {keyOf, resourceOf} from './resource.ts'

/** Writes to unrelated fields that may come between our read and our write before we give up. */
const tries = 6

export async function lookAtPatch(
  client: KubeClient,
  operation: PatchOperation,
  signal: AbortSignal,
): Promise<OperationLook> {
  const live = await client.find<KubeObject>(resourceOf(operation.object), keyOf(operation.object), {signal})
  return lookAtFields(live, operation)
}

/**
 * JSON merge patch of the planned fields with `resourceVersion` and `uid` of the object as it is read right before: a field that is
 * neither as planned nor as wanted is never overwritten (33). A conflict is looked into: another field may have changed, or the
 * answer to our own write was lost and the second sending met it.
 */
export async function makePatch(
  client: KubeClient,
  operation: PatchOperation,
  {dryRun, signal}: {readonly dryRun: 'none' | 'server'; readonly signal: AbortSignal},
): Promise<void> {
  const resource = resourceOf(operation.object)
  const key = keyOf(operation.object)
  for (let attempt = 1; ; attempt++) {
    const live = await client.find<KubeObject>(resource, key, {signal})
    const look = lookAtFields(live, operation)
    if (look.state === 'done') return
    if (live === undefined || (look.state === 'moved' && dryRun === 'none'))
      throw new SrcipError('Conflict', look.reasons.join('; '), {
        object: refText(operation.object),
        hints: ['plan again: what is there now decides'],
      })
    const {uid, resourceVersion} = live.metadata
    const fields = operation.fields.filter(({path, after}) => !sameValue(readField(live, path), after))
    try {
      await client.mergePatch(resource, key, patchBody(fields), {dryRun, signal, uid, resourceVersion})
      return
    } catch (error) {
      if (!hasStatus(error, 409) || attempt === tries) throw error
    }
  }
}
