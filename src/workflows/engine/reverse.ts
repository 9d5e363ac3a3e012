import {absent} from '../../model/plan.ts'
import type {PlanObject, PlanOperation, PlanStep} from '../../model/plan.ts'

/** The operation that takes another back. `delete` of what is not ours has none: the caller asks `reversible` first. */
export function reverseOperation(operation: PlanOperation): PlanOperation {
  switch (operation.op) {
    case 'patch':
      return {
        ...operation,
        fields: operation.fields
          .toReversed()
          .map(({path, before, after}) => ({path, before: after ?? absent, after: before})),
      }
    case 'apply':
      if (operation.previous !== undefined)
        return {op: 'apply', manifests: operation.previous, previous: operation.manifests}
      return {
        op: 'delete',
        // never a namespace: others may have put something into it meanwhile
        objects: operation.manifests
          .filter((manifest) => manifest['kind'] !== 'Namespace')
          .toReversed()
          .map((manifest) => ({object: objectOfManifest(manifest)})),
        manifests: operation.manifests,
      }
    case 'delete':
      return {op: 'apply', manifests: operation.manifests}
    case 'dns':
      return {op: 'dns', before: operation.after, after: operation.before}
    case 'none':
      return operation
  }
}

/** The step that takes a step back, with its own proof; undefined for one that has no way back or needs none. */
export function reverseStep(step: PlanStep): PlanStep | undefined {
  if (!step.reversible || step.undo === undefined) return undefined
  const {title, proofs, limitSeconds, instructions} = step.undo
  const operation = reverseOperation(step.operation)
  return {
    id: `undo-${step.id}`,
    title,
    action: actionOf(operation, instructions.length > 0),
    operation,
    proofs,
    limitSeconds,
    instructions,
    reversible: false,
    onFailure: 'stop',
  }
}

function actionOf(operation: PlanOperation, manual: boolean): PlanStep['action'] {
  if (manual) return 'manual'
  const actions = {none: 'wait', patch: 'update', apply: 'create', delete: 'delete', dns: 'update'} as const
  return actions[operation.op]
}

/** Plurals that are not the kind in lower case with an `s`. */
const plurals: Readonly<Record<string, string>> = {NetworkPolicy: 'networkpolicies', Ingress: 'ingresses'}

/** Which object a manifest is; kinds of ours only, whose plurals are regular or listed here. */
export function objectOfManifest(manifest: Readonly<Record<string, unknown>>): PlanObject {
  const [group = '', version] = splitApiVersion(word(manifest['apiVersion']))
  const kind = word(manifest['kind'])
  const metadata = (manifest['metadata'] ?? {}) as {readonly name?: string; readonly namespace?: string}
  return {
    group,
    version,
    plural: plurals[kind] ?? `${kind.toLowerCase()}s`,
    kind,
    ...(metadata.namespace === undefined ? {} : {namespace: metadata.namespace}),
    name: metadata.name ?? '',
  }
}

function word(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function splitApiVersion(apiVersion: string): [string, string] {
  const slash = apiVersion.indexOf('/')
  return slash < 0 ? ['', apiVersion] : [apiVersion.slice(0, slash), apiVersion.slice(slash + 1)]
}
