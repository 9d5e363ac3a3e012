import {labelSelectorOf, resources} from '../../../kube/index.ts'
import {refText, type KubeObject} from '../../../model/kubernetes.ts'
import type {DeploymentProof, FieldProof, GoneProof, NoPodsProof} from '../../../model/proofs.ts'
import {sameValue} from '../../../workflows/engine/canonical.ts'
import {readField, valueText} from '../../../workflows/engine/fields.ts'
import type {ProofAnswer} from '../../../workflows/engine/ports.ts'
import {keyOf, resourceOf} from '../operations/resource.ts'
import type {ProofContext} from './index.ts'

const yes = (text: string): ProofAnswer => ({holds: 'yes', evidence: [text]})
const no = (text: string): ProofAnswer => ({holds: 'no', evidence: [text]})

/** Has the field the value? An object that is not there has none. */
export async function readFieldProof({client, signal}: ProofContext, proof: FieldProof): Promise<ProofAnswer> {
  const live = await client.find<KubeObject>(resourceOf(proof.object), keyOf(proof.object), {signal})
  const name = refText(proof.object)
  if (live === undefined && !('absent' in proof.equals)) return no(`${name} is not there`)
  const value = readField(live, proof.path)
  const text = `${name}: ${proof.path.join('.')} is ${valueText(value)}`
  return sameValue(value, proof.equals) ? yes(text) : no(`${text}, not yet ${valueText(proof.equals)}`)
}

/** Is the object gone? One that waits for its finalizers is not. */
export async function readGone({client, signal}: ProofContext, {object}: GoneProof): Promise<ProofAnswer> {
  const live = await client.find<KubeObject>(resourceOf(object), keyOf(object), {signal})
  if (live === undefined) return yes(`${refText(object)} is gone`)
  const deleting = live.metadata.deletionTimestamp !== undefined
  return no(`${refText(object)} is still there${deleting ? ', being deleted' : ''}`)
}

/** As `kubectl rollout status`: the controller has seen this generation, every wanted pod is of it and available, no older one is left. */
export async function readDeployment(
  {client, signal}: ProofContext,
  {namespace, name}: DeploymentProof,
): Promise<ProofAnswer> {
  const object = `deployment/${namespace}/${name}`
  const live = await client.find<KubeObject>(resources.deployments, {namespace, name}, {signal})
  if (live === undefined) return no(`${object} is not there`)
  const {replicas: wanted = 1} = (live['spec'] ?? {}) as {readonly replicas?: number}
  const status = (live['status'] ?? {}) as {
    readonly observedGeneration?: number
    readonly replicas?: number
    readonly updatedReplicas?: number
    readonly availableReplicas?: number
    readonly conditions?: readonly {readonly type?: string; readonly reason?: string; readonly message?: string}[]
  }
  const {observedGeneration = 0, replicas = 0, updatedReplicas = 0, availableReplicas = 0, conditions = []} = status
  if (observedGeneration < (live.metadata.generation ?? 0)) return no(`${object}: not seen by its controller yet`)
  const late = conditions.find(({reason}) => reason === 'ProgressDeadlineExceeded')
  if (late !== undefined)
    return {holds: 'no', never: true, evidence: [`${object}: ${late.message ?? 'progress deadline exceeded'}`]}
  if (updatedReplicas === wanted && replicas === wanted && availableReplicas === wanted)
    return yes(`${object}: ${wanted} of ${wanted} pods available`)
  return no(`${object}: ${availableReplicas} of ${wanted} pods available, ${updatedReplicas} updated`)
}

/** Is no pod with these labels left? Those that are ending still count: they may still answer and write. */
export async function readNoPods(
  {client, signal}: ProofContext,
  {namespace, selector}: NoPodsProof,
): Promise<ProofAnswer> {
  const labelSelector = labelSelectorOf(selector)
  const {items} = await client.list<KubeObject>(resources.pods, {namespace, labelSelector, signal})
  if (items.length === 0) return yes(`no pod with ${labelSelector} is left in ${namespace}`)
  return no(items.map(({metadata}) => `pod/${namespace}/${metadata.name} is still there`).join(', '))
}
