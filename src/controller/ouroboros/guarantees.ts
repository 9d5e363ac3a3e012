import type {OuroborosOptions} from './flags.ts'

/** What `srcip run` promises with its own chart and cannot with the rights that the chart of ouroboros gives. */
const always = [
  'one writer: no Lease, two replicas write by turns (each write is still conditional)',
  'events: nothing is written about what happens, only logged',
  'probes and metrics: no port is opened',
  'names: only those that ouroboros takes (spec.tls hosts, listeners, HTTPRoutes), wildcards never',
  'proxy readiness: names are written before the proxy has an endpoint',
]

const ofConfigMaps = [
  'proof: CoreDNS pods are not asked, a write counts as unconfirmed and is never put back by itself',
  'target: that the proxy Service exists is not checked',
  'watch: an edit by somebody else is found at the next --resync, not at once',
  'CoreDNS release: 1.14 is assumed, its image must not be read',
]

const byMode: Readonly<Record<OuroborosOptions['output']['mode'], readonly string[]>> = {
  coredns: [...ofConfigMaps, 'place: names in server blocks behind imports are not seen'],
  'coredns-import': [...ofConfigMaps, 'place: whether CoreDNS imports the key is not checked'],
  'etc-hosts': [],
  'external-dns': ['proof: ExternalDNS is not asked whether it has read a record'],
}

/** The guarantees that are off in a mode, each in a line; said once at start. */
export function guaranteesOff(mode: OuroborosOptions['output']['mode']): readonly string[] {
  return [...always, ...byMode[mode]]
}
