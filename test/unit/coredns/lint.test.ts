import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import {
  checkSetup,
  lint,
  lintRules,
  parseCorefile,
  parseVersion,
  shadowsOf,
  compileServer,
  type CorednsVersion,
} from '../../../plugins/coredns/src/index.ts'
import {corefileCase} from '../../support/corefile-generator.ts'
import {fieldCorefiles} from '../../support/field-corefiles.ts'

const bytes = (text: string) => new TextEncoder().encode(text)

describe('lint', () => {
  test('says line and column, in characters, of the word', () => {
    const {findings} = lint(
      bytes(
        '.:53 {\n    # ü\n    rewrite name suffix example.org example.net answer auto\n    forward . 192.0.2.53\n    reload\n}\n',
      ),
    )
    expect(findings.map(({id, line, column}) => [id, line, column])).toEqual([['CF106', 3, 5]])
  })

  test('names the imported file', () => {
    const files = new Map([
      ['/etc/coredns/x.override', bytes('rewrite name suffix example.org example.net answer auto\n')],
    ])
    const {findings} = lint(bytes('.:53 {\n    import x.override\n    forward . 192.0.2.53\n    reload\n}\n'), {
      parse: {files},
    })
    expect(findings.map(({id, file, line, column}) => [id, file, line, column])).toEqual([
      ['CF106', '/etc/coredns/x.override', 1, 1],
    ])
  })

  test.each(fieldCorefiles())('the Corefile of %s as shipped has no error', (_, text) => {
    const errors = lint(text, {parse: {imports: 'unknown'}}).findings.filter(({severity}) => severity === 'error')
    expect(errors).toEqual([])
  })

  test('any input is judged without a crash, and every finding is of the table', () => {
    fc.assert(
      fc.property(fc.integer({min: 0, max: 1_000_000}), (seed) => {
        const one = corefileCase(seed, 7)
        const options = {parse: {files: one.files, env: {known: one.env, others: 'unset'}}} as const
        for (const finding of lint(one.corefile, options).findings) {
          expect(Object.keys(lintRules)).toContain(finding.id)
          expect(finding.message).not.toBe('')
        }
      }),
      {numRuns: 300},
    )
  })
})

describe('setup', () => {
  const errors = (text: string, version = '1.14.7') =>
    checkSetup(parseCorefile(bytes(text), {version: parseVersion(version) as CorednsVersion})).errors

  test('of several mistakes the one of the plugin that stands first in the order comes first', () => {
    const text = '.:53 {\n forward\n kubernetes {\n bogus\n }\n}\nb.example:53 {\n errors x\n}\n'
    expect(errors(text).map(({message, line, block}) => [message, line, block])).toEqual([
      ['plugin/errors: /etc/coredns/Corefile:8 - Error during parsing: invalid log file: x', 8, 1],
      ["plugin/kubernetes: /etc/coredns/Corefile:4 - Error during parsing: unknown property 'bogus'", 4, 0],
      [
        "plugin/forward: /etc/coredns/Corefile:2 - Error during parsing: Wrong argument count or unexpected line ending after 'forward'",
        2,
        0,
      ],
    ])
  })

  const lines: readonly (readonly [line: string, version: string, message: string | undefined])[] = [
    ['reload 1s', '1.14.7', 'plugin/reload: interval value must be greater or equal to 2s'],
    ['reload 10s 0s', '1.14.7', undefined],
    ['reload 10s 0s', '1.14.1', 'plugin/reload: jitter value must be greater or equal to 1s'],
    ['cache 0', '1.14.7', 'plugin/cache: cache TTL can not be zero or negative: 0'],
    ['cache 30 {\n disable success\n }', '1.9.4', undefined],
    [
      'cache 30 {\n disable success\n }',
      '1.9.3',
      "plugin/cache: /etc/coredns/Corefile:3 - Error during parsing: Wrong argument count or unexpected line ending after 'disable'",
    ],
    ['health 8080', '1.14.7', 'plugin/health: address 8080: missing port in address'],
    ['ready :8181\n ready', '1.14.7', 'plugin/ready: this plugin can only be used once per Server Block'],
    ['health :8080\n health :8081', '1.14.7', undefined],
    ['forward . 192.0.2.1\n forward . 192.0.2.2', '1.9.4', undefined],
    [
      'forward . 192.0.2.1\n forward . 192.0.2.2',
      '1.9.3',
      'plugin/forward: this plugin can only be used once per Server Block',
    ],
    [
      'forward . 192.0.2.1 {\n next NXDOMAIN\n }',
      '1.11.3',
      "plugin/forward: /etc/coredns/Corefile:3 - Error during parsing: unknown property 'next'",
    ],
    ['forward . tls://192.0.2.1 __PILLAR__UPSTREAM__SERVERS__', '1.14.7', undefined],
    ['rewrite rcode a NXDOMAIN NOERROR', '1.11.3', undefined],
    ['rewrite rcode a NXDOMAIN NOERROR', '1.11.2', 'plugin/rewrite: invalid rule type "rcode"'],
    ['rewrite name a.example', '1.14.7', 'plugin/rewrite: too few arguments for a name rule'],
    [
      'rewrite name wildcard a b',
      '1.14.7',
      'plugin/rewrite: name rule supports only exact, prefix, suffix, substring, and regex name matching, received: wildcard',
    ],
    [
      'rewrite name regex (a) {1}{2}',
      '1.14.7',
      'plugin/rewrite: the rewrite regex pattern ({1}{2}) uses more subexpressions than its corresponding matching regex pattern ((a))',
    ],
    [
      'rewrite name exact a b answer auto name x y',
      '1.14.7',
      'plugin/rewrite: auto name answer rule cannot be combined with explicit name anwer rules',
    ],
    ['rewrite ttl a 5-1', '1.14.7', "plugin/rewrite: invalid TTL '5-1' for a ttl rule"],
    [
      'template IN A {\n match (\n }',
      '1.14.7',
      'plugin/template: /etc/coredns/Corefile:3 - Error during parsing: could not parse regex: (, error parsing regexp: missing closing ): `(`',
    ],
    ['log . {\n class all\n }\n loadbalance round_robin', '1.14.7', undefined],
  ]
  test.each(lines)('%s in %s', (line, version, message) => {
    expect(errors(`.:53 {\n ${line}\n}\n`, version)[0]?.message).toBe(message)
  })

  test('plugins that nobody looked at are named', () => {
    const report = checkSetup(parseCorefile(bytes('.:53 {\n etcd\n whoami\n}\n')))
    expect(report.notChecked.map(({plugin, line}) => [plugin, line])).toEqual([['etcd', 2]])
  })
})

test('shadows: a wider rule before an exact one for ever, an exact one before a wider one in part', () => {
  const text =
    '.:53 {\n rewrite name a.example b.example\n rewrite name suffix .example .test\n rewrite name c.example d.example\n rewrite name suffix .example .net\n whoami\n}\n'
  const server = compileServer(parseCorefile(bytes(text)))
  const shadows = shadowsOf(server?.blocks[0]?.rules ?? []).map(({earlier, later, extent, name}) => [
    earlier.line,
    later.line,
    extent,
    name,
  ])
  expect(shadows).toEqual([
    [2, 3, 'partly', 'a.example.'],
    [3, 4, 'never', 'c.example.'],
    [3, 5, 'never', '.example.'],
  ])
})
