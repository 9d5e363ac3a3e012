import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import {patternLimit, ruleTexts} from '../../../plugins/coredns/src/edit/rule-text.ts'
import {SuffixTree} from '../../../plugins/coredns/src/edit/suffix-tree.ts'
import {compileRegex, type WantedHost} from '../../../plugins/coredns/src/index.ts'

const target = 'p.q.svc.cluster.local.'
const hostOf = (name: string, kind: WantedHost['kind'] = 'exact'): WantedHost => ({name, kind, target})
const lines = (hosts: readonly WantedHost[], spared: readonly string[] = [], mayPack = true): string[] =>
  ruleTexts({hosts, spared, mayPack}).map(({text}) => text)

/** Asks JavaScript's engine and the RE2 of the simulator: both must agree. */
function matches(pattern: string, text: string): boolean {
  const compiled = compileRegex(pattern)
  if (compiled.kind !== 'ok') throw new Error(`RE2 refuses ${pattern}`)
  const found = compiled.regex.test(text)
  expect(new RegExp(pattern).test(text)).toBe(found)
  return found
}

/** First rule of a list that answers a name, as CoreDNS goes through them. */
function targetOf(rules: readonly string[], name: string): string | undefined {
  for (const rule of rules) {
    const [, , match, from = '', to] = rule.split(' ')
    if (match === 'exact' ? from === name : matches(from, `${name}.`)) return to
  }
  return undefined
}

const label = fc.stringMatching(/^[a-z0-9]([a-z0-9_-]{0,6}[a-z0-9])?$/)
const name = fc.array(label, {minLength: 2, maxLength: 4}).map((labels) => labels.join('.'))

describe('exact lines', () => {
  test('up to 100 hosts have a line each, sorted', () => {
    const names = Array.from({length: 100}, (_, index) => `h${99 - index}.example`)
    expect(lines(names.map((one) => hostOf(one)))).toEqual(
      names.sort().map((one) => `rewrite name exact ${one} ${target}`),
    )
  })

  test('without answer auto also more', () => {
    const names = Array.from({length: 101}, (_, index) => `h${index}.example`)
    expect(
      lines(
        names.map((one) => hostOf(one)),
        [],
        false,
      ),
    ).toHaveLength(101)
    expect(lines(names.map((one) => hostOf(one)))).toHaveLength(1)
  })
})

describe('packed rules', () => {
  test.each([
    [['a.apps.example.org', 'b.apps.example.org'], '(?:a|b)\\.apps\\.example\\.org'],
    [['example.org', 'www.example.org'], '(?:www\\.)?example\\.org'],
    [['example.org', 'a.example.org', 'b.example.org'], '(?:(?:a|b)\\.)?example\\.org'],
    [['x.a.org', 'y.b.org', 'c.net'], '(?:x\\.a|y\\.b)\\.org|c\\.net'],
  ])('%j', (names, pattern) => {
    const tree = new SuffixTree()
    for (const one of names) expect(tree.add(one.split('.'), 1000)).toBe(true)
    expect(tree.pattern().split('|').sort().join('|')).toBe(pattern.split('|').sort().join('|'))
    expect(tree.length).toBe(tree.pattern().length)
  })

  test('the length is known after every name, and a name that does not fit changes nothing', () => {
    fc.assert(
      fc.property(fc.uniqueArray(name, {maxLength: 60}), fc.integer({min: 20, max: 400}), (names, limit) => {
        const tree = new SuffixTree()
        for (const one of names) {
          const before = tree.pattern()
          const added = tree.add(one.split('.'), limit)
          expect(tree.pattern().length).toBe(tree.length)
          expect(tree.length).toBeLessThanOrEqual(limit)
          if (!added) expect(tree.pattern()).toBe(before)
        }
      }),
    )
  })

  test('exactly the wanted names match, also near misses', () => {
    fc.assert(
      fc.property(fc.uniqueArray(name, {minLength: 101, maxLength: 160}), fc.array(name), (names, others) => {
        const rules = lines(names.map((one) => hostOf(one)))
        const wanted = new Set(names)
        const near = names.flatMap((one) => [
          `x.${one}`,
          `${one}.x`,
          `x${one}`,
          one.slice(1),
          one.replace('.', 'x'),
          one.split('.').slice(1).join('.'),
        ])
        for (const one of names) expect(targetOf(rules, one)).toBe(target)
        for (const one of [...near, ...others]) if (!wanted.has(one)) expect(targetOf(rules, one), one).toBeUndefined()
      }),
      {numRuns: 30},
    )
  })

  const shapes: Record<string, (index: number) => string> = {
    'one parent': (index) => `host-${index}.apps.example.org`,
    '40 parents': (index) => `host-${index}.team-${index % 40}.example.org`,
    'a parent each': (index) => `www.shop-${index}.example`,
    'nothing in common': (index) => `a${index}.b${index}.c${index}`,
  }
  test.each(Object.entries(shapes))('10,000 hosts, %s: as few rules as their characters need', (_, shape) => {
    const names = Array.from({length: 10_000}, (__, index) => shape(index))
    const rules = lines(names.map((one) => hostOf(one)))
    const patterns = rules.map((rule) => rule.split(' ')[3] as string)
    for (const pattern of patterns) expect(pattern.length).toBeLessThanOrEqual(patternLimit)
    // All but the last are full: the next name would not have fitted.
    for (const pattern of patterns.slice(0, -1)) expect(pattern.length).toBeGreaterThan(patternLimit - 60)
    const compiled = patterns.map((pattern) => new RegExp(pattern))
    const hits = (one: string): number => compiled.filter((pattern) => pattern.test(`${one}.`)).length
    for (let index = 0; index < 10_000; index += 97) {
      expect(hits(shape(index))).toBe(1)
      expect(hits(`x${shape(index)}`)).toBe(0)
      expect(hits(shape(index + 10_000))).toBe(0)
    }
  })

  test('each target has rules of its own', () => {
    const hosts = Array.from({length: 200}, (_, index) => ({
      ...hostOf(`h${index}.example`),
      target: `t${index % 2}.x.`,
    }))
    const rules = lines(hosts)
    expect(rules).toHaveLength(2)
    for (const {name: one, target: to} of hosts) expect(targetOf(rules, one)).toBe(to)
  })
})

describe('wildcards', () => {
  const rules = lines(
    [
      hostOf('example.org'),
      hostOf('*.example.org', 'wildcard-one-label'),
      {...hostOf('*.deep.example.org', 'wildcard-any-depth'), target: 'other.q.svc.cluster.local.'},
    ],
    ['static.example.org'],
  )

  test('stand behind exact names and spared names, the most specific first', () => {
    expect(rules).toEqual([
      `rewrite name exact example.org ${target}`,
      'rewrite name exact static.example.org static.example.org.',
      'rewrite name regex ^(?:[^._][^.]*\\.)+deep\\.example\\.org\\.$ other.q.svc.cluster.local. answer auto',
      `rewrite name regex ^[^._][^.]*\\.example\\.org\\.$ ${target} answer auto`,
    ])
  })

  test.each([
    ['example.org', target],
    ['a.example.org', target],
    ['static.example.org', 'static.example.org.'],
    ['a.b.example.org', undefined],
    ['_acme-challenge.example.org', undefined],
    ['axexample.org', undefined],
    ['a.example.org.default.svc.cluster.local', undefined],
    ['a.b.deep.example.org', 'other.q.svc.cluster.local.'],
    ['deep.example.org', target],
    ['_dmarc.deep.example.org', undefined],
    ['a._tcp.deep.example.org', undefined],
  ])('%s goes to %s', (one, expected) => {
    expect(targetOf(rules, one)).toBe(expected)
  })

  test('over 100 of them are packed with their parents', () => {
    const wild = Array.from({length: 150}, (_, index) => hostOf(`*.t${index}.example.org`, 'wildcard-one-label'))
    const packed = lines(wild)
    expect(packed).toHaveLength(1)
    expect(targetOf(packed, 'x.t149.example.org')).toBe(target)
    expect(targetOf(packed, 't149.example.org')).toBeUndefined()
    expect(targetOf(packed, 'x.y.t149.example.org')).toBeUndefined()
  })
})
