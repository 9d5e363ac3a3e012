import {isUnread} from '../../model/snapshot.ts'
import {flagOf, isFlagOn, wordsOf} from '../workloads.ts'
import {readConfig} from './config-map-reader.ts'
import {readTraefikFile} from './static-files.ts'
import {trustFrom, type Found, type ReceiverQuestion, type Seen} from './state.ts'

/** Traefik: the entry point whose address has the target port, and its proxyProtocol flags. Other flags may stand in a mounted file. */
export function readEntryPoints(question: ReceiverQuestion): Found {
  const {runners, targetPort, portName} = question
  for (const runner of runners) {
    for (const container of runner.spec.containers) {
      const words = wordsOf(runner, container)
      const points = entryPoints(words)
      if (points.size === 0) continue
      const point = [...points].find(
        ([name, port]) => port === targetPort || (targetPort === undefined && name === portName.toLowerCase()),
      )
      if (point === undefined) continue
      const [name] = point
      const trusted = flagOf(words, `entrypoints.${name}.proxyprotocol.trustedips`)
      const insecure = isFlagOn(words, `entrypoints.${name}.proxyprotocol.insecure`)
      const bare = isFlagOn(words, `entrypoints.${name}.proxyprotocol`)
      const see = (key: string, value: string): Seen[] => [
        {
          object: runner.object,
          field: 'spec.containers[].args',
          value: `--entryPoints.${name}.proxyProtocol.${key}${value}`,
        },
      ]
      if (insecure) return {asks: 'yes', seen: see('insecure', ''), trust: {kind: 'anyone'}}
      if (trusted !== undefined || bare)
        return {
          asks: 'yes',
          seen: see('trustedIPs=', trusted ?? ''),
          trust: trustFrom(question.row.trust.value, trusted),
        }
      return {asks: 'no', seen: see('', ' not set')}
    }
  }
  const fromFile = readTraefikFile(question)
  if (fromFile !== undefined) return fromFile
  return unknownProcess(question, 'read the static configuration of Traefik for proxyProtocol of this entry point')
}

/** `--entryPoints.web.address=:8000/tcp` by name. */
function entryPoints(words: readonly string[]): Map<string, number> {
  const points = new Map<string, number>()
  for (const word of words) {
    const match = /^--?entrypoints\.([a-z0-9_-]+)\.address=.*?:(\d+)(?:\/(?:tcp|udp))?$/i.exec(word)
    if (match !== null) points.set((match[1] ?? '').toLowerCase(), Number(match[2]))
  }
  return points
}

/** Kong: a listener of the proxy with the target port, and whether `proxy_protocol` stands on it. */
export function readListenVariable(question: ReceiverQuestion, name: string, word: string): Found {
  for (const runner of question.runners) {
    for (const container of runner.spec.containers) {
      const value = container.env.find((variable) => variable.name === name)?.value
      if (value === undefined) continue
      const listeners = value.split(',').map((one) => one.trim().split(/\s+/))
      const own = listeners.filter(([address]) => address?.split(':').at(-1) === String(question.targetPort))
      const on = (own.length > 0 ? own : listeners).some((words) => words.includes(word))
      const trusted = container.env.find((variable) => variable.name === 'KONG_TRUSTED_IPS')?.value
      const header = container.env.find((variable) => variable.name === 'KONG_REAL_IP_HEADER')?.value
      const trust =
        header === undefined || header === 'proxy_protocol'
          ? trustFrom(question.row.trust.value, trusted)
          : {kind: 'nobody' as const, key: 'KONG_REAL_IP_HEADER'}
      return {
        asks: on ? 'yes' : 'no',
        seen: [{object: runner.object, field: `spec.containers[].env[${name}]`, value}],
        trust,
      }
    }
  }
  return unknownProcess(question, `read ${name} of the proxy container`)
}

/** A flag of the process that does it all. */
export function readFlag(question: ReceiverQuestion, flag: string): Found {
  for (const runner of question.runners) {
    for (const container of runner.spec.containers) {
      if (!isFlagOn(wordsOf(runner, container), flag)) continue
      return {asks: 'yes', seen: [{object: runner.object, field: 'spec.containers[].args', value: flag}]}
    }
  }
  const [runner] = question.runners
  if (runner === undefined) return unknownProcess(question, `look for ${flag} in the arguments of the controller`)
  return {asks: 'no', seen: [{object: runner.object, field: 'spec.containers[].args', value: `no ${flag}`}]}
}

/** Istio: annotation of the gateway pods, the mesh's default configuration, or an EnvoyFilter with the listener filter. */
export function readMesh(question: ReceiverQuestion): Found {
  const annotation = 'proxy.istio.io/config'
  for (const runner of question.runners) {
    const value = runner.annotations[annotation]
    if (value !== undefined && /gatewayTopology[\s\S]*proxyProtocol/.test(value))
      return {
        asks: 'yes',
        ...trustedProxies(value),
        seen: [
          {
            object: runner.object,
            field: `metadata.annotations["${annotation}"]`,
            value: 'gatewayTopology.proxyProtocol',
          },
        ],
      }
  }
  for (const filter of question.index.list('EnvoyFilter')) {
    const body = JSON.stringify(filter['spec'] ?? {})
    if (!/listener\.proxy_protocol|ProxyProtocol/.test(body)) continue
    const optional = /"allow_requests_without_proxy_protocol":true|"allowRequestsWithoutProxyProtocol":true/.test(body)
    return {
      asks: 'yes',
      seen: [
        {
          object: `envoyfilter/${filter.metadata.namespace}/${filter.metadata.name}`,
          field: 'spec.configPatches',
          value: 'proxy_protocol',
        },
      ],
      ...(optional ? {withoutHeader: 'tolerated' as const} : {}),
    }
  }
  const mesh = readConfig(question, 'istio-system', 'istio')
  const text = mesh.data['mesh']
  if (text !== undefined && /gatewayTopology[\s\S]*proxyProtocol/.test(text))
    return {
      asks: 'yes',
      ...trustedProxies(text),
      seen: [{object: 'configmap/istio-system/istio', field: 'data.mesh', value: 'gatewayTopology.proxyProtocol'}],
    }
  if (question.runners.length > 0 && mesh.known && !isUnread(question.index.state('EnvoyFilter')))
    return {
      asks: 'no',
      seen: [{object: question.runners[0]!.object, field: `metadata.annotations["${annotation}"]`, value: '(not set)'}],
    }
  return unknownProcess(question, 'istioctl proxy-config listener POD -o json, and look for proxy_protocol')
}

/** With a number of trusted proxies, X-Forwarded-For of any client wins over PROXY (platforms.md 2.1). */
function trustedProxies(config: string): Pick<Found, 'forwarded'> {
  return /numTrustedProxies["']?\s*:\s*[1-9]/.test(config) ? {forwarded: {kind: 'anyone'}} : {}
}

/** The setting is somewhere that was not read. */
export function unknownProcess(_question: ReceiverQuestion, check: string): Found {
  return {asks: 'unknown', seen: [], grade: 'unconfirmed', check}
}
