import {resources} from '../../../kube/index.ts'
import type {KubeObject} from '../../../model/kubernetes.ts'
import type {HelmReleaseProof} from '../../../model/proofs.ts'
import {sameValue} from '../../../workflows/engine/canonical.ts'
import {readField, valueText} from '../../../workflows/engine/fields.ts'
import type {ProofAnswer} from '../../../workflows/engine/ports.ts'
import type {ProofContext} from './index.ts'

interface HelmReleaseStatus {
  readonly observedGeneration?: number
  readonly lastHandledReconcileAt?: string
  readonly conditions?: readonly {
    readonly type?: string
    readonly status?: string
    readonly observedGeneration?: number
    readonly reason?: string
    readonly message?: string
  }[]
}

/**
 * Has a HelmRelease done its work? Ready alone says too little (cozystack.md 2): it must be of this generation, a request must be
 * handled, and the values must be those that are wanted.
 */
export async function readHelmRelease({client, signal}: ProofContext, proof: HelmReleaseProof): Promise<ProofAnswer> {
  const {namespace, name, requestedAt, values = [], neverWith} = proof
  const object = `helmrelease/${namespace}/${name}`
  const live = await client.find<KubeObject>(resources.helmReleases, {namespace, name}, {signal})
  if (live === undefined) return {holds: 'no', evidence: [`${object} is not there yet`]}
  const spec = (live['spec'] ?? {}) as {readonly suspend?: boolean; readonly values?: unknown}
  const status = (live['status'] ?? {}) as HelmReleaseStatus
  const ready = status.conditions?.find(({type}) => type === 'Ready')
  const message = ready?.message ?? ''
  const failed = (text: string, never = false): ProofAnswer => ({
    holds: 'no',
    ...(never ? {never} : {}),
    evidence: [`${object}: ${text}`],
  })
  if (neverWith !== undefined && ready?.status === 'False' && message.includes(neverWith)) return failed(message, true)
  if (spec.suspend === true) return failed('it is suspended, so that nothing will happen', true)
  for (const {path, equals} of values) {
    const value = readField(spec.values, path)
    if (!sameValue(value, equals))
      return failed(`value ${path.join('.')} is ${valueText(value)}, not yet ${valueText(equals)}`)
  }
  if (requestedAt !== undefined && status.lastHandledReconcileAt !== requestedAt)
    return failed(`the request of ${requestedAt} is not handled yet`)
  const generation = live.metadata.generation ?? 0
  if ((status.observedGeneration ?? 0) < generation) return failed(`generation ${generation} is not observed yet`)
  if (ready?.observedGeneration !== undefined && ready.observedGeneration < generation)
    return failed(`Ready is of an older generation`)
  if (ready?.status !== 'True') return failed(`not ready: ${ready?.reason ?? 'no condition'} ${message}`.trim())
  return {holds: 'yes', evidence: [`${object}: ${ready.reason ?? 'Ready'}, generation ${generation}`]}
}
