import {describe, expect, test} from 'vitest'
import {collectHosts} from '../../../src/hosts/index.ts'
import {caseObjects, leftOut, names, sourcesOf} from './objects.ts'

const proxies = [{target: 'srcip/srcip-proxy', ports: [80, 443]}]

describe('field cases', () => {
  test('B25: rules and tls together; an Ingress without a host is a note, not a crash', () => {
    const found = collectHosts(sourcesOf(caseObjects('B25-http-only-and-empty-tls')), {proxies})
    expect(names(found)).toEqual([
      'bare-tls.example.org',
      'cert-only.example.org',
      'http.example.org',
      'rule.example.org',
    ])
    expect(found.excluded).toEqual([
      {name: '', reason: 'answers every name: cannot be rewritten', source: 'ingress/demo/default-backend-only'},
      {name: '', reason: 'answers every name: cannot be rewritten', source: 'ingress/demo/no-host'},
    ])
  })

  test('B26: a wildcard keeps its kind, the name of another class stays out but is known', () => {
    const found = collectHosts(sourcesOf(caseObjects('B26-wildcard-hosts')), {proxies, ingressClasses: ['nginx']})
    expect(names(found)).toEqual(['*.example.org wildcard-one-label', 'api.example.org', 'example.org'])
    expect(leftOut(found)).toEqual(['static.example.org: its class nginx-plain is not one of --ingress-class nginx'])
  })

  test('B30: names that live in annotations of ingress-nginx', () => {
    const found = collectHosts(sourcesOf(caseObjects('B30-hosts-that-live-in-annotations')), {proxies})
    expect(names(found)).toEqual([
      'brand.example.org',
      'login.example.org',
      'shop.example.com',
      'shop.example.org',
      'wiki.example.org',
      'www.brand.example.org',
      'www.shop.example.org',
    ])
    expect(found.excluded).toEqual([])
  })

  test('B34: TLSRoute of two versions, GRPCRoute on its own listener, an Ingress beside them', () => {
    const found = collectHosts(sourcesOf(caseObjects('B34-tlsroute-passthrough')), {proxies})
    expect(names(found)).toEqual([
      '*.vault.example.org wildcard-any-depth',
      'db.example.org',
      'grpc.example.org',
      'vault.example.org',
      'vc.example.org',
    ])
    expect(found.hosts.find((host) => host.name === 'grpc.example.org')?.ports).toEqual([8443])
  })

  test('B35: the Gateway that does not ask for PROXY keeps its names', () => {
    const found = collectHosts(sourcesOf(caseObjects('B35-two-gateways-one-speaks-proxy')), {
      proxies: [{target: 'srcip/edge-proxy', gateways: ['infra/edge']}],
    })
    expect(found.hosts.map((host) => `${host.name} -> ${host.target}`)).toEqual([
      'both.example.org -> srcip/edge-proxy',
      'shop.example.org -> srcip/edge-proxy',
    ])
    expect(leftOut(found)).toEqual([
      'both.example.org: part of its traffic does not pass the proxy: Gateway infra/lan does not ask for PROXY',
      'wiki.example.org: Gateway infra/lan does not ask for PROXY',
    ])
  })

  test('B35: two Gateways with a proxy each; a name of both goes one way, and that is said', () => {
    const {trafficPolicies: _none, ...sources} = sourcesOf(caseObjects('B35-two-gateways-one-speaks-proxy'))
    const found = collectHosts(sources, {
      proxies: [
        {target: 'srcip/edge-proxy', gateways: ['infra/edge']},
        {target: 'srcip/lan-proxy', gateways: ['infra/lan']},
      ],
    })
    expect(found.hosts.map((host) => `${host.name} -> ${host.target}`)).toEqual([
      'both.example.org -> srcip/edge-proxy',
      'shop.example.org -> srcip/edge-proxy',
      'wiki.example.org -> srcip/lan-proxy',
    ])
    expect(leftOut(found)).toEqual([
      'both.example.org: srcip/lan-proxy serves it too, the older httproute/demo/both decides',
    ])
  })
})
