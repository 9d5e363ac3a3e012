import {pluginOrder} from '../directives.ts'
import {checkListeners} from '../listeners.ts'
import {inspectKeys} from '../server-keys.ts'
import {checkSetup} from '../setup/check-setup.ts'
import type {RewriteRule} from '../setup/plugins/rewrite-rule.ts'
import type {
  CheckLoadable,
  Directive,
  HostAnswer,
  HostAnswerQuery,
  HostRefusal,
  HostRefusalCode,
  Listener,
  ParsedCorefile,
  PrepareHostAnswers,
  Token,
  WantedHost,
} from '../types.ts'
import type {CompiledBlock} from './chain/compile-block.ts'
import {fqdn} from './dns-name.ts'
import type {Question} from './message.ts'
import {RuleIndex} from './rule-index.ts'
import type {Claim, Run} from './run.ts'
import {AnswerUnknown} from './run.ts'
import type {CompiledServer} from './server.ts'
import {chooseBlock, compileServer} from './server.ts'

/** P1 to P4 over a parsed file: the first error in the order CoreDNS would meet it, or undefined. */
export const checkLoadable: CheckLoadable = (parsed) => {
  if (parsed.error !== undefined) return parsed.error
  const inspected = inspectKeys(parsed)
  if (inspected.error !== undefined) return inspected.error
  return checkSetup(parsed).errors[0] ?? checkListeners(parsed, inspected)
}

/**
 * What the editor asks the simulator about wanted hosts: blocks that can answer them (every view, every listener of the
 * port), operators' rules that catch them today, and reasons that no place of a rule can cure: the block cannot resolve
 * the target, autopath or another plugin answers first. In: the file; a second call a host.
 */
export const prepareHostAnswers: PrepareHostAnswers = (parsed, options) => {
  const server = compileServer(parsed)
  if (server === undefined) return () => ({blocks: [], caughtBy: []})
  const indexes = new Map<CompiledBlock, RuleIndex>()
  const directives = directivesByToken(parsed)
  const listeners = server.listeners.filter(({transport, port}) => transport === 'dns' && port === options.dnsPort)
  const anyView = parsed.blocks.some(({tokens}) => tokens.has('view'))
  // Whether a block resolves a target does not depend on the host: thousands of hosts ask about a handful of pairs.
  const unableByTarget = new Map<CompiledBlock, Map<string, string | undefined>>()
  const unable = (block: CompiledBlock, target: string) => {
    const known = unableByTarget.get(block) ?? new Map<string, string | undefined>()
    unableByTarget.set(block, known)
    if (!known.has(target)) known.set(target, cannotResolve(parsed, block, target))
    return known.get(target)
  }
  return (query) => {
    const sample = sampleName(query.host)
    const blocks = blocksFor(server, listeners, sample, anyView)
    const caughtBy = blocks.flatMap((block) => {
      const index = indexes.get(block) ?? new RuleIndex(block.rules)
      indexes.set(block, index)
      return caught(block, index, query, sample, directives)
    })
    const refusal = blocks
      .map((block) => refusalOf(parsed, block, query.host, sample, unable))
      .find((one) => one !== undefined)
    const answer: HostAnswer = {blocks: blocks.map(({block}) => block.index), caughtBy}
    return refusal === undefined ? answer : {...answer, refusal}
  }
}

/** A name that the wanted entry stands for: wildcards by a label that nobody uses. */
function sampleName(host: WantedHost): string {
  return fqdn(host.kind === 'exact' ? host.name : host.name.replace(/^\*/, 'srcip-sample')).toLowerCase()
}

function directivesByToken(parsed: ParsedCorefile): ReadonlyMap<Token, Directive> {
  const found = new Map<Token, Directive>()
  for (const block of parsed.blocks) {
    for (const directive of block.directives) {
      if (directive.name !== 'rewrite') continue
      for (const token of directive.tokens) found.set(token, directive)
    }
  }
  return found
}

function blocksFor(
  server: CompiledServer,
  listeners: readonly Listener[],
  name: string,
  anyView: boolean,
): CompiledBlock[] {
  const found = new Set<CompiledBlock>()
  for (const listener of listeners) {
    // Type and protocol choose a block only through a view.
    for (const type of anyView ? ['A', 'AAAA'] : ['A']) {
      const facts = {name, type, class: 'IN', client_ip: undefined, server_ip: undefined, server_port: listener.port}
      for (const proto of anyView ? ['udp', 'tcp'] : ['udp']) {
        const choice = chooseBlock(server, listener, {...facts, proto})
        for (const block of choice.maybe) found.add(block)
        const taken = choice.taken ?? choice.refusedBy
        if (taken !== undefined) found.add(taken)
      }
    }
  }
  return [...found].sort((one, other) => one.block.index - other.block.index)
}

function caught(
  block: CompiledBlock,
  index: RuleIndex,
  query: HostAnswerQuery,
  sample: string,
  directives: ReadonlyMap<Token, Directive>,
): HostAnswer['caughtBy'] {
  const directiveOf = (rule: RewriteRule) => directives.get(rule.tokens[0] as Token)
  const isOurs = (rule: RewriteRule) => {
    const directive = directiveOf(rule)
    return directive !== undefined && query.ours(directive)
  }
  const rules = new Set<RewriteRule>()
  for (const type of ['A', 'AAAA']) {
    for (const {rule, outcome, stopped} of index.met({name: sample, type, class: 'IN'}, isOurs)) {
      if (outcome === 'rewrote' || outcome === 'unknown' || stopped) rules.add(rule)
    }
  }
  if (query.host.kind !== 'exact') {
    const suffix = `${query.host.name.slice(1)}.`
    const covered = (name: string) =>
      name.endsWith(suffix) &&
      (query.host.kind === 'wildcard-any-depth' || !name.slice(0, name.length - suffix.length).includes('.'))
    for (const rule of index.exactWhere(covered)) if (!isOurs(rule)) rules.add(rule)
  }
  return [...rules].flatMap((rule) => {
    const directive = directiveOf(rule)
    const {file, line, text} = rule
    return directive === undefined ? [] : [{block: block.block.index, directive, file, line, text}]
  })
}

function refusalOf(
  parsed: ParsedCorefile,
  block: CompiledBlock,
  host: WantedHost,
  sample: string,
  unableToResolve: (block: CompiledBlock, target: string) => string | undefined,
): HostRefusal | undefined {
  const key = block.block.keyTokens[0]
  const where = `server block "${block.block.keys.join(' ')}" (line ${key?.line ?? 0})`
  const refuse = (
    code: HostRefusalCode,
    reason: string,
    remedy: string,
    at: {file?: string; line?: number} = key ?? {},
  ): HostRefusal => ({
    ...host,
    code,
    reason,
    remedy,
    ...(at.file === undefined ? {} : {file: at.file}),
    ...(at.line === undefined ? {} : {line: at.line}),
  })
  if (block.autopath !== undefined) {
    return refuse(
      'AutopathAnswersFirst',
      `${where} has autopath on line ${block.autopath.line}: it answers ${host.name} with its search path, and rewrite rules do not fire`,
      'take autopath out of the block, or answer the name with a template there',
      block.autopath,
    )
  }
  const first = takenBeforeRewrite(parsed, block, sample)
  if (first !== undefined) {
    return refuse(
      'AnsweredByEarlierPlugin',
      `${first.plugin} on line ${first.line} of ${where} answers ${host.name} before rewrite is asked`,
      `exempt the name from ${first.plugin}, or leave it out`,
      first,
    )
  }
  const unable = unableToResolve(block, host.target)
  if (unable === undefined) return undefined
  const zone = host.target.split('.').slice(3).join('.').replace(/\.$/, '') || 'CLUSTER-DOMAIN'
  const port = block.block.keys.map((text) => /:(\d+)$/.exec(text)?.[1]).find((text) => text !== undefined) ?? '53'
  return refuse(
    'BlockCannotResolveTarget',
    `${host.name} is answered by ${where}, which ${unable}`,
    `two ways out: add the line "kubernetes ${zone}" to that block; or give ${host.name} a server block of its own, "${host.name.replace(/^\*\./, '')}:${port}", a copy of this one with that line`,
  )
}

/** Plugins before rewrite that can take an ordinary name. Others there hand everything on. */
const earlyTakers = new Set(['acl', 'local'])

function takenBeforeRewrite(parsed: ParsedCorefile, block: CompiledBlock, name: string): Claim | undefined {
  for (const step of stepsAround(parsed, block).before) {
    if (!earlyTakers.has(step.plugin)) continue
    const claim = claimOf(parsed, [step], {name, type: 'A', class: 'IN'})
    if (claim !== undefined) return claim
  }
  return undefined
}

interface StepsAround {
  readonly before: CompiledBlock['steps']
  readonly after: CompiledBlock['steps']
}
const stepsAroundOf = new WeakMap<CompiledBlock, StepsAround>()

/** The steps of a block before and after the place of rewrite in the chain, found once a block. */
function stepsAround(parsed: ParsedCorefile, block: CompiledBlock): StepsAround {
  const known = stepsAroundOf.get(block) ?? splitAtRewrite(parsed, block)
  stepsAroundOf.set(block, known)
  return known
}

function splitAtRewrite(parsed: ParsedCorefile, block: CompiledBlock): StepsAround {
  const at = block.steps.findIndex(({plugin}) => plugin === 'rewrite')
  if (at >= 0) return {before: block.steps.slice(0, at), after: block.steps.slice(at + 1)}
  // No rule yet: ours will stand where the order of the version puts rewrite.
  const order = [...block.steps.map(({plugin}) => plugin)]
  const position = orderOf(parsed, order)
  return {before: block.steps.slice(0, position), after: block.steps.slice(position)}
}

function orderOf(parsed: ParsedCorefile, names: readonly string[]): number {
  const order = pluginOrder(parsed.version)
  const rewrite = order.get('rewrite') ?? 0
  return names.filter((name) => (order.get(name) ?? Number.MAX_SAFE_INTEGER) < rewrite).length
}

/** In: a block and a target. Out: why the block cannot resolve it, in words that follow "which"; undefined when it can. */
function cannotResolve(parsed: ParsedCorefile, block: CompiledBlock, target: string): string | undefined {
  const question: Question = {name: fqdn(target), type: 'A', class: 'IN'}
  const claim = claimOf(parsed, stepsAround(parsed, block).after, question)
  if (claim === undefined) return `has no plugin that resolves ${question.name}`
  if (claim.plugin === 'kubernetes' || claim.plugin === 'template' || claim.plugin === 'hosts') {
    return claim.why.includes('no fallthrough')
      ? `answers ${question.name} by ${claim.plugin} with an error`
      : undefined
  }
  if (claim.plugin === 'forward' && claim.why.includes('__PILLAR__CLUSTER__DNS__')) return undefined
  if (claim.plugin === 'forward') return `forwards (${claim.why}) and cannot resolve ${question.name}`
  return `leaves ${question.name} to ${claim.plugin} (${claim.why})`
}

/** Which of these steps takes a question, nothing known of the world. */
function claimOf(parsed: ParsedCorefile, steps: CompiledBlock['steps'], question: Question): Claim | undefined {
  let claim: Claim | undefined
  const run: Run = {
    parsed,
    version: parsed.version,
    world: {},
    client: {proto: 'udp'},
    depth: 0,
    fault: {raised: false},
    claim: (made) => {
      claim ??= made
    },
    rules: () => {},
    note: () => {},
    lookup: () => undefined,
  }
  const from = (index: number): Parameters<CompiledBlock['steps'][number]['serve']>[3] => {
    return (write, request) => steps[index]?.serve(run, write, request, from(index + 1)) ?? 'SERVFAIL'
  }
  try {
    from(0)(() => {}, {question, edns: false})
  } catch (error) {
    if (!(error instanceof AnswerUnknown)) throw error
  }
  return claim
}
