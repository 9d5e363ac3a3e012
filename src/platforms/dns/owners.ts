/**
 * Who re-renders the objects that hold the Corefile, as a table. One row is one owner; the first row that matches wins, so
 * the most specific stand first. Sources are those of the behaviour, not of the label alone.
 */
export interface DnsOwnerRule {
  readonly id: string
  /** As a person knows it. */
  readonly title: string
  readonly match: OwnerMatch
  /** What happens to an edit of the Corefile itself. */
  readonly edits: 'kept' | 'kept-until-upgrade' | 'reverted'
  /** How long an edit lasts, as a clause: "until …". */
  readonly lasts: string
  /** What to do instead, or `undefined` where an edit is the way. `{name}` and `{namespace}` are filled from the matched values. */
  readonly instead?: string
  readonly source: string
}

/** All given parts must hold. Values are exact, `*` is any; `managers` are prefixes of managedFields managers that own `data.KEY` or `data`. */
export interface OwnerMatch {
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly managers?: readonly string[]
  /** Namespace of the ConfigMap. */
  readonly namespace?: string
  /** Which label or annotation gives `{name}` and `{namespace}` of the owner. */
  readonly name?: string
  readonly ownerNamespace?: string
}

export const dnsOwnerRules: readonly DnsOwnerRule[] = [
  {
    id: 'eks-addon',
    title: 'EKS add-on coredns',
    match: {managers: ['eks']},
    edits: 'reverted',
    lasts: 'until the next update of the EKS add-on',
    instead:
      'set the Corefile in the add-on: aws eks update-addon --addon-name coredns --configuration-values (key "corefile")',
    source: 'https://docs.aws.amazon.com/eks/latest/userguide/coredns-add-on-update.html',
  },
  {
    id: 'aks',
    title: 'AKS addon manager',
    match: {labels: {'addonmanager.kubernetes.io/mode': 'Reconcile'}},
    edits: 'reverted',
    lasts: 'about a minute, until the addon manager reconciles',
    instead: 'use ConfigMap coredns-custom (key srcip.override)',
    source: 'https://learn.microsoft.com/en-us/azure/aks/coredns-custom',
  },
  {
    id: 'k3s',
    title: 'k3s',
    match: {annotations: {'objectset.rio.cattle.io/owner-gvk': 'k3s.cattle.io/v1, Kind=Addon'}},
    edits: 'reverted',
    lasts: 'until the next start of a k3s server',
    instead:
      'use ConfigMap coredns-custom (key srcip.override); k3s before 1.25.11, 1.26.6 and 1.27.3 does not import it: upgrade k3s',
    source: 'https://github.com/k3s-io/k3s/issues/462',
  },
  {
    id: 'rke2',
    title: 'Helm release {name} of RKE2',
    match: {annotations: {'meta.helm.sh/release-name': 'rke2-coredns'}, name: 'meta.helm.sh/release-name'},
    edits: 'reverted',
    lasts: 'until helm-controller renders the chart again (an RKE2 upgrade, or a change of the HelmChartConfig)',
    instead:
      'put the lines into HelmChartConfig kube-system/rke2-coredns (spec.valuesContent, servers[].plugins), or have the chart import a coredns-custom volume there and run this again (import mode)',
    source: 'https://docs.rke2.io/networking/networking_services',
  },
  {
    id: 'flux-kustomization',
    title: 'Kustomization {namespace}/{name}',
    match: {
      labels: {'kustomize.toolkit.fluxcd.io/name': '*'},
      name: 'kustomize.toolkit.fluxcd.io/name',
      ownerNamespace: 'kustomize.toolkit.fluxcd.io/namespace',
    },
    edits: 'reverted',
    lasts: 'until Flux reconciles Kustomization {namespace}/{name} again',
    instead: 'change the Corefile in the repository that Kustomization {namespace}/{name} applies',
    source: 'https://fluxcd.io/flux/components/kustomize/kustomizations/',
  },
  {
    id: 'flux-helmrelease',
    title: 'HelmRelease {namespace}/{name}',
    match: {
      labels: {'helm.toolkit.fluxcd.io/name': '*'},
      name: 'helm.toolkit.fluxcd.io/name',
      ownerNamespace: 'helm.toolkit.fluxcd.io/namespace',
    },
    edits: 'reverted',
    lasts: 'until Flux upgrades or corrects HelmRelease {namespace}/{name}',
    instead:
      'change the values of HelmRelease {namespace}/{name}, or have it mount and import a coredns-custom ConfigMap',
    source: 'https://fluxcd.io/flux/components/helm/helmreleases/',
  },
  {
    id: 'argo-cd',
    title: 'Argo CD application {name}',
    match: {annotations: {'argocd.argoproj.io/tracking-id': '*'}, name: 'argocd.argoproj.io/tracking-id'},
    edits: 'reverted',
    lasts: 'until Argo CD syncs application {name} again',
    instead: 'change the Corefile in the source of Argo CD application {name}',
    source: 'https://argo-cd.readthedocs.io/en/stable/user-guide/resource_tracking/',
  },
  {
    id: 'argo-cd-label',
    title: 'Argo CD application {name}',
    match: {labels: {'argocd.argoproj.io/instance': '*'}, name: 'argocd.argoproj.io/instance'},
    edits: 'reverted',
    lasts: 'until Argo CD syncs application {name} again',
    instead: 'change the Corefile in the source of Argo CD application {name}',
    source: 'https://argo-cd.readthedocs.io/en/stable/user-guide/resource_tracking/',
  },
  {
    id: 'openshift',
    title: 'OpenShift DNS operator',
    match: {labels: {'dns.operator.openshift.io/owning-dns': '*'}},
    edits: 'reverted',
    lasts: 'seconds, until the DNS operator reconciles',
    instead: 'run an own DNS server for the hosts and name it in dns.operator/default (spec.servers[].forwardPlugin)',
    source: 'https://github.com/openshift/cluster-dns-operator',
  },
  {
    id: 'gardener',
    title: 'Gardener',
    match: {labels: {'resources.gardener.cloud/managed-by': 'gardener'}},
    edits: 'reverted',
    lasts: 'about a minute, until the resource manager reconciles',
    instead: 'use ConfigMap coredns-custom (key srcip.override)',
    source: 'https://gardener.cloud/docs/gardener/networking/custom-dns-config',
  },
  {
    id: 'kamaji',
    title: 'Kamaji addon coreDNS',
    match: {labels: {'kamaji.clastix.io/project': '*'}},
    edits: 'reverted',
    lasts: 'seconds, until Kamaji resets the ConfigMap',
    instead: 'remove addon coreDNS from the TenantControlPlane and bring your own CoreDNS',
    source: 'https://github.com/clastix/kamaji/blob/master/internal/resources/addons/coredns.go',
  },
  {
    id: 'kamaji-owner',
    title: 'Kamaji addon coreDNS',
    match: {managers: ['kamaji']},
    edits: 'reverted',
    lasts: 'seconds, until Kamaji resets the ConfigMap',
    instead: 'remove addon coreDNS from the TenantControlPlane and bring your own CoreDNS',
    source: 'https://github.com/clastix/kamaji/blob/master/internal/resources/addons/coredns.go',
  },
  {
    id: 'k0s',
    title: 'k0s',
    match: {labels: {'k0s.k0sproject.io/stack': '*'}},
    edits: 'reverted',
    lasts: 'until a k0s controller starts or changes leader',
    instead: 'disable the component (k0s controller --disable-components coredns) and bring your own CoreDNS manifest',
    source: 'https://github.com/k0sproject/k0s/issues/4021',
  },
  {
    id: 'digitalocean',
    title: 'DigitalOcean Kubernetes',
    match: {labels: {'c3.doks.digitalocean.com/component': '*'}},
    edits: 'reverted',
    lasts: 'until DigitalOcean updates the cluster',
    instead: 'use ConfigMap coredns-custom (key srcip.override)',
    source: 'https://docs.digitalocean.com/products/kubernetes/how-to/customize-coredns/',
  },
  {
    id: 'addon-manager-ensure-exists',
    title: 'addon manager, mode EnsureExists',
    match: {labels: {'addonmanager.kubernetes.io/mode': 'EnsureExists'}},
    edits: 'kept-until-upgrade',
    lasts: 'until the DNS addon is enabled again',
    source: 'https://github.com/canonical/microk8s-core-addons/blob/main/addons/dns/coredns.yaml',
  },
  {
    id: 'talos',
    title: 'Talos',
    match: {managers: ['talos']},
    edits: 'kept-until-upgrade',
    lasts: 'until talosctl upgrade-k8s syncs the bootstrap manifests',
    source: 'https://github.com/siderolabs/talos/blob/main/internal/app/machined/pkg/controllers/k8s/manifest_apply.go',
  },
  {
    id: 'cluster-api-or-kubeadm',
    title: 'kubeadm',
    match: {managers: ['kubeadm']},
    edits: 'kept-until-upgrade',
    lasts: 'until kubeadm upgrade migrates the Corefile (comments go then, our lines are found again by their target)',
    source: 'https://github.com/kubernetes/kubernetes/blob/master/cmd/kubeadm/app/phases/addons/dns/dns.go',
  },
  {
    id: 'helm',
    title: 'Helm release {namespace}/{name}',
    match: {
      annotations: {'meta.helm.sh/release-name': '*'},
      name: 'meta.helm.sh/release-name',
      ownerNamespace: 'meta.helm.sh/release-namespace',
    },
    edits: 'reverted',
    lasts: 'until the next helm upgrade of release {namespace}/{name}',
    instead:
      'set servers[].plugins in the values of release {namespace}/{name}, or have it mount and import a coredns-custom ConfigMap',
    source: 'https://github.com/coredns/helm/blob/master/charts/coredns/values.yaml',
  },
  {
    id: 'helm-label',
    title: 'Helm (label app.kubernetes.io/managed-by)',
    match: {labels: {'app.kubernetes.io/managed-by': 'Helm'}},
    edits: 'reverted',
    lasts: 'until the next helm upgrade of its release',
    instead:
      'set servers[].plugins in the values of the release, or have it mount and import a coredns-custom ConfigMap',
    source: 'https://github.com/coredns/helm/blob/master/charts/coredns/values.yaml',
  },
]
