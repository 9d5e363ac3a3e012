import {expect, test} from 'vitest'
import {ExternalDnsOutput} from '../../../src/controller/external-dns-output.ts'
import type {ExternalDnsSettings} from '../../../src/controller/external-dns-objects.ts'
import type {Published} from '../../../src/controller/names-guard.ts'
import type {KubeClient, Resource} from '../../../src/kube/index.ts'
import type {KubeObject} from '../../../src/model/kubernetes.ts'
import {VirtualClock} from './virtual-clock.ts'

const signal = new AbortController().signal
const name = (host: string, target = 'srcip/p'): Published => ({name: host, kind: 'exact', target})

/** A cluster of two proxy Services and the one object that ExternalDNS reads. */
function setup(more: Partial<ExternalDnsSettings> = {}, wildcards = false) {
  const objects = new Map<string, KubeObject>()
  const ips: Record<string, string> = {'srcip/p': '10.96.7.7', 'srcip/q': '10.96.7.8'}
  for (const [key, clusterIP] of Object.entries(ips)) {
    objects.set(`services ${key}`, {metadata: {name: key}, spec: {clusterIP}})
  }
  const at = (resource: Resource, key: {namespace: string; name: string}) =>
    `${resource.plural} ${key.namespace}/${key.name}`
  const client = {
    find: (resource: Resource, key: {namespace: string; name: string}) =>
      Promise.resolve(objects.get(at(resource, key))),
    apply: (resource: Resource, object: KubeObject) => {
      const key = at(resource, object.metadata as never)
      const generation = (objects.get(key)?.metadata.generation ?? 0) + 1
      const stored = {...object, metadata: {...object.metadata, generation}}
      objects.set(key, stored)
      return Promise.resolve(stored)
    },
    delete: (resource: Resource, key: {namespace: string; name: string}) =>
      Promise.resolve(objects.delete(at(resource, key))),
  } as unknown as Pick<KubeClient, 'find' | 'apply' | 'delete'>
  const clock = new VirtualClock()
  const settings: ExternalDnsSettings = {
    as: 'endpoint',
    namespace: 'srcip',
    name: 'srcip',
    ttl: undefined,
    labels: {},
    annotations: {},
    ...more,
  }
  const output = new ExternalDnsOutput({client, settings, wildcards, verifyTimeoutMs: 60_000, clock})
  return {
    objects,
    output,
    clock,
    plan: async (names: Published[]) => (await output.read(['srcip/p', 'srcip/q'], signal)).plan(names, []),
  }
}

test('a DNSEndpoint holds each name with the address of its proxy, TTL, labels and annotations; it is proved by its status', async () => {
  const {objects, plan, clock} = setup({ttl: 30, labels: {team: 'edge'}, annotations: {note: 'x'}})
  const written = await (await plan([name('b.org', 'srcip/q'), name('a.org')])).write(signal)
  const object = objects.get('dnsendpoints srcip/srcip')
  expect(object).toMatchObject({
    metadata: {labels: {team: 'edge', 'srcip.dev/component': 'controller'}, annotations: {note: 'x'}},
    spec: {
      endpoints: [
        {dnsName: 'a.org', recordType: 'A', targets: ['10.96.7.7'], recordTTL: 30},
        {dnsName: 'b.org', recordType: 'A', targets: ['10.96.7.8'], recordTTL: 30},
      ],
    },
  })
  const proof = written.prove(signal)
  await clock.advance(10_000)
  objects.set('dnsendpoints srcip/srcip', {...(object as KubeObject), status: {observedGeneration: 1}})
  await clock.advance(5000)
  expect((await proof).verdict).toBe('done')
  const again = await plan([name('a.org'), name('b.org', 'srcip/q')])
  expect(again.changes).toBe(false)
  const late = (await (await plan([name('a.org')])).write(signal)).prove(signal)
  await clock.advance(70_000)
  expect((await late).verdict).toBe('unconfirmed')
})

test('without a name the object goes; one that is not ours is never touched', async () => {
  const {objects, output, plan} = setup()
  await (await plan([name('a.org')])).write(signal)
  expect((await output.read([], signal)).published).toEqual([name('a.org')])
  await (await plan([])).write(signal)
  expect(objects.has('dnsendpoints srcip/srcip')).toBe(false)
  objects.set('dnsendpoints srcip/srcip', {metadata: {name: 'srcip', namespace: 'srcip'}})
  expect((await plan([name('a.org')])).blocked?.code).toBe('NotOurs')
})

test('a Service carries all names in one annotation, for one proxy, up to the limit of annotations', async () => {
  const {objects, plan, output} = setup({as: 'service', ttl: 60}, true)
  await (await plan([name('b.org'), name('a.org')])).write(signal)
  expect(objects.get('services srcip/srcip')).toMatchObject({
    metadata: {
      annotations: {
        'external-dns.alpha.kubernetes.io/hostname': 'a.org,b.org',
        'external-dns.alpha.kubernetes.io/target': '10.96.7.7',
        'external-dns.alpha.kubernetes.io/ttl': '60',
      },
    },
    spec: {clusterIP: 'None'},
  })
  expect((await output.read([], signal)).published).toEqual([name('a.org'), name('b.org')])
  expect((await plan([name('a.org'), name('b.org', 'srcip/q')])).blocked?.code).toBe('SeveralTargets')
  const many = Array.from({length: 9000}, (_, index) => name(`host-${index}.somewhere.example.org`))
  expect((await plan(many)).blocked?.code).toBe('TooLarge')
  const wild: Published = {name: '*.a.org', kind: 'wildcard-one-label', target: 'srcip/p'}
  expect((await plan([wild])).refused.map((entry) => entry.code)).toEqual(['WildcardUnsupported'])
})

test('a wildcard keeps its kind, so that the same wish is not taken for another', async () => {
  const {plan, output} = setup({}, true)
  const wild: Published = {name: '*.a.org', kind: 'wildcard-one-label', target: 'srcip/p'}
  await (await plan([wild])).write(signal)
  expect((await output.read([], signal)).published).toEqual([wild])
})
