import type {AclStanza} from '../../setup/plugins/acl.ts'
import type {AutopathStanza, ZoneOwner} from '../../setup/plugins/zone-owners.ts'
import {addressBits, readNetwork} from '../../setup/go-values.ts'
import {isSubdomain, longestZone, questionName} from '../dns-name.ts'
import type {DnsMessage} from '../message.ts'
import {copyRequest, optRecord, replyTo} from '../message.ts'
import type {Run, Step} from '../run.ts'
import {AnswerUnknown, ServerPanic} from '../run.ts'

interface Place {
  readonly line: number
  readonly file: string
}

/** A plugin that hands every query on unchanged (errors, log, prometheus, loadbalance, header and so on). */
export function passStep(plugin: string, place: Place): Step {
  return {plugin, ...place, serve: (_, write, request, next) => next(write, request)}
}

/** `cache` without anything in it: it hands on a copy of the request, so that later changes do not reach the server's own replies. */
export function cacheStep(place: Place): Step {
  return {plugin: 'cache', ...place, serve: (_, write, request, next) => next(write, copyRequest(request))}
}

/** `any`: type ANY is answered at once with a HINFO record (RFC 8482). */
export function anyStep(place: Place): Step {
  return {
    plugin: 'any',
    ...place,
    serve: (run, write, request, next) => {
      if (request.question.type !== 'ANY') return next(write, request)
      run.claim({plugin: 'any', ...place, why: 'type ANY'})
      const record = {name: request.question.name, type: 'HINFO', ttl: 8482, data: 'ANY obsoleted See RFC 8482'}
      write(replyTo(request, 'NOERROR', {answer: [record]}))
      return 'NOERROR'
    },
  }
}

/** `minimal`: authority and additional records go from good answers. */
export function minimalStep(place: Place): Step {
  return {
    plugin: 'minimal',
    ...place,
    serve: (run, write, request, next) => {
      let written: DnsMessage | undefined
      run.fault.raised = false
      const rcode = next((message) => {
        written = message
      }, request)
      if (run.fault.raised) return rcode
      if (written === undefined) throw new ServerPanic('minimal has no message to write')
      const good = written.rcode === 'NOERROR' && written.answer.length > 0
      write(good ? {...written, authority: [], additional: []} : written)
      return 'NOERROR'
    },
  }
}

/** `acl`: the first policy that fits zone, type and client decides. */
export function aclStep(stanzas: readonly AclStanza[], place: Place): Step {
  return {
    plugin: 'acl',
    ...place,
    serve: (run, write, request, next) => {
      const name = questionName(request.question.name)
      for (const stanza of stanzas) {
        const zone = longestZone(stanza.zones, name)
        if (zone === undefined) continue
        const policy = stanza.policies.find(
          (candidate) =>
            (candidate.types?.includes(request.question.type) ?? true) &&
            clientIn(candidate.networks, run.client.address),
        )
        if (policy === undefined) continue
        if (policy.action === 'allow') break
        run.claim({plugin: 'acl', file: stanza.file, line: stanza.line, why: `zone ${zone}: ${policy.action}`})
        if (policy.action === 'drop') return 'NOERROR'
        write(replyTo(request, policy.action === 'block' ? 'REFUSED' : 'NOERROR', {additional: [optRecord]}))
        return 'NOERROR'
      }
      return next(write, request)
    },
  }
}

function clientIn(networks: readonly string[] | undefined, client: string | undefined): boolean {
  if (networks === undefined) return true
  const bits = client === undefined ? undefined : addressBits(client)
  if (bits === undefined) throw new AnswerUnknown('acl asks for the address of the client, which is not known')
  return networks.some((network) => inNetwork(network, bits))
}

/** In: a CIDR and an address as bits. Out: whether it lies in it. */
export function inNetwork(network: string, bits: string): boolean {
  const parsed = readNetwork(network)
  return (
    parsed !== undefined && parsed.bits.length === bits.length && bits.startsWith(parsed.bits.slice(0, parsed.length))
  )
}

/** `erratic` drops every second query by default, so only what it would say is told. */
export function erraticStep(drops: boolean, place: Place): Step {
  return {
    plugin: 'erratic',
    ...place,
    serve: (run, write, request) => {
      run.claim({plugin: 'erratic', ...place, why: 'it takes every name'})
      if (drops) run.note('erratic leaves some of the queries without an answer')
      const {name, type} = request.question
      if (type !== 'A' && type !== 'AAAA') return 'SERVFAIL'
      const data = type === 'A' ? '192.0.2.53' : '2001:db8::53'
      write(replyTo(request, 'NOERROR', {answer: [{name, type, ttl: 0, data}]}))
      return 'NOERROR'
    },
  }
}

/** `whoami`: empty answer, address and port of the client beside it. */
export function whoamiStep(place: Place): Step {
  return {
    plugin: 'whoami',
    ...place,
    serve: (run, write, request) => {
      run.claim({plugin: 'whoami', ...place, why: 'it takes every name'})
      const {name} = request.question
      const {address = '', proto} = run.client
      const type = address.includes(':') ? 'AAAA' : 'A'
      const srv = name === '.' ? `_${proto}.` : `_${proto}.${name}`
      write(
        replyTo(request, 'NOERROR', {
          additional: [
            {name, type, ttl: 0, data: address},
            {name: srv, type: 'SRV', ttl: 0, target: '.', data: '0 0'},
          ],
        }),
      )
      return 'NOERROR'
    },
  }
}

/** A plugin that answers for its zones with data that lies elsewhere. With `fallthrough` it may also hand the name on. */
export function ownerStep(plugin: string, owners: readonly ZoneOwner[], place: Place): Step {
  return {
    plugin,
    ...place,
    serve: (run, write, request, next) => {
      const name = questionName(request.question.name)
      const owner = owners.find(({zones}) => longestZone(zones, name) !== undefined)
      if (owner === undefined) return next(write, request)
      const zone = longestZone(owner.zones, name) ?? ''
      run.claim({plugin, file: owner.file, line: owner.line, why: `zone ${zone}`})
      const through = owner.fallthrough.some((other) => isSubdomain(other, name))
      throw new AnswerUnknown(
        `${plugin} answers for ${zone} from ${owner.source}, which is not read here${through ? '; with fallthrough it may also pass' : ''}`,
      )
    },
  }
}

/** A plugin that is not modelled: nobody can say what it does with the name. */
export function strangerStep(plugin: string, place: Place): Step {
  return {
    plugin,
    ...place,
    serve: (run) => {
      run.claim({plugin, ...place, why: 'plugin not modelled'})
      throw new AnswerUnknown(`plugin ${plugin} is not modelled`)
    },
  }
}

/** `autopath` walks the search path of the client in its stead, behind it in the chain. Source: plugin/autopath. */
export function autopathStep(
  stanza: AutopathStanza,
  searchOf: (run: Run, name: string) => readonly string[] | undefined,
): Step {
  return {
    plugin: 'autopath',
    line: stanza.line,
    file: stanza.file,
    serve: (run, write, request, next) => {
      const name = questionName(request.question.name)
      if (longestZone(stanza.zones, name) === undefined) return next(write, request)
      const search = searchOf(run, name)
      const [head] = search ?? []
      if (search === undefined || head === undefined || !isSubdomain(head, name)) return next(write, request)
      const asked = request.question
      const base = asked.name.slice(0, Math.max(0, asked.name.length - head.length - 1))
      let first: {rcode: string; message: DnsMessage | undefined} | undefined
      for (const suffix of search) {
        const attempt = copyRequest(request)
        attempt.question = {...asked, name: `${base}.${suffix}`}
        let message: DnsMessage | undefined
        const rcode = next((reply) => {
          message = reply
        }, attempt)
        const reply: DnsMessage | undefined = message
        first ??= {rcode, message: reply}
        if (reply === undefined || reply.rcode === 'NXDOMAIN') continue
        run.note(
          `autopath answers ${asked.name} with what ${attempt.question.name} gives; rewrite rules for that name do not fire`,
        )
        const alias = {name: asked.name, type: 'CNAME', ttl: 0, target: attempt.question.name, data: ''}
        write({...reply, question: asked, answer: suffix === head ? reply.answer : [alias, ...reply.answer]})
        return rcode
      }
      if (first?.message !== undefined) write(first.message)
      return first?.rcode ?? 'SERVFAIL'
    },
  }
}
