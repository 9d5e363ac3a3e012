import {formatIP, parseIPv4, parseIPv6, unmap} from '../../model/address.ts'
import {crc32c} from './crc32c.ts'
import type {Endpoint, ProxyHeader, Refusal, Tlv} from './types.ts'

/** First 12 bytes of every v2 header. */
export const signature = Uint8Array.of(0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a)
/** Longest v1 line with its CR LF (specification 2.1). */
export const maxV1Bytes = 107
/** Longest v2 header taken, fixed part included. The format allows 65,551; nothing in use comes near this limit. */
export const maxV2Bytes = 4096

const prefixV1 = Buffer.from('PROXY ', 'latin1')
const addressBytes = {0x11: 12, 0x21: 36, 0x31: 216} as const

/** What the bytes seen so far are. `more` asks for the next read; the call is repeated with everything from the start of the connection. */
export type HeaderRead =
  | {readonly status: 'more'}
  | {readonly status: 'header'; readonly length: number; readonly header: ProxyHeader}
  | {readonly status: 'refused'; readonly reason: Refusal}

const more: HeaderRead = {status: 'more'}

/**
 * Reads a PROXY header, v1 or v2, at the start of a connection (specification 2.1, 2.2; as strict as the byte table in test/cases/B36).
 * Decides as early as the bytes allow, never asks for more than 107 (v1) or 4096 (v2) of them, never throws.
 */
export function readHeader(bytes: Uint8Array): HeaderRead {
  if (bytes.length === 0) return more
  if (startsLike(bytes, prefixV1)) return bytes.length < prefixV1.length ? more : readV1(bytes)
  if (startsLike(bytes, signature)) return bytes.length < signature.length ? more : readV2(bytes)
  // A TLS record: handshake (22), major version 3.
  return refuse(bytes[0] === 0x16 && (bytes[1] ?? 3) === 3 ? 'tls-hello' : 'no-header')
}

function readV1(bytes: Uint8Array): HeaderRead {
  const searched = bytes.subarray(0, maxV1Bytes)
  const end = searched.findIndex((byte) => byte === 0x0d || byte === 0x0a)
  if (end < 0) return bytes.length >= maxV1Bytes ? refuse('v1-too-long') : more
  if (bytes[end] === 0x0a) return refuse('v1-line-end')
  if (end + 1 >= maxV1Bytes) return refuse('v1-too-long')
  if (bytes.length === end + 1) return more
  if (bytes[end + 1] !== 0x0a) return refuse('v1-line-end')
  const length = end + 2
  const line = Buffer.from(bytes.buffer, bytes.byteOffset + prefixV1.length, end - prefixV1.length).toString('latin1')
  const fields = line.split(' ')
  const [family, source, destination, sourcePort, destinationPort] = fields
  // Everything after UNKNOWN up to the line end is to be ignored (specification 2.1).
  if (family === 'UNKNOWN')
    return {status: 'header', length, header: {version: 1, command: 'proxy', family: 'unspec', tlvs: []}}
  if (family !== 'TCP4' && family !== 'TCP6') return refuse('v1-family')
  if (fields.length !== 5 || !source || !destination || !sourcePort || !destinationPort) return refuse('v1-fields')
  const parse = family === 'TCP4' ? parseIPv4 : parseIPv6
  const from = parse(source)
  const to = parse(destination)
  if (!from || !to) return refuse('v1-address')
  const fromPort = readPort(sourcePort)
  const toPort = readPort(destinationPort)
  if (fromPort === undefined || toPort === undefined) return refuse('v1-port')
  return {
    status: 'header',
    length,
    header: {version: 1, command: 'proxy', ...ends(from, fromPort, to, toPort), tlvs: []},
  }
}

function readPort(text: string): number | undefined {
  if (!/^(0|[1-9][0-9]{0,4})$/.test(text)) return undefined
  const port = Number(text)
  return port <= 65_535 ? port : undefined
}

function readV2(bytes: Uint8Array): HeaderRead {
  const [versionCommand, familyByte] = [bytes[12], bytes[13]]
  if (versionCommand === undefined) return more
  if (versionCommand >> 4 !== 2) return refuse('v2-version')
  const command = versionCommand & 0x0f
  if (command > 1) return refuse('v2-command')
  if (familyByte === undefined) return more
  const needed = familyByte === 0 ? 0 : addressBytes[familyByte as keyof typeof addressBytes]
  // LOCAL says nothing about a client: the receiver must take it and skip whatever it carries (specification 2.2).
  if (command === 1 && needed === undefined) return refuse('v2-family')
  if (bytes.length < 16) return more
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const length = 16 + view.readUInt16BE(14)
  if (length > maxV2Bytes) return refuse('v2-too-long')
  if (command === 1 && length < 16 + (needed ?? 0)) return refuse('v2-length')
  if (bytes.length < length) return more
  if (command === 0)
    return {status: 'header', length, header: {version: 2, command: 'local', family: 'unspec', tlvs: []}}
  const tlvs = readTlvs(view.subarray(0, length), 16 + (needed ?? 0))
  if (typeof tlvs === 'string') return refuse(tlvs)
  const common = {version: 2, command: 'proxy', tlvs} as const
  if (familyByte === 0) return {status: 'header', length, header: {...common, family: 'unspec'}}
  if (familyByte === 0x31) return {status: 'header', length, header: {...common, family: 'unix'}}
  const size = familyByte === 0x11 ? 4 : 16
  const from = view.subarray(16, 16 + size)
  const to = view.subarray(16 + size, 16 + 2 * size)
  const ports = 16 + 2 * size
  return {
    status: 'header',
    length,
    header: {...common, ...ends(from, view.readUInt16BE(ports), to, view.readUInt16BE(ports + 2))},
  }
}

/** TLVs from `start` to the end of the header, or the reason why they are refused. A CRC32c among them is checked over the whole header. */
function readTlvs(header: Buffer, start: number): Tlv[] | Refusal {
  const tlvs: Tlv[] = []
  let offset = start
  while (offset < header.length) {
    if (offset + 3 > header.length) return 'v2-tlv'
    const type = header.readUInt8(offset)
    const end = offset + 3 + header.readUInt16BE(offset + 1)
    if (end > header.length) return 'v2-tlv'
    const value = Uint8Array.from(header.subarray(offset + 3, end))
    if (type === 0x03) {
      const zeroed = Buffer.from(header)
      zeroed.fill(0, offset + 3, end)
      if (value.length !== 4 || crc32c(zeroed) !== header.readUInt32BE(offset + 3)) return 'v2-checksum'
    }
    tlvs.push({type, value})
    offset = end
  }
  return tlvs
}

/** Both ends with mapped IPv4 taken out; the source decides what the family is called. */
function ends(from: Uint8Array, fromPort: number, to: Uint8Array, toPort: number) {
  const [source, destination] = [unmap(from), unmap(to)]
  const end = (bytes: Uint8Array, port: number): Endpoint => ({address: formatIP(bytes), port})
  return {
    family: source.length === 4 ? ('tcp4' as const) : ('tcp6' as const),
    source: end(source, fromPort),
    destination: end(destination, toPort),
  }
}

function startsLike(bytes: Uint8Array, wanted: Uint8Array): boolean {
  const length = Math.min(bytes.length, wanted.length)
  for (let index = 0; index < length; index++) if (bytes[index] !== wanted[index]) return false
  return true
}

function refuse(reason: Refusal): HeaderRead {
  return {status: 'refused', reason}
}
