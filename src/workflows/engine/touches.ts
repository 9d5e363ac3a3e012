import {refText} from '../../model/kubernetes.ts'
import type {PlanOperation, PlanStep} from '../../model/plan.ts'
import {objectOfManifest} from './reverse.ts'

/** What an operation writes, as keys that can be compared: `object` or `object#field.path`. */
export function touchedBy(operation: PlanOperation): string[] {
  switch (operation.op) {
    case 'patch':
      return operation.fields.map(({path}) => `${refText(operation.object)}#${path.join('/')}`)
    case 'apply':
      return operation.manifests.map((manifest) => refText(objectOfManifest(manifest)))
    case 'delete':
      return operation.objects.map(({object}) => refText(object))
    case 'dns':
      return ['cluster-dns']
    case 'none':
      return []
  }
}

/** Do two operations write the same field or object? */
export function overlap(left: PlanOperation, right: PlanOperation): boolean {
  const own = touchedBy(left)
  return touchedBy(right).some((key) => overlaps(key, own))
}

/**
 * Must `before` be made before anything can be said about `operation`? It writes the same, or makes the Service that names in cluster DNS
 * are to lead to.
 */
export function comesFirst(before: PlanOperation, operation: PlanOperation): boolean {
  return overlap(before, operation) || (before.op === 'apply' && operation.op === 'dns')
}

/** Has a later step, up to and with the one at `cursor`, written over what the step at `index` wrote? Then its state says nothing any more. */
export function isSuperseded(steps: readonly PlanStep[], index: number, cursor: number): boolean {
  const step = steps[index]
  return (
    step !== undefined && steps.slice(index + 1, cursor + 1).some((later) => overlap(step.operation, later.operation))
  )
}

/** A whole object overlaps with each of its fields, a field with the fields inside it. */
function overlaps(key: string, own: readonly string[]): boolean {
  const [object, path] = parts(key)
  return own.some((other) => {
    const [otherObject, otherPath] = parts(other)
    if (object !== otherObject) return false
    if (path === undefined || otherPath === undefined) return true
    return `${path}/`.startsWith(`${otherPath}/`) || `${otherPath}/`.startsWith(`${path}/`)
  })
}

function parts(key: string): [string, string | undefined] {
  const hash = key.indexOf('#')
  return hash < 0 ? [key, undefined] : [key.slice(0, hash), key.slice(hash + 1)]
}

/** Operations that write something. */
export function writes(step: PlanStep): boolean {
  return step.operation.op !== 'none'
}
