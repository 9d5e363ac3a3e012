import {expect, test} from 'vitest'
import {projectSlice, withholdUnserved} from '../../../src/controller/proxy-endpoints.ts'
import type {HostCollection} from '../../../src/hosts/index.ts'

const slice = (endpoints: unknown) => ({
  metadata: {namespace: 'srcip', name: 's-1', labels: {'kubernetes.io/service-name': 's'}},
  endpoints,
})

test('a slice is ready when one endpoint is; unset means ready, null and none are no endpoint', () => {
  expect(projectSlice(slice([{conditions: {ready: false}}, {conditions: {}}]))).toEqual({
    service: 'srcip/s',
    ready: true,
  })
  for (const endpoints of [[], undefined, null, 'x', [{conditions: {ready: false}}]])
    expect(projectSlice(slice(endpoints))).toEqual({service: 'srcip/s', ready: false})
  expect(projectSlice({metadata: {namespace: 'srcip', name: 'x'}})).toBeUndefined()
})

const host = (name: string, target: string) => ({
  name,
  kind: 'exact' as const,
  target,
  ports: [],
  sources: [`ingress/demo/${name}`],
})
const set = (...hosts: ReturnType<typeof host>[]): HostCollection => ({hosts, excluded: [], warnings: []})
const known = new Set(['srcip/old', 'srcip/new'])

test('a new name waits and says why; one that is not known about is taken', () => {
  const collection = set(host('a', 'srcip/new'), host('b', 'edge/far'))
  const served = withholdUnserved(collection, [], (target) => (target === 'edge/far' ? undefined : false), known)
  expect(served.collection.hosts.map(({name}) => name)).toEqual(['b'])
  expect(served.withheld.map(({name}) => name)).toEqual(['a'])
  expect(served.collection.excluded).toEqual([
    {name: 'a', reason: 'no-ready-endpoint: proxy Service srcip/new has none yet', source: 'ingress/demo/a'},
  ])
})

test('a written name stays where it is while the endpoints are away, also when it is to move', () => {
  const published = [
    {name: 'a', kind: 'exact' as const, target: 'srcip/new'},
    {name: 'b', kind: 'exact' as const, target: 'srcip/old'},
    {name: 'c', kind: 'exact' as const, target: 'srcip/gone'},
  ]
  const collection = set(host('a', 'srcip/new'), host('b', 'srcip/new'), host('c', 'srcip/new'))
  const {collection: kept, withheld} = withholdUnserved(collection, published, () => false, known)
  expect(kept.hosts.map(({name, target}) => `${name} ${target}`)).toEqual(['a srcip/new', 'b srcip/old', 'c srcip/new'])
  expect(withheld).toEqual([])
})

test('with every proxy ready the set is the very same', () => {
  const collection = set(host('a', 'srcip/new'))
  expect(withholdUnserved(collection, [], () => true, known).collection).toBe(collection)
})
