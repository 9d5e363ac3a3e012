import {SrcipError} from '../model/errors.ts'
import type {BalancerPort, BalancerSpec} from './balancer.ts'
import {host, portNumber, seconds} from './words.ts'

/**
 * The `stream` block of nginx 1.15.6 or newer (`proxy_socket_keepalive`). `proxy_protocol on` writes version 1 and there is no switch
 * for the other (nginx.org, ngx_stream_proxy_module). It has no health checks of its own: a failed connection is the only sign.
 */
export function renderNginx(spec: BalancerSpec): string {
  if (spec.header === 'v2')
    throw new SrcipError('Precondition', 'nginx writes version 1 of the PROXY header only', {
      hints: [
        'take --proxy-protocol v1: every receiver that reads version 2 reads version 1, too',
        'or take haproxy or envoy',
      ],
    })
  return `${[
    'stream {',
    `  proxy_connect_timeout ${seconds(spec.connectTimeout)}s;`,
    `  proxy_timeout ${seconds(spec.idleTimeout)}s;`,
    '  proxy_socket_keepalive on;',
    '  proxy_next_upstream on;',
    ...(spec.header === 'off' ? [] : ['  proxy_protocol on;']),
    ...spec.ports.flatMap((port) => section(port, spec)),
    '}',
  ].join('\n')}\n`
}

function section({port, backends}: BalancerPort, {listen}: BalancerSpec): string[] {
  const number = portNumber(port)
  const keepAlive = 'so_keepalive=60s::'
  const listens =
    listen === undefined
      ? [`    listen 0.0.0.0:${number} ${keepAlive};`, `    listen [::]:${number} ipv6only=on ${keepAlive};`]
      : [`    listen ${host(listen)}:${number} ${keepAlive};`]
  return [
    '',
    `  upstream port-${number} {`,
    ...backends.map(
      (backend) => `    server ${host(backend.address)}:${portNumber(backend.port)} max_fails=2 fail_timeout=10s;`,
    ),
    '  }',
    '  server {',
    ...listens,
    `    proxy_pass port-${number};`,
    '  }',
  ]
}

/** What a reader must know that the configuration cannot say. */
export function nginxWarnings({nodeHealthPort}: BalancerSpec): string[] {
  return [
    nodeHealthPort === undefined
      ? 'nginx has no health checks of its own: a node that is gone costs each new connection up to the connect timeout until it is set aside'
      : 'nginx has no health checks of its own, and with externalTrafficPolicy Local nodes without a pod drop connections: give only the nodes that have one by --backend, or take haproxy or envoy',
  ]
}
