import {inspectKeys} from '../server-keys.ts'
import {listenersOf} from '../listeners.ts'
import type {Listener, ParsedCorefile, ServedZone} from '../types.ts'
import type {CompiledBlock} from './chain/compile-block.ts'
import {compileBlock, isSetupError} from './chain/compile-block.ts'
import {viewTruth} from './view-expression.ts'
import type {ViewFacts} from './view-expression.ts'

/** A parsed file made ready for queries. */
export interface CompiledServer {
  readonly parsed: ParsedCorefile
  /** Same order as `parsed.blocks`. */
  readonly blocks: readonly CompiledBlock[]
  readonly listeners: readonly Listener[]
}

/** In: a parsed file. Out: it, ready for many queries; undefined when CoreDNS would not load it (P1, P2 or P3). */
export function compileServer(parsed: ParsedCorefile): CompiledServer | undefined {
  if (parsed.error !== undefined) return undefined
  const inspected = inspectKeys(parsed)
  if (inspected.error !== undefined) return undefined
  try {
    const blocks = parsed.blocks.map((block) => compileBlock(parsed, block))
    return {parsed, blocks, listeners: listenersOf(parsed, inspected)}
  } catch (error) {
    if (isSetupError(error)) return undefined
    throw error
  }
}

/** Where a query arrives. */
export interface ListenerChoice {
  readonly transport?: string
  readonly address?: string
  readonly port?: string
}

/**
 * In: the listeners, what is known of where the query arrives. Out: the listener that gets it. Without an address the
 * unbound one of that port counts, else the first; without a port 53, else that of the first plain DNS listener.
 */
export function chooseListener(listeners: readonly Listener[], choice: ListenerChoice): Listener | undefined {
  const same = listeners.filter((listener) => listener.transport === (choice.transport ?? 'dns'))
  const port = choice.port ?? (same.some((listener) => listener.port === '53') ? '53' : same[0]?.port)
  const open = same.filter((listener) => listener.port === port)
  const unbound = open.find((listener) => listener.address === '')
  if (choice.address === undefined) return unbound ?? open[0]
  return open.find((listener) => listener.address === choice.address) ?? unbound
}

/** One step of the search for a block. */
export interface ZoneStep {
  /** What was looked up: the name, then the name without its first labels. */
  readonly zone: string
  /** Blocks under it that were looked at, in file order. */
  readonly blocks: readonly {
    readonly block: number
    /** `taken`, `view false`, `view unknown`, `no handler`, `kept for DS`. */
    readonly verdict: 'taken' | 'view-false' | 'view-unknown' | 'no-handler' | 'kept-for-ds'
  }[]
}

/** The block that a query meets, and how it was found. */
export interface BlockChoice {
  readonly steps: readonly ZoneStep[]
  /** Undefined: REFUSED. */
  readonly taken?: CompiledBlock
  /** A block without handlers answered REFUSED itself. */
  readonly refusedBy?: CompiledBlock
  /** Blocks whose view could not be judged: each may be the one that answers. */
  readonly maybe: readonly CompiledBlock[]
}

/**
 * Chooses the server block: longest zone first, the root last; blocks of one zone in file order; a block whose view
 * says no lets the search go on. Source: corefile.md 4, core/dnsserver/server.go.
 */
export function chooseBlock(server: CompiledServer, listener: Listener, facts: ViewFacts): BlockChoice {
  const table = tableOf(listener)
  const search: Search = {server, facts, steps: [], maybe: []}
  const name = facts.name
  let kept: CompiledBlock | undefined
  for (const suffix of suffixesOf(name)) {
    const served = table.get(suffix)
    if (served === undefined) continue
    const found = tryZone(search, suffix, served, facts.type === 'DS', false)
    if (found?.verdict === 'no-handler') return {steps: search.steps, refusedBy: found.block, maybe: search.maybe}
    if (found?.verdict === 'taken') return {steps: search.steps, taken: found.block, maybe: search.maybe}
    if (found?.verdict === 'kept-for-ds') kept = found.block
  }
  if (kept !== undefined) return {steps: search.steps, taken: kept, maybe: search.maybe}
  const root = table.get('.')
  const found = root === undefined ? undefined : tryZone(search, '.', root, false, true)
  return {steps: search.steps, maybe: search.maybe, ...(found?.verdict === 'taken' ? {taken: found.block} : {})}
}

const tables = new WeakMap<Listener, ReadonlyMap<string, readonly ServedZone[]>>()

/** The zone table of a listener, made once. */
function tableOf(listener: Listener): ReadonlyMap<string, readonly ServedZone[]> {
  const known = tables.get(listener)
  if (known !== undefined) return known
  const table = new Map<string, ServedZone[]>()
  for (const served of listener.zones) {
    const list = table.get(served.zone)
    if (list === undefined) table.set(served.zone, [served])
    else list.push(served)
  }
  tables.set(listener, table)
  return table
}

interface Search {
  readonly server: CompiledServer
  readonly facts: ViewFacts
  readonly steps: ZoneStep[]
  readonly maybe: CompiledBlock[]
}

/** Out: the name, then the name without its first label and so on, the root left out. */
function suffixesOf(name: string): string[] {
  if (name === '.') return []
  const found = [name]
  for (let at = 0; at < name.length; at += 1) {
    if (name[at] === '\\') at += 1
    else if (name[at] === '.' && at + 1 < name.length) found.push(name.slice(at + 1))
  }
  return found
}

function tryZone(
  search: Search,
  zone: string,
  served: readonly ServedZone[],
  ds: boolean,
  root: boolean,
): {readonly block: CompiledBlock; readonly verdict: 'taken' | 'no-handler' | 'kept-for-ds'} | undefined {
  const seen: {block: number; verdict: ZoneStep['blocks'][number]['verdict']}[] = []
  search.steps.push({zone, blocks: seen})
  let kept: CompiledBlock | undefined
  for (const {block: index} of served) {
    const block = search.server.blocks[index]
    if (block === undefined) continue
    if (block.steps.length === 0) {
      seen.push({block: index, verdict: 'no-handler'})
      // The root is looked through like this only after everything else: there such a block is passed over.
      if (root) continue
      return {block, verdict: 'no-handler'}
    }
    const truth = viewOf(block, search.facts)
    if (truth === false) {
      seen.push({block: index, verdict: 'view-false'})
      continue
    }
    if (truth === undefined) {
      seen.push({block: index, verdict: 'view-unknown'})
      search.maybe.push(block)
      continue
    }
    seen.push({block: index, verdict: ds ? 'kept-for-ds' : 'taken'})
    if (!ds) return {block, verdict: 'taken'}
    kept = block
  }
  return kept === undefined ? undefined : {block: kept, verdict: 'kept-for-ds'}
}

function viewOf(block: CompiledBlock, facts: ViewFacts): boolean | undefined {
  const truths = (block.view?.expressions ?? []).map((expression) => viewTruth(expression, facts))
  if (truths.includes(false)) return false
  return truths.includes(undefined) ? undefined : true
}
