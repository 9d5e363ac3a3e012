import type {Diagnosis} from '../judged-way.ts'
import {namesOfWay} from '../path/names.ts'
import {command, type Check} from './check.ts'
import {dnsObject} from './two-hairpin-tools.ts'

export const hostNotRewritten: Check = {
  id: 'SRC062',
  name: 'host-not-rewritten',
  severity: 'warning',
  means:
    'Cluster DNS leads some names of this way in to a proxy against the hairpin, and not others: pods that call the others are refused.',
  act: '`kubectl srcip coredns apply` writes the whole set; `kubectl srcip run` keeps it so.',
  sources: ['https://coredns.io/plugins/rewrite/'],
  run: (diagnosis) => {
    const missing = missingNames(diagnosis)
    return missing.length === 0
      ? []
      : [
          {
            title: `no rule in cluster DNS for ${missing.slice(0, 5).join(', ')}${missing.length > 5 ? ` and ${missing.length - 5} more` : ''}, while other names are led to the proxy`,
            object: dnsObject(diagnosis),
            remedies: [command('proxy-dns', 1, 'kubectl srcip coredns apply', 'the whole set in one write')],
          },
        ]
  },
}

function missingNames({ways, cluster}: Diagnosis): string[] {
  const names = ways
    .filter(({hairpin}) => hairpin.cause === 'dns-fix-partial')
    .flatMap(({facts}) => namesOfWay(facts))
    .map(({name}) => name)
  return [...new Set(names)].filter((name) => cluster.dns.leadsTo(name) === undefined)
}
