import {shared} from '../../platforms/sources.ts'
import {forOutside} from '../remedies/for-outside.ts'
import {isProxyMode} from '../path/outside.ts'
import type {Check} from './check.ts'
import {eachService, statusEvidence} from './of-ways.ts'

export const ipmodeOnAnnounced: Check = {
  id: 'SRC014',
  name: 'ipmode-on-announced',
  cures: true,
  severity: 'error',
  means:
    'The status says ipMode Proxy for an address that the nodes themselves announce. The service proxy then has no rule for it, and packets arrive for that very address.',
  act: 'Take ipMode out again. It is for balancers that open connections of their own.',
  sources: [shared.ipMode],
  run: (diagnosis) =>
    eachService(diagnosis, (way) =>
      way.facts.balancer.row?.place === 'cluster' && isProxyMode(way.facts)
        ? {
            title: `ipMode Proxy on an address that ${way.facts.balancer.row.title} announces`,
            evidence: statusEvidence(way.facts),
            remedies: forOutside({...way, outside: {...way.outside, cause: 'ipmode-on-announced'}}),
          }
        : undefined,
    ),
}
