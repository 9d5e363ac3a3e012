import type {BalancerPort, BalancerSpec} from './balancer.ts'
import {host, portNumber, seconds, uniqueNames} from './words.ts'

/**
 * For HAProxy; the tests run 2.6. Health checks carry the header, too (`check-send-proxy`; docs.haproxy.org, 5.2), said aloud although a check
 * on the server's own port inherits it: a check is then a connection like the others. kube-proxy's own health port takes none. No
 * maxconn: HAProxy takes what its limit of open files allows, and does not start where one is asked for that is above it.
 */
export function renderHaproxy(spec: BalancerSpec): string {
  const idle = `${seconds(spec.idleTimeout)}s`
  return `${[
    'defaults',
    '  mode tcp',
    `  timeout connect ${seconds(spec.connectTimeout)}s`,
    `  timeout client ${idle}`,
    `  timeout server ${idle}`,
    `  timeout tunnel ${idle}`,
    '  timeout check 5s',
    // A stream that is silent for an hour outlives the firewalls on its way only with these.
    '  option clitcpka',
    '  option srvtcpka',
    '  clitcpka-idle 60s',
    '  srvtcpka-idle 60s',
    '  balance roundrobin',
    '  option redispatch 1',
    '  default-server inter 2s fall 3 rise 2',
    ...spec.ports.flatMap((port) => section(port, spec)),
  ].join('\n')}\n`
}

function section({port, backends}: BalancerPort, spec: BalancerSpec): string[] {
  const names = uniqueNames(backends.map(({name}) => name))
  const {nodeHealthPort, listen} = spec
  const number = portNumber(port)
  const binds =
    listen === undefined
      ? [`  bind 0.0.0.0:${number}`, `  bind [::]:${number} v6only`]
      : [`  bind ${host(listen)}:${number}`]
  return [
    '',
    `listen port-${number}`,
    ...binds,
    ...(nodeHealthPort === undefined ? [] : ['  option httpchk GET /healthz']),
    ...backends.map(
      (backend, index) => `  server ${names[index]} ${host(backend.address)}:${portNumber(backend.port)}${words(spec)}`,
    ),
  ]
}

/** A check on a port of its own inherits no header (docs.haproxy.org, 5.2, `check-send-proxy`). */
function words({header, nodeHealthPort}: BalancerSpec): string {
  const send = header === 'off' ? '' : header === 'v1' ? ' send-proxy' : ' send-proxy-v2'
  if (nodeHealthPort !== undefined) return `${send} check port ${portNumber(nodeHealthPort)}`
  return header === 'off' ? ' check' : `${send} check check-send-proxy`
}
