import {atLeast} from '../../directives.ts'
import type {HostEntries, HostsStanza} from '../../setup/plugins/hosts.ts'
import {readHostsFile} from '../../setup/plugins/hosts.ts'
import {addressOfReverseName} from '../../setup/zone-arguments.ts'
import {readAddress} from '../../setup/go-values.ts'
import {isSubdomain, labelsOf, longestZone, questionName} from '../dns-name.ts'
import type {DnsRecord} from '../message.ts'
import {replyTo} from '../message.ts'
import type {Run, Step} from '../run.ts'

/** The `hosts` plugin of a block. Source: plugin/hosts/hosts.go. */
export function hostsStep(stanza: HostsStanza): Step {
  return {
    plugin: 'hosts',
    line: stanza.line,
    file: stanza.file,
    serve: (run, write, request, next) => {
      const name = questionName(request.question.name)
      const {type} = request.question
      const zone = longestZone(stanza.zones, name)
      if (zone === undefined && type !== 'PTR') return next(write, request)
      const tables = tablesOf(stanza, run)
      const claim = (why: string) => run.claim({plugin: 'hosts', file: stanza.file, line: stanza.line, why})
      const find = (family: 'four' | 'six') => tables.flatMap((table) => lookUp(table[family], name, run))
      let answer: DnsRecord[] = []
      if (type === 'PTR') {
        const address = readAddress(addressOfReverseName(name) ?? '')?.text ?? ''
        const names = tables.flatMap((table) => table.names.get(address) ?? [])
        if (names.length === 0) return next(write, request)
        answer = names.map((target) => ({name, type, ttl: stanza.ttl, target, data: ''}))
      } else if (type === 'A' || type === 'AAAA') {
        answer = find(type === 'A' ? 'four' : 'six').map((data) => ({name, type, ttl: stanza.ttl, data}))
      } else if (stanza.fallthroughUnsupported && stanza.fallthrough.some((through) => isSubdomain(through, name))) {
        return next(write, request)
      }
      if (answer.length === 0 && find('four').length === 0 && find('six').length === 0) {
        if (stanza.fallthrough.some((through) => isSubdomain(through, name))) return next(write, request)
        claim(`zone ${zone ?? ''}, no entry, no fallthrough`)
        return 'SERVFAIL'
      }
      claim(`entry for ${name}`)
      write(replyTo(request, 'NOERROR', {answer}))
      return 'NOERROR'
    },
  }
}

function tablesOf(stanza: HostsStanza, run: Run): HostEntries[] {
  const text = run.world.hostsFiles?.get(stanza.path)
  if (text === undefined) {
    run.note(`hosts file ${stanza.path} is not known here: taken as without an entry for the name`)
    return [stanza.inline]
  }
  return [readHostsFile(text, stanza.zones), stanza.inline]
}

function lookUp(table: ReadonlyMap<string, readonly string[]>, name: string, run: Run): readonly string[] {
  const wildcards = atLeast(run.version, '1.14.5')
  const exact = name.startsWith('*.') && wildcards ? undefined : table.get(name)
  if (exact !== undefined) return exact
  const [, ...rest] = labelsOf(name)
  return wildcards && rest.length > 0 ? (table.get(`*.${rest.join('.')}.`) ?? []) : []
}
