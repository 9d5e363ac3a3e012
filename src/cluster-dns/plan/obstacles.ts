import type {EditPlan} from '../../../plugins/coredns/src/index.ts'
import type {CorednsRefusal} from '../../model/coredns-plan.ts'
import type {DnsState} from '../types.ts'
import {configMapLimit} from '../write.ts'
import type {OwnImportKey} from './import-keys.ts'
import type {RefusalCode} from './refusals.ts'

/** A refusal of everything. */
export interface TextRefusal extends Omit<CorednsRefusal, 'name'> {
  readonly code: RefusalCode
}

/** Bytes that stay free below the limit of a ConfigMap: its metadata and managedFields count in etcd, if not in the check. */
const headroom = 16_384

/** Lines between markers in a Corefile that its owner puts back. Import keys are not concerned. */
export function ownerRefusal(state: DnsState, keys: readonly OwnImportKey[]): TextRefusal | undefined {
  const owner = state.location?.owner
  if (owner === undefined || owner.edits !== 'reverted') return undefined
  const unread = keys.length === 0 ? '' : '; the server blocks of these hosts import no key of ours'
  return {
    code: 'OwnedByPlatform',
    reason: `${owner.evidence.find((text) => text.startsWith('manager')) ?? `${state.corefile.source} belongs to ${owner.title} (${owner.evidence.join(', ')})`}: an edit lasts ${owner.lasts}${unread}`,
    remedy: `${owner.instead ?? 'change it at its source'}; --force writes all the same`,
  }
}

/** Rules of ouroboros or hairpin-proxy: two tools on one file undo each other. */
export function otherToolsOf(state: DnsState, plan: EditPlan, owner: 'srcip' | 'ouroboros'): TextRefusal | undefined {
  const note = plan.notes.find((entry) => entry.code === 'OtherOwner')
  const stem = owner === 'srcip' ? 'ouroboros' : 'srcip'
  const key = [...state.files.keys()].find((path) => new RegExp(`/${stem}\\.[a-z]+$`).test(path))
  if (note === undefined && key === undefined) return undefined
  const line = note?.at?.line
  return {
    code: 'OtherTool',
    reason: note?.text ?? `${key} holds rules of ${stem}`,
    ...(line === undefined ? {} : {line}),
    remedy: 'take them over with kubectl srcip coredns adopt, or work as that owner: --owner ouroboros',
  }
}

/** A change that no running pod would notice. With a file this is the caller's business and only a warning (a note of the editor). */
export function reloadRefusal(state: DnsState, plan: EditPlan, restart: boolean): TextRefusal | undefined {
  const location = state.location
  if (location === undefined || plan.files.length === 0) return undefined
  if (location.corefile.immutable && plan.files.some((file) => file.file === '')) {
    return {
      code: 'Immutable',
      reason: `${state.corefile.source} is immutable`,
      remedy: 'replace it by a ConfigMap that can be changed',
    }
  }
  if (restart) return undefined
  const {kind, name} = location.workload ?? {kind: 'deployment', name: 'coredns'}
  const remedy = `after the change: kubectl -n ${location.namespace} rollout restart ${kind.toLowerCase()}/${name}; or let this do it: --restart-coredns`
  if (!plan.reloads)
    return {
      code: 'NoReload',
      reason: `reload is not loaded: ${state.corefile.source} has no server block with the plugin reload`,
      remedy,
    }
  if (!location.corefile.live && plan.files.some((file) => file.file === '')) {
    return {
      code: 'NoReload',
      reason: `${state.corefile.source} is mounted with subPath: kubelet never updates it in a running pod`,
      remedy,
    }
  }
  return undefined
}

/** The 1 MiB of a ConfigMap count over all its keys. */
export function sizeRefusal(state: DnsState, plan: EditPlan, keys: readonly OwnImportKey[]): TextRefusal | undefined {
  const location = state.location
  if (location === undefined) return undefined
  for (const file of plan.files) {
    const key = keys.find((entry) => entry.path === file.file)
    const mount = key?.mount ?? location.mounts.find((entry) => entry.configMap === location.corefile.configMap)
    const size = (mount?.size ?? 0) - (file.before?.length ?? 0) + (file.after?.length ?? 0)
    if (size <= configMapLimit - headroom || (file.after?.length ?? 0) <= (file.before?.length ?? 0)) continue
    return {
      code: 'TooLarge',
      reason: `configmap/${location.namespace}/${mount?.configMap ?? ''} would hold ${size} bytes; a ConfigMap ends at ${configMapLimit}`,
      remedy: 'use fewer names, or wildcards (--wildcards)',
    }
  }
  return undefined
}

/** Lines of the other tool go in the same write, so a name that cannot be taken over would be lost: all of them or none. */
export function adoptRefusal(refused: readonly CorednsRefusal[]): TextRefusal | undefined {
  const [first] = refused
  if (first === undefined) return undefined
  const others = refused.length === 1 ? '' : ` (and ${refused.length - 1} more)`
  return {
    code: 'AdoptIncomplete',
    reason: `${first.name} would be lost${others}: ${first.reason} [${first.code}]`,
    remedy: `${first.remedy}; or let it go: --exclude ${first.name}`,
  }
}
