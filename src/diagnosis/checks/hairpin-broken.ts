import {shared} from '../../platforms/sources.ts'
import {forHairpin} from '../remedies/for-hairpin.ts'
import type {Check} from './check.ts'
import {eachWay, evidenceOf, statusEvidence} from './of-ways.ts'

export const hairpinBroken: Check = {
  id: 'SRC003',
  name: 'hairpin-broken',
  cures: true,
  severity: 'error',
  means:
    'Pods that call the public name do not get in: the service proxy keeps the call inside the cluster, so no balancer adds the PROXY header that the receiver insists on. ACME self-checks, SSO callbacks and GitOps pulls fail.',
  act: "The cloud controller's own ways come first (ipMode, a host name in the status); a proxy and DNS rules are the last.",
  sources: [shared.ipMode, shared.hostnameOnly, shared.proxyProtocol],
  run: (diagnosis) =>
    eachWay(diagnosis, (way) => {
      const {facts, hairpin} = way
      if (hairpin.verdict !== 'broken' && hairpin.verdict !== 'half-broken') return undefined
      return {
        title: hairpin.why,
        evidence: [...statusEvidence(facts), ...evidenceOf(facts)],
        remedies: forHairpin(way),
      }
    }),
}
