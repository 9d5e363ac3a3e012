import {createServer, type Server, type Socket} from 'node:net'
import {Duplex} from 'node:stream'
import dnsPacket from 'dns-packet'
import fc from 'fast-check'
import {afterEach, describe, expect, it} from 'vitest'
import {dnsOverStream, dnsOverTcp} from '../../../src/cluster-dns/dns/connection.ts'
import {addressesOf, decodeReply, DnsReplyError, encodeQuestion} from '../../../src/cluster-dns/dns/message.ts'

const question = {type: 'A', name: 'shop.example.org', class: 'IN'} as const

function reply(overrides: Partial<dnsPacket.Packet> = {}): Buffer {
  return dnsPacket.encode({
    type: 'response',
    id: 7,
    flags: 0,
    questions: [question],
    answers: [{type: 'A', name: 'shop.example.org', ttl: 30, data: '10.96.5.5'}],
    ...overrides,
  })
}

const decode = (bytes: Uint8Array) => decodeReply(bytes, 7, 'shop.example.org.', 'A')

describe('a DNS reply', () => {
  it('is taken when it answers our question', () => {
    const read = decode(reply())
    expect(read).toMatchObject({rcode: 'NOERROR', truncated: false})
    expect(addressesOf(read, 'Shop.Example.org.')).toEqual(['10.96.5.5'])
  })

  it.each([
    ['another id', reply({id: 8})],
    ['a query', dnsPacket.encode({type: 'query', id: 7, questions: [question]})],
    ['another name', reply({questions: [{...question, name: 'srcip-proxy.srcip.svc.cluster.local'}]})],
    ['another type', reply({questions: [{...question, type: 'AAAA'}]})],
    ['no question', reply({questions: []})],
    ['two questions', reply({questions: [question, question]})],
    ['half a header', reply().subarray(0, 7)],
    ['a cut record', reply().subarray(0, -3)],
    ['65,535 promised records', Object.assign(Buffer.from(reply()), {6: 0xff, 7: 0xff})],
  ])('with %s is refused', (_name, bytes) => {
    expect(() => decode(bytes)).toThrow(DnsReplyError)
  })

  it('with a compression pointer to itself ends', () => {
    const bytes = Buffer.concat([
      reply({answers: []}),
      Buffer.from([0xc0, 34, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, 1, 2, 3, 4]),
    ])
    bytes.writeUInt16BE(1, 6)
    expect(() => decode(bytes)).toThrow(DnsReplyError)
  })

  it('of any bytes gives a reply or DnsReplyError, nothing else', () => {
    const good = reply()
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), {maxLength: 6}),
        fc.uint8Array({maxLength: 40}),
        (changes, tail) => {
          const bytes = Buffer.concat([good, tail])
          for (const [index, value] of changes) bytes[index] = value
          try {
            decode(bytes)
          } catch (error) {
            expect(error).toBeInstanceOf(DnsReplyError)
          }
        },
      ),
      {numRuns: 3000},
    )
  })

  it('gives the addresses a stub resolver takes: through CNAMEs, never under another owner', () => {
    const read = decode(
      reply({
        answers: [
          {type: 'CNAME', name: 'shop.example.org', data: 'a.example.net'},
          {type: 'A', name: 'A.example.net', data: '192.0.2.1'},
          {type: 'A', name: 'srcip-proxy.srcip.svc.cluster.local', data: '10.96.5.5'},
        ],
      }),
    )
    expect(addressesOf(read, 'shop.example.org')).toEqual(['192.0.2.1'])
  })

  it('survives a CNAME loop', () => {
    const read = decode(
      reply({
        answers: [
          {type: 'CNAME', name: 'shop.example.org', data: 'b.example'},
          {type: 'CNAME', name: 'b.example', data: 'shop.example.org'},
        ],
      }),
    )
    expect(addressesOf(read, 'shop.example.org')).toEqual([])
  })
})

describe('DNS over a stream', () => {
  const servers: Server[] = []
  const sockets: Socket[] = []
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy()
    for (const server of servers.splice(0)) server.close()
  })

  async function serve(onQuestion: (socket: Socket, id: number) => void): Promise<number> {
    const server = createServer((socket) => {
      sockets.push(socket)
      socket.on('error', () => {})
      socket.on('data', (chunk) => onQuestion(socket, chunk.readUInt16BE(2)))
    })
    servers.push(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return (server.address() as {port: number}).port
  }

  function framed(bytes: Uint8Array): Buffer {
    const length = Buffer.alloc(2)
    length.writeUInt16BE(bytes.length)
    return Buffer.concat([length, bytes])
  }

  it('puts several questions through one connection, replies cut into single bytes', async () => {
    const port = await serve((socket, id) => {
      for (const byte of framed(reply({id}))) socket.write(Buffer.from([byte]))
    })
    const connection = await dnsOverTcp('127.0.0.1', port)
    for (let count = 0; count < 3; count++) {
      expect(addressesOf(await connection.ask('shop.example.org', 'A'), 'shop.example.org')).toEqual(['10.96.5.5'])
    }
    connection.close()
  })

  it.each([
    ['closes', (socket: Socket) => void socket.end(), /closed without a reply/],
    [
      'answers rubbish',
      (socket: Socket) => void socket.write(framed(Buffer.from('HTTP/1.1 400 Bad Request\r\n'))),
      /the reply/,
    ],
    ['says nothing', () => {}, /no reply within 0.3 s/],
    ['floods', (socket: Socket) => void socket.write(Buffer.alloc(400_000, 0xff)), /asked for|the reply/],
  ])('reports a server that %s', async (_name, act, message) => {
    const port = await serve(act)
    const connection = await dnsOverTcp('127.0.0.1', port, 300)
    await expect(connection.ask('shop.example.org', 'A')).rejects.toThrow(message)
    await expect(connection.ask('shop.example.org', 'A')).rejects.toThrow()
  })

  it('says that nobody listens', async () => {
    await expect(dnsOverTcp('127.0.0.1', 1)).rejects.toThrow(/ECONNREFUSED/)
  })

  it('sends a question that can be read back', () => {
    expect(dnsPacket.decode(encodeQuestion(9, 'Shop.example.org.', 'AAAA'))).toMatchObject({
      id: 9,
      type: 'query',
      questions: [{name: 'Shop.example.org', type: 'AAAA'}],
    })
  })

  it('is over when the stream breaks before the question', async () => {
    const stream = new Duplex({read() {}, write: (_chunk, _encoding, done) => done()})
    const connection = dnsOverStream(stream)
    stream.destroy(new Error('port-forward was cut'))
    await new Promise((resolve) => setImmediate(resolve))
    await expect(connection.ask('a.example', 'A')).rejects.toThrow('port-forward was cut')
  })
})
