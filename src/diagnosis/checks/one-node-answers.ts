import {shared} from '../../platforms/sources.ts'
import type {WayFacts} from '../path/facts.ts'
import {nodesWithoutPods} from '../path/plain-way.ts'
import {advice, type Check} from './check.ts'
import {eachService} from './of-ways.ts'

export const oneNodeAnswers: Check = {
  id: 'SRC031',
  name: 'one-node-answers',
  severity: 'warning',
  means:
    'With externalTrafficPolicy Local only nodes with a pod of the receiver answer, and not every node has one. A name that lists other nodes fails on a share of connections; a single announcing node is all the capacity there is.',
  act: 'Run the receiver on every node that is announced or listed (DaemonSet), or list only nodes that have a pod.',
  sources: [shared.virtualIps, 'https://github.com/metallb/metallb/blob/7938d3f89/website/content/usage/_index.md'],
  run: (diagnosis) =>
    eachService(diagnosis, ({facts}) => {
      const missing = nodesWithoutPods(facts)
      if (facts.policy !== 'Local' || missing.length === 0) return undefined
      const all = facts.cluster.nodes
      const share = `${missing.length} of ${all.length} nodes`
      const addresses = all.filter((node) => missing.includes(node.name)).flatMap((node) => node.addresses)
      return {
        title:
          facts.door === 'balancer'
            ? `${share} have no pod of the receiver and do not answer: ${missing.join(', ')}`
            : `${share} drop connections: a DNS record for ${addresses.join(', ')} fails, ${missing.length} in ${all.length} of the calls of a name that lists all`,
        severity: announcedByBgp(facts) ? 'info' : 'warning',
        evidence: missing.map((name) => ({object: `node/${name}`, value: 'no ready pod of this Service'})),
        remedies: [
          advice(
            'pod-on-each-node',
            2,
            'a DaemonSet for the receiver, or DNS records and announcements only for nodes that have a pod',
            'nodes without a pod drop what comes',
          ),
        ],
      }
    }),
}

/** MetalLB over BGP: only nodes with a pod announce, so the others are not asked. */
function announcedByBgp({balancer, cluster}: WayFacts): boolean {
  const {index} = cluster
  return (
    balancer.row?.id === 'metallb' &&
    index.list('BGPAdvertisement').length > 0 &&
    index.list('L2Advertisement').length === 0
  )
}
