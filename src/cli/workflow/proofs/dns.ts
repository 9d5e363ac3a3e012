import {loadDnsState} from '../../../cluster-dns/state.ts'
import {askPods} from '../../../cluster-dns/view/query.ts'
import type {DnsProof} from '../../../model/proofs.ts'
import type {ProofAnswer} from '../../../workflows/engine/ports.ts'
import {accessOf} from '../../coredns/ports.ts'
import type {ProofContext} from './index.ts'

/**
 * Asks every counting CoreDNS pod for every host. `proxy`: all answer with the ClusterIP of the proxy Service. `other`: none does; a
 * name that does not exist outside is as good as one that does.
 */
export async function readDns(
  {client, dns, signal}: ProofContext,
  {hosts, answer, title}: DnsProof,
): Promise<ProofAnswer> {
  const targets = [...new Set(hosts.map(({target}) => target))]
  const state = await loadDnsState(client, {service: dns.dnsService, targets, signal})
  const {location} = state
  const pods = location?.pods.filter(({counting}) => counting) ?? []
  if (location === undefined || pods.length === 0)
    return {holds: 'unknown', evidence: [`${title}: no CoreDNS pod is ready, nobody can be asked`]}
  const access = accessOf({client, via: dns.via}, state, location)
  const wrong: string[] = []
  const silent: string[] = []
  for (const {name, target} of hosts) {
    const own = state.services?.get(target)?.clusterIPs ?? []
    if (answer === 'proxy' && own.length === 0) wrong.push(`service/${target} has no ClusterIP`)
    for (const {pod, answers, error} of await askPods(access, pods, name, 'A', signal)) {
      if (error !== undefined) silent.push(`pod/${pod} gives no answer for ${name}: ${error}`)
      const given = answers.flatMap((line) => / A (\S+)$/.exec(line)?.[1] ?? [])
      const isOwn = given.length > 0 && given.every((address) => own.includes(address))
      const hasOwn = given.some((address) => own.includes(address))
      if (error === undefined && (answer === 'proxy' ? !isOwn : hasOwn))
        wrong.push(`pod/${pod} answers ${name} with ${given.join(', ') || 'no address'}`)
    }
  }
  if (wrong.length > 0) return {holds: 'no', evidence: wrong}
  if (silent.length > 0) return {holds: 'unknown', evidence: silent}
  const what = answer === 'proxy' ? 'the proxy' : 'other addresses than the proxy'
  return {holds: 'yes', evidence: [`${pods.length} CoreDNS pods answer ${hosts.length} names with ${what}`]}
}
