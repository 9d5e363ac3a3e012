import {readdirSync, readFileSync} from 'node:fs'
import {fileURLToPath} from 'node:url'
import {join} from 'node:path'
import fc from 'fast-check'
import {expect, test} from 'vitest'
import {parseAllDocuments} from 'yaml'
import {
  projectObject,
  snapshotKindOf,
  snapshotKinds,
  sortObjects,
} from '../../../../src/model/projection/project-object.ts'
import type {KubeObject} from '../../../../src/model/kubernetes.ts'
import {propertySeed} from '../../../support/property-seed.ts'

const cases = fileURLToPath(new URL('../../../cases/doctor', import.meta.url))
const files = readdirSync(cases, {recursive: true, encoding: 'utf8'}).filter(
  (name) => name.endsWith('.yaml') && !name.includes('expected'),
)
const objects = files
  .flatMap((name) => parseAllDocuments(readFileSync(join(cases, name), 'utf8')).map((one) => one.toJS() as KubeObject))
  .filter((object) => typeof object?.metadata?.name === 'string')

test('every kind of the snapshots that doctor is tested with is known', () => {
  expect(objects.length).toBeGreaterThan(100)
  // One case has a kind that nobody knows, on purpose.
  const unknown = objects.filter(
    ({apiVersion, kind}) => snapshotKindOf(apiVersion, kind) === undefined && apiVersion !== 'networking.k8s.io/v7',
  )
  expect(new Set(unknown.map(({apiVersion, kind}) => `${apiVersion} ${kind}`))).toEqual(new Set())
})

test('projecting twice is projecting once', () => {
  for (const object of objects) {
    const kind = snapshotKindOf(object.apiVersion, object.kind)
    if (kind === undefined) continue
    const once = projectObject(kind, object)
    expect(once === undefined ? undefined : projectObject(kind, once)).toEqual(once)
  }
})

test('fields that come and go by themselves make no other snapshot', () => {
  const node = snapshotKindOf('v1', 'Node')
  if (node === undefined) throw new Error('no kind Node')
  const at = (time: string): unknown =>
    projectObject(node, {
      metadata: {name: 'a', resourceVersion: time, annotations: {'example.org/seen': time}},
      status: {
        conditions: [
          {type: 'Ready', status: 'True', lastHeartbeatTime: time},
          {type: 'MemoryPressure', status: 'False', lastHeartbeatTime: time},
        ],
        images: [{names: [time]}],
      },
    })
  expect(at('1')).toEqual(at('2'))
  expect(at('1')).toMatchObject({status: {conditions: [{type: 'Ready', status: 'True'}]}})
})

test('field owners stay as a list of fields, of objects that might be written only', () => {
  const managedFields = [
    {
      manager: 'talos',
      operation: 'Apply',
      time: '2026-01-01T00:00:00Z',
      fieldsV1: {'f:data': {'.': {}, 'f:Corefile': {}}, 'f:metadata': {'f:finalizers': {'v:"x"': {}}}},
    },
  ]
  const of = (apiVersion: string, kind: string): unknown => {
    const found = snapshotKindOf(apiVersion, kind)
    if (found === undefined) throw new Error(`no kind ${kind}`)
    return projectObject(found, {metadata: {name: 'x', managedFields}})?.metadata.managedFields
  }
  expect(of('v1', 'ConfigMap')).toEqual([
    {
      manager: 'talos',
      operation: 'Apply',
      fieldsV1: {'f:data': {'f:Corefile': {}}, 'f:metadata': {'f:finalizers': {}}},
    },
  ])
  expect(of('v1', 'Service')).toBeDefined()
  expect(of('cozystack.io/v1alpha1', 'Package')).toBeDefined()
  expect(of('networking.k8s.io/v1', 'Ingress')).toBeUndefined()
  expect(of('apps/v1', 'Deployment')).toBeUndefined()
})

test('a setting that is not used keeps its key, so that a dead key can be found', () => {
  const kind = snapshotKindOf('v1', 'ConfigMap')
  if (kind === undefined) throw new Error('no kind ConfigMap')
  const data = {
    'use-proxy-protocol': 'true',
    'proxy-real-ip-cidr': '192.0.2.0/24',
    set_real_ip_from: '10.0.0.0/8',
    'set-real-ip-from': '10.0.0.0/8',
    'some-key': 'some value',
    'http-snippet': 'deny all;',
    '9000': 'demo/db:5432:PROXY',
  }
  expect(projectObject(kind, {metadata: {name: 'x'}, data})?.['data']).toEqual({
    ...data,
    'some-key': '<masked>',
    'http-snippet': '<masked>',
  })
})

test('nothing makes it fail, whatever an object holds', () => {
  const names = [
    'metadata',
    'name',
    'spec',
    'data',
    'status',
    'containers',
    'template',
    'env',
    'args',
    '__proto__',
    'items',
  ]
  const value = fc.letrec((tie) => ({
    any: fc.oneof({maxDepth: 5}, fc.jsonValue(), fc.dictionary(fc.constantFrom(...names), tie('any'), {maxKeys: 5})),
  })).any
  fc.assert(
    fc.property(value, fc.constantFrom(...snapshotKinds), (given, kind) => {
      const object = projectObject(kind, {metadata: {name: 'x'}, ...(given as object)})
      if (object !== undefined) expect(JSON.parse(JSON.stringify(object))).toEqual(object)
    }),
    {seed: propertySeed, numRuns: 500},
  )
})

test('objects have one order, whatever the order they came in', () => {
  const kept = objects.slice(0, 200)
  const text = (list: readonly KubeObject[]): string =>
    sortObjects(list)
      .map(({kind, metadata}) => `${kind} ${metadata.namespace} ${metadata.name}`)
      .join('\n')
  expect(text(kept.toReversed())).toBe(text(kept))
})
