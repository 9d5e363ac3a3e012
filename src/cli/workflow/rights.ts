import {resources, resourceText, type AccessQuestion, type KubeClient} from '../../kube/index.ts'
import {SrcipError} from '../../model/errors.ts'
import type {PlanOperation} from '../../model/plan.ts'
import {objectOfManifest} from '../../workflows/engine/reverse.ts'
import {resourceOf} from './operations/resource.ts'

/** Asks the authorizer about every write of these operations and of the run itself; throws 31 with all that are missing. */
export async function assertMayDo(
  client: KubeClient,
  operations: readonly PlanOperation[],
  namespace: string,
  signal: AbortSignal,
): Promise<void> {
  const questions = [...questionsOfRun(namespace), ...operations.flatMap(questionsOf)]
  const distinct = new Map(questions.map((question) => [textOf(question), question]))
  const missing: string[] = []
  for (const [text, question] of distinct) {
    const {allowed} = await client.selfSubjectAccessReview(question, {signal})
    if (!allowed) missing.push(text)
  }
  if (missing.length > 0)
    throw new SrcipError('Denied', `not allowed to ${missing.join(', ')}: nothing was written`, {
      hints: missing.map((text) => `kubectl auth can-i ${text.replace(' in namespace ', ' -n ')}`),
    })
}

function questionsOfRun(namespace: string): AccessQuestion[] {
  return [
    {verb: 'create', resource: resources.configMaps, namespace},
    {verb: 'patch', resource: resources.configMaps, namespace},
    {verb: 'create', resource: resources.leases, namespace},
    {verb: 'update', resource: resources.leases, namespace},
  ]
}

function questionsOf(operation: PlanOperation): AccessQuestion[] {
  switch (operation.op) {
    case 'none':
    case 'dns':
      // the writes of cluster DNS are asked about where they are planned, object by object
      return []
    case 'patch': {
      const {namespace, name} = operation.object
      return [{verb: 'patch', resource: resourceOf(operation.object), namespace, name}]
    }
    case 'apply':
      return operation.manifests.map((manifest) => {
        const object = objectOfManifest(manifest)
        return {verb: 'patch', resource: resourceOf(object), namespace: object.namespace, name: object.name}
      })
    case 'delete':
      return operation.objects.map(({object}) => ({
        verb: 'delete',
        resource: resourceOf(object),
        namespace: object.namespace,
        name: object.name,
      }))
  }
}

function textOf({verb, resource, namespace, name}: AccessQuestion): string {
  const what = name === undefined ? resourceText(resource) : `${resourceText(resource)}/${name}`
  return `${verb} ${what}${namespace === undefined ? '' : ` in namespace ${namespace}`}`
}
