import {atLeast} from '../directives.ts'
import {readHosts} from '../setup/plugins/hosts.ts'
import {readTemplates} from '../setup/plugins/template.ts'
import {contextOf, dispenserOf} from '../setup/check-setup.ts'
import {applyRule} from '../simulate/rewrite-request.ts'
import {simulateOn} from '../simulate/simulate.ts'
import type {CompiledBlock} from '../simulate/chain/compile-block.ts'
import {zonesOfBlock} from '../setup/check-setup.ts'
import type {Check, Subject} from './subject.ts'
import {found, nameRules, placeOf} from './subject.ts'

const maxProbes = 200

/** Names worth asking to find circles: of rules, of template patterns that are plain names, of ExternalName Services. */
function circleProbes(subject: Subject): string[] {
  const names = new Set<string>()
  for (const {rule} of nameRules(subject)) if (rule.match.type === 'exact') names.add(rule.match.from)
  for (const block of subject.blocks) {
    for (const rule of block.rules)
      if (rule.field === 'cname') names.add(rule.match.type === 'exact' ? rule.match.from : rule.to)
    for (const zone of zonesOfBlock(block.block))
      names.add(zone === '.' ? 'srcip-probe.example.' : `srcip-probe.${zone}`)
    for (const token of block.block.tokens.get('template') ?? []) {
      for (const [, name] of token.text.matchAll(/CNAME\s+([A-Za-z0-9_.-]+\.)\s*$/g))
        if (name !== undefined) names.add(name)
    }
  }
  const zone = subject.blocks.find(({kubernetes}) => kubernetes !== undefined)?.kubernetes?.clusterZone
  for (const live of subject.options.cluster?.services ?? []) {
    if (live.type === 'ExternalName' && zone !== undefined) names.add(`${live.name}.${live.namespace}.svc.${zone}`)
  }
  return [...names].slice(0, maxProbes)
}

/** Whether anything here makes the server ask itself: CNAMEs of templates, cname rules, ExternalName Services. */
function asksItself(subject: Subject): boolean {
  const outside = subject.options.cluster?.services.some(({type}) => type === 'ExternalName') ?? false
  return subject.blocks.some(
    ({rules, block}) =>
      outside ||
      rules.some(({field}) => field === 'cname') ||
      (block.tokens.get('template') ?? []).some(({text}) => /CNAME/i.test(text)),
  )
}

const circles: Check = (subject) => {
  const {server} = subject
  if (server === undefined || !asksItself(subject)) return []
  const told = new Set<string>()
  return circleProbes(subject).flatMap((name) => {
    const {endless, block, rules, claimedBy} = simulateOn(
      server,
      {name},
      subject.options.cluster === undefined ? {} : {cluster: subject.options.cluster},
    )
    if (endless === undefined || block === null) return []
    // Every name of the circle finds it: one is enough.
    const key = endless.toSorted()[0] ?? ''
    if (told.has(key) || endless.some((step) => told.has(step))) return []
    for (const step of endless) told.add(step)
    const rule = rules.find(({outcome}) => outcome === 'rewrote' || outcome === 'matched')?.rule
    const at = rule === undefined ? (claimedBy ?? {file: '', line: 0}) : placeOf(rule)
    return [
      found(
        'CF130',
        at,
        `one query for ${name} kills CoreDNS: ${endless.join(' -> ')}`,
        'let the chain end outside of what is answered here',
      ),
    ]
  })
}

const deadHosts: Check = (subject) =>
  subject.blocks.flatMap((block) => {
    const tokens = block.block.tokens.get('hosts')
    if (tokens === undefined || block.rules.length === 0) return []
    const hosts = readHosts(dispenserOf(subject.parsed, tokens), contextOf(subject.parsed, block.block))
    const names = new Set([...hosts.inline.four.keys(), ...hosts.inline.six.keys()])
    return [...names].flatMap((name) => {
      const rule = block.rules.find((one) => {
        const effect = one.field === 'name' ? applyRule(one, {name, type: 'A', class: 'IN'}) : undefined
        return effect?.kind === 'rewrote' && effect.question.name !== name
      })
      const token =
        rule === undefined
          ? undefined
          : tokens.find(({text}) => text.toLowerCase().replace(/\.$/, '') === name.slice(0, -1))
      if (rule === undefined || token === undefined) return []
      return [
        found(
          'CF131',
          token,
          `line ${rule.line} rewrites ${name} before hosts is asked: this entry is never met`,
          'take one of the two out',
        ),
      ]
    })
  })

const autopath: Check = (subject) =>
  subject.blocks.flatMap((block) => {
    const rule = block.rules.find(({field}) => field === 'name')
    if (block.autopath === undefined || rule === undefined) return []
    const at = block.block.tokens.get('autopath')?.[0] ?? block.autopath
    return [
      found(
        'CF132',
        at,
        `autopath completes the search path itself and answers hosts with their public address: the rules (line ${rule.line}) do not fire for Pods`,
        'take autopath out, or answer the hosts with a template',
      ),
    ]
  })

const signed: Check = (subject) =>
  subject.blocks.flatMap((block) => {
    const token = block.block.tokens.get('dnssec')?.[0]
    const rule = block.rules.find(({field}) => field === 'name')
    if (token === undefined || rule === undefined) return []
    return [
      found(
        'CF133',
        token,
        `names are mapped back (line ${rule.line}) after the records are signed: the signatures do not fit`,
        'do not sign in a block that rewrites',
      ),
    ]
  })

/** The loop plugin asks for NUMBER.NUMBER.ZONE at the start, and counts what comes back to it. */
const loopProbe: Check = (subject) =>
  subject.blocks.flatMap((block) => {
    if (!block.block.tokens.has('loop')) return []
    const [zone = '.'] = zonesOfBlock(block.block)
    const name = zone === '.' ? '4611686018427387.4611686018427388.' : `4611686018427387.4611686018427388.${zone}`
    const rule = block.rules.find(
      (one) => one.field === 'name' && applyRule(one, {name, type: 'HINFO', class: 'IN'}).kind === 'rewrote',
    )
    if (rule === undefined) return []
    return [
      found(
        'CF134',
        placeOf(rule),
        `the rule takes the probe of the loop plugin (such as ${name}) too: loops are not found, or found where none is`,
        'narrow the pattern to the names that are meant',
      ),
    ]
  })

const closedTemplate: Check = (subject) =>
  subject.blocks.flatMap((block) => {
    const tokens = block.block.tokens.get('template')
    if (tokens === undefined) return []
    const behind = block.steps.slice(block.steps.findIndex(({plugin}) => plugin === 'template') + 1).length > 0
    return readTemplates(dispenserOf(subject.parsed, tokens), contextOf(subject.parsed, block.block)).flatMap(
      (stanza) => {
        const all = stanza.patterns.every(({source}) => ['.*', '^.*$', ''].includes(source))
        if (all || stanza.fallthrough.length > 0 || !behind) return []
        const token = tokens.find(({line, text}) => line === stanza.line && text === 'template')
        return [
          found(
            'CF135',
            token ?? stanza,
            `names of ${stanza.zones.join(' ')} that no pattern takes end in SERVFAIL, whatever stands behind`,
            'write fallthrough into the template',
          ),
        ]
      },
    )
  })

/** `kubernetes … { fallthrough }` hands unknown Service names on, the rewritten ones with them. */
const leak: Check = (subject) =>
  subject.blocks.flatMap((block) => {
    const {kubernetes} = block
    if (kubernetes === undefined || !block.block.tokens.has('forward')) return []
    const rule = block.rules.find((one) => one.field === 'name' && one.to.endsWith(`.${kubernetes.clusterZone}`))
    if (rule === undefined || !kubernetes.fallthrough.includes('.')) return []
    const token = block.block.tokens.get('kubernetes')?.find(({text}) => text === 'fallthrough')
    return [
      found(
        'CF136',
        token ?? kubernetes,
        `while its Service is missing, the target of line ${rule.line} is asked of the upstream`,
        'name the reverse zones behind fallthrough',
      ),
    ]
  })

const nodeLocal: Check = (subject) =>
  subject.blocks.flatMap((block) => {
    if (!isNodeLocal(block)) return []
    const forwards = block.block.tokens.get('forward') ?? []
    const upstream = forwards.some(({text}) => text.startsWith('__PILLAR__UPSTREAM'))
    const rule = block.rules.find(({field}) => field === 'name')
    if (!upstream || rule === undefined) return []
    return [
      found(
        'CF137',
        placeOf(rule),
        'no block is chosen anew: the internal name goes to the upstream servers',
        'give the host a block of its own that forwards to __PILLAR__CLUSTER__DNS__',
      ),
    ]
  })

function isNodeLocal(block: CompiledBlock): boolean {
  return (block.block.tokens.get('bind') ?? []).some(({text}) => text.startsWith('__PILLAR__'))
}

const hostsStar: Check = (subject) => {
  if (atLeast(subject.parsed.version, '1.14.5')) return []
  return subject.blocks.flatMap(({block}) =>
    (block.tokens.get('hosts') ?? [])
      .filter(({text}) => text.startsWith('*.'))
      .map((token) =>
        found(
          'CF138',
          token,
          `${token.text} is a name with a star: wildcards came with 1.14.5`,
          'name the hosts, or use a template',
        ),
      ),
  )
}

const noReload: Check = ({parsed, server}) => {
  if (server === undefined || parsed.blocks.length === 0 || parsed.blocks.some((block) => block.tokens.has('reload')))
    return []
  return [
    found(
      'CF140',
      {file: '', line: 0},
      'no block loads reload: a changed file is not noticed until CoreDNS is restarted',
      'add "reload" to a block, or restart: kubectl -n kube-system rollout restart deployment/coredns',
    ),
  ]
}

const mebibyte = 1_048_576

const large: Check = ({bytes}) => {
  if (bytes.length < mebibyte * 0.95) return []
  return [
    found(
      'CF141',
      {file: '', line: 0},
      `the text has ${bytes.length} bytes: a ConfigMap ends at ${mebibyte}`,
      'pack hosts of one target into anchored alternations',
    ),
  ]
}

/** Sections 7 and 12.6 of the reference: what plugins do to each other, and what stands in the way of a write. */
export const interplayChecks: readonly Check[] = [
  circles,
  deadHosts,
  autopath,
  signed,
  loopProbe,
  closedTemplate,
  leak,
  nodeLocal,
  hostsStar,
  noReload,
  large,
]
