import {readFileSync} from 'node:fs'
import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import {classifyFirstBytes} from '../../../../src/diagnosis/evidence/first-bytes.ts'
import {readIngressLog} from '../../../../src/diagnosis/evidence/ingress-log.ts'
import {logFindings} from '../../../../src/diagnosis/evidence/findings.ts'
import {classifyRecord, judgeLog} from '../../../../src/diagnosis/evidence/judge-log.ts'
import {noGivenPlaces, placesOf} from '../../../../src/diagnosis/evidence/places-of.ts'
import {indexSnapshot} from '../../../../src/model/snapshot.ts'
import {doctorCases, doctorObjects, snapshotOf} from '../../../support/doctor-cases.ts'
import type {Places} from '../../../../src/diagnosis/evidence/places.ts'
import {readRange} from '../../../../src/model/address-range.ts'

const ranges = (...texts: string[]) => texts.map((text) => readRange(text)!)

describe('case B39: which broken header is this', () => {
  const text = readFileSync(
    new URL('../../../cases/B39-which-broken-header-is-this/error.log', import.meta.url),
    'latin1',
  )
  const places: Places = {
    balancers: ranges('192.0.2.128/25', '198.51.100.60'),
    pods: ranges('198.51.100.0/26'),
    nodes: [],
    gateways: [],
    podsKnown: true,
  }
  const rows = judgeLog(readIngressLog(text), places)

  test.each([
    ['tcp-health-check', 'balancer', '443', ['192.0.2.129', '192.0.2.130'], 'info'],
    ['hairpin-http', 'pod', '80', ['198.51.100.44'], 'error'],
    ['hairpin-tls', 'pod', '443', ['198.51.100.45'], 'error'],
    ['outside-without-header', 'balancer', '443', ['192.0.2.131'], 'error'],
    ['http-health-check', 'balancer', '80', ['192.0.2.132'], 'warning'],
    ['header-not-read', 'elsewhere', undefined, ['203.0.113.9'], 'error'],
  ])('%s from %s on %s', (name, place, listener, peers, severity) => {
    const row = rows.find((one) => one.class === name && one.listener === listener)
    expect(row).toMatchObject({place, peers, severity})
  })

  test('these and no others, errors first, nothing of what was sent', () => {
    expect(rows).toHaveLength(6)
    expect(rows.map(({severity}) => severity)).toEqual(['error', 'error', 'error', 'error', 'warning', 'info'])
    expect(JSON.stringify(rows)).not.toMatch(/acme-challenge|TOKEN|cert-manager/)
  })
})

const nginx = (header: string, client = '10.0.0.9', port = 443) =>
  `2026/02/01 10:00:00 [error] 3#3: *1 broken header: "${header}" while reading PROXY protocol, client: ${client}, server: 0.0.0.0:${port}\n`
const places: Places = {
  balancers: ranges('10.0.0.0/24'),
  pods: ranges('10.244.0.0/16'),
  nodes: ranges('192.168.0.4'),
  gateways: ranges('10.244.0.1'),
  podsKnown: true,
}
const classes = (text: string) => judgeLog(readIngressLog(text), places).map((row) => `${row.class} ${row.place}`)

test.each([
  ['the bytes of TLS as they are', nginx('\x16\x03\x01\x02'), 'outside-without-header balancer'],
  ['TLS behind a node', nginx('\\x16\\x03\\x01', '192.168.0.4'), 'outside-without-header node'],
  ['TLS from outside', nginx('\\x16\\x03\\x01', '203.0.113.5'), 'outside-without-header elsewhere'],
  ['a POST of a pod', nginx('POST /login HTTP/1.1\r\nCookie: s=1\r\n\r\n', '10.244.3.4'), 'hairpin-http pod'],
  [
    'a kubelet probe',
    nginx('GET / HTTP/1.1\r\nUser-Agent: kube-probe/1.33\r\n\r\n', '192.168.0.4'),
    'http-health-check node',
  ],
  ['GET / is no health check', nginx('GET / HTTP/1.1\r\nHost: x\r\n\r\n'), 'outside-without-header balancer'],
  ['SSH of a scanner', nginx('SSH-2.0-x\r\n', '203.0.113.5'), 'port-scan elsewhere'],
  ['nothing from outside', nginx('', '203.0.113.5'), 'tcp-health-check elsewhere'],
  ['IPv6', nginx('', '2001:db8::5'), 'tcp-health-check elsewhere'],
  [
    'info line of nginx',
    '2026/12/01 03:50:08 [info] 1#1: *1 client closed connection while reading PROXY protocol, client: 10.0.0.9, server: 0.0.0.0:443\n',
    'tcp-health-check balancer',
  ],
  [
    'ingress-nginx access log, header of version 2',
    '10.0.0.9 - - [01/Feb/2026:10:00:16 +0000] "\\x00" 400 150 "-" "-" 0 0.1 [] [] - - - - abc\n',
    'header-not-read balancer',
  ],
  [
    'kubectl logs --prefix --timestamps',
    '2026-02-01T10:00:16.123456789Z 10.0.0.9 - - [01/Feb/2026:10:00:16 +0000] "PROXY TCP4 1.2.3.4 5.6.7.8 1 2" 400 150 "-" "-"\n',
    'header-not-read balancer',
  ],
  [
    'HAProxy, nothing',
    '10.0.0.9:44670 [01/Dec/2026:03:50:08.407] fe80/1: Connection closed while waiting for PROXY protocol header\n',
    'tcp-health-check balancer',
  ],
  [
    'HAProxy, no header',
    '10.244.1.2:4682 [01/Dec/2026:03:50:08.707] fe80/1: Received something which does not look like a PROXY protocol header\n',
    'hairpin pod',
  ],
  [
    'HAProxy, a header that is not read',
    '10.0.0.9:52792 [01/Dec/2026:03:50:09.312] plain80 plain80/<NOSRV> -1/-1/-1/-1/0 400 0 - - PR-- 2/2/0/0/0 0/0 "<BADREQ>"\n',
    'header-not-read balancer',
  ],
  [
    'HAProxy, TLS that is none',
    '203.0.113.5:1 [01/Dec/2026:03:50:09.9] https/1: SSL handshake failure\n',
    'port-scan elsewhere',
  ],
])('%s', (_, text, wanted) => expect(classes(text)).toEqual([wanted]))

const access = (client: string) =>
  `${client} - - [01/Feb/2026:10:00:16 +0000] "GET /cart HTTP/1.1" 200 150 "-" "curl" 0 0.1 [shop] []\n`

test('requests that all come from the balancer', () => {
  expect(classes(access('10.0.0.9').repeat(5))).toEqual(['balancer-address balancer'])
  const severities = (text: string) => judgeLog(readIngressLog(text), places).map((row) => row.severity)
  expect(severities(access('10.0.0.9').repeat(5))).toEqual(['warning'])
  expect(severities(access('10.0.0.9').repeat(4))).toEqual(['info'])
  expect(severities(access('10.0.0.9').repeat(5) + access('203.0.113.5'))).toEqual(['info', 'info'])
})

test('line numbers count the lines inside of a header', () => {
  const events = readIngressLog(`hello\n${nginx('GET / HTTP/1.1\nHost: x\n\n')}${nginx('')}`)
  expect(events.map(({line}) => line)).toEqual([2, 6])
})

test('no log makes the reader throw or hang, and no payload gets out', () => {
  const piece = fc.oneof(
    fc.string({maxLength: 30}),
    fc.constantFrom(
      'broken header: "',
      '" while reading PROXY protocol, client: ',
      '1.2.3.4',
      ', server: a:80',
      '\n',
      '"',
      '\\x16',
    ),
    fc.constant(nginx('GET /s3cret HTTP/1.1')),
    fc.constant(access('10.0.0.9').replace('/cart', '/s3cret')),
  )
  fc.assert(
    fc.property(fc.array(piece, {maxLength: 40}), (pieces) => {
      const rows = judgeLog(readIngressLog(pieces.join('')), places)
      expect(JSON.stringify(rows)).not.toContain('s3cret')
      for (const {peers} of rows) for (const peer of peers) expect(peer).toMatch(/^[0-9a-fA-F.:]+$/)
    }),
  )
})

test('a megabyte without an end is read once', () => {
  // Quadratic reading would run into the time limit of the test.
  for (const text of ['broken header: "'.repeat(70_000), '1.1.1.1 - - ['.repeat(70_000), '1'.repeat(1 << 20)])
    expect(readIngressLog(text)).toEqual([])
})

test('first bytes', () => {
  expect(classifyFirstBytes('PROXY TCP4 1.2.3.4')).toBe('proxy-v1')
  expect(classifyFirstBytes('\r\n\r\n\0\r\nQUIT\n!')).toBe('proxy-v2')
  expect(classifyFirstBytes('PRI * HTTP/2.0')).toBe('http')
})

test.each(Object.entries(doctorCases()).filter(([, one]) => one.log !== undefined))(
  'the log of %s, record by record',
  (name, one) => {
    const text = readFileSync(new URL(`../../../cases/doctor/${name}/${one.log!.file}`, import.meta.url), 'latin1')
    const where = placesOf(indexSnapshot(snapshotOf(doctorObjects(name, one))), noGivenPlaces)
    expect(readIngressLog(text).map((event) => classifyRecord(event, where))).toEqual(one.log!.lines)
  },
)

test('findings name what and where, worst first', () => {
  const rows = judgeLog(readIngressLog(nginx('\\x16\\x03\\x01', '10.244.3.4') + nginx('') + access('10.0.0.9')), places)
  expect(logFindings(rows, 'pod/edge/nginx-1')).toEqual([
    {
      id: 'SRC101',
      severity: 'error',
      title: expect.stringMatching(/^1 × hairpin-tls from a pod on 443: a pod calls a name of the cluster/),
      object: 'pod/edge/nginx-1',
      evidence: [{object: 'pod/edge/nginx-1', field: 'line 1', value: 'peers 10.244.3.4'}],
      remedies: [],
    },
    expect.objectContaining({id: 'SRC106', severity: 'info'}),
    expect.objectContaining({id: 'SRC105', severity: 'info', title: expect.stringContaining('sends no PROXY header')}),
  ])
})

describe('B39 where the pod ranges were not read', () => {
  const blind: Places = {...places, pods: [], podsKnown: false}
  const rows = judgeLog(readIngressLog(nginx('\\x16\\x03\\x01', '10.244.3.4')), blind)

  test('a caller that cannot be placed is a warning with the question that settles it, never an error', () => {
    expect(rows).toMatchObject([{class: 'caller-unknown', place: 'unknown', severity: 'warning'}])
    expect(logFindings(rows, 'a.log')).toMatchObject([
      {id: 'SRC107', severity: 'warning', remedies: [{id: 'ask', text: expect.stringContaining('--pod-cidr')}]},
    ])
  })
})

describe('B49: which hop wrote the address', () => {
  const finding = (client: string, where: Places) =>
    logFindings(judgeLog(readIngressLog(access(client).repeat(5)), where), 'a.log')

  test('127.0.0.1 is the passthrough listener of the controller, not SNAT', () => {
    const [one] = finding('127.0.0.1', places)
    expect(one).toMatchObject({id: 'SRC105', severity: 'warning', remedies: [{id: 'second-controller'}]})
    expect(one?.title).toContain('not SNAT')
    expect(one?.title).toContain('passthrough listener')
  })

  test('a node: SNAT by kube-proxy, or a masquerade of the CNI where the policy is Local', () => {
    const node: Places = {...places, nodes: [readRange('192.0.2.11/32')!]}
    const [one] = finding('192.0.2.11', node)
    expect(one?.title).toMatch(/externalTrafficPolicy Cluster \(SNAT of kube-proxy\), or by a masquerade rule/)
    expect(one?.remedies.length).toBeGreaterThan(0)
  })
})
