import {field, record} from '../../model/fields.ts'
import {managersOfKey} from '../../platforms/dns/owner.ts'
import {advice, type Check} from './check.ts'

export const customWillBeWiped: Check = {
  id: 'SRC053',
  name: 'custom-will-be-wiped',
  severity: 'warning',
  means:
    'A Helm release or GitOps tool owns the data of coredns-custom: at its next upgrade or sync it takes away every key that is not its own. A keep policy does not help, it only stops the deletion of the object.',
  act: 'Put the key into the values or the repository that render this ConfigMap, or have it rendered without data.',
  sources: ['https://github.com/cozystack/cozystack/blob/3c780acd4/packages/system/coredns/values.yaml'],
  run: ({cluster}) => {
    const {location} = cluster.dns
    // a rendered chart holds the ConfigMap alone
    const rendered = cluster.index.list('ConfigMap', '').filter((map) => map.metadata.name === 'coredns-custom')
    const mounted = (location?.mounts ?? [])
      .map((mount) => mount.configMap)
      .filter((name) => name !== location?.corefile.configMap)
      .flatMap((name) => cluster.index.get('ConfigMap', location?.namespace, name, '') ?? [])
    return [...new Set([...mounted, ...rendered])].flatMap((map) => {
      const keys = Object.keys(record(map['data']))
      const {labels = {}, annotations = {}} = map.metadata
      const release =
        annotations['meta.helm.sh/release-name'] ??
        labels['helm.toolkit.fluxcd.io/name'] ??
        (labels['app.kubernetes.io/managed-by'] === 'Helm'
          ? (labels['app.kubernetes.io/instance'] ?? 'of this chart')
          : undefined)
      const sync =
        labels['kustomize.toolkit.fluxcd.io/name'] ??
        annotations['argocd.argoproj.io/tracking-id'] ??
        labels['argocd.argoproj.io/instance']
      const owner = release === undefined ? sync : `Helm release ${release}`
      const owned = keys.filter((key) =>
        managersOfKey(map.metadata, key).some((manager) => /^(?:helm|flux|kustomize|argocd)/.test(manager)),
      )
      // rendered without data: what others write survives
      if (owner === undefined || keys.length === 0 || (owned.length === 0 && map.metadata.managedFields !== undefined))
        return []
      const object = `configmap/${map.metadata.namespace ?? 'default'}/${map.metadata.name}`
      const mark = field(annotations, 'helm.sh/resource-policy') === 'keep' ? '; its keep policy does not help' : ''
      return [
        {
          title: `${owner} owns the data of ${object} and takes foreign keys away at its next upgrade${mark}`,
          object,
          evidence: owned.map((key) => ({
            object,
            field: `data["${key}"]`,
            value: `managed by ${managersOfKey(map.metadata, key).join(', ')}`,
          })),
          remedies: [
            advice(
              'render-the-key',
              2,
              `add the key to the values of ${owner}, or have it rendered without data`,
              'a key of another manager does not survive',
            ),
          ],
        },
      ]
    })
  },
}
