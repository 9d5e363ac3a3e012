import {inspectKeys, parseCorefile} from '../../../plugins/coredns/src/index.ts'
import type {NodeLocalDns} from '../../platforms/dns/node-local.ts'

/** Placeholder that the node cache replaces with the address of the cluster's CoreDNS. */
const clusterDns = '__PILLAR__CLUSTER__DNS__'

/**
 * Tells for each name whether NodeLocal DNSCache passes it to CoreDNS: the block with the longest matching zone must forward to
 * the cluster DNS. A template that is missing or does not parse passes nothing on.
 *
 * @param upstream addresses of CoreDNS beside the placeholder (ClusterIPs of the DNS Service)
 */
export function nodeCacheRoutes(nodeLocal: NodeLocalDns, upstream: readonly string[]): (name: string) => boolean {
  const template = nodeLocal.template
  if (template === undefined) return () => false
  const parsed = parseCorefile(Buffer.from(template, 'utf8'), {
    directives: false,
    imports: 'unknown',
    env: {known: new Map(), others: 'unknown'},
  })
  if (parsed.error !== undefined) return () => false
  const reaches = parsed.blocks.map((block) =>
    (block.tokens.get('forward') ?? []).some((token) => token.text === clusterDns || upstream.includes(token.text)),
  )
  const zones = new Map<string, number>()
  for (const served of inspectKeys(parsed).zones) zones.set(served.zone.toLowerCase(), served.block)
  return (name) => {
    let rest = `${name.replace(/^\*\./, 'x.').toLowerCase().replace(/\.$/, '')}.`
    for (;;) {
      const block = zones.get(rest)
      if (block !== undefined) return reaches[block] === true
      if (rest === '.') return false
      rest = rest.slice(rest.indexOf('.') + 1) || '.'
    }
  }
}
