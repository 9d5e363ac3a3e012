import {atLeast} from './directives.ts'
import {formatServedZone, type InspectedKeys} from './server-keys.ts'
import {Dispenser} from './setup/dispenser.ts'
import type {CorefileError, Listener, ParsedCorefile, ServedZone, ServerBlock} from './types.ts'

/**
 * Addresses a block binds to: all `bind` lines together, `except` taken off per line. `['']` stands for all addresses.
 * Names of interfaces stay as they are: which addresses they have is not to be seen from here.
 */
export function bindAddresses(block: ServerBlock): readonly string[] {
  const tokens = block.tokens.get('bind')
  if (!tokens) return ['']
  const all: string[] = []
  const reader = new Dispenser(tokens, '')
  while (reader.next()) {
    const addresses = reader.remainingArgs()
    const except = new Set<string>()
    while (reader.nextBlock()) {
      if (reader.value === 'except') for (const address of reader.remainingArgs()) except.add(address)
    }
    for (const address of addresses) if (!except.has(address)) all.push(address)
  }
  return all
}

/** Whether a block takes only the queries its filter lets through. */
export function hasView(block: ServerBlock): boolean {
  return block.tokens.has('view')
}

/**
 * Groups what a file serves by socket. Each listener has a zone table of its own: a query to it never sees the zones
 * of another one.
 */
export function listenersOf(parsed: ParsedCorefile, inspected: InspectedKeys): readonly Listener[] {
  const listeners = new Map<string, {listener: Listener; zones: ServedZone[]}>()
  for (const zone of inspected.zones) {
    for (const address of bindAddresses(parsed.blocks[zone.block] as ServerBlock)) {
      const key = `${zone.transport} ${zone.port} ${address}`
      const found = listeners.get(key)
      if (found) found.zones.push(zone)
      else {
        const zones = [zone]
        listeners.set(key, {listener: {transport: zone.transport, address, port: zone.port, zones}, zones})
      }
    }
  }
  return [...listeners.values()].map(({listener}) => listener)
}

/**
 * The checks CoreDNS makes when it builds its servers (P4): port range, zones defined twice, bound and unbound blocks
 * of one zone. Its messages carry no position; the error's `line` is that of the block's first key.
 */
export function checkListeners(parsed: ParsedCorefile, inspected: InspectedKeys): CorefileError | undefined {
  for (const zone of inspected.zones) {
    const port = Number(zone.port)
    if (zone.port !== '' && (port < 0 || port > 65_535)) {
      return serversError(parsed, zone, `address ${zone.port}: invalid port`)
    }
  }
  const registered = new Set<string>()
  const unbound = new Map<string, string>()
  for (const zone of inspected.zones) {
    const block = parsed.blocks[zone.block] as ServerBlock
    const filtered = hasView(block)
    // Since 1.14.3 a filtered block may also follow the unfiltered one of its zone.
    const mayRepeat = filtered && atLeast(parsed.version, '1.14.3')
    for (const address of bindAddresses(block)) {
      const name = formatServedZone(zone, address)
      const anywhere = formatServedZone(zone)
      if (registered.has(name)) {
        if (mayRepeat) continue
        return serversError(parsed, zone, `cannot serve ${name} - it is already defined`)
      }
      const other = unbound.get(anywhere)
      const overlap = other !== undefined && (address === '' ? other : registered.has(anywhere) ? anywhere : undefined)
      if (overlap) {
        return serversError(parsed, zone, `cannot serve ${name} - zone overlap listener capacity with ${overlap}`)
      }
      if (filtered) continue
      registered.add(name)
      unbound.set(anywhere, name)
    }
  }
  return undefined
}

function serversError(parsed: ParsedCorefile, zone: ServedZone, message: string): CorefileError {
  const token = parsed.blocks[zone.block]?.keyTokens[zone.key]
  return {phase: 'servers', message, file: token?.file || parsed.path, line: token?.line ?? 0, block: zone.block}
}
