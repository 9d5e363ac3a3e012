import {describe, expect, test} from 'vitest'
import {
  compileServer,
  lint,
  parseCorefile,
  planEdit,
  simulateOn,
  type Simulation,
} from '../../../plugins/coredns/src/index.ts'

/** Files that nobody writes by accident. None may end the process or keep it for long: a test that hangs fails by its time. */
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const block = (lines: readonly string[]): Uint8Array =>
  bytes(
    `.:53 {\n${lines.map((line) => `    ${line}\n`).join('')}    kubernetes cluster.local\n    forward . 192.0.2.53\n    reload\n}\n`,
  )
const many = (count: number, line: (index: number) => string): string[] =>
  Array.from({length: count}, (_, at) => line(at))

const plan = (corefile: Uint8Array, name = 'app.example.org') =>
  planEdit({corefile, hosts: [{name, kind: 'exact', target: 'p.srcip.svc.cluster.local.'}]})

function ask(corefile: Uint8Array, name = 'app.example.org'): Simulation {
  const server = compileServer(parseCorefile(corefile))
  if (server === undefined) throw new Error('does not load')
  return simulateOn(server, {name, type: 'A'}, {})
}

describe('hostile Corefiles', {timeout: 120_000}, () => {
  test('thousands of plugins in one chain', () => {
    const corefile = block(many(5000, (index) => `forward z${index}.example 192.0.2.1`))
    expect(plan(corefile).refused.map(({reason}) => reason)).toEqual([
      expect.stringContaining('more than 1000 plugins'),
    ])
    expect(ask(corefile).unknown).toContain('a chain of more than 1000 plugins')
  })

  test('rules that make a name grow for ever', () => {
    const corefile = block(many(2000, () => 'rewrite continue name regex (.*) {1}{1}{1}{1}'))
    expect(plan(corefile).refused.map(({code}) => code)).toEqual(['CaughtByOperatorRule'])
    expect(ask(corefile).rules.some(({outcome}) => outcome === 'illegal')).toBe(true)
  })

  test('groups that hold references to groups', () => {
    const name = '{1}{2}{3}{4}{5}{6}{7}{8}.'.repeat(7)
    const corefile = block([`rewrite continue name regex ((((((((.*)))))))) ${'{0}'.repeat(500)}`])
    expect(ask(corefile, name).seen).toBeNull()
  })

  test('a template whose every answer asks three more questions', () => {
    const answers = ['a', 'b', 'c'].map((label) => `answer "{{ .Name }} 60 IN CNAME ${label}.{{ .Name }}"`)
    expect(ask(block(['template IN ANY . {', ...answers, '}'])).unknown).toContain('too many questions')
  })

  test('hundreds of views that cannot be judged', () => {
    const view = (index: number): string =>
      `.:53 {\n    view v${index} {\n        expr metadata('x/y') == 'z'\n    }\n    forward . 192.0.2.1\n}\n`
    const corefile = bytes(many(600, view).join('') + new TextDecoder().decode(block([])))
    expect(ask(corefile).alternatives).toHaveLength(600)
  })

  test('more directives, words and bad bytes than a call takes arguments', () => {
    const logs = new TextDecoder().decode(block([])).replace('    reload\n', `    reload\n${'log\n'.repeat(240_000)}`)
    expect(plan(bytes(logs)).taken).toHaveLength(1)
    expect(plan(block([`log ${'a '.repeat(200_000)}`])).taken).toHaveLength(1)
    expect(plan(block(['forward a 192.0.2.1 {', `except ${'a '.repeat(200_000)}`, '}'])).taken).toHaveLength(1)
    const answers = block(['template IN A . {', `answer ${'a '.repeat(200_000)}`, '}'])
    expect(lint(answers).findings.length).toBeLessThan(100)
    const parsed = parseCorefile(block(['import bad']), {
      files: new Map([['/etc/coredns/bad', new Uint8Array(300_000).fill(0xff)]]),
    })
    expect(parsed.problems.length).toBeGreaterThan(250_000)
  })

  test('thousands of exact rules beside thousands of patterns', () => {
    const exact = many(3000, (index) => `rewrite name exact a${index}.example b.example`)
    const patterns = many(3000, (index) => `rewrite name regex (a${index}).*\\.example\\.$ b.example`)
    expect(lint(block([...exact, ...patterns])).findings.every(({severity}) => severity !== 'error')).toBe(true)
  })
})
