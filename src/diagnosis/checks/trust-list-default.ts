import {isAsking} from '../path/facts.ts'
import {advice, type Check} from './check.ts'
import {eachService, evidenceOf} from './of-ways.ts'

export const trustListDefault: Check = {
  id: 'SRC020',
  name: 'trust-list-default',
  severity: 'warning',
  means:
    'The list of peers whose header is believed was never set, and its default is every IPv4 address: whoever reaches the port can claim any address. IPv6 peers are believed by nobody.',
  act: 'Set it to the peers that the receiver really sees.',
  sources: [
    'https://github.com/kubernetes/ingress-nginx/blob/dbb11b92d/internal/ingress/controller/template/configmap.go',
  ],
  run: (diagnosis) =>
    eachService(diagnosis, ({facts}) => {
      const trust = facts.state?.trust
      if (!isAsking(facts) || trust?.kind !== 'ranges' || !trust.byDefault) return undefined
      return {
        title: `${trust.key} is not set: every IPv4 peer may claim an address`,
        evidence: evidenceOf(facts),
        remedies: [
          advice(
            'trust-list',
            1,
            `set ${trust.key} to the addresses of the nodes and of the balancer`,
            'then only they are believed',
          ),
        ],
      }
    }),
}
