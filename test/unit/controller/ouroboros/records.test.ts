import {expect, test} from 'vitest'
import {nameInRecord, recordName, recordsFor, recordStands} from '../../../../src/controller/ouroboros/records.ts'
import type {RecordSettings} from '../../../../src/controller/ouroboros/records.ts'

const settings: RecordSettings = {
  output: 'crd',
  namespace: 'dns',
  instance: 'edge',
  ttl: 60,
  annotationPrefix: 'internal.example.org/',
  annotations: {team: 'net'},
  labels: {zone: 'inside'},
}
const labels = {zone: 'inside', 'app.kubernetes.io/managed-by': 'ouroboros', 'ouroboros.lexfrei.tech/instance': 'edge'}

test('one DNSEndpoint for a name, two where both families are there', () => {
  const [only, ...none] = recordsFor('shop.example.org', ['10.96.7.7'], settings)
  expect(none).toEqual([])
  expect(only).toEqual({
    apiVersion: 'externaldns.k8s.io/v1alpha1',
    kind: 'DNSEndpoint',
    metadata: {
      name: 'ouroboros-shop-example-org',
      namespace: 'dns',
      labels,
      annotations: {team: 'net', 'ouroboros.lexfrei.tech/source': 'controller'},
    },
    spec: {
      endpoints: [{dnsName: 'shop.example.org', recordType: 'A', recordTTL: 60, targets: ['10.96.7.7']}],
    },
  })
  const both = recordsFor('shop.example.org', ['10.96.7.7', '2001:db8::7'], settings)
  expect(both.map(({metadata}) => metadata.name)).toEqual([
    'ouroboros-shop-example-org-v4',
    'ouroboros-shop-example-org-v6',
  ])
  expect(both.map((object) => nameInRecord(object, settings))).toEqual(['shop.example.org', 'shop.example.org'])
})

test('a headless Service with annotations under the prefix', () => {
  const service = {...settings, output: 'service' as const}
  const [only] = recordsFor('shop.example.org', ['2001:db8::7', '10.96.7.7'], service)
  expect(only).toMatchObject({
    kind: 'Service',
    metadata: {
      annotations: {
        'internal.example.org/hostname': 'shop.example.org',
        'internal.example.org/target': '10.96.7.7,2001:db8::7',
        'internal.example.org/ttl': '60',
      },
    },
    spec: {type: 'ClusterIP', clusterIP: 'None'},
  })
  expect(only === undefined ? '' : nameInRecord(only, service)).toBe('shop.example.org')
})

test('a name that is too long for an object is cut and stays apart from its neighbours', () => {
  const long = (last: string): string =>
    `${'a'.repeat(60)}.${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(58)}${last}.org`
  const [one, other] = [recordName(long('x'), ''), recordName(long('y'), '')]
  expect(one.length).toBe(253)
  expect(one).not.toBe(other)
})

test('a record stands when our part is equal, whatever the server has added', () => {
  const [wanted] = recordsFor('shop.example.org', ['10.96.7.7'], settings)
  if (wanted === undefined) throw new Error('no record')
  const live = {...wanted, metadata: {...wanted.metadata, uid: 'u', resourceVersion: '7', generation: 3}, status: {}}
  expect(recordStands(live, wanted)).toBe(true)
  const [moved] = recordsFor('shop.example.org', ['10.96.7.8'], settings)
  expect(moved === undefined ? true : recordStands(live, moved)).toBe(false)
})
