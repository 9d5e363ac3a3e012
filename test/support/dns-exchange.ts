import {decode, encode, streamDecode, streamEncode, type Answer, type Packet, type RecordType} from 'dns-packet'
import {createSocket, type Socket} from 'node:dgram'
import {connect, createServer, type Server} from 'node:net'

/** One question as it goes over the wire. */
export interface WireQuestion {
  readonly name: string
  readonly type: string
  readonly edns: boolean
  readonly tcp: boolean
}

/** A record as it came back, target and data in one text. */
export interface WireRecord {
  readonly name: string
  readonly type: string
  readonly data: string
}

export interface WireReply {
  readonly rcode: string
  readonly question: {readonly name: string; readonly type: string}
  readonly answer: readonly WireRecord[]
  readonly authority: readonly WireRecord[]
}

const dot = (name: string): string => (name === '.' || name === '' ? '.' : `${name}.`)

function dataText(answer: Answer): string {
  const data: unknown = 'data' in answer ? answer.data : ''
  switch (answer.type) {
    case 'A':
    case 'AAAA':
      return String(data)
    case 'CNAME':
    case 'NS':
    case 'PTR':
    case 'DNAME':
      return dot(String(data))
    case 'TXT':
      return [data].flat().map(String).join('')
    case 'MX':
      return dot(answer.data.exchange)
    case 'SRV':
      return `${dot(answer.data.target)} ${answer.data.port}`
    case 'SOA':
      return dot(answer.data.mname)
    default:
      return ''
  }
}

/** In: a decoded packet. Out: what is compared of it; OPT records are left out. */
export function replyOf(packet: Packet): WireReply {
  const [question] = packet.questions ?? []
  const records = (list: readonly Answer[] | undefined): WireRecord[] =>
    (list ?? [])
      .filter(({type}) => type !== 'OPT')
      .map((answer) => ({name: dot(answer.name), type: answer.type, data: dataText(answer)}))
  return {
    rcode: String((packet as Packet & {rcode?: string}).rcode),
    question: {name: dot(question?.name ?? ''), type: String(question?.type)},
    answer: records(packet.answers),
    authority: records(packet.authorities),
  }
}

function packetOf(question: WireQuestion, id: number): Packet {
  return {
    type: 'query',
    id,
    flags: 256,
    questions: [{type: question.type as RecordType, name: question.name.replace(/\.$/, '')}],
    ...(question.edns
      ? {
          additionals: [
            {type: 'OPT', name: '.', udpPayloadSize: 4096, flags: 0, extendedRcode: 0, ednsVersion: 0, options: []},
          ],
        }
      : {}),
  } as unknown as Packet
}

/** Asks servers of the loopback, many questions at a time, each over UDP or TCP as it says. */
export class DnsAsker {
  private readonly socket: Socket = createSocket('udp4')
  private readonly waiting = new Map<number, (packet: Packet) => void>()
  private id = 1

  constructor() {
    this.socket.on('message', (bytes) => {
      const packet = decode(bytes)
      this.waiting.get(packet.id ?? -1)?.(packet)
    })
  }

  /** Out: the first reply, undefined when there is none in time (milliseconds). */
  async ask(question: WireQuestion, port: number, address = '127.0.0.1', wait = 4000): Promise<WireReply | undefined> {
    this.id = (this.id % 65_000) + 1
    const packet = packetOf(question, this.id)
    const answered = question.tcp ? askTcp(packet, port, address) : this.askUdp(packet, this.id, port, address)
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), wait)
    })
    const reply = await Promise.race([answered, late])
    clearTimeout(timer)
    return reply === undefined ? undefined : replyOf(reply)
  }

  private askUdp(packet: Packet, id: number, port: number, address: string): Promise<Packet> {
    return new Promise((resolve) => {
      this.waiting.set(id, (reply) => {
        this.waiting.delete(id)
        resolve(reply)
      })
      this.socket.send(encode(packet), port, address)
    })
  }

  close(): void {
    this.socket.close()
  }
}

function askTcp(packet: Packet, port: number, address: string): Promise<Packet | undefined> {
  return new Promise((resolve) => {
    const socket = connect(port, address)
    let received = Buffer.alloc(0)
    socket.on('error', () => resolve(undefined))
    socket.on('data', (bytes) => {
      received = Buffer.concat([received, bytes])
      if (received.length < 2 || received.length < 2 + received.readUInt16BE(0)) return
      resolve(streamDecode(received))
      socket.destroy()
    })
    socket.write(streamEncode(packet))
  })
}

/** What a stub server says to a question, as packets have it. */
export type StubAnswer = (question: {name: string; type: string}) => Partial<Packet>

/** A name server on a free port of the loopback, UDP and TCP. */
export interface StubServer {
  readonly port: number
  readonly close: () => Promise<void>
}

/** In: what to answer. Out: a running server that answers so, question echoed. */
export async function startStub(answer: StubAnswer): Promise<StubServer> {
  const reply = (query: Packet): Packet => {
    const [question] = query.questions ?? []
    const said = answer({name: dot(question?.name ?? ''), type: String(question?.type)})
    return {
      type: 'response',
      id: query.id ?? 0,
      questions: query.questions ?? [],
      ...said,
      flags: 0x0480 | (said.flags ?? 0),
    }
  }
  for (;;) {
    const tcp = await listenTcp(reply)
    const address = tcp.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const udp = createSocket('udp4')
    const free = await new Promise<boolean>((resolve) => {
      udp.once('error', () => resolve(false))
      udp.bind(port, '127.0.0.1', () => resolve(true))
    })
    if (!free) {
      tcp.close()
      continue
    }
    udp.on('message', (bytes, from) => udp.send(encode(reply(decode(bytes))), from.port, from.address))
    return {
      port,
      close: () =>
        new Promise((resolve) => {
          udp.close(() => tcp.close(() => resolve()))
          tcp.unref()
        }),
    }
  }
}

async function listenTcp(reply: (query: Packet) => Packet): Promise<Server> {
  const server = createServer((socket) => {
    let received = Buffer.alloc(0)
    socket.on('error', () => socket.destroy())
    socket.on('data', (bytes) => {
      received = Buffer.concat([received, bytes])
      while (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) {
        const size = 2 + received.readUInt16BE(0)
        socket.write(streamEncode(reply(streamDecode(received.subarray(0, size)))))
        received = received.subarray(size)
      }
    })
    socket.unref()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server
}
