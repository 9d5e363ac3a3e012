import {expect, test} from 'vitest'
import {similarServices} from '../../../src/hosts/index.ts'
import {caseObjects} from './objects.ts'

const services = (...places: string[]) =>
  places.map((place) => {
    const [namespace = '', name = ''] = place.split('/')
    return {namespace, name}
  })

test('B38: a renamed release in another namespace is what was meant', () => {
  const there = (
    caseObjects('B38-proxy-before-its-target-is-ready') as {kind: string; metadata: {namespace: string; name: string}}[]
  )
    .filter(({kind}) => kind === 'Service')
    .map(({metadata}) => metadata)
  expect(similarServices('ingress-nginx/ingress-nginx-controller', there)).toEqual(['edge/edge-ingress-controller'])
})

test('the same name elsewhere comes first, then the same namespace, then by name; what shares no word is not meant', () => {
  const there = services('b/proxy-x', 'srcip/other-proxy', 'lan/srcip-proxy', 'a/proxy-x', 'srcip/web', 'lan/dns')
  expect(similarServices('srcip/srcip-proxy', there)).toEqual(['lan/srcip-proxy', 'srcip/other-proxy', 'a/proxy-x'])
  expect(similarServices('srcip/nothing', there)).toEqual([])
})
