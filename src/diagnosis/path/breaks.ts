import {field, record} from '../../model/fields.ts'
import {hasPassthrough} from '../../platforms/receivers/config-map-reader.ts'
import {records} from '../../platforms/workloads.ts'
import {isSending, type WayFacts} from './facts.ts'
import {afterSwitch} from './after.ts'
import {judgeHairpin} from './hairpin.ts'
import {namesOfWay} from './names.ts'

/** What a switch to PROXY, or away from it, would break beside the verdicts of this way in. One sentence each, worst first. */
export function breakages(facts: WayFacts, direction: 'enable' | 'disable'): string[] {
  return direction === 'enable' ? enabling(facts) : disabling(facts)
}

function enabling(facts: WayFacts): string[] {
  const {row} = facts.balancer
  const {state} = facts
  const title = row?.title ?? 'what stands in front'
  const broken: string[] = []
  if (row !== undefined && row.proxy.value.length === 0 && row.proxy.grade !== 'unconfirmed')
    broken.push(`${title} never sends PROXY: a receiver that insists on it refuses everybody`)
  if (row?.proxy.check !== undefined) broken.push(`whether ${title} can send is not confirmed: ${row.proxy.check}`)
  broken.push(...otherPorts(facts))
  if (state?.tcpService !== undefined && !state.tcpService.decodes)
    broken.push(`tcp-services ${facts.port}: ${tcpName(facts)} does not decode PROXY; it needs ${tcpName(facts)}:PROXY`)
  if (row?.healthChecks !== undefined) broken.push(`health checks: ${row.healthChecks.value}`)
  if (facts.receiver.row?.id === 'ingress-nginx' && hasPassthrough(facts.receiver.runners))
    broken.push('TLS passthrough: backends behind it get no header, and 127.0.0.1 has to be in proxy-real-ip-cidr')
  if (state?.trust.kind === 'anyone' && facts.receiver.row !== undefined && state.tcpService === undefined)
    broken.push(`${facts.receiver.row.title} has no list of senders: whoever reaches the port could claim any address`)
  return [...broken, ...callers(facts)]
}

function disabling(facts: WayFacts): string[] {
  const names = namesOfWay(facts).filter(({name}) => facts.cluster.dns.leadsTo(name) !== undefined)
  return names.length === 0
    ? []
    : [
        `cluster DNS leads ${list(names.map(({name}) => name))} to a proxy that adds a header: take it out together with the receiver's switch`,
      ]
}

/** Ports of the same balancer whose switch is one for all. */
function otherPorts(facts: WayFacts): string[] {
  const one = facts.balancer.row?.proxy.value[0]
  if (one === undefined || one.kind === 'ports' || one.kind === 'port-json') return []
  const ports = records(field(record(facts.service['spec']), 'ports'))
    .filter((entry) => (field(entry, 'protocol') ?? 'TCP') === 'TCP')
    .flatMap((entry) =>
      typeof field(entry, 'port') === 'number' && field(entry, 'port') !== facts.port
        ? [String(field(entry, 'port'))]
        : [],
    )
  const plain = ports.filter((port) => port !== '80' && port !== '443')
  return plain.length === 0
    ? []
    : [
        `the switch of ${facts.balancer.row?.title ?? 'the balancer'} is one for the whole Service: ${plain.length === 1 ? 'port' : 'ports'} ${list(plain)} get the header too`,
      ]
}

/** Who calls in from inside, where the hairpin breaks. */
function callers(facts: WayFacts): string[] {
  const after = judgeHairpin(
    isSending(facts.sender) && facts.state?.asks === 'yes' ? facts : afterSwitch(facts, 'enable'),
  )
  if (after.verdict !== 'broken' && after.verdict !== 'half-broken') return []
  const names = namesOfWay(facts).map(({name}) => name)
  if (names.length === 0) return ['pods that call this address are refused, unless the hairpin is fixed first']
  const {index} = facts.cluster
  const calls = index.list('Ingress', 'networking.k8s.io').flatMap((ingress) => {
    const host = /^https?:\/\/([^/:?#$]+)/.exec(
      ingress.metadata.annotations?.['nginx.ingress.kubernetes.io/auth-url'] ?? '',
    )?.[1]
    return host !== undefined && names.includes(host)
      ? [
          `Ingress ${ingress.metadata.namespace ?? 'default'}/${ingress.metadata.name} calls https://${host} from inside the cluster: fix the hairpin first`,
        ]
      : []
  })
  return [`pods that call ${list(names)} are refused, unless the hairpin is fixed first`, ...calls, ...dns01(facts)]
}

function dns01({cluster}: WayFacts): string[] {
  const issuers = [...cluster.index.list('ClusterIssuer'), ...cluster.index.list('Issuer')].filter((issuer) =>
    records(field(record(field(record(issuer['spec']), 'acme')), 'solvers')).some(
      (solver) => field(solver, 'dns01') !== undefined,
    ),
  )
  const [first] = issuers
  return first === undefined
    ? []
    : [
        `${first.kind} ${first.metadata.name} uses DNS-01: a rewrite of its hosts leads it to the wrong zone (--dns01-recursive-nameservers-only)`,
      ]
}

function tcpName({state}: WayFacts): string {
  const tcp = state?.tcpService
  return tcp === undefined ? '' : `${tcp.namespace}/${tcp.service}:${tcp.port}`
}

function list(names: readonly string[]): string {
  return names.length > 3 ? `${names.slice(0, 3).join(', ')} and ${names.length - 3} more` : names.join(', ')
}
