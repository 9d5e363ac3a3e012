import {isAsking, isSending} from '../path/facts.ts'
import {advice, type Check} from './check.ts'
import {eachService, evidenceOf} from './of-ways.ts'

export const clusterWideSwitch: Check = {
  id: 'SRC028',
  name: 'cluster-wide-switch',
  severity: 'warning',
  means:
    'One switch makes every Gateway (or Ingress) of this receiver ask for PROXY, and not every balancer in front of them sends it.',
  act: 'Let every balancer send, or keep one kind of entry out of this receiver.',
  sources: ['https://github.com/cilium/cilium/issues/41876'],
  run: (diagnosis) =>
    eachService(diagnosis, ({facts}) => {
      if (facts.receiver.row?.id !== 'cilium-ingress' || !isAsking(facts) || isSending(facts.sender)) return undefined
      return {
        title: 'the PROXY switch of Cilium is for the whole cluster, and this balancer does not send',
        evidence: evidenceOf(facts),
        remedies: [
          advice('sender-on', 2, 'let this balancer send PROXY too', 'the receiver cannot be switched for one of them'),
        ],
      }
    }),
}
