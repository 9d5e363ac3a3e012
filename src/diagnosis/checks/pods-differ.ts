import {forOutside} from '../remedies/for-outside.ts'
import {isSending} from '../path/facts.ts'
import type {Check} from './check.ts'
import {eachWay, evidenceOf} from './of-ways.ts'

export const podsDiffer: Check = {
  id: 'SRC023',
  name: 'pods-differ',
  cures: true,
  severity: 'error',
  means:
    'Pods behind one Service read different settings: some ask for PROXY and some do not, so a share of connections fails.',
  act: 'End the rollout that is under way, or make the pods read the same ConfigMap.',
  sources: [],
  run: (diagnosis) =>
    eachWay(diagnosis, (way) =>
      way.facts.state?.asks === 'some'
        ? {
            title: isSending(way.facts.sender)
              ? 'some pods of the receiver take the header for a request'
              : 'some pods of the receiver refuse connections without a header',
            evidence: evidenceOf(way.facts),
            remedies: forOutside({...way, outside: {...way.outside, cause: 'pods-differ'}}),
          }
        : undefined,
    ),
}
