import {ask} from '../remedies/for-outside.ts'
import type {Check} from './check.ts'
import {eachWay, evidenceOf, statusEvidence} from './of-ways.ts'

export const hairpinOpen: Check = {
  id: 'SRC004',
  name: 'hairpin-open',
  cures: true,
  severity: 'warning',
  means: 'Whether pods can call the public name cannot be told from what was read.',
  act: 'Make the named check, or prove it: `kubectl srcip verify inside HOST`.',
  sources: [],
  run: (diagnosis) =>
    eachWay(diagnosis, ({facts, hairpin}) =>
      hairpin.verdict !== 'depends' && hairpin.verdict !== 'unknown'
        ? undefined
        : {
            title: hairpin.why,
            evidence: [...statusEvidence(facts), ...evidenceOf(facts)],
            remedies: ask(hairpin.check),
          },
    ),
}
