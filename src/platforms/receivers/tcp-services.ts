import {configOf} from './config-map-reader.ts'
import type {Found, ReceiverQuestion} from './state.ts'

/** One line of ingress-nginx' tcp-services ConfigMap: `NAMESPACE/SERVICE:PORT[:PROXY][:PROXY]`, first decode, second encode. */
export interface TcpService {
  readonly namespace: string
  readonly service: string
  readonly port: string
  readonly decodes: boolean
  readonly encodes: boolean
}

/** Reads a value of the ConfigMap; undefined if it is none. Source: ingress-nginx docs/user-guide/exposing-tcp-udp-services.md. */
export function parseTcpService(value: string): TcpService | undefined {
  const [target = '', port = '', decode = '', encode = ''] = value.split(':')
  const slash = target.indexOf('/')
  if (slash < 0 || port === '') return undefined
  return {
    namespace: target.slice(0, slash),
    service: target.slice(slash + 1),
    port,
    decodes: decode.toUpperCase() === 'PROXY',
    encodes: encode.toUpperCase() === 'PROXY',
  }
}

/** A port of ingress-nginx that is a TCP service; undefined when it is one of its own. */
export function readTcpService(question: ReceiverQuestion): Found | undefined {
  if (question.row.id !== 'ingress-nginx') return undefined
  const tcp = configOf(question, ['--tcp-services-configmap'])
  const fallback = tcp ?? (question.runners.length === 0 ? guessed(question) : undefined)
  if (fallback === undefined) return undefined
  const key = [question.targetPort, question.port].map(String).find((one) => fallback.data[one] !== undefined)
  const value = key === undefined ? undefined : fallback.data[key]
  const service = value === undefined ? undefined : parseTcpService(value)
  if (key === undefined || value === undefined || service === undefined) return undefined
  const main = configOf(question, ['--configmap'])
  const realIp = main?.data['enable-real-ip'] === 'true'
  const list = main?.data['proxy-real-ip-cidr']
  return {
    asks: service.decodes ? 'yes' : 'no',
    seen: [{object: `configmap/${fallback.namespace}/${fallback.name}`, field: `data["${key}"]`, value}],
    // in stream blocks the list counts only with enable-real-ip (platforms.md 2.1)
    trust:
      realIp && list !== undefined
        ? {kind: 'ranges', ranges: list.split(/[\s,]+/).filter(Boolean), byDefault: false, key: 'proxy-real-ip-cidr'}
        : {kind: 'nobody', key: 'proxy-real-ip-cidr, which counts for TCP only with enable-real-ip,'},
    tcpService: service,
    notes: [
      service.encodes
        ? `passes PROXY on: ${service.namespace}/${service.service}:${service.port} must read it`
        : `a TCP service: ${service.namespace}/${service.service}:${service.port} sees the address of the controller, not of the client`,
    ],
  }
}

/** Without the process in sight: the ConfigMap that the chart calls so, in the same namespace. */
function guessed(question: ReceiverQuestion) {
  const namespace = question.service.metadata.namespace ?? 'default'
  const object = question.index
    .list('ConfigMap', '')
    .find((map) => map.metadata.namespace === namespace && /^(?:.*-)?tcp(?:-services)?$/.test(map.metadata.name))
  if (object === undefined) return undefined
  return {namespace, name: object.metadata.name, data: (object['data'] ?? {}) as Readonly<Record<string, string>>}
}
