import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import {formatIP, isMapped, parseIP, plainAddress} from '../../../../src/model/address.ts'
import {readHeader} from '../../../../src/proxy/header/decode.ts'
import {encodeHeader} from '../../../../src/proxy/header/encode.ts'
import type {ProxyVersion} from '../../../../src/proxy/header/types.ts'
import {headerRows} from '../../../support/proxy-headers.ts'

const rows = new Map(headerRows().map((row) => [row.name, row.bytes]))
const client4 = {address: '198.51.100.7', port: 51234}
const server4 = {address: '192.0.2.10', port: 443}
const client6 = {address: '2001:db8::7', port: 51234}
const server6 = {address: '2001:db8::10', port: 443}

describe('sender: the six forms of B36', () => {
  test.each([
    ['v1-tcp4', 'v1', client4, server4],
    ['v1-tcp6', 'v1', client6, server6],
    ['v1-unknown', 'v1', undefined, server4],
    ['v1-unknown', 'v1', client4, server6],
    ['v2-tcp4', 'v2', client4, server4],
    ['v2-tcp6', 'v2', client6, server6],
    ['v2-local-len0', 'v2', client4, undefined],
    ['v2-local-len0', 'v2', client6, server4],
  ] as const)('%s', (name, version, source, destination) => {
    expect(encodeHeader(version, source, destination)).toEqual(rows.get(name))
  })
})

const port = fc.nat(65_535)
const address = fc.oneof(
  fc.uint8Array({minLength: 4, maxLength: 4}),
  fc.uint8Array({minLength: 16, maxLength: 16}).filter((bytes) => !isMapped(bytes)),
  // Runs of zeros, where the short form of IPv6 lives.
  fc.array(fc.constantFrom(0, 0, 0, 1, 255), {minLength: 16, maxLength: 16}).map((bytes) => Uint8Array.from(bytes)),
)
const endpoint = fc.record({address: address.filter((bytes) => !isMapped(bytes)).map(formatIP), port})

describe('round trips', () => {
  test('what is sent is what is read, and everything after it is payload', () => {
    fc.assert(
      fc.property(
        fc.constantFrom<ProxyVersion>('v1', 'v2'),
        endpoint,
        endpoint,
        fc.uint8Array({maxLength: 50}),
        (version, source, destination, payload) => {
          const header = encodeHeader(version, source, destination)
          const read = readHeader(Buffer.concat([header, payload]))
          const isMixed = source.address.includes(':') !== destination.address.includes(':')
          expect(read).toMatchObject({status: 'header', length: header.length})
          if (read.status === 'header') {
            expect(read.header.source).toEqual(isMixed ? undefined : source)
            expect(read.header.destination).toEqual(isMixed ? undefined : destination)
          }
        },
      ),
      {numRuns: 5000},
    )
  })

  test('addresses survive being written and read', () => {
    fc.assert(
      fc.property(address, (bytes) => {
        expect(parseIP(formatIP(bytes))).toEqual(bytes)
      }),
      {numRuns: 5000},
    )
  })
})

test.each([
  ['::ffff:198.51.100.7', '198.51.100.7'],
  ['fe80::1%eth0', 'fe80::1'],
  ['::1', '::1'],
  ['2001:DB8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
  ['1.2.3.4', '1.2.3.4'],
  [undefined, undefined],
])('plain form of %s is %s', (text, wanted) => {
  expect(plainAddress(text)).toBe(wanted)
})
