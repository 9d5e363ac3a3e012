import {expect, test} from 'vitest'
import {planEdit} from '../../../plugins/coredns/src/index.ts'
import {bytes, exact, text} from './edit-support.ts'

const refusals = (plan: ReturnType<typeof planEdit>): unknown[] =>
  plan.refused.map(({name, code, line}) => [name, code, line])

const stubs = `.:53 {
    errors
    kubernetes cluster.local in-addr.arpa ip6.arpa
    forward . /etc/resolv.conf
    reload
}
example.org:53 {
    forward . 192.0.2.53
}
apps.example.net:53 {
    kubernetes cluster.local
    forward . /etc/resolv.conf
}
`

test('B10: a host goes where it is answered, and is refused where the target cannot be resolved', () => {
  const plan = planEdit({
    corefile: bytes(stubs),
    hosts: exact('app.example.org', 'web.apps.example.net', 'shop.example.com'),
  })
  expect(plan.taken.map(({name, blocks}) => [name, blocks.map(({line}) => line)])).toEqual([
    ['web.apps.example.net', [10]],
    ['shop.example.com', [1]],
  ])
  expect(refusals(plan)).toEqual([['app.example.org', 'BlockCannotResolveTarget', 7]])
  expect(plan.refused[0]?.reason).toContain('192.0.2.53')
})

const rules = `.:53 {
    errors
    rewrite stop {
        name regex (.*)\\.example\\.org {1}.legacy.svc.cluster.local
        answer auto
    }
    rewrite continue name suffix example.net corp.example.net
    rewrite type ANY HINFO
    kubernetes cluster.local in-addr.arpa ip6.arpa
    forward . /etc/resolv.conf
    reload
}
`
const hosts = exact('app.example.org', 'www.example.net', 'shop.example.com')

test("B11: hosts that an operator's rules catch are refused with the line", () => {
  const plan = planEdit({corefile: bytes(rules), hosts})
  expect(refusals(plan)).toEqual([
    ['app.example.org', 'CaughtByOperatorRule', 3],
    ['www.example.net', 'CaughtByOperatorRule', 7],
  ])
  expect(plan.refused[0]?.reason).toMatch(/^line 3: rewrite stop .*regex.* already answers app\.example\.org$/s)
  expect(plan.taken.map(({name}) => name)).toEqual(['shop.example.com'])
})

test('B11: --before stands in front, names what it overrides, and the next plan changes nothing', () => {
  const plan = planEdit({corefile: bytes(rules), hosts, before: true})
  expect(plan.refused).toEqual([])
  expect(plan.notes.map(({code, at}) => [code, at?.line])).toEqual([
    ['OverridesOperatorRule', 3],
    ['OverridesOperatorRule', 7],
  ])
  const after = plan.files[0]?.after as Uint8Array
  expect(text(after)).toMatch(/^\.:53 \{\n {4}# === BEGIN srcip/)
  const again = planEdit({corefile: after, hosts})
  expect([again.files, again.refused]).toEqual([[], []])
})

test('a wildcard that an operator catches in part is refused', () => {
  const file = rules.replace(
    / {4}rewrite stop \{[^}]*\}[^}]*\}\n/,
    '    rewrite name api.example.org x.y.svc.cluster.local\n',
  )
  const wild = {...hosts[0], name: '*.example.org', kind: 'wildcard-one-label'} as const
  const plan = planEdit({corefile: bytes(file), hosts: [wild as never], wildcards: true})
  expect(refusals(plan)).toEqual([['*.example.org', 'CaughtByOperatorRule', 3]])
})
