import fc from 'fast-check'
import {expect, test} from 'vitest'
import {
  collectHosts,
  projectGateway,
  projectIngress,
  projectIngressClass,
  projectListenerSet,
  projectNamespace,
  projectProxyService,
  projectRoute,
  projectTrafficPolicy,
  readName,
} from '../../../src/hosts/index.ts'
import {gateway, ingress, route, sourcesOf} from './objects.ts'

/** Anything that JSON can hold, built around the field names that projections read, so that they are reached. */
const fieldNames = [
  'metadata',
  'name',
  'namespace',
  'annotations',
  'labels',
  'spec',
  'rules',
  'host',
  'tls',
  'hosts',
  'ingressClassName',
  'listeners',
  'hostname',
  'hostnames',
  'parentRefs',
  'parentRef',
  'allowedRoutes',
  'namespaces',
  'selector',
  'matchLabels',
  'matchExpressions',
  'values',
  'key',
  'operator',
  'from',
  'kinds',
  'kind',
  'status',
  'parents',
  'conditions',
  'type',
  'port',
  '__proto__',
  'ports',
  'nginx.ingress.kubernetes.io/server-alias',
  'srcip.dev/component',
  'srcip.dev/ingress-classes',
  'targetRefs',
  'proxyProtocol',
  'allowedListeners',
]
const texts = [
  'Accepted',
  'True',
  'False',
  'Selector',
  'All',
  'Gateway',
  'a.example.org',
  '*.example.org',
  'proxy',
  'demo',
  '',
]
const hostile = fc.letrec<{value: unknown}>((tie) => ({
  value: fc.oneof(
    {depthSize: 'large', withCrossShrink: true},
    fc.constantFrom<unknown>(null, undefined, 0, -1, 1.5, 443, true, false, Number.NaN, ...texts),
    fc.string({unit: 'binary'}),
    fc.array(tie('value'), {maxLength: 3}),
    fc.dictionary(fc.constantFrom(...fieldNames), tie('value'), {maxKeys: 6}),
  ),
})).value
/** The same with a name, so that projection goes on past the identity. */
const named = fc.tuple(hostile, hostile, hostile).map(([metadata, spec, status]) => ({
  metadata: {
    ...(typeof metadata === 'object' && !Array.isArray(metadata) ? metadata : {}),
    name: 'x',
    namespace: 'demo',
  },
  spec,
  status,
}))

test('no object, however wrong, makes projection or collection throw; every name that comes out is a DNS name', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(hostile, named), {maxLength: 6}), (objects) => {
      const kept = <T>(project: (value: unknown) => T | undefined): T[] =>
        objects.map((entry) => project(entry)).filter((entry) => entry !== undefined)
      const found = collectHosts(
        {
          ingresses: kept(projectIngress),
          ingressClasses: kept(projectIngressClass),
          gateways: kept(projectGateway),
          listenerSets: kept(projectListenerSet),
          routes: [
            ...kept((entry) => projectRoute('HTTPRoute', entry)),
            ...kept((entry) => projectRoute('TLSRoute', entry)),
          ],
          namespaces: kept(projectNamespace),
          trafficPolicies: kept(projectTrafficPolicy),
        },
        {
          proxies: [{target: 'a/b'}, ...kept(projectProxyService)],
        },
      )
      for (const host of found.hosts) {
        expect(host.name).toMatch(/^(\*\.)?[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/)
        expect(host.kind === 'exact').toBe(!host.name.startsWith('*.'))
        expect(host.sources.length).toBeGreaterThan(0)
      }
      for (const entry of found.excluded) {
        expect(entry.reason).not.toBe('')
        expect(entry.source).not.toBe('')
      }
    }),
    {numRuns: 2000},
  )
})

const label = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,6}[a-z0-9])?$/)
const anyName = fc.oneof(
  fc.array(label, {minLength: 1, maxLength: 4}).map((labels) => labels.join('.')),
  fc.array(label, {minLength: 2, maxLength: 3}).map((labels) => `*.${labels.join('.')}`),
  fc.string({maxLength: 20}),
)

test('reading a name is idempotent, and what it returns is at most 253 bytes of ASCII', () => {
  fc.assert(
    fc.property(fc.oneof(anyName, fc.string({unit: 'binary', maxLength: 300})), (spelling) => {
      const read = readName(spelling)
      if (!read.ok) return
      expect(read.name.length).toBeLessThanOrEqual(253)
      expect(readName(read.name)).toEqual(read)
      expect(readName(`${read.name}.`)).toEqual(read)
      expect(readName(read.name.toUpperCase())).toEqual(read)
    }),
    {numRuns: 3000},
  )
})

test('the set depends on the objects only, not on their order; each name with an object is in or has a reason', () => {
  const shape = fc.record({
    name: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'),
    className: fc.constantFrom('one', 'two', 'three'),
    hosts: fc.array(anyName, {minLength: 1, maxLength: 3}),
    created: fc.constantFrom('2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'),
  })
  const shapes = fc.uniqueArray(shape, {selector: (entry) => entry.name, maxLength: 6})
  const options = {
    proxies: [
      {target: 'p/one', ingressClasses: ['one'], gateways: ['infra/edge']},
      {target: 'p/two', ingressClasses: ['two']},
    ],
  }
  fc.assert(
    fc.property(
      shapes.chain((list) => fc.tuple(fc.constant(list), fc.shuffledSubarray(list, {minLength: list.length}))),
      fc.array(anyName, {maxLength: 3}),
      ([list, shuffled], hostnames) => {
        const extra = [
          gateway('edge', [{name: 'l', port: 443, protocol: 'HTTPS', allowedRoutes: {namespaces: {from: 'All'}}}]),
          route('HTTPRoute', hostnames, [{name: 'edge', namespace: 'infra'}]),
        ]
        const first = collectHosts(sourcesOf([...list.map((entry) => ingress(entry)), ...extra]), options)
        const second = collectHosts(
          sourcesOf([...extra.toReversed(), ...shuffled.map((entry) => ingress(entry))]),
          options,
        )
        expect(second).toEqual(first)
        const keys = first.hosts.map((host) => `${host.name} ${host.kind}`)
        expect(new Set(keys).size).toBe(keys.length)
        for (const spelling of [...list.flatMap((entry) => entry.hosts), ...hostnames]) {
          const read = readName(spelling)
          if (spelling === '') continue
          const known = [...first.hosts, ...first.excluded].some((entry) => entry.name === read.name)
          expect(known, `${spelling} has vanished`).toBe(true)
        }
      },
    ),
    {numRuns: 500},
  )
})
