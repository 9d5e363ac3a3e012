import {field, record, text} from '../../model/fields.ts'
import {statusAddresses} from '../../platforms/receivers/recognise.ts'
import {receiverRows} from '../../platforms/receivers/index.ts'
import {flagOf, records, wordsOf} from '../../platforms/workloads.ts'
import type {ClusterView} from '../cluster-view.ts'
import type {PublicName} from '../public-names.ts'
import type {WayFacts} from './facts.ts'

/** Names that lead through this way in: those of Ingresses and routes that its receiver serves, on ports that they use. */
export function namesOfWay(facts: WayFacts): readonly PublicName[] {
  const known = answers.get(facts.cluster) ?? new Map<string, readonly PublicName[]>()
  answers.set(facts.cluster, known)
  const {namespace = '', name} = facts.service.metadata
  const key = `${namespace}/${name}:${facts.port}/${facts.protocol}`
  const names = known.get(key) ?? readNames(facts)
  known.set(key, names)
  return names
}

/** Many ask, and a cluster has thousands of names: the answer is the same for all states of a way in. */
const answers = new WeakMap<ClusterView, Map<string, readonly PublicName[]>>()

function readNames(facts: WayFacts): readonly PublicName[] {
  const {row} = facts.receiver
  if (row === undefined || facts.protocol !== 'TCP') return []
  if (!isWebPort(facts)) return []
  return facts.cluster.names.filter((name) => name.sources.some((source) => serves(facts, source)))
}

function isWebPort(facts: WayFacts): boolean {
  return facts.port === 80 || facts.port === 443 || /^(?:http|https|web|websecure)$/.test(facts.portName)
}

function serves(facts: WayFacts, source: string): boolean {
  const [kind, namespace, name] = source.split('/')
  if (name === undefined || namespace === undefined) return false
  if (kind === 'ingress') return servesIngress(facts, namespace, name)
  const {gateway} = facts.receiver
  if (gateway === undefined) return false
  const kinds = ['HTTPRoute', 'GRPCRoute', 'TLSRoute'] as const
  return kinds.some((one) => {
    const route = one.toLowerCase() === kind ? facts.cluster.index.get(one, namespace, name) : undefined
    return records(field(record(route?.['spec']), 'parentRefs')).some(
      (ref) =>
        text(field(ref, 'name')) === gateway.name && (text(field(ref, 'namespace')) ?? namespace) === gateway.namespace,
    )
  })
}

/** By the address in the Ingress' status where there is one, else by the controller of its class. */
function servesIngress(facts: WayFacts, namespace: string, name: string): boolean {
  const {index} = facts.cluster
  const ingress = index.get('Ingress', namespace, name, 'networking.k8s.io')
  if (ingress === undefined || facts.receiver.gateway !== undefined) return false
  const addresses = new Set(statusAddresses(facts.service))
  const given = statusAddresses(ingress)
  if (given.length > 0 && addresses.size > 0) return given.some((address) => addresses.has(address))
  const className =
    ingress.metadata.annotations?.['kubernetes.io/ingress.class'] ??
    text(field(record(ingress['spec']), 'ingressClassName')) ??
    defaultClass(facts)
  const object = className === undefined ? undefined : index.get('IngressClass', undefined, className)
  const controller = text(field(record(object?.['spec']), 'controller'))
  if (controller === undefined) return true
  const own = controllerClasses(facts)
  if (own.length > 0) return own.includes(controller)
  const ids = receiverRows
    .filter(({match}) => match.ingressControllers.some((start) => controller.startsWith(start)))
    .map(({id}) => id)
  return ids.length === 0 || ids.includes(facts.receiver.row?.id ?? '')
}

/** Which `spec.controller` the pods of an ingress-nginx serve; several of them in one cluster differ in nothing else. */
function controllerClasses({receiver}: WayFacts): string[] {
  if (receiver.row?.id !== 'ingress-nginx') return []
  return receiver.runners.flatMap((runner) =>
    runner.spec.containers.flatMap((container) => {
      const words = wordsOf(runner, container)
      const isController = words.some((word) => word.endsWith('nginx-ingress-controller'))
      return isController ? (flagOf(words, 'controller-class') ?? 'k8s.io/ingress-nginx') : []
    }),
  )
}

function defaultClass(facts: WayFacts): string | undefined {
  return facts.cluster.index
    .list('IngressClass')
    .find((one) => one.metadata.annotations?.['ingressclass.kubernetes.io/is-default-class'] === 'true')?.metadata.name
}
