import type {CompiledBlock} from '../simulate/chain/compile-block.ts'
import {isSubdomain, longestZone} from '../simulate/dns-name.ts'
import {chooseBlock} from '../simulate/server.ts'
import {zonesOfBlock} from '../setup/check-setup.ts'
import type {Check, Subject} from './subject.ts'
import {found, nameRules, placeOf} from './subject.ts'

const lines = (block: CompiledBlock) => block.block.keyTokens[0] ?? {file: '', line: 0}

const noHandler: Check = (subject) =>
  subject.blocks.flatMap((block) => {
    // A braces mistake or a lost header brings such blocks too; they are told there.
    if (block.steps.length > 0 || subject.server === undefined || /[{}]/.test(block.block.keys.join(''))) return []
    if (!hidesParent(subject, block)) return []
    return [
      found(
        'CF070',
        lines(block),
        `nothing in the block ${block.block.keys.join(' ')} answers queries: they are refused, also where a block above it would answer`,
        'give it a plugin that answers, or take the block out',
      ),
    ]
  })

function hidesParent(subject: Subject, block: CompiledBlock): boolean {
  const zones = zonesOfBlock(block.block)
  return subject.blocks.some(
    (other) =>
      other !== block &&
      zonesOfBlock(other.block).some((zone) => zones.some((own) => own !== zone && isSubdomain(zone, own))),
  )
}

/** Plugins that end a chain with an answer of their own, at least for some names. */
const answering = new Set(
  'template hosts route53 azure clouddns k8s_external kubernetes file auto secondary etcd forward grpc erratic whoami nomad any chaos local acl'.split(
    ' ',
  ),
)

const noAnswer: Check = (subject) =>
  subject.blocks.flatMap((block) => {
    if (
      block.steps.length === 0 ||
      block.steps.some(({plugin}) => answering.has(plugin)) ||
      subject.server === undefined
    )
      return []
    return [
      found(
        'CF071',
        lines(block),
        `no plugin of the block ${block.block.keys.join(' ')} answers: every query ends in SERVFAIL`,
        'add forward, kubernetes or another plugin that answers',
      ),
    ]
  })

const noRoot: Check = ({parsed, inspected, options, server}) => {
  if (server === undefined || parsed.blocks.length === 0) return []
  const plain = inspected.zones.filter(({transport}) => transport === 'dns')
  const port =
    options.dnsPort ?? (plain.some((zone) => zone.port === '53') || plain.length === 0 ? '53' : plain[0]?.port)
  if (plain.some((zone) => zone.zone === '.' && zone.port === port)) return []
  return [
    found(
      'CF072',
      {file: '', line: 0},
      `no block serves the root zone on port ${port ?? '53'}: names outside the zones here are refused`,
      `add a block ".:${port ?? '53'} { forward . /etc/resolv.conf }"`,
    ),
  ]
}

const hiddenRule: Check = (subject) => {
  const {server} = subject
  if (server === undefined) return []
  return nameRules(subject).flatMap(({block, rule}) => {
    if (rule.match.type !== 'exact') return []
    const name = rule.match.from
    const mine = server.listeners.filter(({zones}) => zones.some((zone) => zone.block === block.block.index))
    const facts = {name, type: 'A', class: 'IN', proto: 'udp', client_ip: undefined, server_ip: undefined}
    const others = mine.map((listener) => {
      const choice = chooseBlock(server, listener, {...facts, server_port: listener.port})
      const candidates = [choice.taken ?? choice.refusedBy, ...choice.maybe]
      return candidates.some((candidate) => candidate?.block.index === block.block.index) ? undefined : candidates[0]
    })
    const [other] = others
    if (others.includes(undefined) || other === undefined) return []
    const owner = `${other.block.keys.join(' ')} (line ${lines(other).line})`
    return [
      found(
        'CF073',
        placeOf(rule),
        `${name} is answered by the block ${owner}, so this rule never fires`,
        'put the rule into that block',
      ),
    ]
  })
}

/** A rewritten name stays in its block: it needs kubernetes there, or a forward that leads to cluster DNS. */
const lostTarget: Check = (subject) => {
  const clusters = [
    ...new Set(subject.blocks.flatMap(({kubernetes}) => (kubernetes === undefined ? [] : [kubernetes.clusterZone]))),
  ]
  return nameRules(subject).flatMap(({block, rule}) => {
    const {to} = rule
    const zone = longestZone(clusters, to) ?? (/\.svc\.[^.]+\..*$/.test(to) ? to.replace(/^.*?\.svc\./, '') : undefined)
    const own = block.kubernetes
    if (
      zone === undefined ||
      (own !== undefined && longestZone(own.zones, to) !== undefined) ||
      hasIncompleteTarget(to, clusters)
    )
      return []
    const forwards = block.block.tokens.get('forward') ?? []
    if (forwards.some(({text}) => text.startsWith('__PILLAR__'))) return []
    if (block.steps.some(({plugin}) => plugin === 'template' || plugin === 'hosts' || plugin === 'file')) return []
    return [
      found(
        'CF074',
        placeOf(rule),
        `the block ${block.block.keys.join(' ')} has no kubernetes for ${zone}: ${to} goes to its forward, which does not know it`,
        `add "kubernetes ${zone}" to the block`,
      ),
    ]
  })
}

function hasIncompleteTarget(to: string, clusters: readonly string[]): boolean {
  return to.endsWith('.svc.') || clusters.length === 0
}

/** Section 4 of the reference: which block answers. */
export const blockChecks: readonly Check[] = [noHandler, noAnswer, noRoot, hiddenRule, lostTarget]
