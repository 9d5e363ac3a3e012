import {atLeast} from '../../directives.ts'
import {longestZone, normalizeName} from '../../simulate/dns-name.ts'
import type {SetupContext} from '../context.ts'
import type {Dispenser} from '../dispenser.ts'
import {readAddress, readDuration, readInteger} from '../go-values.ts'
import {zonesOrOfBlock} from '../zone-arguments.ts'
import {onlyOnce} from './only-once.ts'
import {fallthroughZones} from './template.ts'

/** The `hosts` plugin of a block. */
export interface HostsStanza {
  readonly path: string
  readonly zones: readonly string[]
  readonly fallthrough: readonly string[]
  readonly fallthroughUnsupported: boolean
  readonly ttl: number
  readonly autoReverse: boolean
  readonly inline: HostEntries
  readonly line: number
  readonly file: string
}

/** Addresses by name, names by address. A name that begins with `*.` stands for one label (>= 1.14.5). */
export interface HostEntries {
  readonly four: ReadonlyMap<string, readonly string[]>
  readonly six: ReadonlyMap<string, readonly string[]>
  readonly names: ReadonlyMap<string, readonly string[]>
}

/** In: the tokens of hosts directives of a block. Out: the stanza. Throws SetupError. Source: plugin/hosts/setup.go. */
export function readHosts(dispenser: Dispenser, context: SetupContext): HostsStanza {
  let stanza: HostsStanza | undefined
  onlyOnce(dispenser, () => {
    stanza = readStanza(dispenser, context)
  })
  return stanza ?? readStanza(dispenser, context)
}

function readStanza(dispenser: Dispenser, context: SetupContext): HostsStanza {
  const {line = 0, file = ''} = dispenser.token ?? {}
  const args = dispenser.remainingArgs()
  const zones = zonesOrOfBlock(args.slice(1), context.zones)
  const inline: string[] = []
  let through: string[] = []
  let unsupported = false
  let autoReverse = true
  let ttl = 3600
  while (dispenser.nextBlock()) {
    const option = dispenser.value
    if (option === 'fallthrough') through = fallthroughZones(dispenser.remainingArgs())
    else if (option === 'fallthrough_unsupported' && atLeast(context.version, '1.14.7')) {
      if (dispenser.remainingArgs().length > 0) throw dispenser.argumentError()
      unsupported = true
    } else if (option === 'no_reverse') autoReverse = false
    else if (option === 'ttl') ttl = readTtl(dispenser)
    else if (option === 'reload') readReload(dispenser)
    else if (through.length > 0) throw dispenser.error(`unknown property '${option}'`)
    else inline.push([option, ...dispenser.remainingArgs()].join(' '))
  }
  if (unsupported && through.length === 0) throw dispenser.error('fallthrough_unsupported requires fallthrough')
  return {
    path: args[0] ?? '/etc/hosts',
    zones,
    fallthrough: through,
    fallthroughUnsupported: unsupported,
    ttl,
    autoReverse,
    inline: readHostsFile(inline.join('\n'), zones),
    line,
    file,
  }
}

function readTtl(dispenser: Dispenser): number {
  const [text] = dispenser.remainingArgs()
  if (text === undefined) throw dispenser.error('ttl needs a time in second')
  const ttl = readInteger(text)
  if (!ttl.ok) throw dispenser.error('ttl needs a number of second')
  if (ttl.value <= 0 || ttl.value > 65_535) throw dispenser.error('ttl provided is invalid')
  return ttl.value
}

function readReload(dispenser: Dispenser): void {
  const [text, more] = dispenser.remainingArgs()
  if (text === undefined || more !== undefined)
    throw dispenser.error('reload needs a duration (zero seconds to disable)')
  const seconds = readDuration(text)
  if (!seconds.ok) throw dispenser.error(`invalid duration for reload '${text}'`)
  if (seconds.value < 0) throw dispenser.error(`invalid negative duration for reload '${text}'`)
}

/** In: a file of the form of /etc/hosts and the zones it is read for. Out: its entries. Bad lines are passed over. */
export function readHostsFile(text: string, zones: readonly string[]): HostEntries {
  const four = new Map<string, string[]>()
  const six = new Map<string, string[]>()
  const names = new Map<string, string[]>()
  for (const line of text.split('\n')) {
    const [first, ...hosts] = line
      .replace(/#.*/s, '')
      .split(/\s+/)
      .filter((word) => word !== '')
    const address = readAddress((first ?? '').replace(/%.*/s, ''))
    if (address === undefined) continue
    const table = address.family === 4 ? four : six
    for (const host of hosts) {
      const name = normalizeName(host)
      if (longestZone(zones, name) === undefined) continue
      push(table, name, address.text)
      push(names, address.text, name)
    }
  }
  return {four, six, names}
}

function push(table: Map<string, string[]>, key: string, value: string): void {
  const list = table.get(key)
  if (list === undefined) table.set(key, [value])
  else list.push(value)
}
