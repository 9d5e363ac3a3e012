import {describe, expect, test} from 'vitest'
import {collectHosts, projectIngress, projectIngressClass} from '../../../src/hosts/index.ts'
import type {HostOptions} from '../../../src/hosts/index.ts'
import {ingress, ingressClass, leftOut, names, sourcesOf} from './objects.ts'

const open: HostOptions = {proxies: [{target: 'srcip/srcip-proxy', ports: [80, 443]}]}

function from(objects: unknown[], options: HostOptions = open) {
  return collectHosts(sourcesOf(objects), options)
}

describe('names of Ingresses', () => {
  test('names are lower case A-labels without a final dot', () => {
    const found = from([ingress({hosts: ['SHOP.Example.ORG.', 'bücher.example', 'faß.example']})])
    expect(names(found)).toEqual(['shop.example.org', 'xn--bcher-kva.example', 'xn--fa-hia.example'])
  })

  test.each([
    ['192.0.2.7', 'is an IP address, not a name'],
    ['2001:db8::1', 'is an IP address, not a name'],
    ['a..example.org', 'has an empty label'],
    ['a_b.example.org', 'label "a_b" is not a DNS label (RFC 1123)'],
    ['-a.example.org', 'label "-a" is not a DNS label (RFC 1123)'],
    [`${'a'.repeat(64)}.example.org`, 'has a label over 63 bytes'],
    [`${'abcdefg.'.repeat(32)}org`, 'is longer than 253 bytes'],
    ['a.*.example.org', 'a wildcard is only possible as the whole first label'],
    ['*', 'answers every name: cannot be rewritten'],
    ['*.org', 'a wildcard over a top-level domain would catch names of others'],
    ['app.localhost', 'localhost never leaves the pod (RFC 6761)'],
    ['１92.0.2.7', 'is an IP address, not a name'],
    ['a\u0000ü.example.org', 'holds a character that no host name has'],
    ['ü/../etc', 'holds a character that no host name has'],
    ['a b.example.org', 'label "a b" is not a DNS label (RFC 1123)'],
  ])('%s is left out with its reason', (host, reason) => {
    const found = from([ingress({hosts: [host, 'good.example.org']})])
    expect(names(found)).toEqual(['good.example.org'])
    expect(found.excluded.map((entry) => [entry.reason, entry.source])).toEqual([[reason, 'ingress/demo/web']])
  })

  test('reasons hold no control characters, however the name is spelled', () => {
    const found = from([ingress({hosts: ['a\u001b[31mb\u2028.example.org']})])
    expect(leftOut(found).join('')).not.toMatch(/[\u0000-\u001f\u2028]/)
  })

  test('a rule without a host beside one with a host: the one is taken, the other noted', () => {
    const found = from([ingress({hosts: [undefined, 'a.example.org']})])
    expect(names(found)).toEqual(['a.example.org'])
    expect(leftOut(found)).toEqual([': answers every name: cannot be rewritten'])
  })

  test('annotation srcip.dev/exclude leaves the names of that object out, not those of others', () => {
    const annotations = {'srcip.dev/exclude': 'true'}
    const found = from([
      ingress({name: 'a', hosts: ['a.example.org', 'both.example.org'], annotations}),
      ingress({name: 'b', hosts: ['both.example.org']}),
    ])
    expect(names(found)).toEqual(['both.example.org'])
    expect(found.hosts[0]?.sources).toEqual(['ingress/demo/b'])
    expect(leftOut(found)).toEqual([
      'a.example.org: annotation srcip.dev/exclude is "true"',
      'both.example.org: annotation srcip.dev/exclude is "true"',
    ])
  })

  test('--exclude takes names, suffixes and IDN spellings, and says when it excludes nothing', () => {
    const found = from([ingress({hosts: ['a.example.org', 'deep.b.example.org', 'bücher.example', 'c.example.org']})], {
      ...open,
      exclude: ['A.example.org', '*.b.example.org', 'xn--bcher-kva.example', 'not a name'],
    })
    expect(names(found)).toEqual(['c.example.org'])
    expect(leftOut(found)).toEqual([
      'a.example.org: excluded by --exclude A.example.org',
      'deep.b.example.org: excluded by --exclude *.b.example.org',
      'xn--bcher-kva.example: excluded by --exclude xn--bcher-kva.example',
    ])
    expect(found.warnings).toEqual([
      '--exclude not a name: label "not a name" is not a DNS label (RFC 1123); it excludes nothing',
    ])
  })

  test('--host adds a name with its source', () => {
    const found = from([], {...open, hosts: ['Extra.example.org', '*.dev.example.org'], hostsSource: 'file:hosts.txt'})
    expect(found.hosts).toEqual([
      {
        name: '*.dev.example.org',
        kind: 'wildcard-one-label',
        target: 'srcip/srcip-proxy',
        ports: [80, 443],
        sources: ['file:hosts.txt'],
      },
      {
        name: 'extra.example.org',
        kind: 'exact',
        target: 'srcip/srcip-proxy',
        ports: [80, 443],
        sources: ['file:hosts.txt'],
      },
    ])
  })

  test('server-alias and www redirect: regexes are refused, wildcards reach any depth, www goes both ways', () => {
    const found = from([
      ingress({
        hosts: ['www.a.example.org', '*.w.example.org'],
        annotations: {
          'nginx.ingress.kubernetes.io/server-alias': '~^x\\d+\\.example\\.org$, *.alias.example.org',
          'nginx.ingress.kubernetes.io/from-to-www-redirect': 'true',
        },
      }),
    ])
    expect(names(found)).toEqual([
      '*.alias.example.org wildcard-any-depth',
      '*.w.example.org wildcard-one-label',
      'a.example.org',
      'www.a.example.org',
    ])
    expect(found.excluded.map((entry) => entry.reason)).toEqual([
      'server-alias is a regular expression: cannot be rewritten',
    ])
  })

  test('annotations of ingress-nginx mean nothing to another controller', () => {
    const found = from([
      ingressClass('traefik', 'traefik.io/ingress-controller'),
      ingress({
        className: 'traefik',
        hosts: ['a.example.org'],
        annotations: {'nginx.ingress.kubernetes.io/server-alias': 'b.example.org'},
      }),
    ])
    expect(names(found)).toEqual(['a.example.org'])
    expect(leftOut(found)).toEqual([
      'b.example.org: only ingress-nginx reads its annotation, class traefik (traefik.io/ingress-controller) is another controller',
    ])
  })
})

describe('classes', () => {
  const nginx = ingressClass('public', 'k8s.io/ingress-nginx')
  const alias = ingressClass('public-alias', 'k8s.io/ingress-nginx')
  const inner = ingressClass('inner', 'k8s.io/ingress-nginx-inner')
  const wanted = (...ingressClasses: string[]): HostOptions => ({...open, ingressClasses})

  test('a controller string selects every class that it serves, whatever the class is called', () => {
    const objects = [
      nginx,
      inner,
      ingress({name: 'a', className: 'public', hosts: ['a.example.org']}),
      ingress({name: 'b', className: 'inner', hosts: ['b.example.org']}),
    ]
    expect(names(from(objects, wanted('k8s.io/ingress-nginx')))).toEqual(['a.example.org'])
    expect(names(from(objects, wanted('inner')))).toEqual(['b.example.org'])
  })

  test('a class name takes along the classes of the same ingress-nginx, not those of another Traefik', () => {
    const objects = [
      nginx,
      alias,
      ingressClass('t1', 'traefik.io/ingress-controller'),
      ingressClass('t2', 'traefik.io/ingress-controller'),
      ingress({name: 'a', className: 'public', hosts: ['a.example.org']}),
      ingress({name: 'b', className: 'public-alias', hosts: ['b.example.org']}),
      ingress({name: 'c', className: 't1', hosts: ['c.example.org']}),
      ingress({name: 'd', className: 't2', hosts: ['d.example.org']}),
    ]
    expect(names(from(objects, wanted('public', 't1')))).toEqual(['a.example.org', 'b.example.org', 'c.example.org'])
  })

  test('the legacy annotation wins over spec.ingressClassName', () => {
    const object = ingress({
      className: 'inner',
      hosts: ['a.example.org'],
      annotations: {'kubernetes.io/ingress.class': 'public'},
    })
    expect(names(from([nginx, inner, object], wanted('public')))).toEqual(['a.example.org'])
  })

  test('no class: the newest default class counts; without a default it is said', () => {
    const object = ingress({hosts: ['a.example.org']})
    const older = ingressClass('older', 'k8s.io/ingress-nginx', {isDefault: true, created: '2026-01-01T00:00:00Z'})
    const newer = ingressClass('newer', 'traefik.io/ingress-controller', {
      isDefault: true,
      created: '2026-02-01T00:00:00Z',
    })
    expect(names(from([older, newer, object], wanted('newer')))).toEqual(['a.example.org'])
    expect(names(from([older, newer, object], wanted('older')))).toEqual([])
    expect(leftOut(from([object], wanted('older')))).toEqual([
      'a.example.org: its class (none, and the cluster has no default class) is not one of --ingress-class older',
    ])
  })

  test('several controllers, each with its own proxy; a class that no proxy names is left out', () => {
    const found = from(
      [
        nginx,
        inner,
        ingress({name: 'a', className: 'public', hosts: ['a.example.org']}),
        ingress({name: 'b', className: 'inner', hosts: ['b.example.org']}),
        ingress({name: 'c', className: 'third', hosts: ['c.example.org']}),
      ],
      {
        proxies: [
          {target: 'srcip/p-public', ingressClasses: ['public']},
          {target: 'srcip/p-inner', ingressClasses: ['k8s.io/ingress-nginx-inner']},
        ],
      },
    )
    expect(found.hosts.map((host) => `${host.name} ${host.target}`)).toEqual([
      'a.example.org srcip/p-public',
      'b.example.org srcip/p-inner',
    ])
    expect(leftOut(found)).toEqual(['c.example.org: no-proxy-for-class: no proxy Service names its class third'])
  })

  test('a proxy that names the class goes before one that serves all; a single open one warns about several classes', () => {
    const objects = [
      ingress({name: 'a', className: 'one', hosts: ['a.example.org']}),
      ingress({name: 'b', className: 'two', hosts: ['b.example.org']}),
    ]
    const found = from(objects, {proxies: [{target: 'srcip/all'}, {target: 'srcip/two', ingressClasses: ['two']}]})
    expect(found.hosts.map((host) => host.target)).toEqual(['srcip/all', 'srcip/two'])
    expect(found.warnings).toEqual([])
    expect(from(objects).warnings).toEqual([
      'Service srcip/srcip-proxy has no annotation srcip.dev/ingress-classes and takes the names of several classes (one, two); name the classes that it really serves',
    ])
  })

  test('a proxy for Gateways only takes no Ingress', () => {
    const found = from([ingress({className: 'one', hosts: ['a.example.org']})], {
      proxies: [{target: 'srcip/gw', gateways: ['infra/edge']}],
    })
    expect(found.hosts).toEqual([])
    expect(leftOut(found)).toEqual(['a.example.org: no-proxy-for-class: no proxy Service names its class one'])
  })

  test('one name of two classes goes where the oldest Ingress goes', () => {
    const proxies = [
      {target: 'srcip/a', ingressClasses: ['a']},
      {target: 'srcip/b', ingressClasses: ['b']},
    ]
    const older = ingress({name: 'x', className: 'b', hosts: ['a.example.org'], created: '2025-01-01T00:00:00Z'})
    const newer = ingress({name: 'y', className: 'a', hosts: ['a.example.org'], created: '2026-01-01T00:00:00Z'})
    const found = from([newer, older], {proxies})
    expect(found.hosts.map((host) => [host.target, host.sources])).toEqual([['srcip/b', ['ingress/demo/x']]])
    expect(leftOut(found)).toEqual(['a.example.org: srcip/a serves it too, the older ingress/demo/x decides'])
  })
})

test('projected objects are enough', () => {
  const one = projectIngress(ingress({hosts: ['a.example.org']}))
  const klass = projectIngressClass(ingressClass('x', 'y'))
  if (one === undefined || klass === undefined) throw new Error('not projected')
  expect(names(collectHosts({ingresses: [one], ingressClasses: [klass]}, open))).toEqual(['a.example.org'])
})
