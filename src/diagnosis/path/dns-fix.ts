import type {WayFacts} from './facts.ts'
import {namesOfWay} from './names.ts'
import {because, judge, type Ground, type Judgement} from './verdict.ts'

/** Names of this way in that cluster DNS leads to a Service that adds the header. */
export function fixedByDns(facts: WayFacts): Judgement | undefined {
  const {dns} = facts.cluster
  const own = namesOfWay(facts)
  if (own.length === 0 || facts.state === undefined) return undefined
  const rewritten = own.filter((entry) => dns.leadsTo(entry.name) !== undefined)
  if (rewritten.length === 0) return undefined
  const ground: Ground = {grade: 'source', source: 'https://coredns.io/plugins/rewrite/'}
  const {nodeLocal, bypassed} = dns
  if (nodeLocal !== undefined && bypassed && facts.state.asks === 'yes') {
    return because(
      'dns-fix-partial',
      judge(
        'broken',
        'receiver',
        `names are rewritten in CoreDNS, and ${nodeLocal.daemonSet} answers pods without asking it`,
        [ground],
      ),
    )
  }
  const dead = rewritten.filter((entry) => !isProxy(facts, dns.leadsTo(entry.name)))
  if (dead.length > 0) {
    const target = dns.leadsTo(dead[0]?.name ?? '') ?? ''
    const gone = isGone(facts, target)
    if (!gone && !isSeen(facts, target))
      return judge(
        'depends',
        'unknown',
        `cluster DNS leads pods to ${target}, and whether a pod stands ready behind it could not be read`,
        [ground],
        'the same with the right to list services and pods there',
      )
    return because(
      gone ? 'dns-dangling' : 'dns-fix-partial',
      judge(
        dead.length === own.length ? 'broken' : 'half-broken',
        'receiver',
        `cluster DNS leads pods to ${target}, ${gone ? 'which does not exist' : 'which has no ready pod'}`,
        [ground],
      ),
    )
  }
  if (facts.state.asks === 'no') {
    return because(
      'injector-without-receiver',
      judge(
        'broken',
        'receiver',
        'cluster DNS leads pods to a proxy that adds a PROXY header, which the receiver takes for a request',
        [{...ground, grade: 'inferred'}],
      ),
    )
  }
  if (rewritten.length === own.length)
    return judge('fine', 'none', 'cluster DNS leads pods to a proxy that adds the header', [
      {...ground, grade: 'inferred'},
    ])
  const missing = own.filter((entry) => !rewritten.includes(entry)).map((entry) => entry.name)
  return because(
    'dns-fix-partial',
    judge(
      'half-broken',
      'receiver',
      `cluster DNS leads pods to a proxy for some names only, not for ${missing.slice(0, 3).join(', ')}`,
      [ground],
    ),
  )
}

/** Services were read, and this one is not among them. */
function isGone(facts: WayFacts, target: string): boolean {
  const [namespace, name = ''] = target.split('/')
  const {index} = facts.cluster
  return (
    index.get('Service', namespace, name, '') === undefined &&
    ['complete', 'absent'].includes(index.state('Service', namespace, name, ''))
  )
}

/** The Service was read, and what is not among the pods of its namespace is not there. */
function isSeen({cluster: {index}}: WayFacts, target: string): boolean {
  const [namespace, name = ''] = target.split('/')
  return (
    index.get('Service', namespace, name, '') !== undefined &&
    ['complete', 'absent'].includes(index.state('Pod', namespace, undefined, ''))
  )
}

/** Is a Service one that adds a header, and is somebody behind it? */
function isProxy(facts: WayFacts, target: string | undefined): boolean {
  if (target === undefined) return false
  const [namespace, name] = target.split('/') as [string, string]
  const {index, runners} = facts.cluster
  const service = index.get('Service', namespace, name, '')
  if (service === undefined) return false
  const selector = (service['spec'] as {selector?: Record<string, string>} | undefined)?.selector
  if (selector === undefined) return true
  const behind = [...runners.pods, ...runners.workloads].filter((one) => one.namespace === namespace)
  return behind.some((one) => Object.entries(selector).every(([key, value]) => one.labels[key] === value) && one.ready)
}
