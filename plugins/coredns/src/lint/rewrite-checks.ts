import {atLeast} from '../directives.ts'
import type {RewriteRule} from '../setup/plugins/rewrite-rule.ts'
import {isDomainName, isSubdomain, longestZone} from '../simulate/dns-name.ts'
import {replyRulesOf} from '../simulate/rewrite-reply.ts'
import {shadowsOf} from '../simulate/shadows.ts'
import type {Check} from './subject.ts'
import {found, nameRules, placeOf} from './subject.ts'

/** Whether a pattern is held at both ends. */
function anchored(source: string): boolean {
  const bare = source.replace(/^\(\?[a-zA-Z]+\)/, '')
  return /^(\^|\\A)/.test(bare) && /(\\\.)?(\$|\\z)$/.test(bare)
}

const unanchored: Check = (subject) =>
  nameRules(subject).flatMap(({rule}) => {
    const {match} = rule
    if (match.type !== 'regex' || anchored(match.from)) return []
    // A group that takes everything up to the end is told by its own rule.
    return [
      found(
        'CF105',
        placeOf(rule),
        `${match.from} also matches inside other names, and the names that the search path makes of them`,
        String.raw`write ^ before and \.$ behind the pattern`,
      ),
    ]
  })

const wideSuffix: Check = (subject) =>
  nameRules(subject).flatMap(({rule}) => {
    const {match} = rule
    if (match.type !== 'suffix' || match.from.startsWith('.')) return []
    return [
      found(
        'CF106',
        placeOf(rule),
        `${match.from} is compared as text: my${match.from} is taken too`,
        `write a dot in front: .${match.from}`,
      ),
    ]
  })

const serviceSuffix: Check = (subject) =>
  nameRules(subject).flatMap(({rule}) => {
    const {match, to} = rule
    const labels = to.replace(/^\./, '').split('.')
    const service = labels.indexOf('svc') === 2
    if (match.type !== 'suffix' || !service || !match.from.startsWith('.')) return []
    return [
      found(
        'CF107',
        placeOf(rule),
        `the labels in front stay: foo${match.from} becomes foo${to.startsWith('.') ? '' : '.'}${to}, which kubernetes reads as an endpoint`,
        String.raw`use: rewrite name regex ^[^.]+…\.$ TARGET. answer auto`,
      ),
    ]
  })

const dottedPart: Check = (subject) =>
  nameRules(subject).flatMap(({rule}) => {
    const {match} = rule
    if (match.type !== 'prefix' && match.type !== 'substring') return []
    const written = rule.tokens.find(({text}) => text.toLowerCase() === match.from.slice(0, -1))
    if (written === undefined) return []
    return [
      found(
        'CF108',
        written,
        `${written.text} means ${match.from} here: CoreDNS puts a dot behind it, so whole labels only`,
        'use a regex for parts of a label, or write the dot',
      ),
    ]
  })

const finalDotGroup: Check = (subject) =>
  nameRules(subject).flatMap(({rule}) => {
    const {match, to} = rule
    const regex = match.pattern?.regex
    if (match.type !== 'regex' || regex === undefined) return []
    // Only "{N}." at the end of the target lets a group put a second dot before the last.
    const last = /\{(\d+)\}\.$/.exec(to)
    if (last === null) return []
    const example = exampleFor(match.from, regex.test)
    const groups = example === undefined ? null : regex.find(example)
    const group = groups?.[Number(last[1])]
    const greedy =
      group === undefined
        ? last[1] === '0' && !match.from.endsWith('[^.]$') && /(\\\.|\.)\$?$/.test(match.from)
        : group.endsWith('.')
    if (!greedy) return []
    return [
      found(
        'CF109',
        placeOf(rule),
        `group {${last[1] ?? ''}} takes the final dot, so the new name ends in two: every such query is SERVFAIL`,
        String.raw`let the group end before \.$`,
      ),
    ]
  })

/** A name that a pattern takes: the pattern read as text, where that works. */
function exampleFor(source: string, test: (name: string) => boolean): string | undefined {
  const text = source
    .replace(/^\^|\$$/g, '')
    .replace(/\(\?P?<\w+>|\(\?:|\(\?[a-z]+\)/g, '(')
    .replace(/\[\^?[^\]]*\][+*?]?/g, 'a')
    .replace(/\\[wd][+*?]?/g, 'a')
    .replace(/\.[+*]\??/g, 'a')
    .replace(/[()]/g, '')
    .replace(/\\\./g, '.')
    .replace(/\|.*$/, '')
    .toLowerCase()
  const names = [text, `${text}.`, `${text}.example.`, `a.${text}`, `a.${text}.`, 'a.example.']
  return names.find((name) => name.endsWith('.') && isDomainName(name) && test(name))
}

const missingGroup: Check = (subject) =>
  nameRules(subject).flatMap(({rule}) => {
    const {match, to} = rule
    const groups = match.pattern?.regex?.groups
    const used = [...to.matchAll(/\{(\d{1,3})\}/g)].map(([, digits]) => Number(digits))
    if (groups === undefined || !used.some((group) => group > groups && group <= 100)) return []
    return [
      found(
        'CF110',
        placeOf(rule),
        `the pattern has ${groups} ${groups === 1 ? 'group' : 'groups'}: the reference beyond stays in the name as text`,
        'use a number that the pattern has',
      ),
    ]
  })

const shadowed: Check = (subject) =>
  subject.blocks.flatMap((block) =>
    shadowsOf(block.rules).flatMap(({earlier, later, extent, name}) => {
      if (extent !== 'never' || earlier.field !== 'name') return []
      return [
        found(
          'CF111',
          placeOf(later),
          `line ${earlier.line} takes ${name} before: ${earlier.text}`,
          'move this rule above it, or take one of them out',
        ),
      ]
    }),
  )

const otherKindStops: Check = (subject) =>
  subject.blocks.flatMap((block) =>
    block.rules.flatMap((rule, index) => {
      const behind = block.rules.slice(index + 1).some(({field}) => field === 'name')
      if (rule.mode !== 'stop' || rule.field === 'name' || rule.field === 'type' || rule.field === 'class' || !behind)
        return []
      const what = rule.field === 'cname' || rule.field === 'edns0' ? 'every query' : 'each name it takes'
      return [
        found(
          'CF112',
          placeOf(rule),
          `a ${rule.field} rule ends the list like any other: for ${what} the name rules below are not looked at`,
          `write "rewrite continue ${rule.field} …", or put it last`,
        ),
      ]
    }),
  )

/** Out: whether a rule brings anything that maps names of the reply back. */
function mapsBack(rule: RewriteRule & {field: 'name'}): boolean {
  const question = {name: rule.match.type === 'exact' ? rule.match.from : 'a.', type: 'A', class: 'IN'}
  return replyRulesOf(rule, question, {...question, name: rule.to}, {type: 'A', edns: false}).some(
    ({what}) => what === 'name',
  )
}

const identity = (rule: RewriteRule & {field: 'name'}) => rule.match.from === rule.to

const leakedQuestion: Check = (subject) =>
  nameRules(subject).flatMap(({block, rule}) => {
    if (rule.mode !== 'continue' || mapsBack(rule) || rule.answers.length > 0) return []
    const rest = block.rules.slice(block.rules.indexOf(rule) + 1)
    // A rule behind it that always matches would put the question back.
    if (rest.some((other) => other.field === 'cname')) return []
    return [
      found(
        'CF113',
        placeOf(rule),
        'where no later rule matches, the reply carries the rewritten question, and clients drop it',
        'write "answer auto" behind the rule, or "stop"',
      ),
    ]
  })

const targetOwner: Check = (subject) =>
  nameRules(subject).flatMap(({rule}) => {
    if (rule.mode !== 'stop' || mapsBack(rule) || identity(rule)) return []
    return [
      found(
        'CF114',
        placeOf(rule),
        `the client asks one name and gets a record of ${rule.to}: many resolvers throw that away`,
        'write "answer auto" behind the rule',
      ),
    ]
  })

const wrongOrder: Check = (subject) => {
  if (atLeast(subject.parsed.version, '1.11.4')) return []
  return subject.blocks.flatMap((block) =>
    block.rules.flatMap((rule, index) => {
      if (rule.field !== 'name' || rule.mode !== 'continue' || !mapsBack(rule) || identity(rule)) return []
      const next = block.rules
        .slice(index + 1)
        .find((other) => other.field === 'name' && other.match.type === 'exact' && other.match.from === rule.to)
      if (next === undefined) return []
      return [
        found(
          'CF115',
          placeOf(rule),
          `with the rule of line ${next.line} behind it, the answer comes back as ${rule.to}: before 1.11.4 names are mapped back in the wrong order`,
          'rewrite to the last name at once',
        ),
      ]
    }),
  )
}

const star: Check = (subject) =>
  nameRules(subject).flatMap(({rule}) => {
    if (rule.match.type !== 'exact' || !rule.match.from.includes('*')) return []
    return [
      found(
        'CF117',
        placeOf(rule),
        `${rule.match.from} is the name with a star in it: no host is taken`,
        String.raw`use: rewrite name regex ^[^.]+\.…\.$ TARGET. answer auto`,
      ),
    ]
  })

const shortService: Check = (subject) => {
  const zones = subject.blocks.flatMap(({kubernetes}) => (kubernetes === undefined ? [] : [kubernetes.clusterZone]))
  if (zones.length === 0) return []
  return nameRules(subject).flatMap(({rule}) => {
    if (!/^[^.]+\.[^.]+\.svc\.$/.test(rule.to)) return []
    return [
      found(
        'CF118',
        placeOf(rule),
        `${rule.to} lacks the cluster domain: it goes to forward, and the internet answers`,
        `write ${rule.to}${zones[0] ?? ''}`,
      ),
    ]
  })
}

const underscores: Check = (subject) =>
  nameRules(subject).flatMap(({rule}) => {
    const regex = rule.match.pattern?.regex
    if (rule.match.type !== 'regex' || regex === undefined || !anchored(rule.match.from)) return []
    const example = exampleFor(rule.match.from, regex.test)
    if (
      example === undefined ||
      !/^\^\(*(\?:)?\[\^\.\]\+/.test(rule.match.from) ||
      !regex.test(`_acme-challenge${example.slice(example.indexOf('.'))}`)
    )
      return []
    return [
      found(
        'CF119',
        placeOf(rule),
        '_acme-challenge and its like are taken too: their TXT records disappear for the cluster',
        String.raw`write [^._][^.]* for the label`,
      ),
    ]
  })

const tooMany: Check = (subject) =>
  subject.blocks.flatMap((block) => {
    if (block.rules.length <= 300) return []
    const at = block.rules[300]
    return at === undefined
      ? []
      : [
          found(
            'CF120',
            placeOf(at),
            `${block.rules.length} rules are walked for every query of the block, about a third of a microsecond each`,
            'pack hosts of one target into anchored alternations',
          ),
        ]
  })

const clusterNames: Check = (subject) => {
  const zones = subject.blocks.flatMap(({kubernetes}) => kubernetes?.zones ?? [])
  return nameRules(subject).flatMap(({rule}) => {
    const name = rule.match.from
    if (rule.match.type !== 'exact' || identity(rule)) return []
    const reverse = isSubdomain('in-addr.arpa.', name) || isSubdomain('ip6.arpa.', name)
    if (longestZone(zones, name) === undefined && !reverse) return []
    return [
      found(
        'CF122',
        placeOf(rule),
        `${name} belongs to ${reverse ? 'a reverse zone' : 'the cluster'}: the rule takes it away from there`,
        'take the rule out',
      ),
    ]
  })
}

const liveTarget: Check = (subject) => {
  const {cluster} = subject.options
  if (cluster === undefined) return []
  return nameRules(subject).flatMap(({block, rule}) => {
    const zone = block.kubernetes?.clusterZone
    const service = zone === undefined || identity(rule) ? null : /^([^.{}]+)\.([^.{}]+)\.svc\.(.*)$/.exec(rule.to)
    if (service === null || service[3] !== zone) return []
    const [, name = '', namespace = ''] = service
    const live = cluster.services.find((one) => one.name === name && one.namespace === namespace)
    if (live?.type === 'ExternalName') {
      return [
        found(
          'CF124',
          placeOf(rule),
          `Service ${namespace}/${name} is an ExternalName (${live.externalName ?? ''}): if that leads back to the host, CoreDNS dies of it`,
          'name a Service with a ClusterIP',
        ),
      ]
    }
    if (live !== undefined && live.clusterIPs.some((ip) => ip !== 'None' && ip !== '')) return []
    const why =
      live === undefined
        ? 'does not exist: the host is NXDOMAIN'
        : 'has no ClusterIP: the host is NXDOMAIN while it has no ready endpoint'
    return [found('CF123', placeOf(rule), `Service ${namespace}/${name} ${why}`, 'create the Service first')]
  })
}

/** Section 6 of the reference: what rules that load do to names and answers. */
export const rewriteChecks: readonly Check[] = [
  unanchored,
  wideSuffix,
  serviceSuffix,
  dottedPart,
  finalDotGroup,
  missingGroup,
  shadowed,
  otherKindStops,
  leakedQuestion,
  targetOwner,
  wrongOrder,
  star,
  shortService,
  underscores,
  tooMany,
  clusterNames,
  liveTarget,
]
