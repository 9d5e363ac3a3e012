import fc from 'fast-check'
import {expect, test} from 'vitest'
import type {VerifyCheck} from '../../../src/model/verify.ts'
import type {Question, Reply} from '../../../src/verify/ask.ts'
import {connectionCheck, dnsChecks} from '../../../src/verify/inside.ts'
import {questionOf, verifyOutside, type OutsideRequest} from '../../../src/verify/outside.ts'
import {plain, seenAddress} from '../../../src/verify/seen-address.ts'
import {shares, verifyExitCode} from '../../../src/verify/verdict.ts'

const ok = (body: string, status = 200): Reply => ({kind: 'answer', status, headers: {}, body})
const cut: Reply = {kind: 'failure', stage: 'tls', reason: 'connection cut without an answer'}
const from = '203.0.113.7'

const request = (more: Partial<OutsideRequest> = {}): OutsideRequest => ({
  url: new URL('https://shop.example.org/'),
  echo: new URL('https://echo.example.org/ip'),
  from,
  addresses: [{address: '192.0.2.10', subject: '192.0.2.10'}],
  times: 1,
  mustRefuse: [],
  ...more,
})
const rows = (checks: readonly VerifyCheck[]) => checks.map(({check, verdict}) => `${check} ${verdict}`)

test('a way in that keeps the address and believes nobody', async () => {
  const asked: Question[] = []
  const checks = await verifyOutside(request(), async (_, question) => {
    asked.push(question)
    if (question.prefix !== undefined) return cut
    return ok(`{"origin": "${from}"}`)
  })
  expect(rows(checks)).toEqual([
    'reachable held',
    'address held',
    'forged-x-forwarded-for held',
    'forged-x-real-ip held',
    'forged-forwarded held',
    'forged-proxy-header held',
  ])
  expect(asked.map(({host}) => host)).toEqual([
    'shop.example.org',
    ...Array.from({length: 5}, () => 'echo.example.org'),
  ])
  expect(asked.at(-1)!.prefix!.toString()).toMatch(/^PROXY TCP4 198\.51\.100\.231 192\.0\.2\.1 40000 443\r\n$/)
  expect(verifyExitCode(checks)).toBe(0)
})

test('every lie that is believed is a failure of its own', async () => {
  const checks = await verifyOutside(request(), async (_, {headers, prefix}) => {
    if (prefix !== undefined) return ok(prefix.toString().split(' ')[2]!)
    const claim = headers?.['x-forwarded-for'] ?? headers?.['x-real-ip'] ?? headers?.['forwarded']?.slice(4)
    return ok(claim ?? from)
  })
  expect(rows(checks).slice(2)).toEqual([
    'forged-x-forwarded-for failed',
    'forged-x-real-ip failed',
    'forged-forwarded failed',
    'forged-proxy-header failed',
  ])
  expect(verifyExitCode(checks)).toBe(22)
})

test('who tests from the forged address lies with another', async () => {
  const lies = new Set<string>()
  await verifyOutside(request({from: '198.51.100.231'}), async (_, {headers}) => {
    for (const value of Object.values(headers ?? {})) lies.add(value)
    return ok('198.51.100.231')
  })
  expect([...lies]).toEqual(['203.0.113.231', 'for=203.0.113.231'])
})

test('an answer without an address is unknown, never held', async () => {
  const checks = await verifyOutside(request(), async () => ok('<html>hello</html>'))
  expect(rows(checks)).toEqual(['reachable held', 'address unknown'])
  expect(verifyExitCode(checks)).toBe(21)
})

test('two addresses of which one is cut: both have their rows, the share is said', async () => {
  const checks = await verifyOutside(
    request({
      addresses: ['192.0.2.10', '192.0.2.11'].map((address) => ({address, subject: address})),
      times: 2,
    }),
    async (address) => (address === '192.0.2.11' ? cut : ok(from)),
  )
  expect(checks.filter(({subject, verdict}) => subject === '192.0.2.11' && verdict === 'failed')).toHaveLength(4)
  expect(shares(checks)).toEqual(['4 of 8 connections did not hold: some addresses or nodes differ from the others'])
})

test.each<[Reply, string]>([
  [ok('hello'), 'failed'],
  [ok('', 400), 'held'],
  [cut, 'held'],
])('a port that must not answer', async (reply, verdict) => {
  const checks = await verifyOutside(
    request({addresses: [], mustRefuse: [{address: '192.0.2.11', port: 30_443}]}),
    async () => reply,
  )
  expect(rows(checks)).toEqual([`must-refuse ${verdict}`])
})

test('nothing answers at all', () => {
  const why = 'connection refused (connecting)'
  const row = {check: 'address', subject: 'a', verdict: 'failed', why} as const
  expect(verifyExitCode([row])).toBe(30)
  expect(verifyExitCode([])).toBe(21)
})

test.each([
  ['203.0.113.7\n', '203.0.113.7', 'body'],
  ['2001:DB8:0:0::7', '2001:db8::7', 'body'],
  ['{"client":{"address":"203.0.113.7"}}', '203.0.113.7', 'client.address'],
  ['{"origin":"203.0.113.7, 10.0.0.1"}', '203.0.113.7', 'origin'],
  ['{"ip":"::ffff:203.0.113.7"}', '203.0.113.7', 'ip'],
  ['{"request":{"headers":{"X-Real-Ip":"203.0.113.7"}}}', '203.0.113.7', 'request.headers.x-real-ip'],
  ['{"headers":{"x-forwarded-for":["203.0.113.7"]}}', '203.0.113.7', 'headers.x-forwarded-for'],
  ['Hostname: x\nRemoteAddr: 10.0.0.1:4000\nX-Real-Ip: 203.0.113.7\n', '203.0.113.7', 'X-Real-Ip'],
  ['client_address=203.0.113.7\n', '203.0.113.7', 'client_address'],
  ['RemoteAddr: [2001:db8::7]:4000\n', '2001:db8::7', 'RemoteAddr'],
])('the address in %j', (body, address, where) => {
  expect(seenAddress(body)).toEqual({address, where})
})

test.each(['', '{}', '{"ip":"me"}', '{"ip":', '[1]', 'hello 203.0.113.7', '{"__proto__":{"ip":"203.0.113.7"}}'])(
  'no address in %j',
  (body) => expect(seenAddress(body)).toBeUndefined(),
)

test('no answer makes the reader throw, and what it finds is an address', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (body) => {
      const seen = seenAddress(body)
      if (seen !== undefined) expect(plain(seen.address)).toBe(seen.address)
    }),
  )
})

test('the question for a URL', () => {
  expect(questionOf(new URL('http://[2001:db8::1]:8080/a?b=c'))).toEqual({
    secure: false,
    host: '2001:db8::1',
    port: 8080,
    path: '/a?b=c',
  })
})

test('CoreDNS pods against the address of the proxy', () => {
  const pods = [
    {pod: 'a', addresses: ['10.96.0.5']},
    {pod: 'b', addresses: ['192.0.2.10']},
    {pod: 'c', addresses: [], rcode: 'NXDOMAIN'},
    {pod: 'd', addresses: [], error: 'refused'},
  ]
  expect(dnsChecks(pods, ['10.96.0.5']).map(({verdict, seen}) => [verdict, seen])).toEqual([
    ['held', '10.96.0.5'],
    ['failed', '192.0.2.10'],
    ['failed', 'NXDOMAIN'],
    ['unknown', undefined],
  ])
  expect(dnsChecks(pods, []).every(({verdict}) => verdict === 'unknown')).toBe(true)
})

test.each<[Reply, string]>([
  [ok(''), 'held'],
  [ok('', 404), 'held'],
  [ok('', 400), 'failed'],
  [ok('', 502), 'failed'],
  [cut, 'failed'],
])('a connection through the proxy', (reply, verdict) => {
  expect(connectionCheck('pod/a', reply).verdict).toBe(verdict)
})

test('a whoami that does not trust the ingress is told so', async () => {
  const whoami = {
    kind: 'Whoami',
    client: {address: '10.244.0.9', from: 'peer'},
    peer: {trusted: false},
    http: {forwarded: {'x-forwarded-for': from}},
  }
  const checks = await verifyOutside(request(), async () => ok(JSON.stringify(whoami)))
  expect(checks[1]).toMatchObject({check: 'address', verdict: 'failed', why: expect.stringContaining('--trusted-cidr')})
})
