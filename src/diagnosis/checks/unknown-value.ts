import {ask} from '../remedies/for-outside.ts'
import {unreadableRanges} from '../path/peers.ts'
import {serviceRef, type WayFacts} from '../path/facts.ts'
import type {Check, Evidence} from './check.ts'
import {eachService} from './of-ways.ts'

export const unknownValue: Check = {
  id: 'SRC038',
  name: 'unknown-value',
  severity: 'warning',
  means:
    'A field holds a value that is not known here: a newer Kubernetes, or a mistake. No verdict rests on a guess about it.',
  act: 'Correct the value, or look at what the component makes of it.',
  sources: ['https://github.com/kubernetes/kubernetes/issues/139300'],
  run: (diagnosis) =>
    eachService(diagnosis, (_way, all) => {
      const evidence = all.flatMap(({facts}) => oddValues(facts))
      const seen = new Map(evidence.map((one) => [`${one.object} ${one.field} ${one.value}`, one]))
      if (seen.size === 0) return undefined
      return {
        title: [...seen.values()].map((one) => `${one.field}: ${one.value} is not known`).join('; '),
        evidence: [...seen.values()],
        remedies: ask(
          all.map(({outside, hairpin}) => outside.check ?? hairpin.check).find((check) => check !== undefined),
        ),
      }
    }),
}

function oddValues(facts: WayFacts): Evidence[] {
  const object = serviceRef(facts.service)
  const odd: Evidence[] = facts.entries
    .filter(({ipMode}) => ipMode !== undefined && ipMode !== 'VIP' && ipMode !== 'Proxy')
    .map(({ipMode}) => ({object, field: 'status.loadBalancer.ingress[].ipMode', value: ipMode ?? ''}))
  if (!['Cluster', 'Local'].includes(facts.policy))
    odd.push({object, field: 'spec.externalTrafficPolicy', value: facts.policy})
  const neither = (facts.state?.notes ?? []).some((note) => /neither true nor false/.test(note))
  if (neither) odd.push(...(facts.state?.seen ?? []))
  const words = facts.state === undefined ? [] : unreadableRanges(facts.state.trust)
  if (words.length > 0 && facts.state?.trust.kind === 'ranges')
    odd.push({object: facts.state.seen[0]?.object ?? object, field: facts.state.trust.key, value: words.join(', ')})
  return odd
}
