import {isAsking} from '../path/facts.ts'
import {isProxyMode} from '../path/outside.ts'
import {forHairpin} from '../remedies/for-hairpin.ts'
import type {Check} from './check.ts'
import {eachService, statusEvidence} from './of-ways.ts'

export const ipmodeNotHonoured: Check = {
  id: 'SRC026',
  name: 'ipmode-not-honoured',
  severity: 'warning',
  means:
    'The status says ipMode Proxy, and this service proxy does not look at it: it short-circuits the address all the same.',
  act: 'Upgrade it, or use the host name annotation of the provider.',
  sources: [
    'https://github.com/cilium/cilium/issues/40913',
    'https://github.com/kubernetes/kubernetes/blob/master/pkg/features/kube_features.go',
  ],
  run: (diagnosis) =>
    eachService(diagnosis, (way) => {
      const {facts} = way
      if (!isProxyMode(facts) || !isAsking(facts) || facts.cluster.plane.honoursIpMode.value !== false) return undefined
      return {
        title: `${facts.cluster.plane.title} does not honour ipMode Proxy`,
        evidence: [...statusEvidence(facts), ...facts.cluster.plane.seen],
        remedies: forHairpin(way),
      }
    }),
}
