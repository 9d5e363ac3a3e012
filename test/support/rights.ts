import {readFileSync} from 'node:fs'
import {parseAllDocuments} from 'yaml'
import type {KubeObject} from '../../src/model/kubernetes.ts'

/** The words that the rights file leaves open, as the chart fills them from its values. */
export interface RightsNames {
  readonly name: string
  readonly namespace: string
  readonly dnsNamespace: string
  readonly dnsConfigMaps: readonly string[]
  /** The ingress Services that proxies stand for (`paths[].feeds`); the chart groups them by namespace. */
  readonly feeds?: {readonly namespace: string; readonly names: readonly string[]}
}

/** The objects of the chart's rights files for these names, in the order in which they can be created. */
export function rightsObjects(names: RightsNames): KubeObject[] {
  const words: Readonly<Record<string, string>> = {
    NAME: names.name,
    NAMESPACE: names.namespace,
    DNS_NAMESPACE: names.dnsNamespace,
    DNS_CONFIGMAPS: names.dnsConfigMaps.join(', '),
    FEEDS_NAMESPACE: names.feeds?.namespace ?? '',
    FEEDS_NAMES: names.feeds?.names.join(', ') ?? '',
  }
  const files = ['rights.yaml', ...(names.feeds === undefined ? [] : ['rights-ingress-service.yaml'])]
  return files.flatMap((file) => {
    const text = readFileSync(new URL(`../../charts/srcip/files/${file}`, import.meta.url), 'utf8')
      .split('\n')
      .filter((line) => !line.startsWith('#'))
      .join('\n')
      .replace(/\$\(([A-Z_]+)\)/g, (whole, word: string) => words[word] ?? whole)
    return parseAllDocuments(text).map((document) => document.toJS() as KubeObject)
  })
}
