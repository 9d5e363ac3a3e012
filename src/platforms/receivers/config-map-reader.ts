import {isInRanges, readRange, type AddressRange} from '../../model/address-range.ts'
import {record} from '../../model/fields.ts'
import type {KubeObject} from '../../model/kubernetes.ts'
import {compareVersions} from '../versions.ts'
import {flagOf, isFlagOn, wordsOf, type Runner} from '../workloads.ts'
import {trustFrom, type Found, type ReceiverQuestion, type Seen} from './state.ts'
import type {ReceiverSetting} from './row.ts'

/** A ConfigMap that a receiver reads, and the texts in it. */
export interface ReadConfig {
  readonly namespace: string
  readonly name: string
  readonly object: KubeObject | undefined
  readonly data: Readonly<Record<string, string>>
  /** May its absence be believed? */
  readonly known: boolean
}

/** The ConfigMap that one of these flags of a receiver's process names (`NAMESPACE/NAME` or `NAME`). */
export function configOf(
  question: Pick<ReceiverQuestion, 'index' | 'runners'>,
  flags: readonly string[],
): ReadConfig | undefined {
  for (const runner of question.runners) {
    for (const container of runner.spec.containers) {
      const words = wordsOf(runner, container)
      for (const flag of flags) {
        const value = flagOf(words, flag)
        if (value === undefined || value === '') continue
        const slash = value.indexOf('/')
        return readConfig(question, slash < 0 ? runner.namespace : value.slice(0, slash), value.slice(slash + 1))
      }
    }
  }
  return undefined
}

/** One ConfigMap by name. */
export function readConfig(question: Pick<ReceiverQuestion, 'index'>, namespace: string, name: string): ReadConfig {
  const object = question.index.get('ConfigMap', namespace, name, '')
  return {
    namespace,
    name,
    object,
    data: Object.fromEntries(
      Object.entries(record(object?.['data'])).filter(
        (entry): entry is [string, string] => typeof entry[1] === 'string',
      ),
    ),
    known: object !== undefined || ['complete', 'absent'].includes(question.index.state('ConfigMap', namespace, name)),
  }
}

/** Receivers that take PROXY from a key of a ConfigMap. */
export function readConfigMapSetting(
  question: ReceiverQuestion,
  setting: Extract<ReceiverSetting, {kind: 'config-map'}>,
): Found {
  const config =
    setting.fixed === undefined
      ? configOf(question, setting.flags)
      : readConfig(question, setting.fixed.namespace, setting.fixed.name)
  if (config === undefined) return withoutConfig(question, setting)
  if (!config.known) {
    return {
      asks: 'unknown',
      seen: [],

      check: `kubectl -n ${config.namespace} get configmap ${config.name} -o yaml, key ${setting.key}`,
    }
  }
  const {row} = question
  const key = ciliumKey(question, setting.key)
  const value = config.data[key]
  const seen: Seen[] = [
    {object: `configmap/${config.namespace}/${config.name}`, field: `data.${key}`, value: value ?? '(not set)'},
  ]
  const rule = row.trust.value
  if (setting.on === 'addresses') {
    const on = value !== undefined && value.trim() !== ''
    return {asks: on ? 'yes' : 'no', seen, trust: trustFrom(rule, value)}
  }
  const on = value !== undefined && /^(?:true|1|t)$/i.test(value.trim())
  if (value !== undefined && !on && !/^(?:false|0|f|)$/i.test(value.trim())) {
    return {
      asks: 'unknown',
      seen,
      grade: 'unconfirmed',
      check: 'the configuration that a pod really runs with (nginx.conf: listen … proxy_protocol or not)',
      notes: [`${key}: ${value} is neither true nor false`],
    }
  }
  const trustKey = rule.kind === 'ranges' ? rule.key : ''
  const list = config.data[trustKey]
  if (on && list !== undefined) seen.push({object: seen[0]!.object, field: `data.${trustKey}`, value: list})
  const found: Found = {asks: on ? 'yes' : 'no', seen, trust: trustFrom(rule, list === '' ? undefined : list)}
  return row.id === 'ingress-nginx' ? withNginxRules(question, found, config) : found
}

const passthroughSource =
  'https://github.com/kubernetes/ingress-nginx/blob/dbb11b92d/internal/ingress/controller/nginx.go'

/**
 * ingress-nginx: X-Forwarded-For, and TLS passthrough, where port 443 belongs to a Go listener in front of nginx. That takes
 * connections without a header and believes anybody's (platforms.md 2.2 row 9), reads version 2 from v1.14.0 on only
 * (go.mod: armon/go-proxyproto before, pires/go-proxyproto since), and hands every connection to nginx from 127.0.0.1, which
 * so has to be in proxy-real-ip-cidr; without PROXY nginx shows 127.0.0.1 itself.
 */
function withNginxRules(question: ReceiverQuestion, found: Found, config: ReadConfig): Found {
  const list = config.data['proxy-real-ip-cidr']
  const believes = config.data['use-forwarded-headers'] === 'true' || config.data['enable-real-ip'] === 'true'
  const read: Found = believes ? {...found, forwarded: trustFrom(question.row.trust.value, list)} : found
  if (!isHttps(question) || !hasPassthrough(question.runners)) return read
  const order = compareVersions(question.receiver.version, '1.14.0')
  const whenOn: Found['whenOn'] = {
    withoutHeader: 'tolerated',
    versions: order !== undefined && order >= 0 ? ['v1', 'v2'] : ['v1'],
    trust: trustsLoopback(found)
      ? {kind: 'anyone'}
      : {kind: 'nobody', key: 'proxy-real-ip-cidr, which lacks 127.0.0.1,'},
  }
  const on = found.asks === 'yes'
  return {
    ...read,
    ...(on ? whenOn : {}),
    whenOn,
    loopback: !on,
    grade: 'inferred',
    notes: on
      ? ['TLS passthrough: port 443 takes connections without a header and believes any header']
      : ['TLS passthrough: nginx sees every connection of port 443 as one from 127.0.0.1'],
    source: passthroughSource,
  }
}

/** Is 127.0.0.1 a peer whose header nginx believes? The default list holds every IPv4 address. */
function trustsLoopback({trust}: Found): boolean {
  if (trust?.kind !== 'ranges') return trust?.kind === 'anyone'
  const ranges = trust.ranges.map(readRange).filter((range): range is AddressRange => range !== undefined)
  return isInRanges(ranges, '127.0.0.1')
}

/** Do the controller's arguments switch TLS passthrough on? */
export function hasPassthrough(runners: readonly Runner[]): boolean {
  return runners.some((runner) =>
    runner.spec.containers.some((container) => isFlagOn(wordsOf(runner, container), 'enable-ssl-passthrough')),
  )
}

function isHttps({port, portName, targetPort}: ReceiverQuestion): boolean {
  return port === 443 || targetPort === 443 || portName === 'https'
}

/** Cilium has one key for Ingress and one for Gateway API. */
function ciliumKey(question: ReceiverQuestion, key: string): string {
  const forGateway = question.row.id === 'cilium-ingress' && question.receiver.gateway !== undefined
  return forGateway ? 'enable-gateway-api-proxy-protocol' : key
}

/** No flag names a ConfigMap: with the process in sight there is none; without it nobody knows. */
function withoutConfig(question: ReceiverQuestion, setting: Extract<ReceiverSetting, {kind: 'config-map'}>): Found {
  const flag = setting.flags[0] ?? ''
  if (question.runners.length === 0) {
    return {
      asks: 'unknown',
      seen: [],

      check: `look at the arguments of the controller for ${flag}, then at that ConfigMap for ${setting.key}`,
    }
  }
  const [runner] = question.runners
  return {
    asks: 'no',
    seen: [{object: runner!.object, field: 'spec.containers[].args', value: `no ${flag}`}],
    notes: [`no argument ${flag}: the controller reads no ConfigMap`],
  }
}
