import type {BalancerPort, BalancerSpec} from './balancer.ts'
import {host, portNumber, seconds} from './words.ts'

const types = 'type.googleapis.com/envoy.extensions'
const rawBuffer = {
  name: 'envoy.transport_sockets.raw_buffer',
  typed_config: {'@type': `${types}.transport_sockets.raw_buffer.v3.RawBuffer`},
}

/**
 * Static resources of Envoy (v3 API), as YAML whose scalars are JSON. Health checks go through the transport socket of the
 * cluster, so they carry the header (config/core/v3/health_check.proto); kube-proxy's health port gets a plain one by
 * `transport_socket_match_criteria`.
 */
export function renderEnvoy(spec: BalancerSpec): string {
  const resources = {
    static_resources: {
      listeners: spec.ports.flatMap(({port}) => listeners(portNumber(port), spec)),
      clusters: spec.ports.map((port) => cluster(port, spec)),
    },
  }
  return `${block(resources, '').join('\n')}\n`
}

function listeners(port: number, {listen, idleTimeout}: BalancerSpec): object[] {
  const places: readonly (readonly [string, string])[] =
    listen === undefined
      ? [
          ['-v4', '0.0.0.0'],
          ['-v6', '::'],
        ]
      : [['', checked(listen)]]
  return places.map(([suffix, address]) => ({
    name: `port-${port}${suffix}`,
    address: {socket_address: {address, port_value: port}},
    filter_chains: [
      {
        filters: [
          {
            name: 'envoy.filters.network.tcp_proxy',
            typed_config: {
              '@type': `${types}.filters.network.tcp_proxy.v3.TcpProxy`,
              stat_prefix: `port-${port}`,
              cluster: `port-${port}`,
              idle_timeout: `${seconds(idleTimeout)}s`,
            },
          },
        ],
      },
    ],
  }))
}

function cluster({port, backends}: BalancerPort, spec: BalancerSpec): object {
  const {header, nodeHealthPort} = spec
  const plainChecks = nodeHealthPort !== undefined && header !== 'off'
  return {
    name: `port-${portNumber(port)}`,
    type: 'STATIC',
    connect_timeout: `${seconds(spec.connectTimeout)}s`,
    lb_policy: 'ROUND_ROBIN',
    upstream_connection_options: {tcp_keepalive: {keepalive_time: 60}},
    health_checks: [
      {
        timeout: '5s',
        interval: '2s',
        unhealthy_threshold: 3,
        healthy_threshold: 2,
        ...(plainChecks ? {transport_socket_match_criteria: {checks: 'plain'}} : {}),
        ...(nodeHealthPort === undefined ? {tcp_health_check: {}} : {http_health_check: {path: '/healthz'}}),
      },
    ],
    ...(plainChecks
      ? {transport_socket_matches: [{name: 'plain', match: {checks: 'plain'}, transport_socket: rawBuffer}]}
      : {}),
    ...(header === 'off'
      ? {}
      : {
          transport_socket: {
            name: 'envoy.transport_sockets.upstream_proxy_protocol',
            typed_config: {
              '@type': `${types}.transport_sockets.proxy_protocol.v3.ProxyProtocolUpstreamTransport`,
              config: {version: header === 'v1' ? 'V1' : 'V2'},
              transport_socket: rawBuffer,
            },
          },
        }),
    load_assignment: {
      cluster_name: `port-${port}`,
      endpoints: [
        {
          lb_endpoints: backends.map((backend) => ({
            endpoint: {
              address: {socket_address: {address: checked(backend.address), port_value: portNumber(backend.port)}},
              ...(nodeHealthPort === undefined ? {} : {health_check_config: {port_value: portNumber(nodeHealthPort)}}),
            },
          })),
        },
      ],
    },
  }
}

/** Envoy writes IPv6 without brackets. */
function checked(address: string): string {
  host(address)
  return address
}

/** Block style; every scalar is JSON, so nothing in it can be read as YAML of its own. */
function block(value: object, indent: string): string[] {
  const entries: readonly (readonly [string, unknown])[] = Array.isArray(value)
    ? value.map((one) => ['-', one] as const)
    : Object.entries(value).map(([key, one]) => [`${key.startsWith('@') ? JSON.stringify(key) : key}:`, one] as const)
  return entries.flatMap(([lead, one]) => {
    if (typeof one !== 'object' || one === null || Object.keys(one).length === 0)
      return [`${indent}${lead} ${JSON.stringify(one)}`]
    const inner = block(one, `${indent}  `)
    if (lead !== '-') return [`${indent}${lead}`, ...inner]
    return [`${indent}- ${(inner[0] ?? '').trimStart()}`, ...inner.slice(1)]
  })
}
