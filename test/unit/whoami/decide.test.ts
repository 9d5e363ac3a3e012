import fc from 'fast-check'
import {expect, test} from 'vitest'
import type {ProxyHeader} from '../../../src/proxy/index.ts'
import {parseCidr} from '../../../src/proxy/trust.ts'
import {decide, type Seen} from '../../../src/whoami/decide.ts'

const local = {address: '10.0.0.1', port: 8080}
const header: ProxyHeader = {
  version: 1,
  command: 'proxy',
  family: 'tcp4',
  source: {address: '203.0.113.9', port: 40_000},
  destination: {address: '192.0.2.10', port: 443},
  tlvs: [],
}

function seen(peer: string, more: Partial<Seen> & {readonly fields?: Record<string, string>} = {}): Seen {
  const {fields, ...rest} = more
  return {
    peer: {address: peer, port: 5000},
    local,
    header: undefined,
    tls: null,
    ...(fields === undefined ? {} : {request: {method: 'GET', host: 'shop.example.org', target: '/', fields}}),
    ...rest,
  }
}

const client = (what: Seen, ...trusted: string[]) => decide(what, trusted.map(parseCidr)).client

test.each<[string, Seen, string[], string, string]>([
  ['a bare connection', seen('10.1.1.1'), [], '10.1.1.1', 'peer'],
  ['a header of anybody', seen('10.1.1.1', {header}), [], '10.1.1.1', 'peer'],
  ['a header of a trusted peer', seen('10.1.1.1', {header}), ['10.0.0.0/8'], '203.0.113.9', 'proxy-header'],
  ['a header of an untrusted peer', seen('10.1.1.1', {header}), ['10.2.0.0/16'], '10.1.1.1', 'peer'],
  [
    'LOCAL of a trusted peer',
    seen('10.1.1.1', {header: {version: 2, command: 'local', family: 'unspec', tlvs: []}}),
    ['10.0.0.0/8'],
    '10.1.1.1',
    'peer',
  ],
  [
    'X-Forwarded-For of anybody',
    seen('10.1.1.1', {fields: {'x-forwarded-for': '198.51.100.7'}}),
    [],
    '10.1.1.1',
    'peer',
  ],
  [
    'X-Forwarded-For of a trusted peer',
    seen('10.1.1.1', {fields: {'x-forwarded-for': '198.51.100.7'}}),
    ['10.0.0.0/8'],
    '198.51.100.7',
    'forwarded-header',
  ],
  [
    'a chain whose left end is forged',
    seen('10.1.1.1', {fields: {'x-forwarded-for': '1.1.1.1, 198.51.100.7, 10.3.3.3'}}),
    ['10.0.0.0/8'],
    '198.51.100.7',
    'forwarded-header',
  ],
  [
    'X-Forwarded-For behind a header: the sender is what the header says',
    seen('10.1.1.1', {header, fields: {'x-forwarded-for': '198.51.100.7'}}),
    ['10.0.0.0/8'],
    '203.0.113.9',
    'proxy-header',
  ],
  [
    'the same when that sender is trusted',
    seen('10.1.1.1', {header, fields: {'x-forwarded-for': '198.51.100.7:1234'}}),
    ['10.0.0.0/8', '203.0.113.0/24'],
    '198.51.100.7',
    'forwarded-header',
  ],
  ['nonsense', seen('10.1.1.1', {fields: {'x-forwarded-for': 'me'}}), ['10.0.0.0/8'], '10.1.1.1', 'peer'],
  ['X-Real-IP alone', seen('10.1.1.1', {fields: {'x-real-ip': '198.51.100.7'}}), ['10.0.0.0/8'], '10.1.1.1', 'peer'],
  [
    'a chain in IPv6',
    seen('fd00::1', {fields: {'x-forwarded-for': '[2001:db8::7]:443, fd00::2'}}),
    ['fd00::/8'],
    '2001:db8::7',
    'forwarded-header',
  ],
])('%s', (_, what, trusted, address, from) => {
  expect(client(what, ...trusted)).toEqual({address, from})
})

test('shows what speaks of the client, never what is secret', () => {
  const answer = decide(
    seen('10.1.1.1', {
      request: {
        method: 'GET',
        host: 'shop.example.org',
        target: '/path?token=s3cret#s3cret',
        fields: {
          authorization: 'Bearer s3cret',
          cookie: 's3cret',
          'proxy-authorization': 's3cret',
          'x-api-key': 's3cret',
          'x-auth-token': 's3cret',
          'x-forwarded-for': '198.51.100.7',
          'x-forwarded-proto': 'https',
          'x-real-ip': '198.51.100.7',
        },
      },
    }),
    [],
  )
  expect(answer.http).toEqual({
    method: 'GET',
    host: 'shop.example.org',
    path: '/path',
    forwarded: {'x-forwarded-for': '198.51.100.7', 'x-forwarded-proto': 'https', 'x-real-ip': '198.51.100.7'},
    believed: false,
  })
  expect(JSON.stringify(answer)).not.toContain('s3cret')
})

test('without trust nothing that a sender writes changes the client', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (forwarded, real) => {
      const answer = client(seen('10.1.1.1', {header, fields: {'x-forwarded-for': forwarded, 'x-real-ip': real}}))
      expect(answer).toEqual({address: '10.1.1.1', from: 'peer'})
    }),
  )
})

test('whatever a trusted sender writes, the client is an address of the chain or the sender', () => {
  const word = fc.oneof(fc.ipV4(), fc.ipV6(), fc.string({maxLength: 5}), fc.constant(''))
  fc.assert(
    fc.property(fc.array(word), (chain) => {
      const answer = client(seen('10.1.1.1', {fields: {'x-forwarded-for': chain.join(', ')}}), '10.0.0.0/8')
      expect(answer.from === 'peer' ? answer.address : 'forwarded').toBe(
        answer.from === 'peer' ? '10.1.1.1' : 'forwarded',
      )
    }),
  )
})
