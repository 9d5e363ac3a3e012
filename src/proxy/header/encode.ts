import {parseIP} from '../../model/address.ts'
import {signature} from './decode.ts'
import type {Endpoint, ProxyVersion} from './types.ts'

/**
 * The header that goes in front of a connection. Only six forms ever leave: v1 TCP4, TCP6 and UNKNOWN, v2 TCP4, TCP6 and LOCAL without addresses.
 * UNKNOWN or LOCAL is sent when either end is not known or the two are of different families, as no header can carry those.
 *
 * Addresses are plain (`plainAddress`, `readHeader`): valid, without zone, never mapped IPv4.
 *
 * @param source the client; undefined where the socket no longer knows it
 * @param destination where the client connected to, with the port that it asked for
 */
export function encodeHeader(
  version: ProxyVersion,
  source: Endpoint | undefined,
  destination: Endpoint | undefined,
): Buffer {
  return version === 'v1' ? encodeV1(source, destination) : encodeV2(source, destination)
}

function encodeV1(source: Endpoint | undefined, destination: Endpoint | undefined): Buffer {
  if (!source || !destination) return Buffer.from('PROXY UNKNOWN\r\n', 'latin1')
  const isV6 = source.address.includes(':')
  if (isV6 !== destination.address.includes(':')) return Buffer.from('PROXY UNKNOWN\r\n', 'latin1')
  const ends = `${source.address} ${destination.address} ${source.port} ${destination.port}`
  return Buffer.from(`PROXY ${isV6 ? 'TCP6' : 'TCP4'} ${ends}\r\n`, 'latin1')
}

function encodeV2(source: Endpoint | undefined, destination: Endpoint | undefined): Buffer {
  const from = source && parseIP(source.address)
  const to = destination && parseIP(destination.address)
  if (!source || !destination || !from || !to || from.length !== to.length) {
    const local = Buffer.alloc(16)
    local.set(signature)
    local[12] = 0x20
    return local
  }
  const length = from.length * 2 + 4
  const header = Buffer.alloc(16 + length)
  header.set(signature)
  header[12] = 0x21
  header[13] = from.length === 4 ? 0x11 : 0x21
  header.writeUInt16BE(length, 14)
  header.set(from, 16)
  header.set(to, 16 + from.length)
  header.writeUInt16BE(source.port, 16 + length - 4)
  header.writeUInt16BE(destination.port, 16 + length - 2)
  return header
}
