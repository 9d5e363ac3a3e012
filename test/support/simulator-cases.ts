import type {LiveCluster} from '../../plugins/coredns/src/index.ts'
import type {WireQuestion} from './dns-exchange.ts'
import {seeded, type Random} from './random.ts'

/** One generated Corefile, all its blocks on one port, and what it is asked. */
export interface SimulatorCase {
  readonly corefile: string
  readonly questions: readonly WireQuestion[]
}

/** What stands in the real API server and in the simulator's world. */
export const cluster: LiveCluster = {
  namespaces: ['default', 'kube-node-lease', 'kube-public', 'kube-system', 'demo', 'empty'],
  services: [
    {
      namespace: 'demo',
      name: 'web',
      type: 'ClusterIP',
      clusterIPs: ['10.96.7.1'],
      ports: [{name: 'http', protocol: 'TCP', port: 80}],
      endpoints: [{ip: '10.244.0.7'}],
    },
    {
      namespace: 'demo',
      name: 'lonely',
      type: 'ClusterIP',
      clusterIPs: ['10.96.7.2'],
      ports: [{name: 'https', protocol: 'TCP', port: 443}],
      endpoints: [],
    },
    {
      namespace: 'demo',
      name: 'headless',
      type: 'ClusterIP',
      clusterIPs: ['None'],
      ports: [{name: 'http', protocol: 'TCP', port: 80}],
      endpoints: [{ip: '10.244.0.8', hostname: 'one'}, {ip: '10.244.0.9'}],
    },
    {
      namespace: 'demo',
      name: 'hollow',
      type: 'ClusterIP',
      clusterIPs: ['None'],
      ports: [{name: 'http', protocol: 'TCP', port: 80}],
      endpoints: [],
    },
    {
      namespace: 'demo',
      name: 'outside',
      type: 'ExternalName',
      clusterIPs: [],
      externalName: 'app.example.net',
      ports: [],
    },
    {
      namespace: 'demo',
      name: 'inside',
      type: 'ExternalName',
      clusterIPs: [],
      externalName: 'web.demo.svc.cluster.local',
      ports: [],
    },
    {namespace: 'demo', name: 'literal', type: 'ExternalName', clusterIPs: [], externalName: '192.0.2.77', ports: []},
    {
      namespace: 'default',
      name: 'shop',
      type: 'ClusterIP',
      clusterIPs: ['10.96.7.3'],
      ports: [{name: 'http', protocol: 'TCP', port: 80}],
      endpoints: [],
    },
  ],
}

function shuffled<Item>(random: Random, list: readonly Item[]): Item[] {
  const copy = [...list]
  for (let at = copy.length - 1; at > 0; at -= 1) {
    const other = random.below(at + 1)
    const here = copy[at] as Item
    copy[at] = copy[other] as Item
    copy[other] = here
  }
  return copy
}

const zones = [
  '.',
  'example.org',
  'corp.example.org',
  'apps.example.org',
  'example.net',
  'cluster.local',
  'test',
  'Example.Com',
  '10.0.0.0/24',
]
const hosts = [
  'app.example.org',
  'shop.example.org',
  'www.corp.example.org',
  'foo.apps.example.org',
  'a.b.apps.example.org',
  '_acme-challenge.apps.example.org',
  'example.org',
  'apps.example.org',
  'app.example.net',
  'alias.example.net',
  'gone.example.net',
  'empty.example.net',
  'broken.example.net',
  'refused.example.net',
  'www.example.com',
  'x.test',
  'myshop.example.org',
  'apps-example.org',
  'app.example.org.demo.svc.cluster.local',
  'web.demo.svc.cluster.local',
  'lonely.demo.svc.cluster.local',
  'headless.demo.svc.cluster.local',
  'hollow.demo.svc.cluster.local',
  'one.headless.demo.svc.cluster.local',
  '10-244-0-9.headless.demo.svc.cluster.local',
  'foo.web.demo.svc.cluster.local',
  'outside.demo.svc.cluster.local',
  'inside.demo.svc.cluster.local',
  'literal.demo.svc.cluster.local',
  'none.demo.svc.cluster.local',
  'web.nowhere.svc.cluster.local',
  'demo.svc.cluster.local',
  'svc.cluster.local',
  'cluster.local',
  '_http._tcp.web.demo.svc.cluster.local',
  '10-244-0-7.demo.pod.cluster.local',
  ...[
    '2001-db8--7',
    '--1',
    '--ffff-102-304',
    'fe80--1-',
    '1-2-3',
    '1-2-3-256',
    '010-1-1-1',
    '1-2-3--4',
    '--',
    'pod',
    '*',
  ].map((pod) => `${pod}.demo.pod.cluster.local`),
  'two.one.10-244-0-7.demo.pod.cluster.local',
  '_x._tcp.10-244-0-7.demo.pod.cluster.local',
  '10-244-0-7.nowhere.pod.cluster.local',
  'demo.pod.cluster.local',
  'nowhere.pod.cluster.local',
  'pod.cluster.local',
  'dns-version.cluster.local',
  '_http._tcp.headless.demo.svc.cluster.local',
  '_http._tcp.one.headless.demo.svc.cluster.local',
  '_tcp.web.demo.svc.cluster.local',
  '10-244-0-7.web.demo.svc.cluster.local',
  'x.outside.demo.svc.cluster.local',
  'x.y.cluster.local',
  '5.0.0.10.in-addr.arpa',
  '1.7.96.10.in-addr.arpa',
  'shop.default.svc.cluster.local',
  'com',
  'org',
]
const targets = [
  'web.demo.svc.cluster.local.',
  'shop.default.svc.cluster.local',
  'none.demo.svc.cluster.local',
  'outside.demo.svc.cluster.local.',
  'headless.demo.svc.cluster.local',
  'app.example.net',
  'alias.example.net',
  'gone.example.net',
  'x.test',
  'B.Example.Org.',
  'lonely.demo.svc.cluster.local.',
  'example.org',
]
const kinds = [
  'A',
  'A',
  'A',
  'A',
  'AAAA',
  'AAAA',
  'TXT',
  'TXT',
  'TXT',
  'MX',
  'CNAME',
  'SRV',
  'PTR',
  'SOA',
  'ANY',
  'CAA',
  'DS',
]
const rcodes = ['NOERROR', 'NXDOMAIN', 'SERVFAIL', 'REFUSED', 'NOTIMP', '3', 'nxdomain']

const patterns: readonly (readonly [pattern: string, to: readonly string[]])[] = [
  [String.raw`^[^.]+\.apps\.example\.org\.$`, ['web.demo.svc.cluster.local.', 'x.test']],
  [
    String.raw`^([^._][^.]*)\.apps\.example\.org\.$`,
    ['{1}.example.net', '{1}.demo.svc.cluster.local', 'web.demo.svc.cluster.local'],
  ],
  [String.raw`(.*)\.example\.org`, ['{1}.example.net', '{1}.demo.svc.cluster.local', '{2}.x.test']],
  [String.raw`^(?:app|shop|www)\.(corp\.)?example\.org\.$`, ['{1}app.example.net', 'shop.default.svc.cluster.local.']],
  [String.raw`example`, ['web.demo.svc.cluster.local', 'x.test.']],
  [String.raw`(?i)^APP\.`, ['shop.default.svc.cluster.local']],
  [String.raw`^(a)(.*)\.$`, ['{2}.{1}.test', '{1}-{2}', 'x-{0}']],
  [String.raw`^([[:alpha:]]+)\.(\pL+)\.`, ['{2}.{1}.example.net']],
  [String.raw`\.(test|net)\.$`, ['www.example.com']],
  [String.raw`^(?P<host>\w+)-`, ['{1}.demo.svc.cluster.local']],
]

function answerOptions(random: Random): string {
  const options: string[] = []
  if (random.chance(0.4)) return ' answer auto'
  if (random.chance(0.5)) options.push(String.raw`name ^(.*)\.demo\.svc\.cluster\.local\.$ {1}.apps.example.org`)
  if (random.chance(0.4)) options.push(String.raw`name (.*)\.net\. {1}.org.`)
  if (random.chance(0.4)) options.push(String.raw`value (.*)\.example\.net\.$ {1}.example.org`)
  return options.length === 0 ? '' : ` answer ${options.join(' answer ')}`
}

function nameRule(random: Random): string {
  const from = random.pick(hosts)
  const to = random.pick(targets)
  switch (random.below(6)) {
    case 0:
      return `name ${from} ${to}`
    case 1:
      return `name exact ${random.chance(0.2) ? from.toUpperCase() : from} ${random.chance(0.15) ? from : to}${random.chance(0.2) ? answerOptions(random) : ''}`
    case 2:
      return `name prefix ${random.pick(['app', 'foo', 'www', 'app.example', 'one'])} ${random.pick(['shop', 'web', 'bar', 'a.b'])}${answerOptions(random)}`
    case 3:
      return `name suffix ${random.pick(['.example.org', 'example.org', '.apps.example.org', '.cluster.local', 'shop.example.org', 'org'])} ${random.pick(['.example.net', 'example.net', '.demo.svc.cluster.local', '.web.demo.svc.cluster.local', 'test'])}${answerOptions(random)}`
    case 4:
      return `name substring ${random.pick(['example', 'example.org', 'corp', '.demo', 'a'])} ${random.pick(['example', 'corp.example.org', 'intra', 'web.demo'])}${answerOptions(random)}`
    default: {
      const [pattern, to2] = random.pick(patterns)
      return `name regex ${pattern} ${random.pick(to2)}${answerOptions(random)}`
    }
  }
}

function matcher(random: Random): string {
  switch (random.below(5)) {
    case 0:
      return random.pick(hosts)
    case 1:
      return `exact ${random.pick(hosts)}`
    case 2:
      return `suffix ${random.pick(['example.org', 'example.net', 'cluster.local'])}`
    case 3:
      return `prefix ${random.pick(['app', 'app.example', 'web'])}`
    default:
      return `regex ${random.pick(patterns)[0]}`
  }
}

function rewriteLine(random: Random): string {
  const mode = random.pick(['', '', '', 'stop ', 'continue ', 'continue ', 'CONTINUE '])
  const roll = random.next()
  let body: string
  if (roll < 0.62) body = nameRule(random)
  else if (roll < 0.7)
    body = `type ${random.pick(['A', 'AAAA', 'ANY', 'MX', 'TXT', 'aaaa'])} ${random.pick(['A', 'AAAA', 'TXT', 'HINFO'])}`
  else if (roll < 0.78) body = `ttl ${matcher(random)} ${random.pick(['7', '5-60', '-30', '100-'])}`
  else if (roll < 0.9) body = `rcode ${matcher(random)} ${random.pick(rcodes)} ${random.pick(rcodes)}`
  else if (roll < 0.96) {
    const dot = random.chance(0.4) ? '' : '.'
    body = `cname ${random.pick([`app.example.net${dot} www.example.com${dot}`, `exact web.demo.svc.cluster.local${dot} shop.default.svc.cluster.local${dot}`, 'suffix .net. .com.', String.raw`regex ^(\w+)\.example\.net\.$ {1}.example.com.`, 'substring example. other.'])}`
  } else body = `edns0 ${random.pick(['local set 0xffee 0x61626364', 'nsid set', 'subnet set 24 56', 'nsid replace'])}`
  // The block form takes the same words in any layout.
  if (random.chance(0.12)) return `rewrite ${mode}{\n        ${body.replace(' answer ', '\n        answer ')}\n    }`
  return `rewrite ${mode}${body}`
}

function template(random: Random, number: number): string {
  const kind = random.pick(['TXT', 'TXT', 'TXT', 'ANY', 'A', 'AAAA', 'MX'])
  const zone = random.chance(0.5) ? '' : ` ${random.pick(['example.org', 'example.net', 'cluster.local', '.', 'test'])}`
  const lines: string[] = []
  if (random.chance(0.4))
    lines.push(`match ${random.pick(patterns)[0]}${random.chance(0.3) ? ` ${random.pick(patterns)[0]}` : ''}`)
  const answers: Readonly<Record<string, readonly string[]>> = {
    TXT: [`"{{ .Name }} 60 IN TXT \\"B${number} {{ .Name }}\\""`],
    ANY: [`"{{ .Name }} 60 IN TXT \\"N${number} {{ .Type }} {{ .Zone }}\\""`],
    A: [
      '"{{ .Name }} 30 IN A 192.0.2.9"',
      '"{{ .Name }} 30 IN CNAME web.demo.svc.cluster.local."',
      '"{{ .Name }} 30 IN CNAME app.example.net."',
      '"{{ index .Match 0 }}x. A 192.0.2.8"',
    ],
    AAAA: ['"{{ .Name }} 30 IN AAAA 2001:db8::9"', '"{{ .Name }} 30 IN CNAME shop.default.svc.cluster.local."'],
    MX: ['"{{ .Name }} 30 IN MX 10 mail.{{ .Zone }}"', '"{{ .Name }} MX 10 app.example.net."'],
  }
  if (random.chance(0.85)) lines.push(`answer ${random.pick(answers[kind] ?? [])}`)
  if (random.chance(0.2)) lines.push(`authority "{{ .Zone }} 60 IN SOA ns.{{ .Zone }} host.{{ .Zone }} 1 60 60 60 60"`)
  if (random.chance(0.2)) lines.push(`rcode ${random.pick(['NXDOMAIN', 'REFUSED', 'SERVFAIL', 'NOERROR', 'NOTIMP'])}`)
  if (random.chance(0.75)) lines.push(random.pick(['fallthrough', 'fallthrough', 'fallthrough example.org test']))
  return `template IN ${kind}${zone} {\n${lines.map((line) => `        ${line}\n`).join('')}    }`
}

function hostsPlugin(random: Random): string {
  const entries = Array.from({length: 1 + random.below(3)}, () => {
    const address = random.pick(['192.0.2.5', '192.0.2.6', '2001:db8::5', '10.0.0.5'])
    return `        ${address} ${random.pick(hosts)} ${random.pick(hosts)}\n`
  })
  if (random.chance(0.2)) entries.push('        192.0.2.44 *.apps.example.org\n')
  const zone = random.chance(0.3) ? ` ${random.pick(['example.org', 'example.net'])}` : ''
  const tail = random.chance(0.75) ? `        ${random.pick(['fallthrough', 'fallthrough example.org'])}\n` : ''
  return `hosts /nowhere/hosts${zone} {\n${entries.join('')}${random.chance(0.3) ? '        ttl 60\n' : ''}${tail}    }`
}

function block(random: Random, zone: string, number: number, place: Place, view: string): string {
  const lines: string[] = [`bind ${place.address}`]
  if (view !== '') lines.push(view)
  const add = (chance: number, line: () => string) => {
    if (random.chance(chance)) lines.push(line())
  }
  add(0.6, () => 'errors')
  add(0.1, () => 'any')
  add(0.1, () => 'minimal')
  add(0.3, () => 'loadbalance')
  add(
    0.12,
    () =>
      `acl ${random.pick(['', 'example.org'])} {\n        ${random.pick(['block type AAAA', 'filter type TXT net *', 'allow net 127.0.0.0/8\n        block', 'block net 10.0.0.0/8'])}\n    }`,
  )
  const rules = random.below(5)
  for (let count = 0; count < rules; count += 1) lines.push(rewriteLine(random))
  if (place.cached)
    lines.push(
      random.pick([
        'cache 30',
        'cache 30 {\n        disable success cluster.local\n        disable denial cluster.local\n    }',
        'cache 60 example.org',
      ]),
    )
  const templates = random.below(3)
  for (let count = 0; count < templates; count += 1) lines.push(template(random, number))
  add(0.3, () => hostsPlugin(random))
  if (random.chance(0.45)) {
    lines.push(
      `kubernetes ${random.pick(['cluster.local', 'cluster.local in-addr.arpa ip6.arpa', 'cluster.local in-addr.arpa'])} {\n        kubeconfig ${place.kubeconfig}\n        ${random.pick(['pods insecure', 'ttl 30', 'pods disabled'])}\n${random.chance(0.4) ? `        ${random.pick(['fallthrough', 'fallthrough in-addr.arpa ip6.arpa'])}\n` : ''}    }`,
    )
  }
  const forwards = random.below(3)
  for (let count = 0; count < forwards; count += 1) {
    const options = random.chance(0.3)
      ? ` {\n        except ${random.pick(['cluster.local', 'apps.example.org test'])}\n    }`
      : ''
    lines.push(`forward ${random.pick(['.', '.', 'example.org', 'example.net'])} 127.0.0.1:${place.stub}${options}`)
  }
  if (lines.length === (view === '' ? 1 : 2)) lines.push('reload')
  add(0.06, () => 'erratic {\n        drop 0\n    }')
  add(0.06, () => 'whoami')
  return `${zone}:${place.port} {\n${shuffled(random, lines)
    .map((line) => `    ${line}\n`)
    .join('')}}\n`
}

interface Place {
  readonly port: number
  readonly address: string
  readonly stub: number
  readonly kubeconfig: string
  readonly cached: boolean
}

const views = [
  "view one {\n        expr name() startsWith 'app'\n    }",
  "view two {\n        expr type() in ['A', 'AAAA']\n    }",
  "view three {\n        expr incidr(client_ip(), '127.0.0.0/8')\n        expr name() endsWith '.org.' || !(type() == 'A')\n    }",
  "view four {\n        expr client_ip() == '192.0.2.1'\n    }",
]

/**
 * In: seed and number of the case, its port, the port of the stub name server, a kubeconfig, how many questions.
 * Out: a Corefile whose blocks all lie on that port, and the questions.
 */
export function simulatorCase(
  seed: number,
  number: number,
  place: {readonly port: number; readonly stub: number; readonly kubeconfig: string; readonly questions: number},
): SimulatorCase {
  const random = seeded((seed ^ Math.imul(number + 1, 0x9e3779b1)) >>> 0)
  const cached = random.chance(0.25)
  const used = shuffled(random, zones).slice(0, 1 + random.below(4))
  if (random.chance(0.7) && !used.includes('.')) used.push('.')
  const given = {...place, address: '127.0.0.1', cached}
  const blocks: string[] = []
  for (const zone of used) {
    if (random.chance(0.15)) blocks.push(block(random, zone, blocks.length, given, random.pick(views)))
    blocks.push(block(random, zone, blocks.length, given, ''))
  }
  const asked = new Set<string>()
  const questions: WireQuestion[] = []
  for (let tries = 0; questions.length < place.questions && tries < 500; tries += 1) {
    const type = random.pick(kinds)
    const plain = random.chance(0.75)
      ? random.pick(hosts)
      : `${random.pick(['x', 'app', 'www', '_dmarc', 'foo'])}.${random.pick(hosts)}`
    const name = !cached && random.chance(0.12) ? plain.replace(/[a-c]/g, (letter) => letter.toUpperCase()) : plain
    if (asked.has(`${plain} ${type}`)) continue
    asked.add(`${plain} ${type}`)
    questions.push({name, type, edns: !cached && random.chance(0.15), tcp: random.chance(0.05)})
  }
  return {corefile: blocks.join(''), questions}
}
