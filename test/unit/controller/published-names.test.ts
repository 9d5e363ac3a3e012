import fc from 'fast-check'
import {expect, test} from 'vitest'
import {ruleTexts} from '../../../plugins/coredns/src/edit/rule-text.ts'
import {expandPattern, publishedInState, publishedNames, serviceOf} from '../../../src/controller/published-names.ts'
import type {Published} from '../../../src/controller/names-guard.ts'

const label = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,5}[a-z0-9])?$/)
const parent = fc.array(label, {minLength: 1, maxLength: 3}).map((labels) => labels.join('.'))
const host = fc.record({
  name: fc.tuple(label, parent).map(([first, rest]) => `${first}.${rest}`),
  kind: fc.constantFrom<Published['kind']>('exact', 'exact', 'exact', 'wildcard-one-label', 'wildcard-any-depth'),
  target: fc.constantFrom('srcip/p1', 'srcip/p2'),
})

test('what the editor writes, exact or packed, is read back name by name', () => {
  fc.assert(
    fc.property(fc.array(host, {maxLength: 150}), fc.boolean(), (raw, mayPack) => {
      const hosts = new Map<string, Published>()
      for (const entry of raw) {
        const name = entry.kind === 'exact' ? entry.name : `*.${entry.name}`
        hosts.set(`${entry.kind} ${name}`, {...entry, name})
      }
      const wanted = [...hosts.values()].map((entry) => ({
        ...entry,
        target: `${entry.target.split('/')[1]}.srcip.svc.cluster.local.`,
      }))
      const lines = ruleTexts({hosts: wanted, spared: ['spared.example.org'], mayPack}).map(
        (rule) => `    ${rule.text}`,
      )
      const sort = (list: readonly Published[]): string[] =>
        list.map((entry) => `${entry.name} ${entry.kind} ${entry.target}`).sort()
      expect(sort(publishedNames(lines))).toEqual(sort([...hosts.values()]))
    }),
    {numRuns: 200},
  )
})

test('other patterns and other lines give nothing, and nothing hangs', () => {
  for (const pattern of ['^a.*\\.$', 'a\\.$', '^(a|b)\\.$', '^(?:a|b\\.$', '^a)\\.$', '^[ab]\\.$', '^a{9}\\.$']) {
    expect(expandPattern(pattern)).toBeUndefined()
  }
  const bomb = `^${'(?:a|b)'.repeat(64)}\\.$`
  expect(expandPattern(bomb)).toBeUndefined()
  expect(
    publishedNames([
      'forward . /etc/resolv.conf',
      'rewrite stop name exact a b',
      'rewrite name exact a.org a.org.',
      '',
    ]),
  ).toEqual([])
})

test('targets', () => {
  expect(serviceOf('p.srcip.svc.cluster.local.')).toBe('srcip/p')
  expect(serviceOf('proxy.example.org.')).toBe('proxy.example.org')
})

test('in a Corefile: between markers, in our import key, and unmarked lines that lead to our proxy', () => {
  const corefile = `.:53 {
    # === BEGIN srcip (managed by kubectl srcip, do not edit) ===
    rewrite name exact marked.org old-proxy.srcip.svc.cluster.local.
    # === END srcip ===
    rewrite name exact stripped.org p.srcip.svc.cluster.local.
    rewrite name exact foreign.org web.demo.svc.cluster.local.
    import custom/*.override
}
`
  const state = {
    corefile: {source: 'configmap/kube-system/coredns', key: 'Corefile', bytes: Buffer.from(corefile)},
    files: new Map([
      ['/etc/coredns/custom/srcip.override', Buffer.from('rewrite name exact key.org p.srcip.svc.cluster.local.\r\n')],
      [
        '/etc/coredns/custom/theirs.override',
        Buffer.from('rewrite name exact theirs.org web.demo.svc.cluster.local.\n'),
      ],
    ]),
  }
  expect(publishedInState(state, 'srcip', ['srcip/p'])).toEqual([
    {name: 'marked.org', kind: 'exact', target: 'srcip/old-proxy'},
    {name: 'stripped.org', kind: 'exact', target: 'srcip/p'},
    {name: 'key.org', kind: 'exact', target: 'srcip/p'},
  ])
})
