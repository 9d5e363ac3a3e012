import {atLeast, rewriteBeforeCache} from '../directives.ts'
import type {Listener, ParsedCorefile} from '../types.ts'
import type {CompiledBlock} from './chain/compile-block.ts'
import {rewriteQuestion} from './chain/rewrite-step.ts'
import {unansweredRcodes} from './dns-codes.ts'
import {fqdn, isDomainName, isFqdn, questionName} from './dns-name.ts'
import type {DnsMessage, Question, Request} from './message.ts'
import {replyTo} from './message.ts'
import {errorAdditional, ownerFor} from './rewrite-reply.ts'
import type {Claim, Next, Run, Writer} from './run.ts'
import {AnswerUnknown, EndlessLookup, ServerPanic} from './run.ts'
import type {CompiledServer, ListenerChoice, ZoneStep} from './server.ts'
import {chooseBlock, chooseListener, compileServer} from './server.ts'
import type {RuleTrace} from './trace.ts'
import type {World} from './world.ts'

/** One question put to a server. */
export interface Query {
  /** Final dot optional. Spelling is kept. */
  readonly name: string
  /** Default A. */
  readonly type?: string
  /** Default IN. */
  readonly class?: string
  readonly listener?: ListenerChoice
  /** Address of the client: views, acl, whoami and autopath ask for it. */
  readonly client?: string
  /** The client sends an OPT record. Default false. */
  readonly edns?: boolean
  /** Default udp. */
  readonly proto?: 'udp' | 'tcp'
}

/** What a query meets, and what comes back, as far as it can be known. */
export interface Simulation {
  readonly question: Question
  readonly listener?: Listener
  /** The search for the block, zone by zone. */
  readonly zones: readonly ZoneStep[]
  /** Index of the block that takes the query; null: nobody, REFUSED. */
  readonly block: number | null
  /** Every rewrite rule of the block in list order, with its part. Empty where rewrite is not reached. */
  readonly rules: readonly RuleTrace[]
  /** The question as the plugins behind rewrite see it; null where rewrite fails. */
  readonly seen: Question | null
  /** Owner name a client gets for a record that the plugins behind rewrite named `seen`. */
  readonly owner: string | null
  /** The plugin that took the name. */
  readonly claimedBy?: Claim
  /** The first reply that a client gets. Absent: none, or not known (`unknown` says why). */
  readonly reply?: DnsMessage
  /** Why there is no reply here. */
  readonly unknown?: string
  /** The server asks itself the same for ever: it dies of it. */
  readonly endless?: readonly string[]
  readonly notes: readonly string[]
  /** Other outcomes, where something decides that is not known: views, and the plugin order when the version is unknown. */
  readonly alternatives: readonly (Simulation & {readonly when: string})[]
}

/** In: a parsed file, a query, what is known of the world. Out: the simulation; undefined when CoreDNS would not load the file. */
export function simulate(parsed: ParsedCorefile, query: Query, world: World = {}): Simulation | undefined {
  const server = compileServer(parsed)
  return server === undefined ? undefined : simulateOn(server, query, world)
}

/**
 * As simulate, for a version that is not known: the first result is that of 1.14.7 or newer, and where a release with
 * the old plugin order (up to 1.14.6) would do something else, that stands among the alternatives.
 */
export function simulateBothOrders(
  parse: (version: {major: number; minor: number; patch: number}) => ParsedCorefile,
  query: Query,
  world: World = {},
): Simulation | undefined {
  const newer = simulate(parse({major: 1, minor: 14, patch: 7}), query, world)
  const older = simulate(parse({major: 1, minor: 14, patch: 6}), query, world)
  if (newer === undefined || older === undefined) return newer ?? older
  const other = {...older, when: 'CoreDNS up to 1.14.6 (cache before rewrite)'}
  return {...newer, alternatives: [...newer.alternatives, other]}
}

/** As simulate, on a server that is ready. Many queries can be put to one. */
export function simulateOn(server: CompiledServer, query: Query, world: World = {}): Simulation {
  const listener = chooseListener(server.listeners, query.listener ?? {})
  const question: Question = {
    name: fqdn(query.name),
    type: (query.type ?? 'A').toUpperCase(),
    class: (query.class ?? 'IN').toUpperCase(),
  }
  if (listener === undefined) {
    const none = 'nothing listens there'
    return {
      question,
      zones: [],
      block: null,
      rules: [],
      seen: null,
      owner: null,
      unknown: none,
      notes: [],
      alternatives: [],
    }
  }
  return ask({server, listener, world, query}, question)
}

interface Asked {
  readonly server: CompiledServer
  readonly listener: Listener
  readonly world: World
  readonly query: Query
}

/** How deep the server's questions to itself are followed: more than names can grow, label by label. */
const deepest = 140

/** Questions to itself of one query that are followed: a template with several CNAMEs asks more at every step. */
const mostLookups = 500

type Choice = ReturnType<typeof chooseBlock>

function ask(asked: Asked, question: Question, forced?: {block: CompiledBlock; choice: Choice}): Simulation {
  const {server, listener, query} = asked
  const facts = {
    name: questionName(question.name),
    type: question.type,
    class: question.class,
    proto: query.proto ?? 'udp',
    client_ip: query.client,
    server_ip: query.listener?.address ?? (listener.address === '' ? undefined : listener.address),
    server_port: listener.port,
  }
  const choice = forced?.choice ?? chooseBlock(server, listener, facts)
  const block = forced?.block ?? choice.taken
  const request: Request = {question, edns: query.edns ?? false}
  const base = {question, listener, zones: choice.steps}
  const alternatives = forced === undefined ? alternativesOf(asked, question, choice) : []
  const chaos = server.blocks.some((other) =>
    other.steps.some(({plugin}) => plugin === 'chaos' || plugin === 'forward'),
  )
  if (block === undefined || (question.class !== 'IN' && !chaos)) {
    const notes =
      choice.refusedBy === undefined
        ? []
        : [
            `the block of line ${lineOf(choice.refusedBy)} has no plugin that answers: REFUSED, and the blocks above it are hidden`,
          ]
    const reply = replyTo(request, 'REFUSED', {additional: errorAdditional(request.edns)})
    return {...base, block: null, rules: [], seen: null, owner: null, reply, notes, alternatives}
  }
  const replies: DnsMessage[] = []
  const log: Log = {notes: [], rules: [], claim: undefined, lookups: 0}
  const path = [`${question.name.toLowerCase()} ${question.type}`]
  let unknown: string | undefined
  let endless: readonly string[] | undefined
  try {
    serveBlock(
      asked,
      block,
      request,
      (message) => {
        if (fitsWire(message)) replies.push(message)
        else log.notes.push('a reply holds a name that is no domain name (reply rules made it): it cannot be sent')
      },
      log,
      path,
    )
  } catch (error) {
    if (error instanceof AnswerUnknown) unknown = error.message
    else if (error instanceof EndlessLookup) endless = error.path
    else throw error
  }
  const rewritten = rewriteQuestion(block.rules, question, request.edns)
  const failed = rewritten.ended === 'illegal' || rewritten.ended === 'unknown'
  const run = runOf(asked, log, path, 0)
  const [reply] = replies
  const known = unknown === undefined && endless === undefined
  return {
    ...base,
    block: block.block.index,
    rules: log.rules,
    seen: failed ? null : rewritten.question,
    owner: failed ? null : ownerOrNull(rewritten.question, rewritten.replyRules, question, run),
    ...(log.claim === undefined ? {} : {claimedBy: log.claim}),
    ...(known && reply !== undefined ? {reply} : {}),
    ...(unknown === undefined ? (reply === undefined && known ? {unknown: 'no answer is sent'} : {}) : {unknown}),
    ...(endless === undefined ? {} : {endless}),
    notes: [...new Set([...log.notes, ...cacheNotes(server, block, rewritten.question.name !== question.name)])],
    alternatives,
  }
}

/** Whether every name of a message can be written to the wire; the server drops a message that cannot. */
function fitsWire(message: DnsMessage): boolean {
  const legal = (name: string) => isFqdn(name) && isDomainName(name)
  const records = [...message.answer, ...message.authority, ...message.additional]
  return records.every(({name, target}) => legal(name) && (target === undefined || legal(target)))
}

function ownerOrNull(...args: Parameters<typeof ownerFor>): string | null {
  try {
    return ownerFor(...args)
  } catch (error) {
    if (error instanceof AnswerUnknown) return null
    throw error
  }
}

function lineOf(block: CompiledBlock): number {
  return block.block.keyTokens[0]?.line ?? 0
}

function alternativesOf(asked: Asked, question: Question, choice: Choice): (Simulation & {when: string})[] {
  return choice.maybe.map((block) => ({
    ...ask(asked, question, {block, choice}),
    when: `the view ${block.view?.name ?? ''} of line ${lineOf(block)} lets the query in`,
  }))
}

interface Log {
  readonly notes: string[]
  rules: readonly RuleTrace[]
  claim: Claim | undefined
  lookups: number
}

/** Runs the chain of a block as the server does: what no plugin wrote, the server writes. */
function serveBlock(
  asked: Asked,
  block: CompiledBlock,
  request: Request,
  write: Writer,
  log: Log,
  path: readonly string[],
): void {
  const run = runOf(asked, log, path, path.length - 1)
  const from =
    (index: number): Next =>
    (writer, current) => {
      const step = block.steps[index]
      if (step !== undefined) return step.serve(run, writer, current, from(index + 1))
      // A chain that runs out: "no next plugin found".
      run.fault.raised = true
      return 'SERVFAIL'
    }
  const rcode = recovered(() => from(0)(write, request))
  if (unansweredRcodes.has(rcode)) write(replyTo(request, rcode, {additional: errorAdditional(request.edns)}))
}

function recovered(serve: () => string): string {
  try {
    return serve()
  } catch (error) {
    if (error instanceof ServerPanic) return 'SERVFAIL'
    throw error
  }
}

function runOf(asked: Asked, log: Log, path: readonly string[], depth: number): Run {
  const {server, query, world} = asked
  return {
    parsed: server.parsed,
    version: server.parsed.version,
    world,
    client: {
      proto: query.proto ?? 'udp',
      ...(query.client === undefined ? {} : {address: query.client}),
      ...(query.listener?.address === undefined ? {} : {server: query.listener.address}),
    },
    depth,
    fault: {raised: false},
    claim: (claim) => {
      if (depth === 0) log.claim ??= claim
    },
    rules: (traces) => {
      if (depth === 0 && log.rules.length === 0) log.rules = traces
    },
    note: (text) => log.notes.push(text),
    lookup: (name, type, edns, because) => lookUp(asked, log, path, {name, type, edns, because}),
  }
}

function lookUp(
  asked: Asked,
  log: Log,
  path: readonly string[],
  wanted: {readonly name: string; readonly type: string; readonly edns: boolean; readonly because: string},
): DnsMessage | undefined {
  const question: Question = {name: fqdn(wanted.name), type: wanted.type, class: 'IN'}
  const step = `${question.name.toLowerCase()} ${question.type}`
  const deeper = [...path, step]
  if (path.includes(step)) throw new EndlessLookup(deeper)
  log.lookups += 1
  if (path.length > deepest || log.lookups > mostLookups)
    throw new AnswerUnknown('the server asks itself too many questions to be followed')
  log.notes.push(`${wanted.because}: the server asks itself for ${question.name} ${question.type}`)
  const {server, listener, query} = asked
  const choice = chooseBlock(server, listener, {
    name: questionName(question.name),
    type: question.type,
    class: 'IN',
    proto: query.proto ?? 'udp',
    client_ip: query.client,
    server_ip: query.listener?.address,
    server_port: listener.port,
  })
  const request: Request = {question, edns: wanted.edns}
  if (choice.maybe.length > 0) throw new AnswerUnknown('a view decides which block is asked, and it cannot be judged')
  if (choice.taken === undefined) return replyTo(request, 'REFUSED', {additional: errorAdditional(request.edns)})
  let last: DnsMessage | undefined
  // The server keeps what was written last here, where a client would take the first.
  serveBlock(
    asked,
    choice.taken,
    request,
    (message) => {
      last = message
    },
    log,
    deeper,
  )
  return last
}

/** What the cache does to rewritten names in this version (corefile.md 5). */
function cacheNotes(server: CompiledServer, block: CompiledBlock, renamed: boolean): string[] {
  const tokens = block.block.tokens.get('cache')
  if (tokens === undefined || !renamed) return []
  if (!rewriteBeforeCache(server.parsed.version)) {
    return [
      'cache stands before rewrite in this version: answers are kept under the asked name, also while the target changes',
    ]
  }
  const notes = [
    'cache stands behind rewrite in this version: answers are kept under the rewritten name, rules cost time on every query',
  ]
  return atLeast(server.parsed.version, '1.14.7') ? notes : []
}
