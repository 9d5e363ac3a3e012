import type {Grade} from '../../model/doctor.ts'
import {field, record, text} from '../../model/fields.ts'
import type {KubeObject} from '../../model/kubernetes.ts'
import {records} from '../workloads.ts'
import {balancerRows} from './index.ts'
import type {BalancerController} from './recognise.ts'
import type {BalancerRow, ProxySwitch, ProxyVersion} from './row.ts'

/** Does the balancer put a PROXY header on connections to one port, and what says so? */
export interface Sender {
  readonly sends: ProxyVersion | 'no' | 'unknown'
  readonly grade: Grade
  readonly source: string
  readonly seen?: {readonly object: string; readonly field: string; readonly value: string}
  readonly check?: string
}

/** A key of the Service that looks like a switch and switches nothing. */
export interface IgnoredKey {
  readonly key: string
  readonly value: string
  readonly why: string
}

/** Reads the switch for one port of a Service. */
export function readSender(
  row: BalancerRow,
  service: KubeObject,
  port: number,
  controller: BalancerController | undefined,
): Sender {
  const {value: switches, grade, source, check} = row.proxy
  const base = {grade, source, ...(check === undefined ? {} : {check})}
  if (switches.length === 0 && grade === 'unconfirmed') return {sends: 'unknown', ...base}
  for (const one of switches) {
    const read = readSwitch(one, service, port, controller)
    if (read === undefined) continue
    const sends = read.version
    return {
      sends: sends === 'off' ? 'no' : sends,
      ...base,
      seen: {object: read.object ?? objectOf(service), field: read.field, value: read.value},
      ...exception(row, service, sends, controller),
    }
  }
  return {sends: 'no', ...base}
}

/** Combinations that nobody has seen work. */
function exception(
  row: BalancerRow,
  service: KubeObject,
  version: ProxyVersion | 'off',
  controller: BalancerController | undefined,
): Partial<Sender> {
  if (controller?.settings['lb-provider'] === 'ovn' && version !== 'off') return {sends: 'no', grade: 'source'}
  const type = service.metadata.annotations?.[digitalOceanType]
  if (row.id === 'digitalocean' && version !== 'off' && type === 'REGIONAL_NETWORK') {
    return {
      sends: 'unknown',
      grade: 'unconfirmed',
      check: 'a request from outside, and the log of the receiver for "broken header"',
    }
  }
  return {}
}

/** Which kind of balancer DigitalOcean makes. */
export const digitalOceanType = 'service.beta.kubernetes.io/do-loadbalancer-type'

interface Read {
  readonly version: ProxyVersion | 'off'
  readonly field: string
  readonly value: string
  readonly object?: string
}

function readSwitch(
  one: ProxySwitch,
  service: KubeObject,
  port: number,
  controller: BalancerController | undefined,
): Read | undefined {
  const annotations = service.metadata.annotations ?? {}
  const found = (key: string, version: ProxyVersion | 'off' | undefined): Read | undefined => {
    const value = annotations[key]
    return version === undefined || value === undefined
      ? undefined
      : {version, field: `metadata.annotations["${key}"]`, value}
  }
  switch (one.kind) {
    case 'value': {
      const value = annotations[one.key]
      if (value === undefined) return undefined
      return found(one.key, one.values[one.ignoreCase === true ? value.toLowerCase() : value])
    }
    case 'ports': {
      const value = annotations[one.key]
      if (value === undefined) return undefined
      const ports = value.split(',').map((word) => word.trim())
      const on = one.all.includes(value) || ports.includes(String(port)) || ports.includes(portName(service, port))
      // a list that leaves this port out says nothing about the other switches
      return on ? found(one.key, one.version) : undefined
    }
    case 'attributes': {
      const key = one.perPort && annotations[`${one.key}.${port}`] !== undefined ? `${one.key}.${port}` : one.key
      const value = attribute(annotations[key], one.name)
      return value === undefined ? undefined : found(key, value === 'true' ? one.version : 'off')
    }
    case 'port-json': {
      const key = `${one.prefix}${port}`
      const value = text(field(readJson(annotations[key]), one.field))
      return value === undefined ? undefined : found(key, value === 'v1' || value === 'v2' ? value : 'off')
    }
    case 'config-json':
      return found(one.key, configVersion(readJson(annotations[one.key]), one.property, service, port))
    case 'word': {
      const words = (annotations[one.key] ?? '').split(/[\s,]+/)
      return words.includes(one.word) ? found(one.key, one.version) : undefined
    }
    case 'environment': {
      const value = controller?.environment[one.name]
      if (controller === undefined || value === undefined || !/^(?:true|1|t)$/i.test(value)) return undefined
      return {
        version: one.version,
        field: `spec.containers[].env[${one.name}]`,
        value,
        object: controller.runner.object,
      }
    }
  }
}

/** `a=1,b=2`: the value of one name. */
export function attribute(list: string | undefined, name: string): string | undefined {
  for (const pair of (list ?? '').split(',')) {
    const equals = pair.indexOf('=')
    if (equals > 0 && pair.slice(0, equals).trim() === name) return pair.slice(equals + 1).trim()
  }
  return undefined
}

function readJson(value: string | undefined): Readonly<Record<string, unknown>> {
  if (value === undefined) return {}
  try {
    return record(JSON.parse(value))
  } catch {
    return {}
  }
}

/** UpCloud: frontends by name of the Service's port, each in front of the backend of the same name. */
function configVersion(
  config: Readonly<Record<string, unknown>>,
  property: string,
  service: KubeObject,
  port: number,
): ProxyVersion | 'off' | undefined {
  const backends = records(field(config, 'backends')).filter(
    (backend) => field(record(field(backend, 'properties')), property) !== undefined,
  )
  if (backends.length === 0) return undefined
  const name = portName(service, port)
  const frontend = records(field(config, 'frontends')).find(
    (one) => field(one, 'port') === port || (name !== '' && field(one, 'name') === name),
  )
  const wanted = text(field(frontend ?? {}, 'default_backend')) ?? text(field(frontend ?? {}, 'name')) ?? name
  const backend = backends.find((one) => field(one, 'name') === wanted)
  const value = text(field(record(field(backend ?? {}, 'properties')), property))
  return value === 'v1' || value === 'v2' ? value : 'off'
}

function portName(service: KubeObject, port: number): string {
  const entry = records(field(record(service['spec']), 'ports')).find((one) => field(one, 'port') === port)
  return text(field(entry ?? {}, 'name')) ?? ''
}

/** Keys that look like a PROXY switch and do nothing here: another cloud's, a value that means nothing, or nobody's. */
export function ignoredKeys(row: BalancerRow | undefined, service: KubeObject): IgnoredKey[] {
  const ignored: IgnoredKey[] = []
  for (const [key, value] of Object.entries(service.metadata.annotations ?? {})) {
    const owners = balancerRows.filter((one) => one.proxy.value.some((two) => takesKey(two, key)))
    if (owners.length === 0) {
      if (/proxy-?protocol/i.test(key) && !knownBeside.has(key) && !isOtherSetting(key))
        ignored.push({key, value, why: 'no controller that is known reads this annotation'})
      continue
    }
    if (row === undefined) continue
    if (!owners.includes(row)) {
      if (!owners.some((owner) => owner.family === row.family))
        ignored.push({
          key,
          value,
          why: `${owners.map((one) => one.title).join(', ')} would read it, here it is ${row.title}`,
        })
      continue
    }
    const one = row.proxy.value.find((two) => takesKey(two, key))
    if (one?.kind === 'value' && one.values[one.ignoreCase === true ? value.toLowerCase() : value] === undefined)
      ignored.push({
        key,
        value,
        why: `${row.title} takes only ${Object.keys(one.values)
          .filter(Boolean)
          .map((word) => `"${word}"`)
          .join(', ')}`,
      })
  }
  return ignored
}

/** Annotations about PROXY that are no switch of a balancer's connections. */
const knownBeside = new Set([
  'service.beta.kubernetes.io/azure-pls-proxy-protocol',
  'service.beta.kubernetes.io/scw-loadbalancer-health-check-send-proxy',
  'service.beta.kubernetes.io/do-loadbalancer-override-health-check-proxy-protocol',
])

/** The receiver's own keys, as annotations of a Service (haproxytech, haproxy-ingress). */
function isOtherSetting(key: string): boolean {
  return /^(?:haproxy\.org|haproxy\.com|haproxy-ingress\.github\.io|ingress\.kubernetes\.io|nginx\.org)\//.test(key)
}

function takesKey(one: ProxySwitch, key: string): boolean {
  switch (one.kind) {
    case 'port-json':
      return key.startsWith(one.prefix)
    case 'attributes':
      return false
    case 'environment':
      return false
    case 'word':
      return false
    case 'config-json':
      return false
    default:
      return key === one.key
  }
}

function objectOf(service: KubeObject): string {
  return `service/${service.metadata.namespace ?? 'default'}/${service.metadata.name}`
}
