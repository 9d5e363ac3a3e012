import {isProxyMode} from '../path/outside.ts'
import type {Check} from './check.ts'
import {eachService, statusEvidence} from './of-ways.ts'

export const handSetIpmodeUndone: Check = {
  id: 'SRC015',
  name: 'hand-set-ipmode-undone',
  severity: 'info',
  means:
    'Somebody set ipMode by hand, and the controller of this address writes its entry anew without it at its next reconcile.',
  act: 'Do not set status by hand: use what the controller itself offers.',
  sources: ['https://github.com/metallb/metallb/blob/7938d3f89/controller/service.go'],
  run: (diagnosis) =>
    eachService(diagnosis, ({facts}) =>
      facts.balancer.row?.id === 'metallb' && isProxyMode(facts)
        ? {title: 'MetalLB will write this status anew without ipMode', evidence: statusEvidence(facts)}
        : undefined,
    ),
}
