import {readFileSync} from 'node:fs'
import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import {judgeCapture} from '../../../../src/diagnosis/evidence/judge-capture.ts'
import {readPcap, type Segment} from '../../../../src/diagnosis/evidence/packets.ts'
import type {Places} from '../../../../src/diagnosis/evidence/places.ts'
import {readTcpdumpText} from '../../../../src/diagnosis/evidence/tcpdump-text.ts'

const file = (name: string) => readFileSync(new URL(`../../../cases/captures/${name}`, import.meta.url))
const places: Places = {balancers: [], pods: [], nodes: [], gateways: [], podsKnown: true}

function segmentsOf(read: readonly Segment[] | {readonly unreadable: string}): readonly Segment[] {
  if ('unreadable' in read) throw new Error(read.unreadable)
  return read
}

/** What was sent while each of the captures ran. */
const sent = {
  18_080: ['1 http loopback', '1 nothing loopback', '1 proxy-v1 loopback'],
  18_443: ['1 proxy-v2 loopback', '1 tls loopback', '2 proxy-v1 loopback'],
}

function told(segments: readonly Segment[]) {
  const {evidence} = judgeCapture(segments, places)
  const of = (port: number) =>
    evidence
      .filter((row) => row.port === port)
      .map(({count, first, place}) => `${count} ${first} ${place}`)
      .toSorted()
  return {18_080: of(18_080), 18_443: of(18_443)}
}

describe('captures that tcpdump made', () => {
  test('of the loopback', () => {
    expect(told(segmentsOf(readPcap(file('loopback-ethernet.pcap'))))).toEqual(sent)
  })

  test('of all interfaces', () => {
    expect(told(segmentsOf(readPcap(file('any-cooked.pcap'))))).toEqual(sent)
  })

  test('as text: what cannot be printed cannot be told', () => {
    expect(told(segmentsOf(readTcpdumpText(file('loopback-ascii.txt').toString('latin1'))))).toEqual({
      18_080: sent[18_080],
      18_443: ['1 not captured loopback', '1 proxy-v2 loopback', '2 proxy-v1 loopback'],
    })
  })

  test('only the ports that are asked for', () => {
    const {evidence} = judgeCapture(segmentsOf(readPcap(file('any-cooked.pcap'))), places, [18_080])
    expect(new Set(evidence.map(({port}) => port))).toEqual(new Set([18_080]))
  })

  test('cut anywhere, it counts as far as it goes', () => {
    const whole = file('loopback-ethernet.pcap')
    for (let length = 24; length < whole.length; length += 7) readPcap(whole.subarray(0, length))
    expect(readPcap(whole.subarray(0, 20))).toEqual({unreadable: 'it is shorter than the header of a capture'})
  })
})

test('connections that were open before are counted and not judged', () => {
  const all = segmentsOf(readPcap(file('loopback-ethernet.pcap')))
  const {evidence, alreadyOpen} = judgeCapture(
    all.filter(({syn}) => !syn),
    places,
  )
  expect(evidence).toEqual([])
  expect(alreadyOpen).toBe(7)
})

test('a first segment that was lost is not guessed from the second', () => {
  const common = {from: {address: '10.0.0.1', port: 1}, to: {address: '10.0.0.2', port: 443}, ack: true}
  const syn = {...common, syn: true, ack: false, seq: 99, payload: '', length: 0}
  const second = {...common, syn: false, seq: 150, payload: 'PROXY TCP4 1.1.1.1 ', length: 19}
  const first = {...common, syn: false, seq: 100, payload: '\x16\x03\x01', length: 3}
  const of = (...segments: Segment[]) => judgeCapture(segments, places).evidence.map((row) => row.first)
  expect(of(syn, second)).toEqual(['not captured'])
  expect(of(syn, second, first)).toEqual(['tls'])
  expect(of(syn, syn, first, second)).toEqual(['tls'])
})

test('a second connection from the same port is a second one', () => {
  const common = {from: {address: '10.0.0.1', port: 1}, to: {address: '10.0.0.2', port: 443}, payload: '', length: 0}
  const syn = (seq: number): Segment => ({...common, syn: true, ack: false, seq})
  expect(judgeCapture([syn(1), syn(500)], places).evidence).toMatchObject([{first: 'nothing', count: 2}])
})

test('tcpdump -x and -X', () => {
  const text = `03:53:33.017428 IP 127.0.0.1.37502 > 127.0.0.1.18443: Flags [S], seq 100, win 65495, length 0
03:53:33.017500 lo    In  IP 127.0.0.1.37502 > 127.0.0.1.18443: Flags [P.], seq 1:12, ack 1, win 64, length 11
\t0x0000:  4500 0033 0000 4000 4006 0000 7f00 0001  E..3..@.@.......
\t0x0010:  7f00 0001 927e 480b 0000 0065 0000 0001  .....~H....e....
\t0x0020:  5018 0040 0000 0000 1603 0102 0001 0001  P..@............
\t0x0030:  fc03 03                                  ...
`
  const segments = segmentsOf(readTcpdumpText(text))
  expect(judgeCapture(segments, places).evidence).toMatchObject([{first: 'tls', port: 18_443}])
})

test.each([
  ['a picture', Buffer.from('\x89PNG'.padEnd(100, 'x'), 'latin1'), /does not begin like a pcap/],
  ['pcapng', Buffer.from('0a0d0d0a'.padEnd(100, '0'), 'hex'), /pcapng/],
  [
    'another link type',
    Buffer.concat([file('loopback-ethernet.pcap').subarray(0, 20), Buffer.of(9, 1, 0, 0)]),
    /link type 265/,
  ],
])('%s is no capture', (_, bytes, wanted) => {
  expect(readPcap(bytes)).toEqual({unreadable: expect.stringMatching(wanted)})
})

test('no bytes make the readers throw, and no payload gets out', () => {
  const whole = file('loopback-ethernet.pcap')
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), {maxLength: 30}), (changes) => {
      const bytes = Buffer.from(whole)
      for (const [at, value] of changes) bytes[at] = value
      const read = readPcap(bytes)
      if (!('unreadable' in read)) expect(JSON.stringify(judgeCapture(read, places))).not.toContain('s3cret')
      readTcpdumpText(bytes.toString('latin1'))
    }),
  )
})
