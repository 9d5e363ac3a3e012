import type {Diagnosis, JudgedWay} from '../judged-way.ts'
import {namesOfWay} from '../path/names.ts'
import {advice, type Check} from './check.ts'

export const severalClasses: Check = {
  id: 'SRC043',
  name: 'several-classes',
  severity: 'warning',
  means:
    'Several receivers serve public names, and only some of them need a hairpin fix: a proxy and DNS rules for all names would send the others to a receiver that does not know them (404).',
  act: 'Say which classes a proxy serves (annotation srcip.dev/ingress-classes of the proxy Service), one proxy for each receiver that asks for PROXY.',
  sources: ['https://github.com/lexfrei/ouroboros/blob/da752ba/README.md'],
  run: (diagnosis) => {
    const served = receivers(diagnosis)
    const sick = served.filter(({hairpin}) => hairpin.verdict === 'broken' || hairpin.verdict === 'half-broken')
    if (served.length < 2 || sick.length === 0 || sick.length === served.length) return []
    return [
      {
        title: `${served.length} receivers serve public names, and only ${sick.map(({facts}) => `${facts.service.metadata.namespace}/${facts.service.metadata.name}`).join(', ')} needs a hairpin fix`,
        object: 'cluster',
        evidence: served.map(({facts}) => ({
          object: `service/${facts.service.metadata.namespace}/${facts.service.metadata.name}`,
          value: namesOfWay(facts)
            .map(({name}) => name)
            .slice(0, 3)
            .join(', '),
        })),
        remedies: [
          advice(
            'ingress-classes',
            1,
            'annotation srcip.dev/ingress-classes on the proxy Service',
            'names of other classes are then left alone',
          ),
        ],
      },
    ]
  },
}

/** One way in for each Service that serves public names. */
function receivers({ways}: Diagnosis): JudgedWay[] {
  const byService = new Map<string, JudgedWay>()
  for (const way of ways) {
    const {namespace, name} = way.facts.service.metadata
    if (namesOfWay(way.facts).length > 0 && !byService.has(`${namespace}/${name}`))
      byService.set(`${namespace}/${name}`, way)
  }
  return [...byService.values()]
}
