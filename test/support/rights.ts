import {readFileSync} from 'node:fs'
import {parseAllDocuments} from 'yaml'
import type {KubeObject} from '../../src/model/kubernetes.ts'

/** The words that the rights file leaves open, as the chart fills them from its values. */
export interface RightsNames {
  readonly name: string
  readonly namespace: string
  readonly dnsNamespace: string
  readonly dnsConfigMaps: readonly string[]
}

/** The objects of charts/srcip/files/rights.yaml for these names, in the order in which they can be created. */
export function rightsObjects(names: RightsNames): KubeObject[] {
  const words: Readonly<Record<string, string>> = {
    NAME: names.name,
    NAMESPACE: names.namespace,
    DNS_NAMESPACE: names.dnsNamespace,
    DNS_CONFIGMAPS: names.dnsConfigMaps.join(', '),
  }
  const text = readFileSync(new URL('../../charts/srcip/files/rights.yaml', import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => !line.startsWith('#'))
    .join('\n')
    .replace(/\$\(([A-Z_]+)\)/g, (whole, word: string) => words[word] ?? whole)
  return parseAllDocuments(text).map((document) => document.toJS() as KubeObject)
}
