import {SrcipError} from '../model/errors.ts'
import {parseIP} from '../model/address.ts'
import type {ProxyVersion} from './header/types.ts'
import type {Engine, PortSpec, ProbeKind, ProxyOptions} from './options.ts'
import {parseCidr} from './trust.ts'

/** The flags of `srcip proxy` as the command line gives them; durations in milliseconds. */
export interface ProxyFlags {
  readonly to: string
  /** From the environment several come as one text with spaces between them. */
  readonly port: string | readonly string[]
  readonly listen: string
  readonly 'send-proxy': 'always' | 'auto'
  readonly 'proxy-protocol': ProxyVersion
  readonly 'accept-proxy': boolean
  readonly 'trusted-cidr': string | readonly string[]
  readonly engine: Engine
  readonly haproxy: string
  readonly workers: string
  readonly 'max-connections': number
  readonly 'idle-timeout': number
  readonly 'first-byte-timeout': number
  readonly 'connect-timeout': number
  readonly 'header-timeout': number
  readonly 'keep-alive': number
  readonly 'resolve-interval': number
  readonly 'probe-interval': number | undefined
  readonly 'probe-timeout': number
  readonly 'probe-host': string
  readonly 'drain-delay': number
  readonly 'drain-timeout': number
  readonly 'health-address': string
}

/** Milliseconds between two probes of an address. In `auto` the proxy has to follow a flip of its target within one of them. */
const probeIntervals = {always: 2000, auto: 250} as const
/** More processes than this gain nothing that a node has to spare. */
const mostWorkers = 4

/** Checks the flags and works out what they mean together. Throws usage errors that name the flag. `cores` is what this process may use. */
export function parseProxyOptions(flags: ProxyFlags, cores: number): ProxyOptions {
  const to = readHost(flags.to)
  const ports = readPorts(readList(flags.port))
  const mode = flags['send-proxy']
  const trusted = readList(flags['trusted-cidr']).map(parseCidr)
  for (const spec of ports) {
    if (mode === 'auto' && spec.sendsHeader && spec.probe === 'tcp') {
      throw usage(
        `--send-proxy auto cannot tell whether port ${spec.service} takes a header: its protocol is not known`,
        [`--port ${spec.service}=${spec.listen},probe=http (or tls), or ,plain for no header`],
      )
    }
  }
  if (trusted.length > 0 && !flags['accept-proxy']) {
    throw usage('--trusted-cidr says whose PROXY headers count, but none are read', ['add --accept-proxy'])
  }
  if (flags.engine === 'haproxy' && flags['accept-proxy']) {
    throw usage('--engine haproxy cannot take --accept-proxy: HAProxy would pass on the header of an untrusted peer', [
      '--engine node',
    ])
  }
  if (parseIP(flags.listen) === undefined)
    throw usage(`--listen ${JSON.stringify(flags.listen)} is not an IP address`, ['--listen 0.0.0.0'])
  if (flags['max-connections'] < 1) throw usage('--max-connections must be at least 1')
  return {
    to,
    ports,
    listenAddress: flags.listen,
    mode,
    version: flags['proxy-protocol'],
    acceptProxy: flags['accept-proxy'],
    trusted,
    engine: flags.engine,
    haproxy: flags.haproxy,
    workers: readWorkers(flags.workers, cores),
    maxConnections: flags['max-connections'],
    idleTimeout: flags['idle-timeout'],
    firstByteTimeout: flags['first-byte-timeout'],
    connectTimeout: atLeast('connect-timeout', flags['connect-timeout'], 1),
    headerTimeout: atLeast('header-timeout', flags['header-timeout'], 1),
    keepAlive: flags['keep-alive'],
    resolveInterval: atLeast('resolve-interval', flags['resolve-interval'], 100),
    probeInterval: atLeast('probe-interval', flags['probe-interval'] ?? probeIntervals[mode], 50),
    probeTimeout: atLeast('probe-timeout', flags['probe-timeout'], 50),
    probeHost: flags['probe-host'],
    drainDelay: flags['drain-delay'],
    drainTimeout: flags['drain-timeout'],
    healthAddress: readHealthAddress(flags['health-address']),
  }
}

function readList(given: string | readonly string[]): string[] {
  return [given].flat().flatMap((text) => text.split(/\s+/).filter((word) => word !== ''))
}

/** Reads `SERVICE=LISTEN` and its options; a port number may stand once on each side only. */
export function readPorts(texts: readonly string[]): PortSpec[] {
  const specs = texts.map(readPort)
  for (const side of ['service', 'listen'] as const) {
    const seen = new Set<number>()
    for (const spec of specs) {
      if (seen.has(spec[side]))
        throw usage(`--port names ${side === 'service' ? 'Service port' : 'listening port'} ${spec[side]} twice`)
      seen.add(spec[side])
    }
  }
  if (specs.length === 0) throw usage('no port to serve', ['--port 80=8080 --port 443=8443'])
  return specs
}

const knownProbes: Readonly<Record<number, ProbeKind>> = {80: 'http', 8080: 'http', 443: 'tls', 8443: 'tls'}

function readPort(text: string): PortSpec {
  const [pair = '', ...options] = text.split(',')
  const [service, listen, ...rest] = pair.split('=').map((part) => readNumber(part))
  if (service === undefined || listen === undefined || rest.length > 0) throw badPort(text)
  let spec: PortSpec = {
    service,
    listen,
    to: service,
    sendsHeader: true,
    probe: knownProbes[service] ?? 'tcp',
    hasFirstByteLimit: true,
  }
  for (const option of options) {
    const [name, value] = option.split('=')
    const port = value === undefined ? undefined : readNumber(value)
    if (option === 'plain') spec = {...spec, sendsHeader: false}
    else if (name === 'to' && port !== undefined) spec = {...spec, to: port}
    else if (name === 'probe' && (value === 'http' || value === 'tls' || value === 'tcp'))
      spec = {...spec, probe: value}
    else if (option === 'first-byte=off') spec = {...spec, hasFirstByteLimit: false}
    else throw badPort(text, option)
  }
  return spec
}

function badPort(text: string, option?: string): SrcipError {
  const what = option === undefined ? '' : `: ${JSON.stringify(option)} is no option of a port`
  return usage(
    `--port ${JSON.stringify(text)} is not SERVICE=LISTEN[,plain][,to=PORT][,probe=http|tls|tcp][,first-byte=off]${what}`,
    ['--port 443=8443,to=443'],
  )
}

function readNumber(text: string): number | undefined {
  const value = /^[1-9][0-9]{0,4}$/.test(text) ? Number(text) : 0
  return value >= 1 && value <= 65_535 ? value : undefined
}

function readHost(text: string): string {
  const host = text.replace(/^\[(.*)\]$/, '$1')
  const isName = /^[a-z0-9]([a-z0-9_.-]*[a-z0-9])?\.?$/i.test(host) && host.length <= 253 && !/^[0-9.]+$/.test(host)
  if (parseIP(host) === undefined && !isName) {
    throw usage(`--to ${JSON.stringify(text)} is neither a host name nor an IP address`, [
      '--to ingress-nginx-controller.ingress-nginx.svc (the port goes into --port SERVICE=LISTEN,to=PORT)',
    ])
  }
  return host
}

function readWorkers(text: string, cores: number): number {
  if (text === 'auto') return Math.max(1, Math.min(cores, mostWorkers))
  const count = /^[1-9][0-9]?$/.test(text) ? Number(text) : undefined
  if (count === undefined) throw usage(`--workers ${JSON.stringify(text)} is neither auto nor a number from 1 to 99`)
  return count
}

function readHealthAddress(text: string): ProxyOptions['healthAddress'] {
  if (text === 'off') return undefined
  const [, host = '', port = ''] = /^(.*):([0-9]{1,5})$/.exec(text) ?? []
  const address = host === '' ? '::' : host.replace(/^\[(.*)\]$/, '$1')
  if (parseIP(address) === undefined || Number(port) > 65_535 || port === '') {
    throw usage(`--health-address ${JSON.stringify(text)} is not [ADDRESS]:PORT`, ['--health-address :8081, or off'])
  }
  return {host: address, port: Number(port)}
}

function atLeast(flag: string, value: number, least: number): number {
  if (value >= least) return value
  throw usage(`--${flag} must be at least ${least}ms`)
}

function usage(message: string, hints: readonly string[] = []): SrcipError {
  return new SrcipError('Usage', message, {hints})
}
