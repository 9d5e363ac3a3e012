import {hasView, listenersOf} from './listeners.ts'
import {inspectKeys, type InspectedKeys} from './server-keys.ts'
import {fqdn, labelsOf} from './simulate/dns-name.ts'
import type {Listener, ParsedCorefile, PrepareHostAnswers, ServerBlock} from './types.ts'

/**
 * The port on which cluster DNS is served: 53 where a root zone stands on it, else the only other port with a root
 * zone (Gardener 8053, OpenShift 5353); undefined when none or several could be meant.
 */
export function dnsPortOf(inspected: InspectedKeys): string | undefined {
  const roots = inspected.zones.filter(({transport, zone}) => transport === 'dns' && zone === '.')
  const ports = new Set(roots.map(({port}) => port))
  if (ports.has('53')) return '53'
  return ports.size === 1 ? [...ports][0] : undefined
}

/** Zone tables of the plain DNS listeners on one port, ready to be asked for many names. */
export class BlockChooser {
  private readonly parsed: ParsedCorefile
  private readonly tables: readonly ReadonlyMap<string, readonly number[]>[]

  constructor(parsed: ParsedCorefile, inspected: InspectedKeys, port: string) {
    this.parsed = parsed
    const listeners = listenersOf(parsed, inspected)
    this.tables = listeners.filter((one) => one.transport === 'dns' && one.port === port).map(zoneTable)
  }

  /**
   * Server blocks that can answer a name on any of the listeners, in file order: the longest zone wins; blocks with a
   * view may pass the query on, to the next block of the zone and then to the parent zone.
   *
   * @param name with or without final dot
   */
  blocksFor(name: string): number[] {
    const found = new Set<number>()
    const suffixes = suffixesOf(fqdn(name).toLowerCase())
    for (const table of this.tables) {
      for (const zone of suffixes) {
        const blocks = table.get(zone) ?? []
        const sure = blocks.findIndex((block) => !hasView(this.parsed.blocks[block] as ServerBlock))
        for (const block of sure === -1 ? blocks : blocks.slice(0, sure + 1)) found.add(block)
        if (sure !== -1) break
      }
    }
    return [...found].sort((left, right) => left - right)
  }
}

function zoneTable(listener: Listener): Map<string, number[]> {
  const table = new Map<string, number[]>()
  for (const {zone, block} of listener.zones) {
    const blocks = table.get(zone)
    if (blocks) blocks.push(block)
    else table.set(zone, [block])
  }
  return table
}

/** `a.b.` gives `a.b.`, `b.`, `.`. */
function suffixesOf(name: string): string[] {
  if (!name.includes('\\')) {
    const suffixes: string[] = []
    for (let at = 0; at < name.length - 1; at = name.indexOf('.', at) + 1) suffixes.push(name.slice(at))
    suffixes.push('.')
    return suffixes
  }
  const labels = labelsOf(name)
  const suffixes = labels.map((_, index) => `${labels.slice(index).join('.')}.`)
  return [...suffixes, '.']
}

/** Block choice by zones alone, without looking at any plugin: for files that are edited without judging what their blocks can resolve. */
export const answersByZone: PrepareHostAnswers = (parsed, {dnsPort}) => {
  const chooser = new BlockChooser(parsed, inspectKeys(parsed), dnsPort)
  return ({host}) => {
    const name = host.kind === 'exact' ? host.name : host.name.replace(/^\*/, 'any')
    return {blocks: chooser.blocksFor(name), caughtBy: []}
  }
}
