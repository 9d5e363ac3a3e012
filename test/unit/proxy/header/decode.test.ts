import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import {crc32c} from '../../../../src/proxy/header/crc32c.ts'
import {maxV1Bytes, maxV2Bytes, readHeader, signature, type HeaderRead} from '../../../../src/proxy/header/decode.ts'
import {headerRows} from '../../../support/proxy-headers.ts'

const request = Buffer.from('GET / HTTP/1.0\r\n\r\n')
const rows = headerRows()

/** What the receiver makes of a connection that sends `bytes` and then closes. */
function verdict(bytes: Buffer): string {
  const read = readHeader(bytes)
  if (read.status === 'more') return bytes.length === 0 ? 'refused:no-header' : 'refused:cut-short'
  if (read.status === 'refused') return `refused:${read.reason}`
  return read.header.source?.address ?? 'peer'
}

const endsEarly = (name: string) => name === 'tls-hello-no-header' || name === 'v2-cut-short'

describe('byte table (B36)', () => {
  test('has every row', () => {
    expect(rows).toHaveLength(27)
  })

  test.each(rows)('$name', ({name, bytes, ours}) => {
    expect(verdict(endsEarly(name) ? bytes : Buffer.concat([bytes, request]))).toBe(ours)
  })

  test.each(rows)('$name, split at every byte', ({name, bytes}) => {
    const all = endsEarly(name) ? bytes : Buffer.concat([bytes, request])
    const whole = readHeader(all)
    for (let length = 0; length < all.length; length++) {
      const part = readHeader(all.subarray(0, length))
      // A shorter read either asks for more or has already come to the same end.
      if (part.status !== 'more') expect(part).toEqual(whole)
      else if (whole.status === 'header') expect(length).toBeLessThan(whole.length)
    }
  })

  test('v1-twice: the second header is payload', () => {
    const bytes = rows.find(({name}) => name === 'v1-twice')?.bytes ?? Buffer.alloc(0)
    const read = readHeader(bytes)
    expect(read.status === 'header' && bytes.subarray(read.length).toString()).toBe(
      'PROXY TCP4 203.0.113.9 192.0.2.10 4444 443\r\n',
    )
  })
})

describe('v1', () => {
  const line = (text: string) => verdict(Buffer.from(text, 'latin1'))

  test.each([
    ['PROXY TCP4 1.2.3.4 5.6.7.8 0 65535\r\n', '1.2.3.4'],
    ['PROXY TCP4 01.2.3.4 5.6.7.8 1 2\r\n', 'refused:v1-address'],
    ['PROXY TCP4 1.2.3 5.6.7.8 1 2\r\n', 'refused:v1-address'],
    ['PROXY TCP4 1.2.3.256 5.6.7.8 1 2\r\n', 'refused:v1-address'],
    ['PROXY TCP4 1.2.3.4 5.6.7.8 01 2\r\n', 'refused:v1-port'],
    ['PROXY TCP4 1.2.3.4 5.6.7.8 1 -2\r\n', 'refused:v1-port'],
    ['PROXY TCP4 1.2.3.4  5.6.7.8 1 2\r\n', 'refused:v1-fields'],
    ['PROXY TCP4 1.2.3.4 5.6.7.8 1 2 \r\n', 'refused:v1-fields'],
    ['PROXY TCP4 1.2.3.4 5.6.7.8 1\r\n', 'refused:v1-fields'],
    ['PROXY TCP4 1.2.3.4 5.6.7.8 1 2\rX', 'refused:v1-line-end'],
    ['PROXY TCP5 1.2.3.4 5.6.7.8 1 2\r\n', 'refused:v1-family'],
    ['PROXY UDP4 1.2.3.4 5.6.7.8 1 2\r\n', 'refused:v1-family'],
    ['PROXY UNKNOWN', 'refused:cut-short'],
    ['PROXYTCP4 ', 'refused:no-header'],
    ['PROPFIND /', 'refused:no-header'],
    ['PROXY TCP6 ::1::2 ::1 1 2\r\n', 'refused:v1-address'],
    ['PROXY TCP6 1:2:3:4:5:6:7:8:9 ::1 1 2\r\n', 'refused:v1-address'],
    ['PROXY TCP6 1:2:3:4:5:6:7:8 ::1 1 2\r\n', '1:2:3:4:5:6:7:8'],
    ['PROXY TCP6 FFFF:0:0:0:0:0:0:1 ::1 1 2\r\n', 'ffff::1'],
  ])('%j is %s', (text, wanted) => {
    expect(line(text)).toBe(wanted)
  })

  test('never waits for more than 107 bytes', () => {
    const long = Buffer.from(`PROXY UNKNOWN ${'x'.repeat(200)}`)
    expect(readHeader(long.subarray(0, maxV1Bytes - 1)).status).toBe('more')
    expect(verdict(long.subarray(0, maxV1Bytes))).toBe('refused:v1-too-long')
    const longest = Buffer.from(`PROXY UNKNOWN ${'x'.repeat(maxV1Bytes - 16)}\r\n`)
    expect(longest).toHaveLength(maxV1Bytes)
    expect(readHeader(longest)).toMatchObject({status: 'header', length: maxV1Bytes})
  })
})

/** A v2 header of any content, lengths as given. */
function v2(versionCommand: number, family: number, body: Uint8Array, length = body.length): Buffer {
  return Buffer.concat([signature, Buffer.of(versionCommand, family, length >> 8, length & 0xff), body])
}

const tcp4 = Buffer.from('c6336407c000020ac82201bb', 'hex')

describe('v2', () => {
  test('CRC32c: the check value of its definition, a right one and a wrong one', () => {
    expect(crc32c(Buffer.from('123456789'))).toBe(0xe3069283)
    const header = v2(0x21, 0x11, Buffer.concat([tcp4, Buffer.of(3, 0, 4, 0, 0, 0, 0)]))
    expect(verdict(header)).toBe('refused:v2-checksum')
    header.writeUInt32BE(crc32c(header), header.length - 4)
    expect(readHeader(header)).toMatchObject({
      status: 'header',
      header: {source: {address: '198.51.100.7', port: 51234}},
    })
    header.writeUInt8(9, 20)
    expect(verdict(header)).toBe('refused:v2-checksum')
  })

  test.each([
    ['TLV over the end', v2(0x21, 0x11, Buffer.concat([tcp4, Buffer.of(4, 0, 9, 1)])), 'refused:v2-tlv'],
    ['TLV without length', v2(0x21, 0x11, Buffer.concat([tcp4, Buffer.of(4, 0)])), 'refused:v2-tlv'],
    [
      'CRC32c of three bytes',
      v2(0x21, 0x11, Buffer.concat([tcp4, Buffer.of(3, 0, 3, 0, 0, 0)])),
      'refused:v2-checksum',
    ],
    ['UNIX stream', v2(0x21, 0x31, Buffer.alloc(216, 0x61)), 'peer'],
    ['UNIX stream too short', v2(0x21, 0x31, Buffer.alloc(100)), 'refused:v2-length'],
    ['LOCAL with a family nobody knows', v2(0x20, 0x99, Buffer.alloc(3)), 'peer'],
    ['UNSPEC with TLVs', v2(0x21, 0x00, Buffer.of(4, 0, 0)), 'peer'],
    ['UNSPEC with bytes that are no TLV', v2(0x21, 0x00, Buffer.of(1)), 'refused:v2-tlv'],
    ['more than 4096 bytes', v2(0x21, 0x11, tcp4, 4096), 'refused:v2-too-long'],
    ['family DGRAM over IPv6', v2(0x21, 0x22, Buffer.alloc(36)), 'refused:v2-family'],
  ])('%s', (_, bytes, wanted) => {
    expect(verdict(bytes)).toBe(wanted)
  })
})

describe('any bytes', () => {
  const starts = fc.constantFrom(
    Buffer.alloc(0),
    Buffer.from('PROXY '),
    Buffer.from('PROXY TCP4 1.2.3.4 '),
    Buffer.from(signature),
    v2(0x21, 0x11, tcp4),
  )

  test('never throw, never ask for more than the limit, never claim more than came', () => {
    const seen: Record<HeaderRead['status'], number> = {more: 0, header: 0, refused: 0}
    fc.assert(
      fc.property(starts, fc.uint8Array({maxLength: 5000}), (start, rest) => {
        const bytes = Buffer.concat([start, rest])
        const read = readHeader(bytes)
        seen[read.status]++
        if (read.status === 'more') expect(bytes.length).toBeLessThan(bytes[0] === 0x50 ? maxV1Bytes : maxV2Bytes)
        if (read.status === 'header') expect(read.length).toBeLessThanOrEqual(bytes.length)
      }),
      {numRuns: 5000},
    )
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(0)
  })

  test('one changed byte of a header never gives the client another address unnoticed by its length', () => {
    const whole = Buffer.from('PROXY TCP4 198.51.100.7 192.0.2.10 51234 443\r\n')
    fc.assert(
      fc.property(fc.nat(whole.length - 1), fc.nat(255), (at, byte) => {
        const changed = Buffer.from(whole)
        changed[at] = byte
        const read = readHeader(changed)
        if (read.status === 'header') expect(read.length).toBe(changed.indexOf('\r\n') + 2)
      }),
      {numRuns: 5000},
    )
  })
})
