import {describe, expect, test} from 'vitest'
import {
  compileServer,
  explain,
  parseCorefile,
  parseVersion,
  podSearchPath,
  searchVariants,
  simulate,
  simulateBothOrders,
  simulateSearch,
  type CorednsVersion,
  type LiveCluster,
  type Query,
  type Simulation,
  type World,
} from '../../../plugins/coredns/src/index.ts'
import {cluster} from '../../support/simulator-cases.ts'
import {upstreamSays} from '../../support/upstream-zone.ts'

const parsed = (text: string, version = '1.14.7') =>
  parseCorefile(new TextEncoder().encode(text), {version: parseVersion(version) as CorednsVersion})

function ask(text: string, query: Query, world: World = {}, version?: string): Simulation {
  const simulation = simulate(parsed(text, version), query, world)
  if (simulation === undefined) throw new Error('does not load')
  return simulation
}

const records = (simulation: Simulation) =>
  simulation.reply?.answer.map(({name, type, target, data}) => `${name} ${type} ${target ?? data}`)

const upstream: World['upstream'] = (_, question) => upstreamSays(question)

describe('kubernetes, asked of live Services', () => {
  const corefile = '.:53 {\n kubernetes cluster.local in-addr.arpa {\n pods insecure\n }\n forward . 192.0.2.53\n}\n'
  const world: World = {cluster, upstream}

  test.each([
    ['web.demo.svc.cluster.local A', 'NOERROR', ['web.demo.svc.cluster.local. A 10.96.7.1']],
    ['web.demo.svc.cluster.local AAAA', 'NOERROR', []],
    ['web.demo.svc.cluster.local MX', 'NOERROR', []],
    [
      'headless.demo.svc.cluster.local A',
      'NOERROR',
      ['headless.demo.svc.cluster.local. A 10.244.0.8', 'headless.demo.svc.cluster.local. A 10.244.0.9'],
    ],
    ['one.headless.demo.svc.cluster.local A', 'NOERROR', ['one.headless.demo.svc.cluster.local. A 10.244.0.8']],
    ['hollow.demo.svc.cluster.local A', 'NXDOMAIN', []],
    [
      'inside.demo.svc.cluster.local A',
      'NOERROR',
      ['inside.demo.svc.cluster.local. CNAME web.demo.svc.cluster.local.', 'web.demo.svc.cluster.local. A 10.96.7.1'],
    ],
    [
      'outside.demo.svc.cluster.local A',
      'NOERROR',
      ['outside.demo.svc.cluster.local. CNAME app.example.net.', 'app.example.net. A 203.0.113.17'],
    ],
    ['literal.demo.svc.cluster.local A', 'NXDOMAIN', []],
    ['none.demo.svc.cluster.local A', 'NXDOMAIN', []],
    ['web.nowhere.svc.cluster.local A', 'NXDOMAIN', []],
    ['demo.svc.cluster.local A', 'NOERROR', []],
    ['cluster.local A', 'NOERROR', []],
    ['foo.web.demo.svc.cluster.local A', 'NXDOMAIN', []],
    ['10-244-0-7.demo.pod.cluster.local A', 'NOERROR', ['10-244-0-7.demo.pod.cluster.local. A 10.244.0.7']],
    ['1.7.96.10.in-addr.arpa PTR', 'NOERROR', ['1.7.96.10.in-addr.arpa. PTR web.demo.svc.cluster.local.']],
    [
      '_http._tcp.web.demo.svc.cluster.local SRV',
      'NOERROR',
      ['_http._tcp.web.demo.svc.cluster.local. SRV web.demo.svc.cluster.local.'],
    ],
  ])('%s is %s', (question, rcode, answer) => {
    const [name = '', type = ''] = question.split(' ')
    const simulation = ask(corefile, {name, type}, world)
    expect([simulation.reply?.rcode, records(simulation)]).toEqual([rcode, answer])
  })

  test('without live Services the plugin is named and the answer is unknown, not guessed', () => {
    const simulation = ask(corefile, {name: 'web.demo.svc.cluster.local'})
    expect(simulation.claimedBy?.plugin).toBe('kubernetes')
    expect(simulation.reply).toBeUndefined()
    expect(simulation.unknown).toContain('not known')
  })
})

describe('what a name rule takes, and what it makes of it', () => {
  test.each([
    ['exact App.Example x.test', 'app.example.', 'x.test.'],
    ['exact app.example x.test', 'a.app.example.', undefined],
    ['prefix app x', 'app.example.', 'x.example.'],
    ['prefix app x', 'apple.example.', undefined],
    ['prefix app x', 'www.app.example.', undefined],
    ['suffix .example .test', 'app.example.', 'app.test.'],
    ['suffix .example .test', 'app.example.org.', undefined],
    ['suffix example test', 'myexample.', 'mytest.'],
    ['substring example. test.', 'a.example.example.org.', 'a.test.test.org.'],
    [String.raw`regex ^(\w+)\.(\w+)\.$ {2}.{1}`, 'a.b.', 'b.a.'],
    [String.raw`regex (a) x{2}`, 'a.b.', 'x{2}.'],
  ])('%s on %s', (rule, name, made) => {
    const {seen} = ask(`.:53 {\n rewrite name ${rule}\n whoami\n}\n`, {name})
    expect(seen?.name).toBe(made ?? name)
  })
})

describe('circles', () => {
  test('an ExternalName that leads back to the rewritten host', () => {
    const corefile =
      '.:53 {\n rewrite name app.example.org loop.demo.svc.cluster.local.\n kubernetes cluster.local\n}\n'
    const loop: LiveCluster = {
      namespaces: ['demo'],
      services: [
        {
          namespace: 'demo',
          name: 'loop',
          type: 'ExternalName',
          clusterIPs: [],
          externalName: 'app.example.org',
          ports: [],
        },
      ],
    }
    const {endless, reply} = ask(corefile, {name: 'app.example.org'}, {cluster: loop})
    expect(endless).toEqual(['app.example.org. A', 'app.example.org. A'])
    expect(reply).toBeUndefined()
  })

  test('template and rewrite cname', () => {
    const template = '.:53 {\n template IN A {\n answer "{{ .Name }} 30 IN CNAME b.example."\n }\n}\n'
    expect(ask(template, {name: 'a.example'}).endless).toEqual(['a.example. A', 'b.example. A', 'b.example. A'])
    const cname =
      '.:53 {\n rewrite cname exact b.example. a.example.\n template IN A a.example {\n answer "{{ .Name }} 30 IN CNAME b.example."\n }\n template IN A b.example {\n answer "{{ .Name }} 30 IN A 192.0.2.1"\n }\n}\n'
    expect(ask(cname, {name: 'a.example'}).endless?.length).toBeGreaterThan(1)
  })

  test('a long chain that ends is no circle', () => {
    const growing =
      '.:53 {\n template IN A {\n match ^(.{0,200})$\n answer "{{ .Name }} 30 IN CNAME a.{{ .Name }}"\n fallthrough\n }\n whoami\n}\n'
    const simulation = ask(growing, {name: 'a.example', client: '192.0.2.7'})
    expect(simulation.endless).toBeUndefined()
    expect(simulation.reply?.answer.length).toBeGreaterThan(50)
  })
})

describe('what cannot be known', () => {
  test('a pattern nobody can judge', () => {
    const simulation = ask('.:53 {\n rewrite name regex ^(?<n>a)\\.$ b. answer auto\n whoami\n}\n', {name: 'a'})
    expect(simulation.rules[0]?.outcome).toBe('unknown')
    expect([simulation.seen, simulation.reply]).toEqual([null, undefined])
  })

  test('views that ask for the client give alternatives', () => {
    const corefile =
      ".:53 {\n view in {\n expr incidr(client_ip(), '10.0.0.0/8')\n }\n rewrite name a.example b.example\n whoami\n}\n.:53 {\n whoami\n}\n"
    const simulation = ask(corefile, {name: 'a.example'})
    expect(simulation.block).toBe(1)
    expect(simulation.alternatives.map(({block, seen, when}) => [block, seen?.name, when.includes('view in')])).toEqual(
      [[0, 'b.example.', true]],
    )
    expect(ask(corefile, {name: 'a.example', client: '10.1.2.3'}).block).toBe(0)
    expect(ask(corefile, {name: 'a.example', client: '192.0.2.1'}).alternatives).toEqual([])
  })

  test('the plugin order of an unknown version: both are told', () => {
    const corefile = '.:53 {\n cache 30\n rewrite continue name regex ^a\\.$ b\n forward . 192.0.2.53\n}\n'
    const both = simulateBothOrders(
      (version) => parseCorefile(new TextEncoder().encode(corefile), {version}),
      {name: 'a'},
      {
        upstream: () => 'unreachable',
      },
    )
    // Nothing maps the reply back: the old order hands rewrite a copy, so the error still carries the asked name.
    expect(both?.reply?.question.name).toBe('b.')
    expect(both?.alternatives.map(({reply}) => reply?.question.name)).toEqual(['a.'])
  })
})

describe('the search path of a Pod', () => {
  const path = podSearchPath('demo', 'cluster.local', ['corp.example'])

  test('is walked before the name as it stands, unless it has five dots', () => {
    expect(searchVariants('app.example.org', path)).toEqual([
      'app.example.org.demo.svc.cluster.local.',
      'app.example.org.svc.cluster.local.',
      'app.example.org.cluster.local.',
      'app.example.org.corp.example.',
      'app.example.org.',
    ])
    expect(searchVariants('app.example.org.', path)).toEqual(['app.example.org.'])
    expect(searchVariants('a.b.c.d.e.f', path)[0]).toBe('a.b.c.d.e.f.')
  })

  test('an unanchored rule catches the first variant, an exact one the last', () => {
    const run = (rule: string) => {
      const text = `.:53 {\n ${rule}\n kubernetes cluster.local\n template IN A {\n rcode NXDOMAIN\n }\n}\n`
      const server = compileServer(parsed(text))
      if (server === undefined) throw new Error('does not load')
      return simulateSearch(server, {name: 'app.example.org'}, path, {cluster, upstream: () => undefined}).map(
        ({name, simulation}) => [name, simulation.rules.some(({outcome}) => outcome === 'rewrote')],
      )
    }
    expect(run('rewrite name regex app.example web.demo.svc.cluster.local. answer auto')[0]).toEqual([
      'app.example.org.demo.svc.cluster.local.',
      true,
    ])
    const exact = run('rewrite name app.example.org web.demo.svc.cluster.local.')
    expect(exact.at(-1)).toEqual(['app.example.org.', true])
    expect(exact.slice(0, -1).every(([, hit]) => hit === false)).toBe(true)
  })
})

describe('node-local-dns', () => {
  test('pillars are ordinary words', () => {
    const corefile =
      'cluster.local:53 {\n bind __PILLAR__LOCAL__DNS__ __PILLAR__DNS__SERVER__\n forward . __PILLAR__CLUSTER__DNS__ {\n force_tcp\n }\n}\n.:53 {\n bind __PILLAR__LOCAL__DNS__ __PILLAR__DNS__SERVER__\n forward . __PILLAR__UPSTREAM__SERVERS__\n}\n'
    const simulation = ask(corefile, {name: 'app.example.org', listener: {address: '__PILLAR__LOCAL__DNS__'}})
    expect(simulation.claimedBy?.why).toContain('__PILLAR__UPSTREAM__SERVERS__')
  })
})

test('a trace reads from the question to the reply', () => {
  const text =
    '.:53 {\n    rewrite name exact b.example.org c.example.org\n    rewrite name app.example.org web.demo.svc.cluster.local.\n    rewrite name suffix example.org example.net answer auto\n    kubernetes cluster.local\n}\n'
  const simulation = ask(text, {name: 'App.example.org'}, {cluster})
  const blocks = parsed(text).blocks.map(({keys, keyTokens}) => ({keys, line: keyTokens[0]?.line ?? 0}))
  expect(explain(simulation, blocks)).toEqual([
    'question  App.example.org. A',
    'listener  dns://*:53',
    'zone      .: .:53 (line 1) takes the query',
    'block     .:53 (line 1)',
    'rule      line 3: rewrite name app.example.org web.demo.svc.cluster.local. | App.example.org. becomes web.demo.svc.cluster.local., ends the list',
    'rule      line 4: rewrite name suffix example.org example.net answer auto | not reached, though it matches the name: an earlier rule shadows it',
    'rule      1 more rule does not match',
    'asks for  web.demo.svc.cluster.local. A; a record found comes back as app.example.org.',
    'taken by  kubernetes, line 5: zone cluster.local.',
    'reply     NOERROR',
    '          app.example.org. 5 A 10.96.7.1',
  ])
})
