import {field, list, record, text} from '../fields.ts'
import {pairs} from './shape.ts'

/** What is kept of `metadata`, beyond names, times and owners. */
export interface MetadataShape {
  /** Labels select and tell the owner; only of kinds that come by the thousand are few kept. */
  readonly labels?: 'all'
  /** Exact annotation keys are of no use here: providers have hundreds. Each expression must match from the start. */
  readonly annotations?: RegExp
  /** Only of objects that we might write: who owns which field. */
  readonly managedFields?: true
  readonly resourceVersion?: true
}

/** Labels that tell what an object is, and who made it. */
const knownLabels =
  /^(?:app$|k8s-app$|component$|tier$|name$|role$|run$|istio$|chart$|release$|heritage$|app\.kubernetes\.io\/|helm\.sh\/|kubernetes\.io\/|srcip\.dev\/|cozystack\.io\/|platform\.cozystack\.io\/|helm\.toolkit\.fluxcd\.io\/|kustomize\.toolkit\.fluxcd\.io\/|argocd\.argoproj\.io\/|addonmanager\.kubernetes\.io\/|gateway\.networking\.k8s\.io\/|kamaji\.clastix\.io\/|gateway\.envoyproxy\.io\/)/

/** Who applied an object; on every kind. */
const ownerAnnotations =
  /^(?:srcip\.dev\/|meta\.helm\.sh\/|helm\.sh\/resource-policy$|argocd\.argoproj\.io\/(?:tracking-id|instance)|objectset\.rio\.cattle\.io\/(?:owner-|id$)|kustomize\.toolkit\.fluxcd\.io\/|reconcile\.fluxcd\.io\/)/

/** Whole objects and pieces of code: what is in them cannot be told from outside. */
const neverRead = /^kubectl\.kubernetes\.io\/last-applied-configuration$|snippet$/

/** Projects `metadata`; undefined when the object has no name. */
export function projectMetadata(value: unknown, shape: MetadataShape): Record<string, unknown> | undefined {
  const metadata = record(value)
  const name = text(field(metadata, 'name'))
  if (name === undefined) return undefined
  const {annotations} = shape
  const labels = pairs(field(metadata, 'labels'), shape.labels === 'all' ? undefined : (key) => knownLabels.test(key))
  const notes = pairs(
    field(metadata, 'annotations'),
    (key) => !neverRead.test(key) && (ownerAnnotations.test(key) || annotations?.test(key) === true),
  )
  const owners = list(field(metadata, 'ownerReferences'))
    .map(ownerReference)
    .filter((one) => one !== undefined)
  const managed = shape.managedFields === true ? managedFields(field(metadata, 'managedFields')) : []
  const generation = field(metadata, 'generation')
  return {
    ...texts(metadata, ['namespace']),
    name,
    ...texts(metadata, [
      'uid',
      ...(shape.resourceVersion === true ? ['resourceVersion'] : []),
      'creationTimestamp',
      'deletionTimestamp',
    ]),
    ...(typeof generation === 'number' ? {generation} : {}),
    ...(labels === undefined || Object.keys(labels).length === 0 ? {} : {labels}),
    ...(notes === undefined || Object.keys(notes).length === 0 ? {} : {annotations: notes}),
    ...(owners.length === 0 ? {} : {ownerReferences: owners}),
    ...(managed.length === 0 ? {} : {managedFields: managed}),
  }
}

function texts(value: Readonly<Record<string, unknown>>, names: readonly string[]): Record<string, string> {
  const kept: Record<string, string> = {}
  for (const name of names) {
    const found = text(field(value, name))
    if (found !== undefined) kept[name] = found
  }
  return kept
}

function ownerReference(value: unknown): Record<string, unknown> | undefined {
  const owner = record(value)
  const kept = texts(owner, ['apiVersion', 'kind', 'name', 'uid'])
  if (kept['name'] === undefined) return undefined
  return {...kept, ...(field(owner, 'controller') === true ? {controller: true} : {})}
}

/** Manager, operation and the list of fields, in the form of fieldsV1; keys and values of list items are left out. */
function managedFields(value: unknown): Record<string, unknown>[] {
  return list(value).map((entry) => {
    const one = record(entry)
    const fields = fieldNames(field(one, 'fieldsV1'), 6)
    return {...texts(one, ['manager', 'operation', 'subresource']), ...(fields === undefined ? {} : {fieldsV1: fields})}
  })
}

function fieldNames(value: unknown, depth: number): Record<string, unknown> | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || depth === 0) return undefined
  const kept: Record<string, unknown> = {}
  for (const [key, inner] of Object.entries(value)) {
    // `f:kubectl.kubernetes.io/...` and other keys of maps are names; `k:{...}` and `v:...` hold values.
    if (key.startsWith('f:')) kept[key] = fieldNames(inner, depth - 1) ?? {}
  }
  return kept
}
