import {atLeast} from '../../directives.ts'
import type {KubernetesStanza} from '../../setup/plugins/kubernetes.ts'
import {escapeName, fqdn, isSubdomain, longestZone} from '../dns-name.ts'
import type {DnsRecord} from '../message.ts'
import {replyTo} from '../message.ts'
import type {Run, Step} from '../run.ts'
import {AnswerUnknown} from '../run.ts'
import type {LiveCluster} from '../world.ts'
import type {Found, Records} from './kubernetes-names.ts'
import {namesOfAddress, recordsOf} from './kubernetes-names.ts'

interface Lookup {
  readonly stanza: KubernetesStanza
  readonly cluster: LiveCluster
  readonly run: Run
  readonly zone: string
  readonly edns: boolean
}

interface Sections {
  readonly answer: readonly DnsRecord[]
  readonly additional?: readonly DnsRecord[]
}

/** The `kubernetes` plugin of a block, asked of the live cluster in `world`. Source: plugin/kubernetes/handler.go, corefile.md 9. */
export function kubernetesStep(stanza: KubernetesStanza): Step {
  return {
    plugin: 'kubernetes',
    line: stanza.line,
    file: stanza.file,
    serve: (run, write, request, next) => {
      const asked = escapeName(request.question.name)
      const zone = longestZone(stanza.zones, asked)
      if (zone === undefined) return next(write, request)
      const spelled = asked.slice(asked.length - zone.length)
      const place = {plugin: 'kubernetes', file: stanza.file, line: stanza.line}
      const {cluster} = run.world
      const through = stanza.fallthrough.some((other) => isSubdomain(other, asked))
      if (cluster === undefined) {
        run.claim({...place, why: `zone ${zone}`})
        throw new AnswerUnknown(`the Services of zone ${zone} are not known here`)
      }
      if (stanza.selects)
        run.note('kubernetes filters by labels: a Service it does not select is as if it were not there')
      const {type} = request.question
      if (type === 'AXFR' || type === 'IXFR') return 'REFUSED'
      const found = answer({stanza, cluster, run, zone: spelled, edns: request.edns}, asked, type)
      if (found === 'missing' && through) return next(write, request)
      run.claim({...place, why: `zone ${zone}`})
      const soa = soaRecord(stanza, spelled)
      if (found === 'missing') write(replyTo(request, 'NXDOMAIN', {authority: [soa]}))
      else if (found.answer.length === 0) write(replyTo(request, 'NOERROR', {authority: [soa]}))
      else write(replyTo(request, 'NOERROR', found))
      return 'NOERROR'
    },
  }
}

function soaRecord(stanza: KubernetesStanza, zone: string): DnsRecord {
  const ttl = Math.min(stanza.ttl, 300)
  return {
    name: zone,
    type: 'SOA',
    ttl,
    target: `ns.dns.${zone}`,
    data: `hostmaster.${zone} 0 7200 1800 86400 ${stanza.ttl}`,
  }
}

function answer(lookup: Lookup, asked: string, type: string): Sections | 'missing' {
  const {stanza, cluster, run, zone} = lookup
  const name = asked.toLowerCase()
  const apex = asked === zone
  if (name === `ns.dns.${zone.toLowerCase()}` || (type === 'NS' && apex)) {
    throw new AnswerUnknown(
      "the addresses of the DNS Service itself, which kubernetes gives as its zone's name servers, are not known here",
    )
  }
  const records = (): Records => recordsOf(stanza, cluster, run, name, zone)
  switch (type) {
    case 'A':
    case 'AAAA': {
      const found = addresses(lookup, asked, type, [])
      return found === 'missing' ? 'missing' : {answer: found}
    }
    case 'TXT': {
      if (name === `dns-version.${zone.toLowerCase()}`)
        return {answer: [{name: asked, type, ttl: 28_800, data: '1.1.0'}]}
      const found = records()
      // A name that exists without records (zone, namespace) is NXDOMAIN here.
      return found === 'missing' || found.length === 0 ? 'missing' : {answer: []}
    }
    case 'CNAME': {
      const found = records()
      if (found === 'missing') return 'missing'
      const [first] = found
      if (first?.family !== 'name') return {answer: []}
      return {answer: [{name: asked, type, ttl: stanza.ttl, target: fqdn(first.host), data: ''}]}
    }
    case 'PTR': {
      const names = namesOfAddress(stanza, cluster, run, name)
      if (names === undefined) return records() === 'missing' ? 'missing' : {answer: []}
      if (names.length === 0) return 'missing'
      return {answer: [...new Set(names)].map((target) => ({name: asked, type, ttl: stanza.ttl, target, data: ''}))}
    }
    case 'SRV': {
      const found = records()
      return found === 'missing' ? 'missing' : services(asked, stanza.ttl, found)
    }
    case 'SOA':
      return {answer: apex ? [soaRecord(stanza, zone)] : []}
    case 'MX':
      return records() === 'missing' ? 'missing' : {answer: []}
    default:
      return addresses(lookup, asked, 'A', []) === 'missing' ? 'missing' : {answer: []}
  }
}

/** Addresses of a name, the CNAME of an ExternalName and what is behind it. */
function addresses(
  lookup: Lookup,
  asked: string,
  type: string,
  previous: readonly DnsRecord[],
): DnsRecord[] | 'missing' {
  const {stanza, cluster, run, zone} = lookup
  const name = asked.toLowerCase()
  const found = recordsOf(stanza, cluster, run, name, zone)
  if (found === 'missing') return 'missing'
  const records: DnsRecord[] = []
  for (const {host, family} of found) {
    if (family !== 'name') {
      const wanted = type === 'A' ? 4 : 6
      const known = records.some((record) => record.data === host)
      if (family === wanted && !known) records.push({name: asked, type, ttl: stanza.ttl, data: host})
      continue
    }
    const target = fqdn(host)
    if (isSubdomain(name, target)) continue
    const longest = atLeast(run.version, '1.13.0') ? 10 : 7
    const alias: DnsRecord = {name: asked, type: 'CNAME', ttl: stanza.ttl, target, data: ''}
    const repeated = previous.some((record) => record.name === alias.name && record.target === target)
    if (previous.length > longest || repeated) continue
    if (isSubdomain(zone, target)) {
      const more = addresses(lookup, target, type, [...previous, alias])
      if (more !== 'missing' && more.length > 0) records.push(alias, ...more)
      continue
    }
    const more = run.lookup(target, type, lookup.edns, `ExternalName behind ${asked}`)
    if (more !== undefined) records.push(alias, ...more.answer)
  }
  return records
}

function services(asked: string, ttl: number, found: readonly Found[]): Sections {
  const answer: DnsRecord[] = []
  const additional: DnsRecord[] = []
  for (const {host, family, port, owner} of found) {
    if (family === 'name' || port < 0) continue
    const weight = Math.max(1, Math.floor(100 / found.filter((other) => other.family !== 'name').length))
    const known = answer.some((record) => record.target === owner && record.data.endsWith(` ${port}`))
    if (!known) answer.push({name: asked, type: 'SRV', ttl, target: owner, data: `0 ${weight} ${port}`})
    if (additional.some((record) => record.name === owner && record.data === host)) continue
    additional.push({name: owner, type: family === 4 ? 'A' : 'AAAA', ttl, data: host})
  }
  return {answer, additional}
}
