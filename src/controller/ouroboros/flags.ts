import {isIP} from 'node:net'
import {parseGoDuration} from '../../kube/index.ts'
import {SrcipError} from '../../model/errors.ts'
import type {LogLevel} from '../log.ts'
import {clusterDomainFrom} from './cluster-domain.ts'

/** `coredns` and `coredns-import`: one key of one ConfigMap. */
interface ConfigMapMode {
  readonly mode: 'coredns' | 'coredns-import'
  readonly namespace: string
  readonly configMap: string
  readonly key: string
  /** Where the names lead: lower case, with final dot. */
  readonly target: string
}

interface EtcHostsMode {
  readonly mode: 'etc-hosts'
  readonly path: string
  readonly proxyIp: string
}

interface ExternalDnsMode {
  readonly mode: 'external-dns'
  /** Undefined: the own namespace. */
  readonly namespace: string | undefined
  readonly ttl: number
  /** Undefined: the ClusterIPs of `proxyService` in the own namespace. */
  readonly proxyIp: string | undefined
  readonly proxyService: string
  readonly output: 'crd' | 'service'
  readonly annotationPrefix: string
  readonly annotations: Readonly<Record<string, string>>
  readonly labels: Readonly<Record<string, string>>
  /** OUROBOROS_INSTANCE: the release that the records belong to. */
  readonly instance: string
}

/** A call of `ouroboros controller` (v0.8), understood. */
export interface OuroborosOptions {
  readonly output: ConfigMapMode | EtcHostsMode | ExternalDnsMode
  readonly kubeconfig: string | undefined
  readonly gatewayApi: boolean
  /** Milliseconds. */
  readonly resyncMs: number
  readonly logLevel: LogLevel
  readonly ingressClass: string
  readonly gatewayClass: string
}

type Kind = 'text' | 'switch' | 'pairs'

/** Flags of `ouroboros controller` v0.8 with their defaults; the variable is OUROBOROS_CONTROLLER_ and the name, `pairs` have none. */
const table: Readonly<Record<string, readonly [kind: Kind, start: string]>> = {
  mode: ['text', 'coredns'],
  kubeconfig: ['text', ''],
  'gateway-api': ['switch', 'false'],
  resync: ['text', '10m'],
  'ingress-class': ['text', ''],
  'gateway-class': ['text', ''],
  'cluster-domain': ['text', ''],
  'log-level': ['text', 'info'],
  'coredns-namespace': ['text', 'kube-system'],
  'coredns-configmap': ['text', 'coredns'],
  'coredns-key': ['text', 'Corefile'],
  'proxy-fqdn': ['text', ''],
  'proxy-service-name': ['text', 'ouroboros-proxy'],
  'proxy-service-namespace': ['text', ''],
  'coredns-import-namespace': ['text', 'kube-system'],
  'coredns-import-configmap': ['text', 'coredns-custom'],
  'coredns-import-key': ['text', 'ouroboros.override'],
  'etc-hosts': ['text', '/host/etc/hosts'],
  'proxy-ip': ['text', ''],
  'external-dns-namespace': ['text', ''],
  'external-dns-record-ttl': ['text', '60'],
  'external-dns-proxy-ip': ['text', ''],
  'external-dns-proxy-service': ['text', 'ouroboros-proxy'],
  'external-dns-annotation': ['pairs', ''],
  'external-dns-label': ['pairs', ''],
  'external-dns-output': ['text', 'crd'],
  'external-dns-annotation-prefix': ['text', 'external-dns.alpha.kubernetes.io/'],
}

/** Variables whose name is not that of the flag. */
const variables: Readonly<Record<string, string>> = {
  'etc-hosts': 'ETC_HOSTS',
}

/** Names that ouroboros gives itself, and that a passed-on annotation or label must not take over. */
const reserved = {
  annotation: ['ouroboros.lexfrei.tech/source', 'external-dns.alpha.kubernetes.io/target'],
  label: ['app.kubernetes.io/managed-by', 'ouroboros.lexfrei.tech/instance'],
} as const

/** Passed-on annotations, and labels, are at most this many each. */
const mostPairs = 32
const longestTtl = 86_400

/**
 * Reads a call in the words of `ouroboros controller` v0.8: Go's flag syntax (one dash or two, `=` or the next word), the variables
 * OUROBOROS_CONTROLLER_* under them, and its defaults. Throws usage errors that name the flag, for what ouroboros refuses, too.
 *
 * @param resolvConf text of /etc/resolv.conf, asked only where the cluster domain decides and is not given
 */
export function readControllerFlags(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  resolvConf: () => string,
): OuroborosOptions {
  const {values, pairs} = readWords(argv, env)
  const value = (name: string): string => values.get(name) ?? ''
  const gatewayApi = isTrue('gateway-api', value('gateway-api'))
  if (value('gateway-class') !== '' && !gatewayApi) throw usage('--gateway-class needs --gateway-api')
  const resyncMs = parseGoDuration(value('resync'))
  if (resyncMs === undefined) throw usage(`--resync expects a duration such as 30s, not ${shown(value('resync'))}`)
  const kubeconfig = value('kubeconfig')
  return {
    output: readOutput(value, pairs, env, resolvConf),
    kubeconfig: kubeconfig === '' ? undefined : kubeconfig,
    gatewayApi,
    resyncMs,
    logLevel: readLogLevel(value('log-level')),
    ingressClass: value('ingress-class'),
    gatewayClass: value('gateway-class'),
  }
}

function readOutput(
  value: (name: string) => string,
  pairs: ReadonlyMap<string, Readonly<Record<string, string>>>,
  env: Readonly<Record<string, string | undefined>>,
  resolvConf: () => string,
): OuroborosOptions['output'] {
  const mode = value('mode')
  if (mode === 'coredns' || mode === 'coredns-import') {
    const part = (name: string): string => needed(`${mode}-${name}`, value(`${mode}-${name}`))
    const target = proxyName(value, resolvConf)
    return {mode, namespace: part('namespace'), configMap: part('configmap'), key: part('key'), target}
  }
  if (mode === 'etc-hosts')
    return {mode, path: needed('etc-hosts', value('etc-hosts')), proxyIp: address('proxy-ip', value('proxy-ip'))}
  if (mode === 'external-dns') return {mode, ...readExternalDns(value, pairs, env)}
  throw usage(`--mode ${shown(mode)} is none of coredns, coredns-import, etc-hosts, external-dns`)
}

function readExternalDns(
  value: (name: string) => string,
  pairs: ReadonlyMap<string, Readonly<Record<string, string>>>,
  env: Readonly<Record<string, string | undefined>>,
): Omit<ExternalDnsMode, 'mode'> {
  const output = value('external-dns-output')
  if (output !== 'crd' && output !== 'service' && output !== '')
    throw usage(`--external-dns-output ${shown(output)} is neither crd nor service`)
  const prefix = value('external-dns-annotation-prefix')
  if (prefix === '' ? output === 'service' : !prefix.endsWith('/'))
    throw usage(`--external-dns-annotation-prefix ${shown(prefix)} does not end in /`)
  const ttl = Number(value('external-dns-record-ttl'))
  if (!Number.isInteger(ttl) || ttl < 1 || ttl > longestTtl)
    throw usage(`--external-dns-record-ttl expects 1 to ${longestTtl} seconds`)
  const namespace = value('external-dns-namespace')
  if (namespace !== '' && !/^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/.test(namespace))
    throw usage(`--external-dns-namespace ${shown(namespace)} is no name of a namespace`)
  const proxyIp = value('external-dns-proxy-ip')
  const proxyService = value('external-dns-proxy-service')
  if (proxyIp === '' && proxyService === '')
    throw usage('one of --external-dns-proxy-ip and --external-dns-proxy-service is needed')
  const instance = env['OUROBOROS_INSTANCE'] ?? ''
  if (instance === '')
    throw usage('OUROBOROS_INSTANCE is needed: it tells the records of one release from those of another')
  return {
    output: output === 'service' ? 'service' : 'crd',
    annotationPrefix: prefix,
    ttl,
    namespace: namespace === '' ? undefined : namespace,
    proxyIp: proxyIp === '' ? undefined : address('external-dns-proxy-ip', proxyIp),
    proxyService,
    annotations: checkedPairs('annotation', pairs.get('external-dns-annotation') ?? {}),
    labels: checkedPairs('label', pairs.get('external-dns-label') ?? {}),
    instance,
  }
}

function checkedPairs(
  what: 'annotation' | 'label',
  pairs: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const keys = Object.keys(pairs)
  if (keys.length > mostPairs)
    throw usage(`--external-dns-${what} is given ${keys.length} times, ${mostPairs} are taken`)
  for (const key of keys) {
    if ((reserved[what] as readonly string[]).includes(key))
      throw usage(`--external-dns-${what} ${shown(key)} is kept for the controller`)
    if (!/^[A-Za-z0-9][A-Za-z0-9./_-]*$/.test(key)) throw usage(`--external-dns-${what} ${shown(key)} is no key`)
  }
  return pairs
}

/** `--proxy-fqdn`, or composed from Service, namespace and cluster domain. */
function proxyName(value: (name: string) => string, resolvConf: () => string): string {
  const given = value('proxy-fqdn')
  if (given !== '') {
    if (!given.endsWith('.')) throw usage(`--proxy-fqdn ${shown(given)} does not end in a dot`)
    return given.toLowerCase()
  }
  const service = needed('proxy-service-name', value('proxy-service-name'))
  const namespace = needed('proxy-service-namespace', value('proxy-service-namespace'))
  const domain = value('cluster-domain') === '' ? clusterDomainFrom(resolvConf()) : value('cluster-domain')
  return `${service}.${namespace}.svc.${domain.replace(/\.$/, '')}.`.toLowerCase()
}

function readWords(argv: readonly string[], env: Readonly<Record<string, string | undefined>>) {
  const values = new Map<string, string>()
  const pairs = new Map<string, Record<string, string>>()
  for (const [name, [kind, start]] of Object.entries(table)) {
    if (kind === 'pairs') continue
    const variable = `OUROBOROS_CONTROLLER_${variables[name] ?? name.replaceAll('-', '_').toUpperCase()}`
    values.set(name, env[variable] || start)
  }
  const rest = [...argv]
  for (let word = rest.shift(); word !== undefined && word !== '--'; word = rest.shift()) {
    const [, name, joined] = /^--?([a-z][a-z-]*)(?:=(.*))?$/s.exec(word) ?? []
    const kind = name === undefined || !Object.hasOwn(table, name) ? undefined : table[name]?.[0]
    if (name === 'compat') {
      const asked = joined ?? rest.shift()
      if (asked !== 'ouroboros') throw usage(`--compat ${shown(asked ?? '')}: only ouroboros is known`)
      continue
    }
    if (name === undefined || kind === undefined) throw usage(`${shown(word)} is no flag of ouroboros controller`)
    const given = joined ?? (kind === 'switch' ? 'true' : rest.shift())
    if (given === undefined) throw usage(`--${name} needs a value`)
    if (kind !== 'pairs') values.set(name, given)
    else {
      const at = given.indexOf('=')
      if (at < 1) throw usage(`--${name} ${shown(given)} is not KEY=VALUE`)
      pairs.set(name, {...pairs.get(name), [given.slice(0, at)]: given.slice(at + 1)})
    }
  }
  return {values, pairs}
}

/** As Go's strconv.ParseBool. */
function isTrue(name: string, text: string): boolean {
  if (/^(?:1|t|T|true|TRUE|True)$/.test(text)) return true
  if (/^(?:0|f|F|false|FALSE|False)$/.test(text)) return false
  throw usage(`--${name} expects true or false, not ${shown(text)}`)
}

/** As Go's slog.Level: any case, and an offset that is below what we tell apart. */
function readLogLevel(text: string): LogLevel {
  const [, name] = /^(debug|info|warn|error)(?:[+-]\d+)?$/i.exec(text) ?? []
  if (name === undefined) throw usage(`--log-level ${shown(text)} is none of debug, info, warn, error`)
  return name.toLowerCase() as LogLevel
}

function needed(name: string, text: string): string {
  if (text === '') throw usage(`--${name} is needed`)
  return text
}

function address(name: string, text: string): string {
  if (isIP(text) === 0) throw usage(`--${name} ${shown(text)} is no IP address`)
  return text
}

function shown(text: string): string {
  return JSON.stringify(text)
}

function usage(message: string): SrcipError {
  return new SrcipError('Usage', `compat ouroboros: ${message}`, {
    hints: ['kubectl srcip run --help shows the flags of srcip itself'],
  })
}
