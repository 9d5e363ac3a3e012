import {simulate, type LiveService, type World} from '../../../plugins/coredns/src/index.ts'
import type {CorednsQuery, PodAnswer} from '../../model/coredns-view.ts'
import {SrcipError} from '../../model/errors.ts'
import type {DnsPod} from '../../platforms/dns/locate.ts'
import type {ServiceView} from '../../platforms/dns/objects.ts'
import type {QuestionType} from '../dns/message.ts'
import type {PodAccess} from '../pod-access.ts'
import type {DnsState} from '../types.ts'
import {parseState} from './parsed-state.ts'

export type SimulatedAnswer = CorednsQuery['simulated']

/**
 * What a name meets in the Corefile, rule by rule, and what comes back as far as it can be known: Services that were read are
 * answered, anything beyond (upstream servers, other Services) is said to be unknown. Pure.
 */
export function simulateQuery(state: DnsState, name: string, type: QuestionType): SimulatedAnswer {
  const parsed = parseState(state)
  const listener = state.location === undefined ? {} : {listener: {port: String(state.location.dnsPort)}}
  const query = {name, type, ...listener}
  const blind = simulate(parsed, query)
  // only Services that were read may be answered: for any other, "not among these" is no NXDOMAIN
  const world = worldOf(state, blind?.seen?.name ?? '')
  const seen = world === undefined ? blind : simulate(parsed, query, world)
  if (seen === undefined)
    throw new SrcipError('Precondition', 'CoreDNS would not load this Corefile', {
      hints: ['kubectl srcip coredns lint tells what is wrong'],
    })
  const block = seen.block === null ? undefined : parsed.blocks[seen.block]
  return {
    ...(block === undefined ? {} : {block: {keys: block.keys, line: block.keyTokens[0]?.line ?? 0}}),
    rules: seen.rules.map(({rule, outcome}) => ({
      line: rule.line,
      file: rule.file,
      text: rule.text,
      outcome,
    })),
    ...(seen.seen === null || seen.seen.name === seen.question.name ? {} : {seen: seen.seen.name}),
    ...(seen.claimedBy === undefined
      ? {}
      : {answeredBy: {plugin: seen.claimedBy.plugin, line: seen.claimedBy.line, why: seen.claimedBy.why}}),
    ...(seen.reply === undefined ? {} : {rcode: seen.reply.rcode}),
    answers: (seen.reply?.answer ?? []).map((record) =>
      [record.name, record.ttl, record.type, record.target, record.data]
        .filter((part) => part !== undefined && part !== '')
        .join(' '),
    ),
    ...(seen.unknown === undefined ? {} : {unknown: seen.unknown}),
    notes: [
      ...seen.notes,
      ...(seen.endless === undefined ? [] : [`endless look-up: ${seen.endless.join(' -> ')}`]),
      ...seen.alternatives.map((other) => `otherwise: ${other.when}`),
    ],
  }
}

/** The Service that a name stands for as a cluster of one, if it was read. */
function worldOf(state: DnsState, name: string): World | undefined {
  const [service, namespace, svc] = name.toLowerCase().split('.')
  const found = svc === 'svc' ? state.services?.get(`${namespace}/${service}`) : undefined
  return found === undefined ? undefined : {cluster: {namespaces: [namespace ?? ''], services: [liveService(found)]}}
}

function liveService(service: ServiceView): LiveService {
  const {namespace = 'default', name} = service.metadata
  const types = ['ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName'] as const
  return {
    namespace,
    name,
    type: types.find((type) => type === service.type) ?? 'ClusterIP',
    clusterIPs: service.clusterIPs,
    ...(service.externalName === undefined ? {} : {externalName: service.externalName}),
    ports: service.ports.map(({name: port, ...rest}) => ({
      ...(port === undefined ? {} : {name: port}),
      port: rest.port,
      protocol: rest.protocol,
    })),
  }
}

/** Asks every pod for real; a pod that gives no answer says why. */
export async function askPods(
  access: PodAccess,
  pods: readonly DnsPod[],
  name: string,
  type: QuestionType,
  signal?: AbortSignal,
): Promise<PodAnswer[]> {
  return await Promise.all(
    pods.map(async (pod): Promise<PodAnswer> => {
      const id = `${pod.namespace}/${pod.name}`
      try {
        const connection = await access.dns(pod, signal)
        try {
          const reply = await connection.ask(name, type, signal)
          return {
            pod: id,
            rcode: reply.rcode,
            answers: reply.answers.map((record) => `${record.name} ${record.ttl} ${record.type} ${record.data}`),
          }
        } finally {
          connection.close()
        }
      } catch (error) {
        signal?.throwIfAborted()
        return {pod: id, answers: [], error: error instanceof Error ? error.message : String(error)}
      }
    }),
  )
}
