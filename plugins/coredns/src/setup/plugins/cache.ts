import {atLeast} from '../../directives.ts'
import {normalizeName} from '../../simulate/dns-name.ts'
import type {SetupContext} from '../context.ts'
import type {Dispenser} from '../dispenser.ts'
import {readDuration, readInteger} from '../go-values.ts'
import {zonesOrOfBlock} from '../zone-arguments.ts'
import {onlyOnce} from './only-once.ts'

/** The `cache` plugin of a block, as far as it says what is kept and for how long (seconds). */
export interface CacheStanza {
  readonly zones: readonly string[]
  readonly successTtl: number
  readonly denialTtl: number
  /** Zones whose answers are not kept. */
  readonly successOff: readonly string[]
  readonly denialOff: readonly string[]
  readonly serveStale: boolean
  readonly line: number
  readonly file: string
}

type Draft = {-readonly [Field in keyof CacheStanza]: CacheStanza[Field]} & {stalePolicy: boolean}

/** In: the tokens of cache directives of a block. Out: the stanza. Throws SetupError. Source: plugin/cache/setup.go. */
export function readCache(dispenser: Dispenser, context: SetupContext): CacheStanza {
  let stanza: CacheStanza | undefined
  onlyOnce(dispenser, () => {
    stanza = readStanza(dispenser, context)
  })
  return stanza ?? readStanza(dispenser, context)
}

function readStanza(dispenser: Dispenser, context: SetupContext): CacheStanza {
  const {line = 0, file = ''} = dispenser.token ?? {}
  let args = dispenser.remainingArgs()
  const draft: Draft = {
    zones: [],
    successTtl: 3600,
    denialTtl: 1800,
    successOff: [],
    denialOff: [],
    serveStale: false,
    stalePolicy: false,
    line,
    file,
  }
  const ttl = readInteger(args[0] ?? '')
  if (ttl.ok) {
    if (ttl.value <= 0) throw dispenser.plain(`cache TTL can not be zero or negative: ${ttl.value}`)
    draft.successTtl = ttl.value
    draft.denialTtl = ttl.value
    args = args.slice(1)
  }
  draft.zones = zonesOrOfBlock(args, context.zones)
  while (dispenser.nextBlock()) readOption(dispenser, draft, context)
  if (draft.stalePolicy && !draft.serveStale) throw dispenser.plain('serve_stale_policy requires serve_stale')
  return draft
}

const optionSince: Readonly<Record<string, string>> = {
  serve_stale: '1.6.6',
  servfail: '1.9.4',
  disable: '1.9.4',
  keepttl: '1.10.1',
  serve_stale_policy: '1.14.7',
}

function readOption(dispenser: Dispenser, draft: Draft, context: SetupContext): void {
  const option = dispenser.value
  if (!atLeast(context.version, optionSince[option] ?? '0.0.0')) throw dispenser.argumentError()
  switch (option) {
    case 'success':
    case 'denial':
      readCapacity(option, dispenser, draft)
      return
    case 'prefetch':
      readPrefetch(dispenser)
      return
    case 'serve_stale':
      draft.serveStale = true
      readStale(dispenser, context)
      return
    case 'serve_stale_policy': {
      if (draft.stalePolicy) throw dispenser.plain('serve_stale_policy can only be specified once')
      draft.stalePolicy = true
      const [policy, more] = dispenser.remainingArgs()
      if (policy === undefined || more !== undefined) throw dispenser.argumentError()
      if (policy.toLowerCase() !== 'prefer_positive') throw dispenser.plain(`invalid serve_stale_policy: ${policy}`)
      return
    }
    case 'servfail': {
      const [text, more] = dispenser.remainingArgs()
      if (text === undefined || more !== undefined) throw dispenser.argumentError()
      const seconds = readDuration(text)
      if (!seconds.ok) throw dispenser.plain(seconds.message)
      if (seconds.value < 0) throw dispenser.plain('invalid negative ttl for servfail')
      if (seconds.value > 300) throw dispenser.plain('caching SERVFAIL responses over 5 minutes is not permitted')
      return
    }
    case 'disable': {
      const [what, ...zones] = dispenser.remainingArgs()
      if (what === undefined) throw dispenser.argumentError()
      const off = zones.length === 0 ? ['.'] : zones.map(normalizeName)
      if (what === 'denial') draft.denialOff = off
      else if (what === 'success') draft.successOff = off
      else throw dispenser.plain('cache type for disable must be "success" or "denial"')
      return
    }
    case 'keepttl':
      if (dispenser.remainingArgs().length > 0) throw dispenser.argumentError()
      return
    default:
      throw dispenser.argumentError()
  }
}

function readCapacity(option: 'success' | 'denial', dispenser: Dispenser, draft: Draft): void {
  const args = dispenser.remainingArgs()
  if (args.length === 0) throw dispenser.argumentError()
  const numbers = args.slice(0, 3).map((text) => readInteger(text))
  for (const [index, number] of numbers.entries()) {
    if (!number.ok) throw dispenser.plain(number.message)
    if (index === 1 && number.value <= 0)
      throw dispenser.plain(`cache TTL can not be zero or negative: ${number.value}`)
    if (index === 2 && number.value < 0) throw dispenser.plain(`cache min TTL can not be negative: ${number.value}`)
    if (index === 1 && option === 'success') draft.successTtl = number.value
    if (index === 1 && option === 'denial') draft.denialTtl = number.value
  }
}

function readPrefetch(dispenser: Dispenser): void {
  const args = dispenser.remainingArgs()
  const [amountText = '', durationText, percentText] = args
  if (args.length === 0 || args.length > 3) throw dispenser.argumentError()
  const amount = readInteger(amountText)
  if (!amount.ok) throw dispenser.plain(amount.message)
  if (amount.value < 0) throw dispenser.plain(`prefetch amount should be positive: ${amount.value}`)
  if (durationText !== undefined) {
    const seconds = readDuration(durationText)
    if (!seconds.ok) throw dispenser.plain(seconds.message)
  }
  if (percentText === undefined) return
  if (!percentText.endsWith('%')) {
    throw dispenser.plain(`last character of percentage should be \`%\`, but is: '${percentText.at(-1) ?? ''}'`)
  }
  const percent = readInteger(percentText.slice(0, -1))
  if (!percent.ok) throw dispenser.plain(percent.message)
  if (percent.value < 10 || percent.value > 90)
    throw dispenser.plain(`percentage should fall in range [10, 90]: ${percent.value}`)
}

function readStale(dispenser: Dispenser, context: SetupContext): void {
  const args = dispenser.remainingArgs()
  const most = atLeast(context.version, '1.14.7')
    ? 5
    : atLeast(context.version, '1.14.4')
      ? 3
      : atLeast(context.version, '1.9.2')
        ? 2
        : 1
  if (args.length > most) throw dispenser.argumentError()
  const [duration, modeText] = args
  if (duration !== undefined) {
    const seconds = readDuration(duration)
    if (!seconds.ok) throw dispenser.plain(seconds.message)
    if (seconds.value < 0) throw dispenser.plain('invalid negative duration for serve_stale')
  }
  if (modeText === undefined) return
  const mode = modeText.toLowerCase()
  if (mode !== 'immediate' && mode !== 'verify') {
    throw dispenser.plain(`invalid value for serve_stale refresh mode: ${mode}`)
  }
  if (mode === 'immediate' && args.length > 4) throw dispenser.argumentError()
  for (const [index, text] of args.slice(2).entries()) {
    const seconds = readDuration(text)
    const verify = mode === 'verify' && index === 0
    if (!seconds.ok) {
      const what = verify
        ? 'verify timeout'
        : index === (mode === 'verify' ? 1 : 0)
          ? 'response TTL'
          : 'failure recheck'
      throw dispenser.plain(`invalid serve_stale ${what}: ${seconds.message}`)
    }
    if (seconds.value < 0 && verify) throw dispenser.plain('invalid negative timeout for serve_stale verify')
  }
}
