import {formatIP} from '../../model/address.ts'

/** One TCP segment of a capture. */
export interface Segment {
  readonly from: {readonly address: string; readonly port: number}
  readonly to: {readonly address: string; readonly port: number}
  readonly syn: boolean
  readonly ack: boolean
  /** Sequence number of the first byte of `payload`, absolute or from the start of the connection, as the capture gives it. */
  readonly seq: number
  /** What was captured of it, latin1; undefined where the capture has no bytes. */
  readonly payload: string | undefined
  /** Bytes that the segment had on the wire. */
  readonly length: number
}

/** The layers below IP that captures of nodes come with (https://www.tcpdump.org/linktypes.html). */
const linkTypes: Readonly<Record<number, {readonly length: number; readonly type?: number}>> = {
  0: {length: 4},
  1: {length: 14, type: 12},
  12: {length: 0},
  101: {length: 0},
  108: {length: 4},
  113: {length: 16, type: 14},
  228: {length: 0},
  229: {length: 0},
  276: {length: 20, type: 0},
}

/** Why a file is not read; the text goes into an error message. */
export type Unreadable = {readonly unreadable: string}

/**
 * Reads the segments of a pcap file (microseconds or nanoseconds, either byte order). A file that ends in the middle of a record, as
 * one does that is still being written, counts as far as it goes. Fragments, tunnels and anything that is not TCP are passed over.
 */
export function readPcap(bytes: Uint8Array): Segment[] | Unreadable {
  if (bytes.length < 24) return {unreadable: 'it is shorter than the header of a capture'}
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const magic = view.getUint32(0)
  if (magic === 0x0a0d0d0a) return {unreadable: 'it is pcapng: tcpdump -w writes pcap, editcap -F pcap converts'}
  const little = magic === 0xd4c3b2a1 || magic === 0x4d3cb2a1
  if (!little && magic !== 0xa1b2c3d4 && magic !== 0xa1b23c4d) return {unreadable: 'it does not begin like a pcap file'}
  const link = linkTypes[view.getUint32(20, little) & 0xffff]
  if (link === undefined) return {unreadable: `its link type ${view.getUint32(20, little) & 0xffff} is not known`}
  const segments: Segment[] = []
  let offset = 24
  while (offset + 16 <= bytes.length) {
    const captured = view.getUint32(offset + 8, little)
    const start = offset + 16
    if (captured > longestRecord || start + captured > bytes.length) break
    const packet = bytes.subarray(start, start + captured)
    const ip = ipStart(packet, link)
    const segment = ip === undefined ? undefined : readPacket(packet.subarray(ip))
    if (segment !== undefined) segments.push(segment)
    offset = start + captured
  }
  return segments
}

/** Bytes of one record at most; libpcap itself takes no longer ones. */
const longestRecord = 0x40000

/**
 * Why a pcap file is not what its lengths say, and from which byte on nothing counts; undefined where all of it was read. Of a file that
 * `readPcap` reads.
 */
export function pcapFault(bytes: Uint8Array): string | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const magic = view.getUint32(0)
  const little = magic === 0xd4c3b2a1 || magic === 0x4d3cb2a1
  let offset = 24
  for (let record = 1; offset < bytes.length; record++) {
    const where = `record ${record} at byte ${offset}`
    if (offset + 16 > bytes.length) return `${where} is cut off: the rest was not read`
    const captured = view.getUint32(offset + 8, little)
    const original = view.getUint32(offset + 12, little)
    if (captured > longestRecord) return `${where} says that it has ${captured} bytes: the rest was not read`
    if (offset + 16 + captured > bytes.length)
      return `${where} is cut off after ${bytes.length - offset - 16} of ${captured} bytes: the rest was not read`
    if (captured > original) return `${where} says ${captured} bytes captured of ${original}: its lengths lie`
    offset += 16 + captured
  }
  return undefined
}

/** Where IP begins; a VLAN tag or two may stand before it. */
function ipStart(
  packet: Uint8Array,
  {length, type}: {readonly length: number; readonly type?: number},
): number | undefined {
  if (type === undefined) return length
  const word = (at: number): number => ((packet[at] ?? 0) << 8) | (packet[at + 1] ?? 0)
  let at = type
  let start = length
  for (let tags = 0; tags < 2 && (word(at) === 0x8100 || word(at) === 0x88a8); tags++) {
    at = start + 2
    start += 4
  }
  return word(at) === 0x0800 || word(at) === 0x86dd ? start : undefined
}

/** Reads one IP packet; undefined when there is no TCP header in it. */
export function readPacket(packet: Uint8Array): Segment | undefined {
  const view = new DataView(packet.buffer, packet.byteOffset, packet.byteLength)
  const version = (packet[0] ?? 0) >> 4
  if (version === 4) {
    const header = ((packet[0] ?? 0) & 15) * 4
    if (header < 20 || packet.length < header + 20 || packet[9] !== 6 || (view.getUint16(6) & 0x1fff) !== 0)
      return undefined
    return readSegment(
      packet.subarray(header),
      view.getUint16(2) - header,
      packet.subarray(12, 16),
      packet.subarray(16, 20),
    )
  }
  if (version !== 6 || packet.length < 60 || packet[6] !== 6) return undefined
  return readSegment(packet.subarray(40), view.getUint16(4), packet.subarray(8, 24), packet.subarray(24, 40))
}

/** `size` is what IP says of header and payload; 0 stands for a segment that the card split later (TSO). */
function readSegment(tcp: Uint8Array, size: number, from: Uint8Array, to: Uint8Array): Segment | undefined {
  const view = new DataView(tcp.buffer, tcp.byteOffset, tcp.byteLength)
  const header = (view.getUint8(12) >> 4) * 4
  if (header < 20 || header > tcp.length) return undefined
  const flags = view.getUint8(13)
  const length = size <= 0 ? tcp.length - header : Math.max(0, size - header)
  return {
    from: {address: formatIP(from), port: view.getUint16(0)},
    to: {address: formatIP(to), port: view.getUint16(2)},
    syn: (flags & 2) !== 0,
    ack: (flags & 16) !== 0,
    seq: view.getUint32(4),
    payload: Buffer.from(tcp.subarray(header, header + length)).toString('latin1'),
    length,
  }
}
