import {expect, test} from 'vitest'
import {judgeStatus, statusExitCode, type StatusInput} from '../../../src/diagnosis/status.ts'

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
  excluded: 0,
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

test('what could not be read is never on', () => {
  expect(judgeStatus({...good, dns: {unreadable: 'denied'}}).state).toBe('partly')
})
