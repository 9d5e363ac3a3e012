import {shared} from '../../platforms/sources.ts'
import type {Check} from './check.ts'
import {eachService, statusEvidence} from './of-ways.ts'

export const hostnameStatus: Check = {
  id: 'SRC017',
  name: 'hostname-status',
  severity: 'info',
  means:
    'The status of the Service is a host name, put there so that pods are not short-circuited. Public names must lead to that host, and external-dns will publish it.',
  act: 'Make the public names CNAMEs of that host, or A records of what it resolves to; a name that still has an old address is not helped.',
  sources: [shared.hostnameOnly],
  run: (diagnosis) =>
    eachService(diagnosis, ({facts}) => {
      const key = Object.keys(facts.service.metadata.annotations ?? {}).find((name) =>
        /loadbalancer.*hostname|load-balancer.*hostname|openstack\.org\/hostname|hetzner\.cloud\/hostname/.test(name),
      )
      const only = facts.entries.length > 0 && facts.entries.every((entry) => entry.ip === undefined)
      if (key === undefined || !only) return undefined
      return {
        title: `public names must lead to ${facts.entries.map((entry) => entry.hostname).join(', ')}`,
        evidence: statusEvidence(facts),
      }
    }),
}
