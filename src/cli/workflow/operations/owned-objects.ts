import {hasStatus, type KubeClient} from '../../../kube/index.ts'
import {componentLabel, fieldManager} from '../../../model/dns.ts'
import {SrcipError} from '../../../model/errors.ts'
import {refText, type KubeObject} from '../../../model/kubernetes.ts'
import type {ApplyOperation, DeleteOperation, PlanObject} from '../../../model/plan.ts'
import {covers} from '../../../workflows/engine/fields.ts'
import type {OperationLook} from '../../../workflows/engine/ports.ts'
import {objectOfManifest} from '../../../workflows/engine/reverse.ts'
import {keyOf, resourceOf} from './resource.ts'

/** How objects that are wholly ours stand: as the manifests say, or not yet. One of the same name that is not ours is never touched. */
export async function lookAtApply(
  client: KubeClient,
  {manifests}: ApplyOperation,
  signal: AbortSignal,
): Promise<OperationLook> {
  const reasons: string[] = []
  let open = false
  for (const manifest of manifests) {
    const object = objectOfManifest(manifest)
    const live = await client.find<KubeObject>(resourceOf(object), keyOf(object), {signal})
    if (live === undefined || live.metadata.deletionTimestamp !== undefined) open = true
    else if (object.kind !== 'Namespace' && !isOurs(live)) reasons.push(foreign(object))
    else if (!covers(live, manifest)) open = true
  }
  if (reasons.length > 0) return {state: 'moved', reasons}
  return {state: open ? 'todo' : 'done', reasons: []}
}

/** Server-side apply, object by object in the given order; what is there and not ours ends it before the first write (33). */
export async function makeApply(
  client: KubeClient,
  {manifests}: ApplyOperation,
  {dryRun, signal}: {readonly dryRun: 'none' | 'server'; readonly signal: AbortSignal},
): Promise<string[]> {
  const open: Readonly<Record<string, unknown>>[] = []
  for (const manifest of manifests) {
    const object = objectOfManifest(manifest)
    const live = await client.find<KubeObject>(resourceOf(object), keyOf(object), {signal})
    if (live !== undefined && object.kind !== 'Namespace' && !isOurs(live))
      throw new SrcipError('Conflict', foreign(object), {object: refText(object)})
    if (live === undefined || !covers(live, manifest)) open.push(manifest)
  }
  const notes: string[] = []
  for (const manifest of open) {
    const object = objectOfManifest(manifest)
    try {
      await client.apply(resourceOf(object), manifest as unknown as KubeObject, {dryRun, signal, fieldManager})
      notes.push(`${refText(object)} applied`)
    } catch (error) {
      // the server cannot check what lies in a namespace that a dry run does not create
      if (dryRun !== 'server' || object.namespace === undefined || !hasStatus(error, 404)) throw error
      notes.push(`${refText(object)}: not checked by the server, its namespace does not exist yet`)
    }
  }
  return notes
}

/** How a deletion stands. With a uid it is that object, without one it has to carry our label. */
export async function lookAtDelete(
  client: KubeClient,
  {objects}: DeleteOperation,
  signal: AbortSignal,
): Promise<OperationLook> {
  const reasons: string[] = []
  let open = false
  for (const {object, uid} of objects) {
    const live = await client.find<KubeObject>(resourceOf(object), keyOf(object), {signal})
    if (live === undefined || live.metadata.deletionTimestamp !== undefined) continue
    if (uid !== undefined && live.metadata.uid !== uid)
      reasons.push(`${refText(object)} was replaced by another object of the same name`)
    else if (uid === undefined && !isOurs(live)) reasons.push(foreign(object))
    else open = true
  }
  if (reasons.length > 0) return {state: 'moved', reasons}
  return {state: open ? 'todo' : 'done', reasons: []}
}

export async function makeDelete(
  client: KubeClient,
  {objects}: DeleteOperation,
  {dryRun, signal}: {readonly dryRun: 'none' | 'server'; readonly signal: AbortSignal},
): Promise<string[]> {
  const notes: string[] = []
  for (const {object, uid} of objects) {
    const live = await client.find<KubeObject>(resourceOf(object), keyOf(object), {signal})
    if (live === undefined || live.metadata.deletionTimestamp !== undefined) continue
    if (uid === undefined && !isOurs(live)) throw new SrcipError('Conflict', foreign(object), {object: refText(object)})
    await client.delete(resourceOf(object), keyOf(object), {
      uid: uid ?? live.metadata.uid,
      propagationPolicy: 'Background',
      dryRun,
      signal,
    })
    notes.push(`${refText(object)} deleted`)
  }
  return notes
}

function isOurs(object: KubeObject): boolean {
  return object.metadata.labels?.[componentLabel] !== undefined
}

function foreign(object: PlanObject): string {
  return `${refText(object)} exists and is not ours: it has no label ${componentLabel}`
}
