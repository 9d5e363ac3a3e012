import {expect, test} from 'vitest'
import {judgeStatus, sourceTroubles, statusExitCode, type StatusInput} from '../../../src/diagnosis/status.ts'

const now = Date.parse('2026-06-01T12:00:00Z')
const lease = {
  object: 'lease/kube-system/srcip-dns',
  holder: 'srcip-1',
  acquired: '2026-06-01T08:00:00Z',
  renewed: now - 2000,
  durationSeconds: 15,
}
const parts: StatusInput['parts'] = [
  {component: 'controller', object: 'deployment/srcip/srcip', wanted: 1, ready: 1, causes: []},
  {component: 'proxy', object: 'deployment/srcip/srcip-proxy', wanted: 2, ready: 2, causes: []},
]
const dns = {
  object: 'configmap/kube-system/coredns',
  wanted: 3,
  written: 3,
  lines: 3,
  refused: [],
  excluded: [],
  edits: 0,
  pods: [{object: 'pod/kube-system/coredns-a', hash: 'current', probe: 'right'}],
} as const
const good: StatusInput = {now, parts, lease, dns}
const states = (input: StatusInput) => judgeStatus(input).rows.map(({row, state}) => `${row} ${state}`)

test('all in step', () => {
  const judged = judgeStatus(good)
  expect(judged).toMatchObject({state: 'on', since: '2026-06-01T08:00:00Z', hosts: {wanted: 3, written: 3}})
  expect(states(good)).toEqual(['controller ok', 'lease ok', 'proxy ok', 'hosts ok', 'drift ok', 'coredns ok'])
  expect(statusExitCode(judged.rows)).toBe(0)
  expect(judged.rows[1]!.detail).toBe('held by srcip-1, since 2026-06-01T08:00:00Z, renewed 2s ago')
})

test('nothing of ours anywhere is off, which is no error', () => {
  const input: StatusInput = {now, parts: [], dns: {...dns, written: 0, lines: 0, edits: 3}}
  expect(judgeStatus(input).state).toBe('off')
  expect(states(input)).toEqual(['hosts off', 'coredns off'])
  expect(statusExitCode(judgeStatus(input).rows)).toBe(0)
})

test('lines that nobody keeps', () => {
  const input: StatusInput = {...good, parts: [], lease: {...lease, renewed: now - 10_800_000}}
  expect(judgeStatus(input).state).toBe('partly')
  expect(judgeStatus(input).rows[0]).toMatchObject({
    row: 'lease',
    state: 'warning',
    detail: 'srcip-1 has not renewed it, last 3h00m ago: it is free to take',
  })
  expect(states({...input, lease: undefined})[0]).toBe('lease warning')
})

test.each<[string, Partial<StatusInput>, string, number]>([
  [
    'a proxy that is not ready says why',
    {parts: [parts[0]!, {...parts[1]!, ready: 0, causes: ['srcip-proxy-1: target no-header: 503']}]},
    'proxy error',
    22,
  ],
  ['one of two proxies', {parts: [parts[0]!, {...parts[1]!, ready: 1}]}, 'proxy warning', 0],
  [
    'a CoreDNS pod that answers something else',
    {dns: {...dns, pods: [{object: 'pod/a', hash: 'other', probe: 'wrong', reason: 'answers NXDOMAIN'}]}},
    'coredns error',
    22,
  ],
  [
    'a CoreDNS pod that cannot be asked',
    {dns: {...dns, pods: [{object: 'pod/a', hash: 'unknown', probe: 'unavailable', reason: 'refused'}]}},
    'coredns unknown',
    21,
  ],
  [
    'a CoreDNS pod with an old text that happens to answer right',
    {dns: {...dns, pods: [{object: 'pod/a', hash: 'other', probe: 'right'}]}},
    'coredns warning',
    0,
  ],
  ['a change that is outstanding', {dns: {...dns, written: 2, edits: 1}}, 'drift warning', 0],
  ['refused names', {dns: {...dns, refused: [{name: 'a.example', code: 'x', reason: 'y'}]}}, 'hosts warning', 0],
  ['no right to read DNS', {dns: {unreadable: 'denied'}}, 'hosts unknown', 21],
])('%s', (_, change, row, exitCode) => {
  const input = {...good, ...change}
  expect(states(input)).toContain(row)
  expect(statusExitCode(judgeStatus(input).rows)).toBe(exitCode)
})

test('a lease that nobody could read: ready controllers keep, and the row says unknown', () => {
  expect(judgeStatus({...good, lease: 'unread'}).state).toBe('on')
  expect(states({...good, lease: 'unread'})).toContain('lease unknown')
  expect(judgeStatus({...good, lease: 'unread', parts: []}).state).toBe('partly')
})

test('a name that is left out has a row with its reason; twenty of them, and the count of all', () => {
  const left = (index: number) => ({
    name: `a${index}.example`,
    reason: 'no-proxy-for-class: x',
    source: 'ingress/demo/a',
  })
  const excluded = [
    {name: '', reason: 'has no host', source: 'ingress/demo/b'},
    ...Array.from({length: 30}, (_, index) => left(index)),
  ]
  const judged = judgeStatus({...good, dns: {...dns, excluded}})
  expect(judged.hosts.excluded).toBe(31)
  const rows = judged.rows.filter(({row}) => row === 'hosts')
  expect(rows).toHaveLength(21)
  expect(rows[0]).toMatchObject({state: 'ok', detail: '3 of 3 wanted names written, 31 left out'})
  expect(rows[1]).toEqual({row: 'hosts', object: 'ingress/demo/b', state: 'off', detail: 'left out: has no host'})
  expect(rows[2]).toEqual({
    ...{row: 'hosts', object: 'a0.example', state: 'off'},
    detail: 'left out (ingress/demo/a): no-proxy-for-class: x',
  })
  expect(statusExitCode(judged.rows)).toBe(0)
})

test('B32: a ready controller whose lists fail is a warning that says which list, since when and why', () => {
  const readyz =
    '[+]source ingresses ok: stale for 42s: API server cannot answer now (HTTP 503)\n' +
    '[+]source gateways ok: synced for 99s, lists fail for 7s: user "x" is not allowed to list gateways, not required\n' +
    '[+]source httproutes ok: absent for 99s, not required\n[+]source proxies ok: synced for 99s\n[+]leader ok: this process writes\n'
  const causes = sourceTroubles(readyz)
  expect(causes).toEqual([
    'source ingresses stale for 42s: API server cannot answer now (HTTP 503)',
    'source gateways synced for 99s, lists fail for 7s: user "x" is not allowed to list gateways, not required',
  ])
  const input = {...good, parts: [{...parts[0]!, causes}, parts[1]!]}
  expect(states(input)).toContain('controller warning')
  expect(judgeStatus(input).rows[0]?.detail).toMatch(/^1 of 1 ready; source ingresses stale for 42s: /)
  expect(statusExitCode(judgeStatus(input).rows)).toBe(0)
})

test('what could not be read is never on', () => {
  expect(judgeStatus({...good, dns: {unreadable: 'denied'}}).state).toBe('partly')
})
