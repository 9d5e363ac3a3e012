import {field, list, record, text} from '../../model/fields.ts'
import {isUnread} from '../../model/snapshot.ts'
import type {KubeObject} from '../../model/kubernetes.ts'
import {isFlagOn, records, wordsOf} from '../workloads.ts'
import {unknownProcess} from './process-readers.ts'
import type {ReceiverSetting} from './row.ts'
import {trustFrom, type Found, type ReceiverQuestion, type Seen} from './state.ts'

/** Receivers that are switched by an object of their own. */
export function readResource(
  question: ReceiverQuestion,
  resource: Extract<ReceiverSetting, {kind: 'resource'}>['resource'],
): Found {
  switch (resource) {
    case 'NginxProxy':
      return readNginxProxy(question)
    case 'ClientTrafficPolicy':
      return readClientTrafficPolicy(question)
    case 'ContourConfiguration':
      return readContour(question)
    case 'Listener':
      return readEmissary(question)
    case 'IngressController':
      return readOpenShift(question)
  }
}

/** Was the kind read as far as an absence can be believed? */
function isKnown(question: ReceiverQuestion, kind: string): boolean {
  return ['complete', 'absent'].includes(question.index.state(kind))
}

function seen(object: KubeObject, where: string, value: unknown): Seen {
  const {kind = '', metadata} = object
  const name = metadata.namespace === undefined ? metadata.name : `${metadata.namespace}/${metadata.name}`
  return {
    object: `${kind.toLowerCase()}/${name}`,
    field: where,
    value: typeof value === 'string' ? value : JSON.stringify(value ?? null),
  }
}

/** NGINX Gateway Fabric: the NginxProxy that the Gateway, else its class, refers to. */
function readNginxProxy(question: ReceiverQuestion): Found {
  const {gateway} = question.receiver
  const own = record(field(record(field(record(gateway?.object?.['spec']), 'infrastructure')), 'parametersRef'))
  const shared = record(field(record(gateway?.classObject?.['spec']), 'parametersRef'))
  for (const ref of [own, shared]) {
    const name = text(field(ref, 'name'))
    if (name === undefined) continue
    const namespace = text(field(ref, 'namespace')) ?? gateway?.namespace ?? 'default'
    const object = question.index.get('NginxProxy', namespace, name)
    if (object === undefined) return unknownProcess(question, `kubectl -n ${namespace} get nginxproxy ${name} -o yaml`)
    const rewrite = record(field(record(object['spec']), 'rewriteClientIP'))
    const mode = text(field(rewrite, 'mode'))
    if (mode === undefined) continue
    const trusted = records(field(rewrite, 'trustedAddresses')).flatMap((entry) => text(field(entry, 'value')) ?? [])
    return {
      asks: mode === 'ProxyProtocol' ? 'yes' : 'no',
      seen: [seen(object, 'spec.rewriteClientIP', {mode, trustedAddresses: trusted})],
      trust: trustFrom(question.row.trust.value, trusted.length === 0 ? undefined : trusted.join(',')),
    }
  }
  if (gateway?.object === undefined) return unknownProcess(question, 'kubectl get nginxproxy -A -o yaml')
  return {
    asks: 'no',
    seen: [seen(gateway.object, 'spec.infrastructure.parametersRef', '(no NginxProxy with rewriteClientIP)')],
  }
}

/** Envoy Gateway: policies that target the Gateway of this Service; one for a section counts for its port alone. */
function readClientTrafficPolicy(question: ReceiverQuestion): Found {
  const {gateway} = question.receiver
  if (gateway === undefined) return unknownProcess(question, 'kubectl get clienttrafficpolicy -A -o yaml')
  const listeners = records(field(record(gateway.object?.['spec']), 'listeners'))
  const section = text(field(listeners.find((one) => field(one, 'port') === question.port) ?? {}, 'name'))
  const fitting = question.index.list('ClientTrafficPolicy').flatMap((policy) => {
    const spec = record(policy['spec'])
    if (policy.metadata.namespace !== gateway.namespace) return []
    const refs = [...list(field(spec, 'targetRefs')), field(spec, 'targetRef')].map(record)
    const ref = refs.find((one) => text(field(one, 'name')) === gateway.name && text(field(one, 'kind')) === 'Gateway')
    const wanted = text(field(ref ?? {}, 'sectionName'))
    return ref === undefined || (wanted !== undefined && wanted !== section)
      ? []
      : [{policy, spec, narrow: wanted !== undefined}]
  })
  // a policy of the section wins over that of the whole Gateway
  const chosen = fitting.find(({narrow}) => narrow) ?? fitting[0]
  if (chosen === undefined) {
    if (!isKnown(question, 'ClientTrafficPolicy'))
      return unknownProcess(question, 'kubectl get clienttrafficpolicy -A -o yaml')
    return {
      asks: 'no',
      seen: [
        {
          object: `gateway/${gateway.namespace}/${gateway.name}`,
          field: 'ClientTrafficPolicy',
          value: '(none targets it)',
        },
      ],
    }
  }
  const {policy, spec} = chosen
  if (isRefused(policy)) return {asks: 'no', seen: [seen(policy, 'status.ancestors[].conditions', 'Accepted is False')]}
  const protocol = field(spec, 'proxyProtocol')
  if (typeof protocol === 'object' && protocol !== null) {
    const optional = field(record(protocol), 'optional') === true
    return {
      asks: 'yes',
      seen: [seen(policy, 'spec.proxyProtocol', protocol)],
      ...(optional ? {withoutHeader: 'tolerated' as const} : {}),
    }
  }
  const old = field(spec, 'enableProxyProtocol')
  return {asks: old === true ? 'yes' : 'no', seen: [seen(policy, 'spec.enableProxyProtocol', old ?? '(not set)')]}
}

function isRefused(policy: KubeObject): boolean {
  const ancestors = records(field(record(policy['status']), 'ancestors'))
  return (
    ancestors.length > 0 &&
    ancestors.every((one) =>
      records(field(one, 'conditions')).some(
        (condition) => field(condition, 'type') === 'Accepted' && field(condition, 'status') === 'False',
      ),
    )
  )
}

/** Contour: the configuration objects, or the flag of `contour serve`, which runs in other pods than Envoy. */
function readContour(question: ReceiverQuestion): Found {
  for (const object of [...question.index.list('ContourConfiguration'), ...question.index.list('ContourDeployment')]) {
    const spec = record(object['spec'])
    const settings = object.kind === 'ContourDeployment' ? record(field(spec, 'runtimeSettings')) : spec
    const value = field(record(field(record(field(settings, 'envoy')), 'listener')), 'useProxyProtocol')
    if (value === true) return {asks: 'yes', seen: [seen(object, 'spec.envoy.listener.useProxyProtocol', 'true')]}
  }
  const serve = question.neighbours.filter((runner) =>
    runner.spec.containers.some((container) => wordsOf(runner, container).includes('serve')),
  )
  const [first] = serve
  if (first !== undefined) {
    const on = serve.find((runner) =>
      runner.spec.containers.some((one) => isFlagOn(wordsOf(runner, one), 'use-proxy-protocol')),
    )
    if (on !== undefined)
      return {asks: 'yes', seen: [{object: on.object, field: 'spec.containers[].args', value: '--use-proxy-protocol'}]}
    if (['ContourConfiguration', 'ContourDeployment'].some((kind) => isUnread(question.index.state(kind))))
      return unknownProcess(question, 'kubectl get contourconfigurations,contourdeployments -A -o yaml')
    return {
      asks: 'no',
      seen: [{object: first.object, field: 'spec.containers[].args', value: 'no --use-proxy-protocol'}],
    }
  }
  if (question.index.list('ContourConfiguration').length > 0)
    return {
      asks: 'no',
      seen: [
        seen(question.index.list('ContourConfiguration')[0]!, 'spec.envoy.listener.useProxyProtocol', '(not set)'),
      ],
    }
  return unknownProcess(question, 'look for --use-proxy-protocol in the arguments of contour serve')
}

/** Emissary: the Listener of the target port. */
function readEmissary(question: ReceiverQuestion): Found {
  const listeners = question.index.list('Listener')
  const own = listeners.filter((one) => field(record(one['spec']), 'port') === question.targetPort)
  if (own.length === 0) {
    if (!isKnown(question, 'Listener'))
      return unknownProcess(question, 'kubectl get listeners.getambassador.io -A -o yaml')
    return {
      asks: 'no',
      seen: [
        {
          object: `service/${question.service.metadata.namespace}/${question.service.metadata.name}`,
          field: 'Listener',
          value: `(none on port ${question.targetPort ?? '?'})`,
        },
      ],
    }
  }
  for (const object of own) {
    const spec = record(object['spec'])
    const protocol = text(field(spec, 'protocol')) ?? ''
    const stack = list(field(spec, 'protocolStack'))
    const order = stack.length > 0 ? stack : protocol === 'HTTPSPROXY' ? ['TLS', 'PROXY', 'HTTP', 'TCP'] : []
    // a balancer writes its header before TLS; whether the listener looks for it there is all that decides
    if (order.includes('TLS') && order.indexOf('TLS') < order.indexOf('PROXY'))
      return {
        asks: 'unknown',
        seen: [
          seen(object, stack.length > 0 ? 'spec.protocolStack' : 'spec.protocol', stack.length > 0 ? stack : protocol),
        ],
        check: 'a fresh TLS connection from outside, and one from a pod',
      }
    if (['HTTPPROXY', 'HTTPSPROXY'].includes(protocol) || stack.includes('PROXY'))
      return {
        asks: 'yes',
        seen: [
          seen(object, protocol === '' ? 'spec.protocolStack' : 'spec.protocol', protocol === '' ? stack : protocol),
        ],
      }
  }
  return {asks: 'no', seen: [seen(own[0]!, 'spec.protocol', field(record(own[0]!['spec']), 'protocol'))]}
}

/** OpenShift: the IngressController of the router. */
function readOpenShift(question: ReceiverQuestion): Found {
  const name = /^router-(?:internal-|nodeport-)?(.+)$/.exec(question.service.metadata.name)?.[1] ?? 'default'
  const object =
    question.index.list('IngressController').find((one) => one.metadata.name === name) ??
    question.index.list('IngressController')[0]
  if (object === undefined)
    return unknownProcess(question, 'kubectl -n openshift-ingress-operator get ingresscontroller -o yaml')
  const strategy = record(field(record(object['spec']), 'endpointPublishingStrategy'))
  const direct = ['hostNetwork', 'nodePort', 'private'].map((key) => field(record(field(strategy, key)), 'protocol'))
  const provider = record(field(record(field(strategy, 'loadBalancer')), 'providerParameters'))
  const cloud = [
    field(record(field(record(field(provider, 'aws')), 'networkLoadBalancer')), 'protocol'),
    field(record(field(provider, 'ibm')), 'protocol'),
  ]
  const value = [...direct, ...cloud].find((one) => typeof one === 'string')
  const classic = text(field(record(field(provider, 'aws')), 'type')) === 'Classic'
  const on = value === 'PROXY' || classic
  return {
    asks: on ? 'yes' : 'no',
    seen: [seen(object, 'spec.endpointPublishingStrategy', value ?? (classic ? 'Classic: PROXY' : 'TCP'))],
  }
}
