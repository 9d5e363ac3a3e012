import {expect, test} from 'vitest'
import {collectHosts} from '../../../src/hosts/index.ts'
import {leftOut, names, sourcesOf} from './objects.ts'

const listeners = [{name: 'http', port: 80, protocol: 'HTTP', allowedRoutes: {namespaces: {from: 'All'}}}]
const gateway = (name: string, gatewayClassName = 'envoy', namespace = 'infra') => ({
  kind: 'Gateway',
  metadata: {name, namespace},
  spec: {gatewayClassName, listeners},
})
const route = (gatewayName: string, namespace = 'infra') => ({
  kind: 'HTTPRoute',
  metadata: {name: `${namespace}-${gatewayName}`, namespace: 'demo'},
  spec: {parentRefs: [{name: gatewayName, namespace}], hostnames: [`${gatewayName}.${namespace}.org`]},
})
const policy = (spec: object, namespace = 'infra') => ({
  kind: 'ClientTrafficPolicy',
  metadata: {name: 'p', namespace},
  spec,
})
const ref = (name: string) => ({group: 'gateway.networking.k8s.io', kind: 'Gateway', name})
const found = (...objects: object[]) => collectHosts(sourcesOf(objects), {proxies: [{target: 'srcip/srcip-proxy'}]})

test.each([
  ['proxyProtocol with targetRefs', {targetRefs: [ref('a')], proxyProtocol: {}}, ['a.infra.org']],
  ['optional', {targetRefs: [ref('a')], proxyProtocol: {optional: true}}, ['a.infra.org']],
  ['the deprecated field and targetRef', {targetRef: ref('a'), enableProxyProtocol: true}, ['a.infra.org']],
  ['one section', {targetRefs: [{...ref('a'), sectionName: 'http'}], proxyProtocol: {}}, ['a.infra.org']],
  ['a policy about something else', {targetRefs: [ref('a')], timeout: {}}, []],
  ['the deprecated field off', {targetRefs: [ref('a')], enableProxyProtocol: false}, []],
])('a policy with %s', (_name, spec, expected) => {
  const collected = found(gateway('a'), gateway('b'), route('a'), route('b'), policy(spec))
  expect(names(collected)).toEqual(expected)
  expect(leftOut(collected)).toContain('b.infra.org: Gateway infra/b does not ask for PROXY')
})

test('Gateways of other classes, and policies for what is no Gateway, are not judged', () => {
  const other = found(gateway('a'), gateway('b', 'cilium'), route('b'), policy({targetRefs: [ref('a')]}))
  expect(names(other)).toEqual(['b.infra.org'])
  const section = {group: 'x', kind: 'XListenerSet', name: 'a'}
  expect(names(found(gateway('a'), route('a'), policy({targetRefs: [section]})))).toEqual(['a.infra.org'])
  expect(names(found(gateway('a'), route('a')))).toEqual(['a.infra.org'])
})

test('where a policy chooses by label nothing is said of that namespace, but of the others', () => {
  const selector = {targetSelectors: [{kind: 'Gateway', matchLabels: {edge: 'yes'}}], proxyProtocol: {}}
  const collected = found(
    ...[gateway('a'), gateway('b'), gateway('c', 'envoy', 'lan'), route('a'), route('b'), route('c', 'lan')],
    ...[policy({targetRefs: [ref('a')], proxyProtocol: {}}), policy(selector)],
  )
  expect(names(collected)).toEqual(['a.infra.org', 'b.infra.org'])
  expect(leftOut(collected)).toEqual(['c.lan.org: Gateway lan/c does not ask for PROXY'])
})

test('a policy reaches only Gateways of its own namespace', () => {
  const collected = found(
    ...[gateway('a'), gateway('a', 'envoy', 'lan'), route('a'), route('a', 'lan')],
    policy({targetRefs: [ref('a')], proxyProtocol: {}}),
  )
  expect(names(collected)).toEqual(['a.infra.org'])
})
