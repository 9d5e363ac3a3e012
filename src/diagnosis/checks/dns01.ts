import type {ClusterView} from '../cluster-view.ts'
import {isFlagOn, wordsOf} from '../../platforms/workloads.ts'
import {field, list, record} from '../../model/fields.ts'
import {advice, type Check} from './check.ts'

export const dns01: Check = {
  id: 'SRC042',
  name: 'dns01',
  severity: 'info',
  means:
    'An issuer of cert-manager proves names by DNS-01, and finds the zone by asking cluster DNS for SOA records. A rewritten host is answered out of cluster.local, so the wrong zone is found (`SOA www.example.org` answered by `cluster.local` is this).',
  act: 'Start cert-manager with --dns01-recursive-nameservers-only and --dns01-recursive-nameservers, or keep these hosts out of the rewrite.',
  sources: ['https://cert-manager.io/docs/configuration/acme/dns01/#setting-nameservers-for-dns01-self-check'],
  run: ({cluster}) =>
    [...cluster.index.list('ClusterIssuer'), ...cluster.index.list('Issuer')].flatMap((issuer) => {
      const solvers = list(field(record(field(record(issuer['spec']), 'acme')), 'solvers'))
      if (!solvers.some((solver) => field(record(solver), 'dns01') !== undefined)) return []
      if (asksOthers(cluster)) return []
      const {namespace, name} = issuer.metadata
      const object = `${(issuer.kind ?? 'Issuer').toLowerCase()}/${namespace === undefined ? name : `${namespace}/${name}`}`
      const rewritten = cluster.dns.rules.length > 0
      return [
        {
          title: `${issuer.kind} ${name} uses DNS-01${rewritten ? ', and names are rewritten in cluster DNS: an SOA question for one of them is answered by cluster.local' : ': a rewrite of its hosts in cluster DNS would lead it to the wrong zone (their SOA is answered by cluster.local)'}`,
          object,
          severity: rewritten ? ('warning' as const) : ('info' as const),
          evidence: [{object, field: 'spec.acme.solvers[].dns01'}],
          remedies: [
            advice(
              'recursive-nameservers',
              1,
              '--dns01-recursive-nameservers-only and --dns01-recursive-nameservers on cert-manager',
              'it then asks servers that know the real zone',
            ),
          ],
        },
      ]
    }),
}

/** cert-manager that asks servers of its own choice never sees a rewrite. */
function asksOthers({runners}: ClusterView): boolean {
  return [...runners.pods, ...runners.workloads].some((runner) =>
    runner.spec.containers.some((container) =>
      isFlagOn(wordsOf(runner, container), 'dns01-recursive-nameservers-only'),
    ),
  )
}
