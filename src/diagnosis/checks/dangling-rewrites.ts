import {field, record} from '../../model/fields.ts'
import type {Diagnosis} from '../judged-way.ts'
import {command, type Check} from './check.ts'
import {dnsObject} from './two-hairpin-tools.ts'

export const danglingRewrites: Check = {
  id: 'SRC052',
  name: 'dangling-rewrites',
  severity: 'error',
  means:
    'Cluster DNS leads names to a Service that does not exist, or to one that is itself only another name: pods get NXDOMAIN for names that are fine outside.',
  act: '`kubectl srcip cleanup` takes the lines out in one write.',
  sources: ['https://coredns.io/plugins/rewrite/'],
  run: (diagnosis) => {
    const {dns, index} = diagnosis.cluster
    const bad = new Map<string, string[]>()
    for (const rule of dns.rules) {
      const [namespace, name] = rule.target.split('/') as [string, string]
      const service = index.get('Service', namespace, name, '')
      const external = field(record(service?.['spec']), 'type') === 'ExternalName'
      const gone = service === undefined && isKnown(diagnosis, namespace, name)
      if (gone || external) bad.set(rule.target, [...(bad.get(rule.target) ?? []), rule.name])
    }
    return [...bad].map(([target, names]) => ({
      title: `${list(names)} ${names.length === 1 ? 'points' : 'point'} at ${target.split('/').toReversed().join('.')}, which ${index.get('Service', target.split('/')[0], target.split('/')[1] ?? '', '') === undefined ? 'does not exist' : 'is of type ExternalName'}`,
      object: dnsObject(diagnosis),
      evidence: dns.rules
        .filter((rule) => rule.target === target)
        .slice(0, 3)
        .map((rule) => ({object: dnsObject(diagnosis), field: `${rule.file}:${rule.line}`, value: rule.name})),
      remedies: [
        command(
          'cleanup',
          1,
          'kubectl srcip cleanup',
          'takes the lines out in one write, and proves it on every CoreDNS pod',
        ),
      ],
    }))
  },
}

function isKnown({cluster}: Diagnosis, namespace: string, name: string): boolean {
  return ['complete', 'absent'].includes(cluster.index.state('Service', namespace, name, ''))
}

function list(names: readonly string[]): string {
  const shown = names.slice(0, 5)
  return names.length > 5 ? `${shown.join(', ')} and ${names.length - 5} more` : shown.join(' and ')
}
