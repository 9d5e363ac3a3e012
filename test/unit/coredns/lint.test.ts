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
import {setupLines} from '../../support/setup-lines.ts'
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

  test.each(setupLines)('%s in %s', (line, version, message) => {
    const [first] = errors(`.:53 {\n ${line}\n}\n`, version)
    expect(first?.message.replace(/\/etc\/coredns\/Corefile/g, 'FILE')).toBe(message)
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
