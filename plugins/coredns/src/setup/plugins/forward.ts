import {atLeast} from '../../directives.ts'
import {isDomainName} from '../../simulate/dns-name.ts'
import {rcodes} from '../../simulate/dns-codes.ts'
import type {SetupContext} from '../context.ts'
import type {Dispenser, SetupError} from '../dispenser.ts'
import {readAddress, readDuration, readHostPort, readInteger, readUnsigned} from '../go-values.ts'
import {splitTransport, zonesOfArgument} from '../zone-arguments.ts'

/** One `forward` line with its options. */
export interface ForwardStanza {
  readonly from: string
  readonly to: readonly string[]
  readonly except: readonly string[]
  /** Reply codes for which the next `forward` of the block is asked (>= 1.11.4). */
  readonly next: readonly string[]
  readonly nextOnNodata: boolean
  readonly line: number
  readonly file: string
}

/** Pillars of node-local-dns stand for addresses that its binary puts in: never judged as addresses. */
const pillar = /^__PILLAR__/

/** In: the tokens of all forward directives of a block. Out: the stanzas. Throws SetupError. Source: plugin/forward/setup.go. */
export function readForwards(dispenser: Dispenser, context: SetupContext): ForwardStanza[] {
  const stanzas: ForwardStanza[] = []
  while (dispenser.next()) {
    if (stanzas.length > 0 && !atLeast(context.version, '1.9.4')) {
      throw dispenser.plain('this plugin can only be used once per Server Block')
    }
    stanzas.push(readStanza(dispenser, context))
  }
  return stanzas
}

function readStanza(dispenser: Dispenser, context: SetupContext): ForwardStanza {
  const {line = 0, file = ''} = dispenser.token ?? {}
  if (!dispenser.nextArg()) throw dispenser.argumentError()
  const from = dispenser.value
  const [zone] = zonesOfArgument(from)
  if (zone === undefined) throw dispenser.plain(`unable to normalize '${from}'`)
  const to = dispenser.remainingArgs()
  if (to.length === 0) throw dispenser.argumentError()
  // Since 1.14.4 options are read before the addresses, so that a mistake in them is told first.
  const optionsFirst = atLeast(context.version, '1.14.4')
  if (!optionsFirst) checkTargets(to, dispenser, context)
  const options: ForwardOptions = {except: [], next: [], nextOnNodata: false}
  while (dispenser.nextBlock()) readOption(dispenser, options, context)
  if (optionsFirst) checkTargets(to, dispenser, context)
  return {from: zone, to, ...options, line, file}
}

interface ForwardOptions {
  except: string[]
  next: string[]
  nextOnNodata: boolean
}

function checkTargets(to: readonly string[], dispenser: Dispenser, context: SetupContext): void {
  for (const target of to) {
    const {transport, rest} = splitTransport(target)
    if (pillar.test(rest)) continue
    if (rest === '') throw dispenser.plain(`invalid address: ${JSON.stringify(target)}`)
    const allowed = atLeast(context.version, '1.14.4') ? ['dns', 'tls', 'https'] : ['dns', 'tls']
    const split = readHostPort(rest)
    const host = (split.ok ? split.value.host : rest.replace(/^[[\]]+|[[\]]+$/g, '')).replace(/%.*/s, '')
    if (readAddress(host) !== undefined) {
      if (!allowed.includes(transport)) {
        const port = split.ok ? '' : `:${transport === 'quic' ? 853 : 443}`
        throw dispenser.plain(`'${transport}' is not supported as a destination protocol in forward: ${target}${port}`)
      }
      continue
    }
    // A path may be readable in the Pod; a bare word cannot be told from a file in the working directory.
    if (rest.startsWith('/') || rest.includes('/')) continue
    if (atLeast(context.version, '1.14.4') && isDomainName(host)) {
      context.unclear(
        `forward target ${target}: CoreDNS resolves it when it starts`,
        dispenser.token?.line ?? 0,
        dispenser.token?.file ?? '',
      )
      continue
    }
    throw dispenser.plain(
      `not an IP address or file ${JSON.stringify(rest)}: failed to open file ${JSON.stringify(rest)}`,
    )
  }
}

/** Options by the release that brought them; the others are older than 1.6. */
const optionSince: Readonly<Record<string, string>> = {
  max_concurrent: '1.6.8',
  next: '1.11.4',
  failfast_all_unhealthy_upstreams: '1.12.1',
  failover: '1.13.0',
  max_connect_attempts: '1.13.2',
  max_idle_conns: '1.14.1',
  max_age: '1.14.3',
  next_on_nodata: '1.14.4',
  resolver: '1.14.4',
  read_timeout: '1.14.5',
  doh_method: '1.14.5',
  source_address: '1.14.6',
}

function readOption(dispenser: Dispenser, options: ForwardOptions, context: SetupContext): void {
  const option = dispenser.value
  const unknown = () => dispenser.error(`unknown property '${option}'`)
  if (!atLeast(context.version, optionSince[option] ?? '0.0.0')) throw unknown()
  switch (option) {
    case 'except':
      for (const zone of some(dispenser).flatMap(zonesOfArgument)) options.except.push(zone)
      return
    case 'max_fails':
    case 'max_connect_attempts': {
      const count = readUnsigned(one(dispenser), 32)
      if (!count.ok) throw dispenser.plain(count.message)
      return
    }
    case 'health_check':
      readHealthCheck(dispenser)
      return
    case 'force_tcp':
    case 'prefer_udp':
    case 'next_on_nodata':
      if (dispenser.nextArg()) throw dispenser.argumentError()
      if (option === 'next_on_nodata') options.nextOnNodata = true
      return
    case 'failfast_all_unhealthy_upstreams':
      if (dispenser.remainingArgs().length > 0) throw dispenser.argumentError()
      return
    case 'tls':
      if (dispenser.remainingArgs().length > 3) throw dispenser.argumentError()
      return
    case 'tls_servername':
      one(dispenser)
      return
    case 'expire':
    case 'max_age':
    case 'read_timeout': {
      const text = one(dispenser)
      const seconds = readDuration(text)
      if (!seconds.ok) throw dispenser.plain(seconds.message)
      if (option === 'read_timeout' && seconds.value <= 0)
        throw dispenser.plain(`read_timeout must be positive: ${text}`)
      if (seconds.value < 0) throw dispenser.plain(`${option} can't be negative: ${text}`)
      return
    }
    case 'max_idle_conns':
    case 'max_concurrent': {
      const count = readInteger(one(dispenser))
      if (!count.ok) throw dispenser.plain(count.message)
      if (count.value < 0) throw dispenser.plain(`${option} can't be negative: ${count.value}`)
      return
    }
    case 'policy':
      if (!['random', 'round_robin', 'sequential'].includes(one(dispenser))) {
        throw dispenser.error(`unknown policy '${dispenser.value}'`)
      }
      return
    case 'doh_method':
      if (!['POST', 'GET'].includes(one(dispenser))) throw dispenser.plain('doh_method must be either POST or GET')
      return
    case 'next':
    case 'failover':
      readCodes(option, some(dispenser), options, (message) => dispenser.plain(message))
      return
    case 'resolver':
      for (const text of some(dispenser)) {
        const split = readHostPort(text)
        if (readAddress(split.ok ? split.value.host : text) === undefined) {
          throw dispenser.plain(`resolver must be an IP address or IP:port: ${JSON.stringify(text)}`)
        }
      }
      return
    case 'source_address':
      if (readAddress(one(dispenser)) === undefined) throw dispenser.error(`invalid IP address: ${dispenser.value}`)
      return
    default:
      throw unknown()
  }
}

function readCodes(
  option: string,
  words: readonly string[],
  options: ForwardOptions,
  wrong: (message: string) => SetupError,
): void {
  for (const word of words) {
    const code = word.toUpperCase()
    if (!rcodes.has(code)) throw wrong(`${word} is not a valid rcode`)
    if (option === 'failover' && code === 'NOERROR') throw wrong('NoError cannot be used in failover')
    if (option === 'next') options.next.push(code)
  }
}

function readHealthCheck(dispenser: Dispenser): void {
  const seconds = readDuration(one(dispenser))
  if (!seconds.ok) throw dispenser.plain(seconds.message)
  if (seconds.value < 0) throw dispenser.plain(`health_check can't be negative: ${Math.round(seconds.value * 1e9)}`)
  while (dispenser.nextArg()) {
    const option = dispenser.value
    if (option === 'no_rec') continue
    if (option !== 'domain') throw dispenser.plain(`health_check: unknown option ${option}`)
    const domain = one(dispenser)
    if (!isDomainName(domain)) throw dispenser.plain(`health_check: invalid domain name ${domain}`)
  }
}

function one(dispenser: Dispenser): string {
  if (!dispenser.nextArg()) throw dispenser.argumentError()
  return dispenser.value
}

function some(dispenser: Dispenser): string[] {
  const args = dispenser.remainingArgs()
  if (args.length === 0) throw dispenser.argumentError()
  return args
}
