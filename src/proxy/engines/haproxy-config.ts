import {parseIP} from '../../model/address.ts'
import type {PortSpec, ProxyOptions} from '../options.ts'
import type {Candidate} from '../relay/port.ts'
import type {Route} from '../target/target.ts'

export interface HaproxyConfigInput {
  readonly options: ProxyOptions
  readonly routes: readonly Route[]
  /** Socket of the statistics, over which a new process also gets the listening sockets of the old one. */
  readonly statsSocket: string
}

/** HAProxy has no value for "never"; this is near the longest that its timers take. */
const never = '24d'

/** Configuration for HAProxy 2.4 or newer that does what the node engine does with the same options. Pure: same input, same bytes. */
export function renderHaproxyConfig({options, routes, statsSocket}: HaproxyConfigInput): string {
  const idle = options.idleTimeout === 0 ? never : `${options.idleTimeout}ms`
  const keepAlive = `${Math.max(1, Math.round(options.keepAlive / 1000))}s`
  return `${[
    '# written by srcip proxy; every reload writes it again',
    'global',
    // Headroom above the limit, so that what is over it is accepted and refused instead of waiting in the backlog.
    `  maxconn ${haproxyMaxconn(options.maxConnections)}`,
    `  nbthread ${options.workers}`,
    // With pipes this large splicing costs a third (docs/proxy-engines.md).
    '  tune.pipesize 1048576',
    `  stats socket ${statsSocket} mode 600 level admin expose-fd listeners`,
    'defaults',
    '  mode tcp',
    `  timeout connect ${options.connectTimeout}ms`,
    `  timeout client ${idle}`,
    `  timeout server ${idle}`,
    `  timeout queue ${options.connectTimeout}ms`,
    '  option splice-request',
    '  option splice-response',
    '  option clitcpka',
    '  option srvtcpka',
    `  clitcpka-idle ${keepAlive}`,
    `  srvtcpka-idle ${keepAlive}`,
    '  retries 3',
    '  option redispatch 1',
    '  balance roundrobin',
    ...options.ports.flatMap((spec) => [...frontend(spec, options), ...backend(spec, options, routes)]),
  ].join('\n')}\n`
}

/** `maxconn` for a limit on connections. */
export function haproxyMaxconn(limit: number): number {
  return limit + Math.max(100, Math.ceil(limit / 50))
}

function frontend(spec: PortSpec, {listenAddress, ports, maxConnections}: ProxyOptions): string[] {
  const open = ports.map(
    ({service}, index) =>
      `  tcp-request connection set-var(sess.open) fe_conn(port-${service})${index > 0 ? ',add(sess.open)' : ''}`,
  )
  return [
    `frontend port-${spec.service}`,
    ...binds(listenAddress, spec.listen),
    ...open,
    `  tcp-request connection reject if { var(sess.open) -m int gt ${maxConnections} }`,
    // The header names the port that the client asked for, not the one that this process listens on.
    `  tcp-request connection set-dst-port int(${spec.service})`,
    `  default_backend port-${spec.service}`,
  ]
}

/** Every address of both families is two sockets: on one for both, IPv4 clients would appear as mapped addresses. */
function binds(address: string, port: number): string[] {
  if (address === '::') return [`  bind 0.0.0.0:${port}`, `  bind [::]:${port} v6only`]
  return [`  bind ${bracket(address)}:${port}`]
}

function backend(spec: PortSpec, options: ProxyOptions, routes: readonly Route[]): string[] {
  const candidates = routes.find(({service}) => service === spec.service)?.candidates ?? []
  const hasFit = candidates.some(({isFit}) => isFit)
  return [
    `backend port-${spec.service}`,
    ...candidates.map(
      (candidate, index) => `  ${server(candidate, index, options)}${hasFit && !candidate.isFit ? ' backup' : ''}`,
    ),
  ]
}

function server({address, port, sendsHeader}: Candidate, index: number, {version}: ProxyOptions): string {
  const header = sendsHeader ? (version === 'v1' ? ' send-proxy' : ' send-proxy-v2') : ''
  return `server target-${index} ${bracket(address)}:${port}${header}`
}

function bracket(address: string): string {
  // Addresses come from a resolver: nothing but an address may reach the file.
  if (parseIP(address) === undefined) throw new Error(`${JSON.stringify(address)} is not an address`)
  return address.includes(':') ? `[${address}]` : address
}
