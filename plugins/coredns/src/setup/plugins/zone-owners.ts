import type {SetupContext} from '../context.ts'
import type {Dispenser} from '../dispenser.ts'
import {zonesOrOfBlock} from '../zone-arguments.ts'
import {onlyOnce} from './only-once.ts'
import {fallthroughZones} from './template.ts'

/** A plugin of which only the zones are known here: it answers, with data that lies elsewhere. */
export interface ZoneOwner {
  readonly zones: readonly string[]
  readonly fallthrough: readonly string[]
  readonly source: string
  readonly line: number
  readonly file: string
}

/** `file FILE [ZONES…] { reload D; upstream; fallthrough [ZONES…]; reload_by_mtime }`. Throws SetupError. */
export function readFiles(dispenser: Dispenser, context: SetupContext): ZoneOwner[] {
  const owners: ZoneOwner[] = []
  while (dispenser.next()) {
    const {line = 0, file = ''} = dispenser.token ?? {}
    if (!dispenser.nextArg()) throw dispenser.argumentError()
    const source = dispenser.value
    const zones = zonesOrOfBlock(dispenser.remainingArgs(), context.zones)
    let through: string[] = []
    while (dispenser.nextBlock()) {
      const option = dispenser.value
      if (option === 'fallthrough') through = fallthroughZones(dispenser.remainingArgs())
      else if (option === 'reload') {
        if (dispenser.remainingArgs().length === 0) throw dispenser.plain('reload duration value is expected')
      } else if (option === 'upstream') dispenser.remainingArgs()
      else if (option !== 'reload_by_mtime') throw dispenser.error(`unknown property '${option}'`)
    }
    owners.push({zones, fallthrough: through, source, line, file})
  }
  return owners
}

/** `auto`, `secondary` and backends elsewhere: zones and `fallthrough`, nothing else is judged. */
export function readZoneOwners(dispenser: Dispenser, context: SetupContext): ZoneOwner[] {
  const owners: ZoneOwner[] = []
  while (dispenser.next()) {
    const {line = 0, file = '', text = ''} = dispenser.token ?? {}
    const zones = zonesOrOfBlock(dispenser.remainingArgs(), context.zones)
    let through: string[] = []
    while (dispenser.nextBlock()) {
      const option = dispenser.value
      const args = dispenser.remainingArgs()
      if (option === 'fallthrough') through = fallthroughZones(args)
    }
    owners.push({zones, fallthrough: through, source: text, line, file})
  }
  return owners
}

/** One `autopath [ZONES…] FILE|@PLUGIN`. */
export interface AutopathStanza {
  readonly zones: readonly string[]
  readonly source: string
  readonly line: number
  readonly file: string
}

/** `autopath`: the last line counts. Throws SetupError. */
export function readAutopath(dispenser: Dispenser, context: SetupContext): AutopathStanza {
  let found: AutopathStanza | undefined
  while (dispenser.next()) {
    const {line = 0, file = ''} = dispenser.token ?? {}
    const args = dispenser.remainingArgs()
    const source = args.at(-1)
    if (source === undefined) throw dispenser.plain('no resolv-conf specified')
    found = {zones: zonesOrOfBlock(args.slice(0, -1), context.zones), source, line, file}
  }
  return found ?? {zones: [], source: '', line: 0, file: ''}
}

/** The `view` of a block. */
export interface ViewStanza {
  readonly name: string
  /** All must be true. */
  readonly expressions: readonly string[]
  readonly line: number
  readonly file: string
}

/** `view NAME { expr … }`. The expressions themselves are not judged here. Throws SetupError. */
export function readView(dispenser: Dispenser): ViewStanza {
  let found: ViewStanza | undefined
  onlyOnce(dispenser, () => {
    const {line = 0, file = ''} = dispenser.token ?? {}
    const args = dispenser.remainingArgs()
    if (args.length !== 1) throw dispenser.argumentError()
    const expressions: string[] = []
    while (dispenser.nextBlock()) {
      if (dispenser.value !== 'expr') throw dispenser.error(`unknown property '${dispenser.value}'`)
      expressions.push(dispenser.remainingArgs().join(' '))
    }
    found = {name: args[0] ?? '', expressions, line, file}
  })
  return found ?? {name: '', expressions: [], line: 0, file: ''}
}
