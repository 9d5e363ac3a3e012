import {expect, test} from 'vitest'
import {hostsAsOuroboros, projectGateway, projectIngressAsOuroboros, projectRoute} from '../../../src/hosts/index.ts'

const proxy = {target: 'cozy-ouroboros/ouroboros-proxy'}
const ingress = (name: string, spec: object, annotations = {}) =>
  projectIngressAsOuroboros({metadata: {namespace: 'demo', name, annotations}, spec}) ?? fail()
const fail = (): never => {
  throw new Error('not projected')
}

test('hosts of spec.tls, and nothing else of an Ingress; what is left out says why', () => {
  const tls = ingress('shop', {
    rules: [{host: 'rule.example.org'}],
    tls: [{hosts: ['Shop.example.org', '*.example.org']}],
  })
  const {hosts, excluded} = hostsAsOuroboros({ingresses: [tls]}, {ingressClass: '', gatewayClass: '', proxy})
  expect(hosts.map(({name, target}) => [name, target])).toEqual([['shop.example.org', proxy.target]])
  expect(excluded.map(({name, reason}) => [name, reason])).toEqual([
    ['*.example.org', 'ouroboros takes no wildcards'],
    ['rule.example.org', 'ouroboros takes hosts of spec.tls only'],
  ])
})

test('the class is spec.ingressClassName, compared as it is; the old annotation is not read', () => {
  const tls = (host: string) => [{hosts: [host]}]
  const ingresses = [
    ingress('a', {ingressClassName: 'edge', tls: tls('a.example.org')}),
    ingress('b', {tls: tls('b.example.org')}, {'kubernetes.io/ingress.class': 'edge'}),
    ingress('c', {ingressClassName: 'other', tls: tls('c.example.org')}),
  ]
  const {hosts} = hostsAsOuroboros({ingresses}, {ingressClass: 'edge', gatewayClass: '', proxy})
  expect(hosts.map(({name}) => name)).toEqual(['a.example.org'])
})

test('listeners and HTTPRoutes; with a Gateway class only of its Gateways', () => {
  const gateway = (name: string, gatewayClassName: string, hostname: string) =>
    projectGateway({
      metadata: {namespace: 'edge', name},
      spec: {gatewayClassName, listeners: [{name: 'l', hostname}]},
    }) ?? fail()
  const route = (name: string, parent: object, hostname: string) =>
    projectRoute('HTTPRoute', {
      metadata: {namespace: 'edge', name},
      spec: {parentRefs: [parent], hostnames: [hostname]},
    }) ?? fail()
  const sources = {
    gateways: [gateway('one', 'mine', 'one.example.org'), gateway('two', 'other', 'two.example.org')],
    routes: [
      route('r1', {name: 'one'}, 'r1.example.org'),
      route('r2', {name: 'two'}, 'r2.example.org'),
      route('r3', {name: 'one', kind: 'Service', group: ''}, 'r3.example.org'),
    ],
  }
  const names = (gatewayClass: string) =>
    hostsAsOuroboros(sources, {ingressClass: '', gatewayClass, proxy}).hosts.map(({name}) => name)
  expect(names('')).toEqual([
    'one.example.org',
    'r1.example.org',
    'r2.example.org',
    'r3.example.org',
    'two.example.org',
  ])
  expect(names('mine')).toEqual(['one.example.org', 'r1.example.org'])
})
