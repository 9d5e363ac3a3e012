import {field, record, text} from '../../model/fields.ts'
import type {SnapshotIndex} from '../../model/snapshot.ts'
import type {Diagnosis} from '../judged-way.ts'
import type {DnsView} from '../dns-view.ts'

/** Is a rewrite in cluster DNS the cure of a broken hairpin, or there already? */
export function rewriteNeeded({ways, cluster}: Diagnosis): boolean {
  if (cluster.dns.rules.length > 0) return true
  return ways.some(({hairpin}) => hairpin.verdict === 'broken' || hairpin.verdict === 'half-broken')
}

/** Imports of files, by where they stand: in a block that answers every name, elsewhere. */
export function fileImports({parsed}: DnsView): {
  readonly inRoot: readonly string[]
  readonly elsewhere: readonly string[]
} {
  const root = new Set(
    (parsed?.blocks ?? [])
      .filter((block) => block.keys.some((key) => /^(?:dns:\/\/)?\.(?::\d+)?$/.test(key)))
      .map((block) => block.index),
  )
  const uses = (parsed?.imports ?? []).filter((use) => use.kind !== 'snippet')
  return {
    inRoot: uses.filter((use) => root.has(use.block)).map((use) => use.resolved),
    elsewhere: uses.filter((use) => !root.has(use.block)).map((use) => use.resolved),
  }
}

/** Does the block that answers public names import a key that we could put into a mounted ConfigMap? */
export function readsKeyOfItsOwn(dns: DnsView): boolean {
  const folders = new Set(
    (dns.location?.mounts ?? [])
      .filter((mount) => mount.live && mount.configMap !== dns.location?.corefile.configMap)
      .map((mount) => mount.path),
  )
  return fileImports(dns).inRoot.some((pattern) => {
    const slash = pattern.lastIndexOf('/')
    return folders.has(pattern.slice(0, slash)) && /^\*\../.test(pattern.slice(slash + 1))
  })
}

/** Distributions that nothing in the ConfigMap tells, by their nodes. */
export function distributionOf(index: SnapshotIndex): {readonly title: string; readonly lasts: string} | undefined {
  for (const node of index.list('Node', '')) {
    const labels = node.metadata.labels ?? {}
    const provider = text(field(record(node['spec']), 'providerID')) ?? ''
    if (labels['minikube.k8s.io/version'] !== undefined || labels['minikube.k8s.io/name'] !== undefined)
      return {title: 'minikube', lasts: 'until the next minikube start'}
    if (labels['microk8s.io/cluster'] !== undefined)
      return {title: 'MicroK8s', lasts: 'until the DNS add-on is enabled again'}
    if (provider.startsWith('ocid1.'))
      return {
        title: 'Oracle OKE',
        lasts: 'until a basic cluster deletes customisations, which it does from time to time',
      }
    if (
      labels['rke.cattle.io/machine'] !== undefined ||
      node.metadata.annotations?.['rke.cattle.io/internal-ip'] !== undefined
    )
      return {title: 'RKE1', lasts: 'until the next rke up'}
  }
  const job = index.list('Job').find((one) => one.metadata.name.startsWith('rke-coredns-addon'))
  return job === undefined ? undefined : {title: 'RKE1', lasts: 'until the next rke up'}
}
