import fc from 'fast-check'
import {expect, test} from 'vitest'
import type {KubeObject} from '../../../../src/model/kubernetes.ts'
import {compareResourceVersions} from '../../../../src/kube/reflector/resource-version.ts'
import {ObjectStore} from '../../../../src/kube/reflector/store.ts'
import type {StoreChange} from '../../../../src/kube/reflector/types.ts'

/** Replays what the store told, as a consumer that keeps its own copy would. */
function replay(copy: Map<string, string>, changes: readonly StoreChange<string>[]): void {
  for (const {type, key, object} of changes) {
    if (type === 'delete') copy.delete(key)
    else copy.set(key, `${object.uid} ${object.resourceVersion}`)
  }
}

// A cluster that changes, a watch that tells it in order but late, and lists in between: whoever follows the store's
// changes has, once everything is told, exactly what the cluster has.
test('lists and late events in any mixture end in what is there', () => {
  const step = fc.record({
    name: fc.constantFrom('a', 'b', 'c', 'd'),
    act: fc.constantFrom('write', 'delete', 'deliver', 'list beside', 'relist'),
  })
  fc.assert(
    fc.property(fc.array(step, {maxLength: 60}), (steps) => {
      const store = new ObjectStore<string>((object) => object.metadata.name)
      const copy = new Map<string, string>()
      const cluster = new Map<string, KubeObject>()
      const events: {type: 'put' | 'remove'; object: KubeObject}[] = []
      let version = 8
      let uid = 0
      const deliver = (): void => {
        const event = events.shift()
        if (event !== undefined)
          replay(copy, event.type === 'put' ? store.put(event.object) : store.remove(event.object))
      }
      for (const {name, act} of steps) {
        const present = cluster.get(name)
        if (act === 'write') {
          version += 1
          const object = {
            metadata: {name, uid: present?.metadata.uid ?? `u${(uid += 1)}`, resourceVersion: String(version)},
          }
          cluster.set(name, object)
          events.push({type: 'put', object})
        } else if (act === 'delete' && present !== undefined) {
          version += 1
          cluster.delete(name)
          events.push({type: 'remove', object: {metadata: {...present.metadata, resourceVersion: String(version)}}})
        } else if (act === 'deliver') deliver()
        else if (act === 'list beside' || act === 'relist') {
          const listed = new Map(
            [...cluster.values()].flatMap((object) => {
              const stored = store.reduce(object)
              return stored === undefined ? [] : [[stored.key, stored] as const]
            }),
          )
          const beside = act === 'relist' ? undefined : {listVersion: String(version), touched: new Set<string>()}
          // A relist is followed by a watch from the list's version: what was under way is not told again.
          if (act === 'relist') events.length = 0
          replay(copy, store.replace(listed, beside))
        }
      }
      while (events.length > 0) deliver()
      const truth = new Map(
        [...cluster].map(([name, {metadata}]) => [name, `${metadata.uid} ${metadata.resourceVersion}`]),
      )
      expect([...copy].toSorted()).toEqual([...truth].toSorted())
      expect([...store.objects.keys()].toSorted()).toEqual([...cluster.keys()].toSorted())
    }),
    {numRuns: 500},
  )
})

test('an object that the projection leaves out goes when it stops to fit, and an empty namespace is none', () => {
  const store = new ObjectStore<string>((object) => (object.metadata.labels?.['keep'] === 'yes' ? 'kept' : undefined))
  const metadata = {name: 'a', namespace: '', uid: 'u', resourceVersion: '5'}
  expect(store.put({metadata: {...metadata, labels: {keep: 'yes'}}})).toMatchObject([{type: 'add', key: 'a'}])
  expect(store.put({metadata: {...metadata, resourceVersion: '6'}})).toMatchObject([
    {type: 'delete', key: 'a', tombstone: false},
  ])
})

test('the delete of an earlier object leaves its successor, also where versions cannot be compared', () => {
  const store = new ObjectStore<string>((object) => object.metadata.name)
  store.put({metadata: {name: 'a', uid: 'new', resourceVersion: 'opaque-2'}})
  expect(store.remove({metadata: {name: 'a', uid: 'old', resourceVersion: 'opaque-9'}})).toEqual([])
  expect(store.remove({metadata: {name: 'a', uid: 'new', resourceVersion: 'opaque-9'}})).toHaveLength(1)
})

test('versions are compared by length, then as text, and never as numbers', () => {
  expect(compareResourceVersions('9', '10')).toBeLessThan(0)
  expect(compareResourceVersions('90071992547409930', '90071992547409931')).toBeLessThan(0)
  expect(compareResourceVersions('5', '5')).toBe(0)
  for (const odd of ['', '0', '01', '-1', '1e3', 'abc', '1 ']) expect(compareResourceVersions(odd, '5')).toBeUndefined()
  fc.assert(
    fc.property(fc.bigInt({min: 1n}), fc.bigInt({min: 1n}), (one, other) => {
      expect(Math.sign(compareResourceVersions(String(one), String(other)) ?? Number.NaN)).toBe(
        one < other ? -1 : one > other ? 1 : 0,
      )
    }),
  )
})
