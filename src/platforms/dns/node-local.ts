import {findConfigMap} from './container.ts'
import type {ContainerView, DnsObjects, WorkloadView} from './objects.ts'

/** NodeLocal DNSCache: a DNS server on every node that pods ask instead of CoreDNS. */
export interface NodeLocalDns {
  readonly namespace: string
  readonly daemonSet: string
  /** ConfigMap of its template, and the key; undefined when none was found. */
  readonly configMap?: string
  readonly key?: string
  /** Text of the template; its `__PILLAR__…__` words are placeholders that the node cache fills in. */
  readonly template?: string
  /** Addresses it listens on, from `-localip` (and from `bind` where the template names addresses). */
  readonly addresses: readonly string[]
  /** It listens on the ClusterIP of the DNS Service too, so no pod reaches CoreDNS past it. */
  readonly takesClusterIP: boolean
}

/** True for the container of node-local-dns: the node cache's own flag, or its image. */
export function isNodeCache(container: ContainerView): boolean {
  return (
    /k8s-dns-node-cache|node-local-dns/.test(container.image) ||
    words(container).some((word) => /^--?localip(?:=|$)/.test(word))
  )
}

/** Finds NodeLocal DNSCache by what its container is, whatever the DaemonSet is called; undefined when there is none. */
export function detectNodeLocalDns(objects: DnsObjects, clusterIPs: readonly string[]): NodeLocalDns | undefined {
  for (const daemonSet of objects.workloads) {
    if (daemonSet.kind !== 'DaemonSet') continue
    const container = daemonSet.spec.containers.find(isNodeCache)
    if (container === undefined) continue
    const namespace = daemonSet.metadata.namespace ?? 'default'
    const template = findTemplate(objects, daemonSet, container)
    const addresses = [...new Set([...flagValues(container, 'localip'), ...bindAddresses(template?.text ?? '')])]
    return {
      namespace,
      daemonSet: daemonSet.metadata.name,
      ...(template === undefined ? {} : {configMap: template.configMap, key: template.key, template: template.text}),
      addresses,
      takesClusterIP: clusterIPs.some((ip) => addresses.includes(ip)),
    }
  }
  return undefined
}

function findTemplate(
  objects: DnsObjects,
  daemonSet: WorkloadView,
  container: ContainerView,
): {configMap: string; key: string; text: string} | undefined {
  const namespace = daemonSet.metadata.namespace ?? 'default'
  const mounted = container.mounts.flatMap((mount) =>
    (daemonSet.spec.volumes.find((volume) => volume.name === mount.volume)?.sources ?? []).flatMap(
      (source) => source.configMap?.name ?? [],
    ),
  )
  // a manifest without volumes: the DaemonSet's own name and label name the ConfigMap in every published form
  const names = [...mounted, daemonSet.metadata.name, daemonSet.metadata.labels?.['k8s-app'] ?? '']
  for (const name of names) {
    const found = findConfigMap(objects.configMaps, namespace, name)
    const text = found?.data['Corefile']
    if (found !== undefined && text !== undefined) return {configMap: name, key: 'Corefile', text}
  }
  return undefined
}

/** Literal addresses on `bind` lines; placeholders and interface names are passed over. */
function bindAddresses(template: string): string[] {
  return template
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter((line) => line[0] === 'bind')
    .flatMap((line) => line.slice(1))
    .filter((word) => /^[0-9.]+$|:/.test(word))
}

/** Values of a comma-separated Go flag, in either spelling. */
function flagValues(container: ContainerView, flag: string): string[] {
  const all = words(container)
  return all.flatMap((word, index) => {
    const match = new RegExp(`^--?${flag}(?:=(.*))?$`).exec(word)
    if (match === null) return []
    return (match[1] ?? all[index + 1] ?? '')
      .split(',')
      .filter((value) => value !== '' && !value.startsWith('__PILLAR__'))
  })
}

function words(container: ContainerView): string[] {
  return [...container.command, ...container.args]
}
