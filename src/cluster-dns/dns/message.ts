import {isIP} from 'node:net'
import dnsPacket, {type Answer, type DecodedPacket} from 'dns-packet'

export type AddressType = 'A' | 'AAAA'
export type QuestionType = AddressType | 'TXT' | 'MX' | 'SRV' | 'CNAME'

export interface DnsRecord {
  /** Owner, lower case, no final dot. */
  readonly name: string
  readonly type: string
  /** Seconds. */
  readonly ttl: number
  /** Address, or target name without its final dot; other types as JSON text. */
  readonly data: string
}

/** A reply that was checked against its question. */
export interface DnsReply {
  /** `NOERROR`, `NXDOMAIN`, `SERVFAIL`, … */
  readonly rcode: string
  readonly truncated: boolean
  readonly answers: readonly DnsRecord[]
}

/** Why bytes are not the reply to our question. Somebody else's bytes: never trusted, never printed raw. */
export class DnsReplyError extends Error {
  override readonly name = 'DnsReplyError'
}

/** Most records of a reply that are looked at; a CoreDNS answer to one name has a handful. */
const maximumRecords = 1000

/** One question with recursion desired, as a stub resolver sends it (RFC 1035 4.1). */
export function encodeQuestion(id: number, name: string, type: QuestionType): Buffer {
  return dnsPacket.encode({
    type: 'query',
    id,
    flags: dnsPacket.RECURSION_DESIRED,
    questions: [{type, name: stripDot(name), class: 'IN'}],
  })
}

/**
 * Decodes and checks a reply: same id, a response, exactly our question (the question section must come back as asked, RFC 1035
 * and 7873 apart), sane record counts. Throws DnsReplyError for anything else; stub resolvers drop such replies too.
 */
export function decodeReply(bytes: Uint8Array, id: number, name: string, type: QuestionType): DnsReply {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (view.length < 12) throw new DnsReplyError('the reply is shorter than a DNS header')
  const records = view.readUInt16BE(6) + view.readUInt16BE(8) + view.readUInt16BE(10)
  if (records > maximumRecords) throw new DnsReplyError(`the reply claims ${records} records`)
  const packet = decode(view)
  if (packet.id !== id) throw new DnsReplyError('the reply carries another id than the question')
  if (packet.type !== 'response') throw new DnsReplyError('a query came back where a reply was expected')
  const question = packet.questions?.[0]
  if (packet.questions?.length !== 1 || question === undefined)
    throw new DnsReplyError('the reply repeats no single question')
  if (!sameName(question.name, name) || question.type !== type) {
    throw new DnsReplyError(`the reply answers another question (${printable(question.name)} ${question.type})`)
  }
  return {
    rcode: (packet as {rcode?: string}).rcode ?? 'NOERROR',
    truncated: ((packet.flags ?? 0) & dnsPacket.TRUNCATED_RESPONSE) !== 0,
    answers: (packet.answers ?? []).flatMap(toRecord),
  }
}

function decode(view: Buffer): DecodedPacket {
  try {
    const packet = dnsPacket.decode(view)
    // the library reads on past the end of a cut message
    if (dnsPacket.decode.bytes > view.length) throw new Error('it is cut short')
    return packet
  } catch (error) {
    throw new DnsReplyError(
      `the reply is not a DNS message (${error instanceof Error ? printable(error.message) : 'unreadable'})`,
    )
  }
}

function toRecord(answer: Answer): DnsRecord[] {
  if (answer.type === 'OPT') return []
  const data = (answer as {data?: unknown}).data
  const text = typeof data === 'string' ? data : JSON.stringify(data ?? null)
  if ((answer.type === 'A' || answer.type === 'AAAA') && isIP(text) === 0)
    throw new DnsReplyError('an address record holds no address')
  return [
    {
      name: lower(answer.name),
      type: answer.type,
      ttl: (answer as {ttl?: number}).ttl ?? 0,
      data: answer.type === 'CNAME' ? lower(text) : text,
    },
  ]
}

/**
 * Addresses that a stub resolver would take from a reply: those whose owner is the asked name, or reached from it through the
 * CNAMEs of the same reply. An address under another owner does not count, which is what a rewrite without answer mapping gives.
 */
export function addressesOf(reply: DnsReply, name: string): string[] {
  const owners = new Set<string>()
  for (let owner: string | undefined = lower(name); owner !== undefined && !owners.has(owner);) {
    owners.add(owner)
    const current: string = owner
    owner = reply.answers.find((record) => record.type === 'CNAME' && record.name === current)?.data
  }
  return reply.answers
    .filter((record) => (record.type === 'A' || record.type === 'AAAA') && owners.has(record.name))
    .map((record) => record.data)
    .toSorted()
}

function sameName(left: string, right: string): boolean {
  return lower(left) === lower(right)
}

function lower(name: string): string {
  return stripDot(name).toLowerCase()
}

function stripDot(name: string): string {
  return name.endsWith('.') ? name.slice(0, -1) : name
}

/** Text out of a foreign reply for a message: short, and without control characters. */
function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?').slice(0, 120)
}
