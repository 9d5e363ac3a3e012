import {forOutside} from '../remedies/for-outside.ts'
import type {Check} from './check.ts'
import {eachService, target} from './of-ways.ts'

export const noEndpoints: Check = {
  id: 'SRC039',
  name: 'no-endpoints',
  cures: true,
  severity: 'error',
  means: 'The selector of this Service takes no pod: nobody gets in, from outside or from inside.',
  act: 'Run pods that the selector takes, or mend the selector.',
  sources: ['https://kubernetes.io/docs/concepts/services-networking/service/'],
  run: (diagnosis) =>
    eachService(diagnosis, (way) =>
      way.facts.noEndpoints
        ? {
            title: 'no pod stands behind this Service',
            evidence: [{object: target(way.facts), field: 'spec.selector'}],
            remedies: forOutside({...way, outside: {...way.outside, cause: 'no-endpoints'}}),
          }
        : undefined,
    ),
}
