import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import {parse} from 'yaml'
import {balancers, headers, type BalancerSpec} from '../../../src/lb/balancer.ts'
import {backendsByHand} from '../../../src/lb/by-hand.ts'
import {fromCluster} from '../../../src/lb/from-cluster.ts'
import {renderBalancer} from '../../../src/lb/render.ts'
import type {KubeObject} from '../../../src/model/kubernetes.ts'

const spec = (changes: Partial<BalancerSpec> = {}): BalancerSpec => ({
  ports: [{port: 443, backends: [{name: 'node-a', address: '192.0.2.10', port: 30_443}]}],
  header: 'v1',
  listen: undefined,
  idleTimeout: 3_600_000,
  connectTimeout: 5000,
  nodeHealthPort: undefined,
  ...changes,
})

const service = (changes: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: {namespace: 'web', name: 'ingress'},
  spec: {
    ipFamilies: ['IPv4'],
    ports: [
      {port: 80, nodePort: 30_080, protocol: 'TCP'},
      {port: 443, nodePort: 30_443, protocol: 'TCP'},
      {port: 443, nodePort: 30_444, protocol: 'UDP'},
    ],
    ...changes,
  },
})

const node = (name: string, addresses: readonly string[], changes: object = {}, ready = 'True'): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: {name, ...changes},
  status: {
    addresses: addresses.map((address) => ({type: 'InternalIP', address})),
    conditions: [{type: 'Ready', status: ready}],
  },
})

describe('HAProxy', () => {
  test('checks carry the header of the connections', () => {
    const lines = (header: BalancerSpec['header']) => renderBalancer('haproxy', spec({header})).text
    expect(lines('v1')).toContain('  server node-a 192.0.2.10:30443 send-proxy check check-send-proxy\n')
    expect(lines('v2')).toContain('  server node-a 192.0.2.10:30443 send-proxy-v2 check check-send-proxy\n')
    expect(lines('off')).toContain('  server node-a 192.0.2.10:30443 check\n')
  })

  test('the health port of kube-proxy is asked over HTTP, without a header', () => {
    const {text} = renderBalancer('haproxy', spec({nodeHealthPort: 32_000}))
    expect(text).toContain('  option httpchk GET /healthz\n')
    expect(text).toContain('  server node-a 192.0.2.10:30443 send-proxy check port 32000\n')
  })

  test('streams may be silent for as long as was asked, both ways', () => {
    const {text} = renderBalancer('haproxy', spec({idleTimeout: 7_200_000}))
    expect(text.match(/timeout (?:client|server|tunnel) 7200s/g)).toHaveLength(3)
  })

  test('of two equal names one gives way, as HAProxy refuses both', () => {
    const backends = ['a', 'a', 'backend-0', 'A_b'].map((name, index) => ({name, address: `192.0.2.${index}`, port: 1}))
    const {text} = renderBalancer('haproxy', spec({ports: [{port: 80, backends}]}))
    expect([...text.matchAll(/ {2}server (\S+)/g)].map(([, name]) => name)).toEqual([
      'a',
      'backend-1',
      'backend-2',
      'backend-3',
    ])
  })
})

describe('nginx', () => {
  test('writes v1, and refuses v2 with the way out', () => {
    expect(renderBalancer('nginx', spec()).text).toContain('  proxy_protocol on;\n')
    expect(renderBalancer('nginx', spec({header: 'off'})).text).not.toContain('proxy_protocol')
    expect(() => renderBalancer('nginx', spec({header: 'v2'}))).toThrow('version 1 of the PROXY header only')
  })

  test('says that it has no health checks, and what that means with externalTrafficPolicy Local', () => {
    expect(renderBalancer('nginx', spec()).warnings.join()).toContain('no health checks')
    expect(renderBalancer('nginx', spec({nodeHealthPort: 32_000})).warnings.join()).toContain('Local')
  })
})

interface EnvoyText {
  static_resources: {
    listeners: {name: string; address: object; filter_chains: {filters: {typed_config: object}[]}[]}[]
    clusters: Record<string, unknown>[]
  }
}

describe('Envoy (structure only: no Envoy takes part in the tests)', () => {
  const read = (changes: Partial<BalancerSpec>) =>
    (parse(renderBalancer('envoy', spec(changes)).text) as EnvoyText).static_resources

  test('one listener for each family, silent streams, header by the transport socket', () => {
    const {listeners, clusters} = read({header: 'v2'})
    expect(listeners.map(({address}) => address)).toEqual(
      ['0.0.0.0', '::'].map((address) => ({socket_address: {address, port_value: 443}})),
    )
    expect(listeners[0]?.filter_chains[0]?.filters[0]?.typed_config).toEqual({
      '@type': 'type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy',
      stat_prefix: 'port-443',
      cluster: 'port-443',
      idle_timeout: '3600s',
    })
    expect(clusters[0]).toMatchObject({
      health_checks: [{tcp_health_check: {}}],
      transport_socket: {
        name: 'envoy.transport_sockets.upstream_proxy_protocol',
        typed_config: {config: {version: 'V2'}},
      },
      load_assignment: {
        endpoints: [
          {lb_endpoints: [{endpoint: {address: {socket_address: {address: '192.0.2.10', port_value: 30_443}}}}]},
        ],
      },
    })
  })

  test('checks of the health port of kube-proxy go past the header', () => {
    const [cluster] = read({nodeHealthPort: 32_000}).clusters
    expect(cluster).toMatchObject({
      health_checks: [{transport_socket_match_criteria: {checks: 'plain'}, http_health_check: {path: '/healthz'}}],
      transport_socket_matches: [
        {match: {checks: 'plain'}, transport_socket: {name: 'envoy.transport_sockets.raw_buffer'}},
      ],
    })
    expect(JSON.stringify(cluster)).toContain('"health_check_config":{"port_value":32000}')
  })

  test('without the header there is no transport socket', () => {
    expect(read({header: 'off'}).clusters[0]).not.toHaveProperty('transport_socket')
  })
})

describe('from a cluster', () => {
  test('node ports of TCP on the nodes that take traffic, in the family of the Service; the rest is named', () => {
    const {ports, warnings, nodeHealthPort} = fromCluster(service(), [
      node('a', ['2001:db8::1', '192.0.2.1']),
      node('b', ['192.0.2.2'], {}, 'False'),
      node('c', ['192.0.2.3'], {labels: {'node.kubernetes.io/exclude-from-external-load-balancers': ''}}),
      node('d', ['2001:db8::4']),
    ])
    expect(ports).toEqual([
      {port: 80, backends: [{name: 'a', address: '192.0.2.1', port: 30_080}]},
      {port: 443, backends: [{name: 'a', address: '192.0.2.1', port: 30_443}]},
    ])
    expect(nodeHealthPort).toBeUndefined()
    expect(warnings).toEqual([
      'node/b is left out: it is not ready',
      'node/c is left out: it has the label node.kubernetes.io/exclude-from-external-load-balancers',
      'node/d is left out: it has no InternalIP of IPv4',
      'port 443/UDP of service/web/ingress is left out: the PROXY header of these programs is for TCP',
    ])
  })

  test('externalTrafficPolicy Local brings its health port, Cluster does not', () => {
    const nodes = [node('a', ['192.0.2.1'])]
    const health = (externalTrafficPolicy: string) =>
      fromCluster(service({externalTrafficPolicy, healthCheckNodePort: 32_000}), nodes).nodeHealthPort
    expect(health('Local')).toBe(32_000)
    expect(health('Cluster')).toBeUndefined()
  })

  test('nothing to lead to is refused with the reason', () => {
    expect(() => fromCluster(service({ports: [{port: 80}]}), [node('a', ['192.0.2.1'])])).toThrow('no TCP port')
    expect(() => fromCluster(service(), [node('a', [], {})])).toThrow('no node can take connections')
    expect(() => fromCluster(service(), [node('a', ['192.0.2.1'])], [8080])).toThrow('no TCP port')
  })
})

describe('by hand', () => {
  test('ports are put together, IPv6 stands in brackets', () => {
    expect(backendsByHand(['443=192.0.2.1:30443', '80=[2001:db8::1]:30080', '443=192.0.2.2:30443'])).toEqual([
      {port: 80, backends: [{name: 'backend-0', address: '2001:db8::1', port: 30_080}]},
      {
        port: 443,
        backends: [
          {name: 'backend-0', address: '192.0.2.1', port: 30_443},
          {name: 'backend-1', address: '192.0.2.2', port: 30_443},
        ],
      },
    ])
  })

  test.each([
    '443',
    '443=192.0.2.1',
    '0=192.0.2.1:1',
    '443=192.0.2.1:65536',
    '443=192.0.2.256:1',
    '443=node:1',
    '443=2001:db8::1:1',
    '443=192.0.2.1:1\nx',
  ])('%j is refused', (word) => expect(() => backendsByHand([word])).toThrow('is no backend'))
})

test('whatever stands in a cluster, no line of a configuration is its own', () => {
  // Words that would be directives, with every kind of line end and quote.
  const hostile = fc
    .tuple(
      fc.string({unit: 'binary'}),
      fc.constantFrom('\n', '\r', '\u0085', '\u2028', '"', "'", ';', '#', '{', '$', '`', ' '),
    )
    .map(([text, mark]) => `${text}${mark}evil${mark}`)
  const address = fc.oneof(
    fc.constantFrom('192.0.2.1', '2001:db8::1'),
    hostile,
    hostile.map((word) => `192.0.2.1${word}`),
  )
  fc.assert(
    fc.property(
      fc.array(fc.tuple(hostile, address), {maxLength: 4}),
      hostile,
      fc.constantFrom(...balancers),
      fc.constantFrom(...headers),
      (nodes, name, balancer, header) => {
        fc.pre(!(balancer === 'nginx' && header === 'v2'))
        const objects = [node('good', ['192.0.2.9', '2001:db8::9']), ...nodes.map(([one, place]) => node(one, [place]))]
        const wild = {
          ...service({
            ipFamilies: [],
            externalTrafficPolicy: 'Local',
            healthCheckNodePort: name,
            ports: [
              {port: 443, nodePort: 30_443, name, appProtocol: name},
              {port: name, nodePort: 30_443},
              {port: 80, nodePort: name, protocol: name},
            ],
          }),
          metadata: {namespace: name, name},
        }
        const {text} = renderBalancer(balancer, {...spec({header}), ...fromCluster(wild, objects)})
        expect(text).not.toContain('evil')
        expect(text).toMatch(/^[\x20-\x7e\n]*$/)
        // The skeleton is that of the same number of good nodes.
        const fit = nodes.filter(([, place]) => !place.includes('evil')).length
        const good = Array.from({length: fit + 1}, (_, index) => ({
          name: `n${index}`,
          address: '192.0.2.9',
          port: 30_443,
        }))
        const plain = renderBalancer(balancer, spec({header, ports: [{port: 443, backends: good}]})).text
        expect(text.split('\n')).toHaveLength(plain.split('\n').length)
      },
    ),
  )
})

test('an address that is none never reaches a configuration, wherever it comes from', () => {
  for (const balancer of balancers) {
    const backends = [{name: 'a', address: '192.0.2.1\n  evil', port: 1}]
    expect(() => renderBalancer(balancer, spec({ports: [{port: 80, backends}]}))).toThrow('is not an address')
    expect(() => renderBalancer(balancer, spec({listen: 'x;y'}))).toThrow('is not an address')
    expect(() => renderBalancer(balancer, spec({ports: [{port: 0.5, backends: []}]}))).toThrow('is not a port')
  }
})
