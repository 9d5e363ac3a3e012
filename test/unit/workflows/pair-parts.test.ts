import {expect, test} from 'vitest'
import chartObjects from '../../../charts/objects.json' with {type: 'json'}
import type {PairFacts} from '../../../src/workflows/generic/pair-facts.ts'
import {pairParts} from '../../../src/workflows/generic/pair-parts.ts'

const facts = {
  service: {
    ...{namespace: 'edge', name: 'ingress', selector: {app: 'ingress'}},
    ports: [
      {port: 80, podPort: 8080, tls: false},
      {port: 443, podPort: 443, tls: true},
      {port: 8000, podPort: 80, tls: false},
      {port: 8443, podPort: 8443, tls: true},
    ],
  },
  ingressClasses: [],
} as unknown as PairFacts
const parts = pairParts(chartObjects, facts, {
  image: 'registry.example.org/srcip@sha256:00',
  dns: {namespace: 'kube-system', configMaps: ['coredns']},
  pullSecrets: [],
})

test('a port whose number tells no protocol says how it is probed, or the proxy could not tell with --send-proxy=auto', () => {
  const deployment = parts.proxy('auto').find(({kind}) => kind === 'Deployment')
  const text = JSON.stringify(deployment)
  for (const words of ['80=8080,to=8080', '443=8443', '8000=18082,to=80,probe=http', '8443=18083,probe=tls'])
    expect(text).toContain(`"--port=${words}"`)
})

test('the controller may read the ingress Service of the pair, and no other', () => {
  const roles = parts.controller.filter(({metadata}) => (metadata as {name: string}).name === 'srcip-ingress')
  expect(roles.map(({kind, metadata}) => `${String(kind)} ${(metadata as {namespace: string}).namespace}`)).toEqual([
    'Role edge',
    'RoleBinding edge',
  ])
  expect(roles[0]?.['rules']).toEqual([
    {apiGroups: [''], resources: ['services'], resourceNames: ['ingress'], verbs: ['get']},
  ])
})
