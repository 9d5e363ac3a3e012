import type {HostRefusal, HostRefusalCode, WantedHost} from '../types.ts'

/** Everything a host is judged by before any server block is looked at. */
export interface HostRules {
  /** Lower case, final dot. */
  readonly clusterZones: readonly string[]
  readonly wildcards: boolean
  /** Whether CoreDNS knows `answer auto` (>= 1.8.4). */
  readonly wildcardsSupported: boolean
}

export interface SortedHosts {
  /** Names without, targets with final dot; no name and kind twice. */
  readonly accepted: readonly WantedHost[]
  readonly refused: readonly HostRefusal[]
}

const serviceName = /(?:^|\.)svc\.[^.]+/

/** A refusal with the fields of the host filled in. */
export function refuseHost(
  host: WantedHost,
  code: HostRefusalCode,
  reason: string,
  remedy: string,
  at: {file?: string; line?: number} = {},
): HostRefusal {
  const {name, kind, target} = host
  const {file, line} = at
  return {
    name,
    kind,
    target,
    code,
    reason,
    remedy,
    ...(file !== undefined && {file}),
    ...(line !== undefined && {line}),
  }
}

/** Puts the wanted names into normal form, drops repetitions, and refuses what no rule should ever be written for. */
export function sortHosts(hosts: readonly WantedHost[], rules: HostRules): SortedHosts {
  const accepted = new Map<string, WantedHost>()
  const refused: HostRefusal[] = []
  for (const given of hosts) {
    const host = normalise(given)
    const refusal = judge(host, rules)
    const key = `${host.kind} ${host.name}`
    const other = accepted.get(key)
    if (refusal) refused.push(refusal)
    else if (!other) accepted.set(key, host)
    else if (other.target !== host.target) {
      const reason = `${host.name} is wanted for ${other.target} and for ${host.target}`
      refused.push(refuseHost(host, 'DuplicateName', reason, 'name one target for this host'))
    }
  }
  return {accepted: [...accepted.values()], refused}
}

function normalise({name, kind, target}: WantedHost): WantedHost {
  const dotless = (text: string): string => (text.endsWith('.') ? text.slice(0, -1) : text).toLowerCase()
  return {name: dotless(name), kind, target: `${dotless(target)}.`}
}

function judge(host: WantedHost, rules: HostRules): HostRefusal | undefined {
  const {name, kind, target} = host
  const wild = kind !== 'exact'
  const base = wild ? name.slice(2) : name
  if (wild !== name.startsWith('*.') || !isHostName(base)) {
    const remedy = /[^\x20-\x7e]/.test(name) ? 'give the name in its A-label form (xn--…)' : 'correct the name'
    return refuseHost(host, 'InvalidName', `${JSON.stringify(name)} is not a host name that a rule can match`, remedy)
  }
  if (!isHostName(target.slice(0, -1)) || !target.slice(0, -1).includes('.')) {
    const remedy = 'give the full name of a Service: NAME.NAMESPACE.svc.ZONE'
    return refuseHost(host, 'TargetInvalid', `target ${JSON.stringify(target)} is not a full domain name`, remedy)
  }
  if (`${base}.` === target) {
    return refuseHost(host, 'TargetIsHost', `${name} is the target itself`, 'leave this name out')
  }
  if (isBelow('in-addr.arpa.', `${base}.`) || isBelow('ip6.arpa.', `${base}.`)) {
    return refuseHost(host, 'InReverseZone', `${name} lies in a reverse zone`, 'leave this name out')
  }
  const zone = rules.clusterZones.find((one) => isBelow(one, `${base}.`) || (wild && isBelow(`${base}.`, one)))
  if (zone) {
    const reason = `${name} ${isBelow(zone, `${base}.`) ? 'lies in' : 'would cover'} the cluster zone ${zone}`
    return refuseHost(host, 'InClusterZone', reason, 'leave this name out: Services answer there')
  }
  if (serviceName.test(base)) {
    return refuseHost(host, 'InClusterZone', `${name} looks like a Service of a cluster zone`, 'leave this name out')
  }
  if (!wild) return undefined
  if (!rules.wildcards) {
    return refuseHost(host, 'WildcardsOff', `${name} is a wildcard`, 'repeat with --wildcards to cover it')
  }
  if (rules.wildcardsSupported) return undefined
  const reason = `${name} is a wildcard, and this CoreDNS does not know "answer auto" (1.8.4 or newer does)`
  return refuseHost(host, 'WildcardUnsupported', reason, 'upgrade CoreDNS, or list the names one by one')
}

/** Whether a name is a zone or below it; both lower case, without escapes, with final dot. */
function isBelow(zone: string, name: string): boolean {
  return name === zone || (name.endsWith(zone) && name.charCodeAt(name.length - zone.length - 1) === dot)
}

/** Letters, digits, hyphens and underscores in labels of 1 to 63, 253 in all (RFC 1123, with `_` as it occurs). Lower case. */
export function isHostName(name: string): boolean {
  if (name.length === 0 || name.length > 253) return false
  let start = 0
  for (let at = 0; at <= name.length; at++) {
    const code = at === name.length ? dot : name.charCodeAt(at)
    if (code === dot) {
      const length = at - start
      if (length === 0 || length > 63) return false
      if (name.charCodeAt(start) === hyphen || name.charCodeAt(at - 1) === hyphen) return false
      start = at + 1
    } else if (!(
      (code >= 0x61 && code <= 0x7a) ||
      (code >= 0x30 && code <= 0x39) ||
      code === hyphen ||
      code === 0x5f
    )) {
      return false
    }
  }
  return true
}

const dot = 0x2e
const hyphen = 0x2d
