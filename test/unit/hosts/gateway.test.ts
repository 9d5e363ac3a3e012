import {describe, expect, test} from 'vitest'
import {collectHosts} from '../../../src/hosts/index.ts'
import type {HostOptions} from '../../../src/hosts/index.ts'
import {gateway, leftOut, names, route, sourcesOf} from './objects.ts'

const open: HostOptions = {proxies: [{target: 'srcip/srcip-proxy'}]}
const all = {namespaces: {from: 'All'}}
const edge = [{name: 'edge', namespace: 'infra'}]

function listener(more: Record<string, unknown> = {}) {
  return {name: 'https', port: 443, protocol: 'HTTPS', allowedRoutes: all, ...more}
}

function from(objects: unknown[], options = open) {
  return collectHosts(sourcesOf(objects), options)
}

describe('intersection of listener and route names', () => {
  test.each([
    [undefined, ['a.example.org'], ['a.example.org']],
    ['a.example.org', ['a.example.org', 'b.example.org'], ['a.example.org']],
    ['*.example.org', ['a.example.org', 'a.b.example.org'], ['a.b.example.org', 'a.example.org']],
    ['*.example.org', ['example.org'], []],
    ['a.example.org', ['*.example.org'], ['a.example.org']],
    ['*.example.org', ['*.b.example.org'], ['*.b.example.org wildcard-any-depth']],
    ['*.b.example.org', ['*.example.org'], ['*.b.example.org wildcard-any-depth']],
    ['*.example.org', ['*.example.com'], []],
    ['A.Example.org', ['a.EXAMPLE.org'], ['a.example.org']],
    ['a.example.org', [], ['a.example.org']],
    [undefined, [], []],
  ])('listener %s, route %j', (hostname, hostnames, expected) => {
    const found = from([
      gateway('edge', [listener(hostname === undefined ? {} : {hostname})]),
      route('HTTPRoute', hostnames, edge),
    ])
    const ofRoute = found.hosts.filter((host) => host.sources.includes('httproute/demo/r'))
    expect(names({...found, hosts: ofRoute})).toEqual(expected)
  })

  test('a name that no listener takes, and a route that takes every name, are said', () => {
    const found = from([
      gateway('edge', [listener({hostname: 'a.example.org'})]),
      route('HTTPRoute', ['x.example.com'], edge),
    ])
    expect(leftOut(found)).toEqual(['x.example.com: no listener that it attaches to takes this name'])
    const every = from([gateway('edge', [listener()]), route('HTTPRoute', [], edge)])
    expect(leftOut(every)).toEqual([': answers every name: cannot be rewritten'])
  })

  test('a name that is none is reported with its own reason', () => {
    const found = from([gateway('edge', [listener()]), route('HTTPRoute', ['192.0.2.1', 'ok.example.org'], edge)])
    expect(names(found)).toEqual(['ok.example.org'])
    expect(leftOut(found)).toEqual(['192.0.2.1: is an IP address, not a name'])
  })

  test('the hostname of a listener is a name of its own', () => {
    const found = from([
      gateway('edge', [listener({hostname: '*.example.org'}), listener({name: 'b', hostname: 'b.example.com'})]),
    ])
    expect(names(found)).toEqual(['*.example.org wildcard-any-depth', 'b.example.com'])
  })
})

describe('listener isolation (Gateway API 1.2): only the most specific listener of a port gets a request', () => {
  const listeners = [
    listener({name: 'any'}),
    listener({name: 'wide', hostname: '*.example.org'}),
    listener({name: 'deep', hostname: '*.b.example.org'}),
    listener({name: 'one', hostname: 'one.example.org'}),
    listener({name: 'other-port', port: 8443, hostname: '*.example.org'}),
  ]
  const through = (sectionName: string | undefined, hostnames: string[], more = listeners) => {
    const parent = sectionName === undefined ? edge : [{...edge[0], sectionName}]
    const found = from([gateway('edge', more), route('HTTPRoute', hostnames, parent)])
    const ofRoute = found.hosts.filter((host) => host.sources.includes('httproute/demo/r'))
    return {names: names({...found, hosts: ofRoute}), leftOut: leftOut(found)}
  }

  test.each([
    ['any', 'shop.example.com', undefined],
    ['any', 'shop.example.org', 'wide'],
    ['any', 'x.b.example.org', 'deep'],
    ['wide', 'shop.example.org', undefined],
    ['wide', 'X.b.example.org', 'deep'],
    ['wide', '*.b.example.org', 'deep'],
    ['wide', '*.example.org', undefined],
    ['wide', 'one.example.org', 'one'],
    ['deep', 'x.b.example.org', undefined],
    ['one', 'one.example.org', undefined],
    ['other-port', 'one.example.org', undefined],
    ['other-port', 'x.b.example.org', undefined],
  ])('section %s, name %s: taken away by %s', (section, name, nearer) => {
    const {names: taken, leftOut: left} = through(section, [name])
    expect(taken.length).toBe(nearer === undefined ? 1 : 0)
    expect(left).toEqual(
      nearer === undefined
        ? []
        : [`${name.toLowerCase()}: listener ${nearer} of Gateway infra/edge is more specific and takes it`],
    )
  })

  test('a route that is attached to both has the name, and nothing is said', () => {
    expect(through(undefined, ['one.example.org'])).toEqual({names: ['one.example.org'], leftOut: []})
  })

  test('a listener that is not accepted takes nothing away; neither does one of another Gateway', () => {
    const closed = {
      ...(gateway('edge', [
        listener({name: 'wide', hostname: '*.example.org'}),
        listener({name: 'one', hostname: 'one.example.org'}),
      ]) as object),
      status: {listeners: [{name: 'one', conditions: [{type: 'Accepted', status: 'False'}]}]},
    }
    const objects = [
      closed,
      gateway('second', [listener({name: 'one', hostname: 'one.example.org'})]),
      route('HTTPRoute', ['one.example.org'], [{...edge[0], sectionName: 'wide'}]),
    ]
    const {hosts} = from(objects)
    expect(hosts.find(({name}) => name === 'one.example.org')?.sources).toContain('httproute/demo/r')
  })

  test('a name that is none keeps its own reason', () => {
    expect(through('any', ['192.0.2.1']).leftOut).toEqual(['192.0.2.1: is an IP address, not a name'])
  })
})

describe('attachment', () => {
  const two = gateway('edge', [
    listener({name: 'one', port: 443, hostname: 'one.example.org'}),
    listener({name: 'two', port: 8443, hostname: 'two.example.org'}),
  ])
  const routeNames = (parent: object, hostnames: string[] = []) => {
    const found = from([two, route('HTTPRoute', hostnames, [{...edge[0], ...parent}])])
    return found.hosts.filter((host) => host.sources.includes('httproute/demo/r')).map((host) => host.name)
  }

  test('sectionName and port choose listeners, together too', () => {
    expect(routeNames({})).toEqual(['one.example.org', 'two.example.org'])
    expect(routeNames({sectionName: 'two'})).toEqual(['two.example.org'])
    expect(routeNames({port: 443})).toEqual(['one.example.org'])
    expect(routeNames({sectionName: 'two', port: 443})).toEqual([])
    expect(leftOut(from([two, route('HTTPRoute', ['x.org'], [{...edge[0], sectionName: 'no', port: 1}])]))).toEqual([
      'x.org: Gateway infra/edge has no listener with section no and port 1',
    ])
  })

  test('allowedRoutes: Same is the default, None and kinds are obeyed', () => {
    const denied = (allowedRoutes: unknown, kind: 'HTTPRoute' | 'TLSRoute' = 'HTTPRoute') =>
      leftOut(from([gateway('edge', [listener({allowedRoutes})]), route(kind, ['x.org'], edge)]))
    expect(denied(undefined)).toEqual([
      'x.org: listener https of Gateway infra/edge takes routes of namespace infra only',
    ])
    expect(denied({namespaces: {from: 'None'}})).toEqual([
      'x.org: listener https of Gateway infra/edge takes nothing from any namespace',
    ])
    expect(denied({...all, kinds: [{kind: 'GRPCRoute'}]})).toEqual([
      'x.org: listener https of Gateway infra/edge takes no HTTPRoute',
    ])
    expect(denied(all, 'TLSRoute')).toEqual(['x.org: listener https of Gateway infra/edge takes no TLSRoute'])
    expect(denied({...all, kinds: [{group: 'example.com', kind: 'HTTPRoute'}]})).toEqual([
      'x.org: listener https of Gateway infra/edge takes no HTTPRoute',
    ])
    expect(denied(all)).toEqual([])
  })

  test('selectors: labels and expressions, all must hold', () => {
    const selected = (selector: unknown, labels: Record<string, string> | undefined) => {
      const objects = [
        gateway('edge', [listener({allowedRoutes: {namespaces: {from: 'Selector', selector}}})]),
        route('HTTPRoute', ['x.org'], edge),
        ...(labels === undefined ? [] : [{kind: 'Namespace', metadata: {name: 'demo', labels}}]),
      ]
      return names(from(objects))
    }
    expect(selected({matchLabels: {team: 'a'}}, {team: 'a'})).toEqual(['x.org'])
    expect(selected({matchLabels: {team: 'a'}}, {team: 'b'})).toEqual([])
    expect(selected({matchLabels: {toString: 'a'}}, {team: 'b'})).toEqual([])
    expect(selected({}, {team: 'b'})).toEqual(['x.org'])
    const expression = (operator: string, values?: string[]) => ({matchExpressions: [{key: 'team', operator, values}]})
    expect(selected(expression('In', ['a', 'b']), {team: 'b'})).toEqual(['x.org'])
    expect(selected(expression('NotIn', ['a']), {})).toEqual(['x.org'])
    expect(selected(expression('NotIn', ['a']), {team: 'a'})).toEqual([])
    expect(selected(expression('Exists'), {team: ''})).toEqual(['x.org'])
    expect(selected(expression('Exists'), {})).toEqual([])
    expect(selected(expression('DoesNotExist'), {})).toEqual(['x.org'])
    expect(selected(expression('Perhaps'), {team: 'a'})).toEqual([])
    expect(selected({matchLabels: {team: 'a'}}, undefined)).toEqual([])
  })

  test('without namespace labels a selector counts where the controller has accepted the route', () => {
    const status = {parents: [{parentRef: edge[0], conditions: [{type: 'Accepted', status: 'True'}]}]}
    const objects = sourcesOf([
      gateway('edge', [listener({allowedRoutes: {namespaces: {from: 'Selector', selector: {matchLabels: {a: 'b'}}}}})]),
      route('HTTPRoute', ['x.org'], edge, {status}),
    ])
    expect(names(collectHosts({...objects, namespaces: undefined}, open))).toEqual(['x.org'])
  })

  test('a parent that refuses counts as none; an old refusal says nothing; one yes is enough', () => {
    const conditions = (status: string, observedGeneration: number) => [{type: 'Accepted', status, observedGeneration}]
    const withStatus = (...parents: object[]) =>
      names(
        from([
          gateway('edge', [listener()]),
          route('HTTPRoute', ['x.org'], edge, {metadata: {generation: 3}, status: {parents}}),
        ]),
      )
    expect(withStatus({parentRef: edge[0], conditions: conditions('False', 3)})).toEqual([])
    expect(withStatus({parentRef: edge[0], conditions: conditions('False', 2)})).toEqual(['x.org'])
    expect(withStatus({parentRef: {...edge[0], sectionName: 'other'}, conditions: conditions('False', 3)})).toEqual([
      'x.org',
    ])
    expect(
      withStatus(
        {parentRef: edge[0], controllerName: 'a', conditions: conditions('False', 3)},
        {
          parentRef: {group: 'gateway.networking.k8s.io', kind: 'Gateway', ...edge[0]},
          controllerName: 'b',
          conditions: conditions('True', 3),
        },
      ),
    ).toEqual(['x.org'])
  })

  test('a Gateway or listener that its controller does not accept carries nothing', () => {
    const refused = {conditions: [{type: 'Accepted', status: 'False'}]}
    const objects = [route('HTTPRoute', ['x.org'], edge)]
    expect(leftOut(from([gateway('edge', [listener()], {status: refused}), ...objects]))).toEqual([
      'x.org: Gateway infra/edge is not accepted by its controller',
    ])
    expect(
      leftOut(from([gateway('edge', [listener()], {status: {listeners: [{name: 'https', ...refused}]}}), ...objects])),
    ).toEqual(['x.org: listener https of Gateway infra/edge is not accepted by its controller'])
  })

  test('parents that are no Gateway, or are not there, are said', () => {
    expect(leftOut(from([route('HTTPRoute', ['x.org'], [{group: '', kind: 'Service', name: 'web'}])]))).toEqual([
      'x.org: parent core/Service demo/web is no Gateway',
    ])
    expect(leftOut(from([route('HTTPRoute', ['x.org'], edge)]))).toEqual([
      'x.org: Gateway infra/edge does not exist or has no listener',
    ])
    expect(leftOut(from([route('HTTPRoute', ['x.org'], [])]))).toEqual(['x.org: it names no parent'])
  })
})

describe('ListenerSets', () => {
  const set = (parentRef: object, more: Record<string, unknown> = {}) => ({
    kind: 'ListenerSet',
    metadata: {name: 'more', namespace: 'demo'},
    spec: {parentRef, listeners: [{name: 'l', port: 443, protocol: 'HTTPS', hostname: 'set.example.org'}]},
    ...more,
  })
  const letting = (from: string | undefined) =>
    gateway('edge', [], from === undefined ? {} : {spec: {allowedListeners: {namespaces: {from}}}})

  test('a Gateway lets none in by default, and All lets in', () => {
    expect(leftOut(from([letting(undefined), set({name: 'edge', namespace: 'infra'})]))).toEqual([
      'set.example.org: Gateway infra/edge does not let it in (allowedListeners): takes nothing from any namespace',
    ])
    expect(names(from([letting('All'), set({name: 'edge', namespace: 'infra'})]))).toEqual(['set.example.org'])
    expect(leftOut(from([set({name: 'edge', namespace: 'infra'})]))).toEqual([
      'set.example.org: its parent Gateway infra/edge does not exist',
    ])
  })

  test('routes attach to it by kind ListenerSet, its own namespace counts as Same', () => {
    const parent = {group: 'gateway.networking.k8s.io', kind: 'ListenerSet', name: 'more'}
    const found = from([letting('All'), set({name: 'edge', namespace: 'infra'}), route('HTTPRoute', [], [parent])])
    expect(found.hosts).toEqual([
      {
        name: 'set.example.org',
        kind: 'exact',
        target: 'srcip/srcip-proxy',
        ports: [443],
        sources: ['httproute/demo/r', 'listenerset/demo/more'],
      },
    ])
    expect(
      leftOut(from([letting('All'), set({name: 'edge', namespace: 'infra'}), route('HTTPRoute', ['x.org'], edge)])),
    ).toEqual(['x.org: Gateway infra/edge does not exist or has no listener'])
  })
})

test('a Gateway that no proxy names keeps its names out, listener and route alike', () => {
  const found = from(
    [gateway('edge', [listener({hostname: 'l.example.org'})]), route('HTTPRoute', ['l.example.org'], edge)],
    {
      proxies: [{target: 'srcip/x', gateways: ['infra/other']}],
    },
  )
  expect(found.hosts).toEqual([])
  expect(new Set(found.excluded.map((entry) => entry.reason))).toEqual(
    new Set(['no-proxy-for-class: no proxy Service names Gateway infra/edge']),
  )
  const star = {proxies: [{target: 'srcip/x', gateways: ['infra/*']}]}
  expect(names(from([gateway('edge', [listener({hostname: 'l.example.org'})])], star))).toEqual(['l.example.org'])
})
