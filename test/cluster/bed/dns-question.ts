import {streamDecode, streamEncode, type Packet, type RecordType} from 'dns-packet'
import type {Namespaces} from './namespaces.ts'

/** An answer of a DNS server. `addresses` are those of all A and AAAA records in it. */
export type DnsAnswer = {rcode: string; addresses: string[]; packet: Packet}

/** Asks a DNS server inside, over TCP, from the node. */
export async function askDns(
  namespaces: Namespaces,
  server: string,
  name: string,
  type: RecordType = 'A',
): Promise<DnsAnswer> {
  const socket = await namespaces.connect(server, 53)
  const id = 1 + Math.floor(Math.random() * 65_000)
  socket.write(streamEncode({type: 'query', id, flags: 256, questions: [{type, name}]}))
  socket.setTimeout(5000, () => socket.destroy(new Error(`no DNS answer from ${server} within 5 s`)))
  let received = Buffer.alloc(0)
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    received = Buffer.concat([received, chunk])
    if (received.length < 2 || received.length < 2 + received.readUInt16BE(0)) continue
    socket.destroy()
    const packet = streamDecode(received)
    const addresses = (packet.answers ?? []).flatMap((answer) =>
      answer.type === 'A' || answer.type === 'AAAA' ? [String(answer.data)] : [],
    )
    return {rcode: (packet as Packet & {rcode: string}).rcode, addresses, packet}
  }
  throw new Error(`${server} closed the connection without an answer`)
}
