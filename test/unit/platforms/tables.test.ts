import {describe, expect, test} from 'vitest'
import {balancerRows} from '../../../src/platforms/balancers/index.ts'
import {cniRows, kubeProxyRow} from '../../../src/platforms/cnis/rows.ts'
import {receiverRows} from '../../../src/platforms/receivers/index.ts'
import {compareVersions, holdsIn, imageTag, isImageOf} from '../../../src/platforms/versions.ts'

interface AnyCell {
  readonly value: unknown
  readonly grade: string
  readonly source: string
  readonly check?: string
}

/** Every cell of a row, however deep, with the way to it. */
function cellsOf(value: unknown, path: string): [string, AnyCell][] {
  if (typeof value !== 'object' || value === null) return []
  if ('grade' in value && 'source' in value) return [[path, value as AnyCell]]
  return Object.entries(value).flatMap(([key, entry]) => cellsOf(entry, `${path}.${key}`))
}

const cells = [...balancerRows, ...receiverRows, ...cniRows, kubeProxyRow].flatMap((row) => cellsOf(row, row.id))

describe('platform tables', () => {
  test('every cell says where it was read, and every unconfirmed one how to settle it', () => {
    expect(cells.length).toBeGreaterThan(250)
    const homeless = cells.filter(
      ([, {grade, source}]) =>
        grade !== 'unconfirmed' &&
        !/^https:\/\/[^ ]+$/.test(source) &&
        source !== 'not found in any source that was read',
    )
    expect(homeless.map(([path]) => path)).toEqual([])
    const open = cells.filter(([, {grade, check}]) => grade === 'unconfirmed' && (check ?? '') === '')
    expect(open.map(([path]) => path)).toEqual([])
    const read = cells.filter(([, {grade, source}]) => grade === 'source' && !source.startsWith('https://'))
    expect(read.map(([path]) => path)).toEqual([])
  })

  test('ids are unique, and what recognises a row recognises no other family', () => {
    for (const rows of [balancerRows, receiverRows, cniRows])
      expect(new Set(rows.map(({id}) => id)).size).toBe(rows.length)
    const owners = new Map<string, Set<string>>()
    for (const {family, match} of balancerRows) {
      for (const mark of [...(match.written ?? []), ...(match.classes ?? []), ...(match.providerIDs ?? [])])
        owners.set(mark, (owners.get(mark) ?? new Set()).add(family))
    }
    expect([...owners].filter(([, families]) => families.size > 1).map(([mark]) => mark)).toEqual([])
    for (const {id, match} of receiverRows) {
      for (const controller of match.ingressControllers) {
        const others = receiverRows.filter(
          (row) => row.id !== id && row.match.ingressControllers.some((start) => controller.startsWith(start)),
        )
        expect(
          others.map((row) => row.id),
          controller,
        ).toEqual([])
      }
    }
  })

  test('a balancer that the nodes announce never asks for ipMode Proxy', () => {
    for (const row of balancerRows.filter(({place}) => place === 'cluster')) {
      expect(row.status.on.value.ipMode, row.id).not.toBe('Proxy')
      expect(row.proxy.value, row.id).toEqual([])
    }
  })
})

describe('versions', () => {
  test.each([
    ['v1.18.1', '1.18.0', 1],
    ['1.9', '1.10.0', -1],
    ['v1.17.0-rc.1', '1.17.0', 0],
    ['latest', '1.0.0', undefined],
    ['v1.2.3.4', '1.2.3', undefined],
  ])('%s against %s', (left, right, order) => {
    const found = compareVersions(left, right)
    expect(found === undefined ? undefined : Math.sign(found)).toBe(order)
  })

  test('a version that fell out is not one that has it', () => {
    const since = {from: '1.17.0', except: ['1.18.0']}
    expect(['1.16.9', '1.17.0', '1.18.0', 'v1.18.1', 'main'].map((version) => holdsIn(since, version))).toEqual([
      false,
      true,
      false,
      true,
      undefined,
    ])
  })

  test.each([
    [
      'registry.example.org:5000/ingress-nginx/controller:v1.12.1@sha256:00',
      ['/ingress-nginx/controller'],
      true,
      'v1.12.1',
    ],
    ['kong/kong-gateway:3.9', ['/kong'], false, '3.9'],
    ['registry.example.org:5000/kong', ['/kong'], true, undefined],
    ['quay.io/purelb/allocator:v0.14.0', ['/purelb/'], true, 'v0.14.0'],
  ])('%s', (image, parts, is, tag) => {
    expect(isImageOf(image, parts)).toBe(is)
    expect(imageTag(image)).toBe(tag)
  })
})
