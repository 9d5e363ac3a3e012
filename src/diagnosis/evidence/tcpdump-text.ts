import {parseIP} from '../../model/address.ts'
import {readPacket, type Segment, type Unreadable} from './packets.ts'

const head =
  /^(?:\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d\.\d+ (?:\S{1,20} +(?:In|Out|P|B|M) +)?IP6? ([0-9a-fA-F.:]{3,45})\.(\d{1,5}) > ([0-9a-fA-F.:]{3,45})\.(\d{1,5}): Flags \[([^\]]{1,10})\](?:.{0,40}? seq (\d+)(?::\d+)?)?.{0,400}? length (\d+)/

/**
 * Reads what `tcpdump -n` prints, with `-A` (text of the packets) or `-x` and `-X` (their bytes). Without one of these there is
 * nothing to say about what a connection begins with.
 */
export function readTcpdumpText(text: string): Segment[] | Unreadable {
  const segments: Segment[] = []
  let current: {match: RegExpExecArray; body: string[]} | undefined
  const close = (): void => {
    if (current !== undefined) segments.push(segmentOf(current.match, current.body))
  }
  for (const line of text.split('\n')) {
    const match = head.exec(line.slice(0, 1000))
    if (match !== null) {
      close()
      current = {match, body: []}
    } else current?.body.push(line)
  }
  close()
  if (segments.length === 0) return {unreadable: 'no line of tcpdump -n about a TCP segment stands in it'}
  return segments
}

function segmentOf(
  [, from, fromPort, to, toPort, flags, seq, length]: RegExpExecArray,
  body: readonly string[],
): Segment {
  const bytes = hexBytes(body)
  const packet = bytes === undefined ? undefined : readPacket(bytes)
  const size = Number(length)
  return {
    from: {address: from!, port: Number(fromPort)},
    to: {address: to!, port: Number(toPort)},
    syn: flags!.includes('S'),
    ack: flags!.includes('.'),
    seq: Number(seq ?? 0),
    payload: packet?.payload ?? (bytes === undefined ? printedPayload(body, size, from!) : undefined),
    length: size,
  }
}

function hexBytes(body: readonly string[]): Uint8Array | undefined {
  const words = body.flatMap(
    (line) => /^\s*0x[0-9a-f]{4}: {1,2}((?:[0-9a-f]{2,4} ?)+)/.exec(line)?.[1]?.trim().split(' ') ?? [],
  )
  return words.length === 0 ? undefined : new Uint8Array(Buffer.from(words.join(''), 'hex'))
}

/**
 * What `-A` shows of the payload: IP and TCP headers stand before it as dots and letters, their length a multiple of four; carriage
 * returns before line feeds are left out, other bytes that cannot be printed are dots. Only a beginning that is text can be told.
 */
function printedPayload(body: readonly string[], length: number, from: string): string | undefined {
  if (length === 0) return ''
  const text = body.join('\n')
  if (text.trim() === '') return undefined
  const least = parseIP(from)?.length === 16 ? 60 : 40
  for (let at = least; at <= least + 80; at += 4) {
    const rest = text.slice(at, at + 8192)
    if (/^PROXY (?:TCP4|TCP6|UNKNOWN)/.test(rest)) return rest
    if (rest.startsWith('\n\n.\nQUIT\n')) return '\r\n\r\n\0\r\nQUIT\n'
    if (/^(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|CONNECT|PRI) [/*]/.test(rest)) return rest
  }
  return undefined
}
