import {shared} from '../../platforms/sources.ts'
import {forOutside} from '../remedies/for-outside.ts'
import type {Check} from './check.ts'
import {eachWay, evidenceOf} from './of-ways.ts'

export const trustListMissesPeer: Check = {
  id: 'SRC008',
  name: 'trust-list-misses-peer',
  cures: true,
  severity: 'error',
  means:
    'The header arrives and is not believed: the peer that the receiver really sees is not in its list. Behind kube-proxy with policy Cluster that peer is a node, not the balancer.',
  act: 'Put the addresses of the nodes into the list, or use externalTrafficPolicy Local and list the balancer.',
  sources: [shared.kubeProxy],
  run: (diagnosis) =>
    eachWay(diagnosis, (way) => {
      const {cause} = way.outside
      if (cause !== 'trust-list' && (cause !== 'header-thrown-away' || way.facts.receiver.row?.id === 'caddy'))
        return undefined
      return {title: way.outside.why, evidence: evidenceOf(way.facts), remedies: forOutside(way)}
    }),
}
