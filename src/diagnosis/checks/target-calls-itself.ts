import type {Check} from './check.ts'
import {eachService, statusEvidence} from './of-ways.ts'

export const targetCallsItself: Check = {
  id: 'SRC019',
  name: 'target-calls-itself',
  severity: 'warning',
  means:
    'While this balancer preserves client addresses, a target that calls itself through it times out: source and destination of the packet are the same.',
  act: 'Switch preserve_client_ip off together with PROXY on, or use address targets.',
  sources: ['https://docs.aws.amazon.com/elasticloadbalancing/latest/network/edit-target-group-attributes.html'],
  run: (diagnosis) =>
    eachService(diagnosis, ({facts, hairpin}) =>
      hairpin.cause === 'self-call' ? {title: hairpin.why, evidence: statusEvidence(facts)} : undefined,
    ),
}
