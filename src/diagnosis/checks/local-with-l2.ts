import {advice, type Check} from './check.ts'
import {eachService, evidenceOf} from './of-ways.ts'

export const localWithL2: Check = {
  id: 'SRC032',
  name: 'local-with-l2',
  severity: 'warning',
  means:
    "Cilium's L2 announcements do not look where the pods are: with externalTrafficPolicy Local nobody gets in while a node without a pod announces.",
  act: 'Use policy Cluster with direct server return, or run a pod on every node that may announce.',
  sources: [
    'https://github.com/cilium/cilium/blob/026740195c43504fcf9e1fd6b8c92754d45c0f5d/Documentation/network/l2-announcements.rst',
  ],
  run: (diagnosis) =>
    eachService(diagnosis, ({facts}) => {
      const l2 = facts.balancer.clues.some(({field, value}) => /l2/.test(`${field} ${value}`))
      if (facts.balancer.row?.id !== 'cilium-lb' || !l2 || facts.policy !== 'Local') return undefined
      return {
        title: 'L2 announcements and externalTrafficPolicy Local do not go together',
        evidence: evidenceOf(facts),
        remedies: [
          advice('dsr', 2, 'policy Cluster with bpf-lb-mode dsr', 'keeps the address whichever node announces'),
        ],
      }
    }),
}
