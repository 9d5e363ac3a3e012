import type {KubeObject} from '../model/kubernetes.ts'

/** Who would put an object back to what stands elsewhere, and when. */
export interface FieldOwner {
  readonly tool: 'Flux' | 'Argo CD' | 'Helm'
  /** Kustomization, HelmRelease, Application or release, as it is told. */
  readonly name: string
  /** How long a write behind its back lasts, in words. */
  readonly lasts: string
  /** What to do instead. */
  readonly instead: string
}

/**
 * The tool that an object is made by, from the marks that each of them leaves; the most frequent writer first, since Flux installs by
 * Helm and leaves the marks of both. Sources: fluxcd.io/flux/components/kustomize/kustomizations (labels), fluxcd.io/flux/components/helm
 * (labels), argo-cd.readthedocs.io/en/stable/user-guide/resource_tracking, helm.sh/docs/topics/advanced (release annotations).
 */
export function ownerOf({metadata}: KubeObject): FieldOwner | undefined {
  const {labels = {}, annotations = {}, managedFields = []} = metadata
  const kustomization = labels['kustomize.toolkit.fluxcd.io/name']
  if (kustomization !== undefined)
    return flux(`kustomization/${labels['kustomize.toolkit.fluxcd.io/namespace'] ?? ''}/${kustomization}`)
  const release = labels['helm.toolkit.fluxcd.io/name']
  if (release !== undefined) return flux(`helmrelease/${labels['helm.toolkit.fluxcd.io/namespace'] ?? ''}/${release}`)
  const tracking = annotations['argocd.argoproj.io/tracking-id'] ?? labels['argocd.argoproj.io/instance']
  const argo = managedFields.some(({manager}) => manager === 'argocd-controller')
  if (tracking !== undefined || argo)
    return {
      tool: 'Argo CD',
      name: `application/${(tracking ?? labels['app.kubernetes.io/instance'] ?? '').split(':')[0]}`,
      lasts: 'until its next sync: at once with selfHeal, else until somebody syncs',
      instead: 'change the value in its repository, and run this again when the cluster shows it',
    }
  const own = annotations['meta.helm.sh/release-name']
  if (own === undefined) return undefined
  const namespace = annotations['meta.helm.sh/release-namespace'] ?? metadata.namespace ?? ''
  return {
    tool: 'Helm',
    name: `release ${own} in ${namespace}`,
    lasts: `until the next helm upgrade of ${own}`,
    instead: `set the value in the release, too: helm upgrade ${own} -n ${namespace} --reuse-values --set-string …`,
  }
}

function flux(name: string): FieldOwner {
  return {
    tool: 'Flux',
    name,
    lasts: 'until its next reconciliation, within its spec.interval',
    instead: 'change the value in its source, and run this again when the cluster shows it',
  }
}
