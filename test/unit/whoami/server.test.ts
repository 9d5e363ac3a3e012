import {connect} from 'node:net'
import {request as httpsRequest} from 'node:https'
import {connect as tlsConnect} from 'node:tls'
import {afterEach, describe, expect, test} from 'vitest'
import type {WhoamiAnswer} from '../../../src/model/whoami.ts'
import {WhoamiServer} from '../../../src/whoami/server.ts'
import {parseTrusted, type WhoamiOptions} from '../../../src/whoami/options.ts'
import {testAuthority} from '../../support/certificates.ts'
import {headerRows} from '../../support/proxy-headers.ts'

let server: WhoamiServer | undefined
afterEach(() => server?.close())

const lines: string[] = []

async function start(options: Partial<WhoamiOptions> = {}) {
  server = new WhoamiServer(
    {
      listen: '127.0.0.1',
      ports: {http: 0, tcp: 0},
      trusted: [],
      demandsHeader: false,
      headerTimeout: 10_000,
      maxConnections: 100,
      ...options,
    },
    (kind, message) => lines.push(`${kind}: ${message}`),
  )
  return server.listen()
}

/** Sends the parts one after the other and resolves with everything that comes back until the end. */
async function talk(port: number, ...parts: readonly (string | Uint8Array)[]): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.setNoDelay(true)
  let text = ''
  socket.setEncoding('utf8').on('data', (chunk) => (text += chunk))
  const ended = new Promise<string>((resolve) => {
    socket.on('close', () => resolve(text))
    socket.on('error', () => resolve(text))
  })
  for (const part of parts) await new Promise<void>((resolve) => void socket.write(part, () => setImmediate(resolve)))
  return ended
}

const answerOf = (text: string) => JSON.parse(text.slice(text.indexOf('{'))) as WhoamiAnswer
const get = 'GET / HTTP/1.1\r\nHost: shop.example.org\r\nX-Forwarded-For: 198.51.100.7\r\n\r\n'

test('HTTP without a header', async () => {
  const {http} = await start()
  const answer = answerOf(await talk(http!, get))
  expect(answer).toMatchObject({
    client: {address: '127.0.0.1', from: 'peer'},
    proxyHeader: null,
    http: {host: 'shop.example.org', forwarded: {'x-forwarded-for': '198.51.100.7'}, believed: false},
  })
})

describe('the byte table of case B36, from a trusted peer', () => {
  test.each(headerRows().map((row) => [row.name, row] as const))('%s', async (_, {name, bytes, ours}) => {
    const {http} = await start({trusted: parseTrusted(['127.0.0.1']), headerTimeout: 200})
    const isAlone = name === 'v2-cut-short' || name === 'tls-hello-no-header'
    const text = await talk(http!, Buffer.concat([bytes, Buffer.from(isAlone ? '' : get)]))
    if (!ours.startsWith('refused:')) {
      // One header row is followed by a second header, which is no request.
      if (text.startsWith('HTTP/1.1 400')) {
        expect(bytes.toString('latin1').match(/PROXY/g)).toHaveLength(2)
        return
      }
      expect(answerOf(text).proxyHeader).toMatchObject({believed: true})
      if (ours !== 'peer') expect(answerOf(text).proxyHeader?.source?.address).toBe(ours)
    } else if (ours === 'refused:no-header' || ours === 'refused:tls-hello') {
      // No PROXY header at all: what follows is read as HTTP.
      expect(text).toMatch(bytes.length === 0 ? /"proxyHeader": null/ : /^HTTP\/1.1 400/)
    } else expect(text).toBe('')
  })
})

test('a header that arrives byte by byte, and the request behind it', async () => {
  const {http} = await start({trusted: parseTrusted(['127.0.0.1'])})
  const header = 'PROXY TCP4 203.0.113.9 192.0.2.10 40000 443\r\n'
  const answer = answerOf(await talk(http!, ...header, ...get.match(/[^]{1,7}/g)!))
  expect(answer.client).toEqual({address: '203.0.113.9', from: 'proxy-header'})
})

test('a forged header is shown and not believed', async () => {
  const {http} = await start({trusted: parseTrusted(['10.0.0.0/8'])})
  const answer = answerOf(await talk(http!, `PROXY TCP4 203.0.113.9 192.0.2.10 40000 443\r\n${get}`))
  expect(answer.client.address).toBe('127.0.0.1')
  expect(answer.proxyHeader).toMatchObject({believed: false, source: {address: '203.0.113.9'}})
})

test('a trusted peer that omits the header is cut where it is demanded, an untrusted one is not', async () => {
  const {http} = await start({trusted: parseTrusted(['127.0.0.1']), demandsHeader: true})
  expect(await talk(http!, get)).toBe('')
  expect(lines.at(-1)).toBe('header: connection of 127.0.0.1 cut: the connection does not begin with a PROXY header')
  server!.close()
  const other = await start({trusted: parseTrusted(['10.0.0.0/8']), demandsHeader: true})
  expect(await talk(other.http!, get)).toContain('"Whoami"')
})

test('TCP: one line, also for a client that waits for us to speak first', async () => {
  const {tcp} = await start({headerTimeout: 50})
  const text = await talk(tcp!)
  expect(text.endsWith('\n')).toBe(true)
  expect(answerOf(text)).toMatchObject({client: {address: '127.0.0.1', from: 'peer'}, http: null})
})

test('a client that stops inside its header is cut', async () => {
  const {tcp} = await start({headerTimeout: 50})
  expect(await talk(tcp!, 'PROXY TCP4 203.')).toBe('')
  expect(lines.at(-1)).toContain('did not arrive in time')
})

test('HTTPS with a header in front of the handshake', async () => {
  const authority = testAuthority('whoami test')
  const leaf = authority.issue('shop.example.org', ['shop.example.org'])
  const {https} = await start({
    ports: {https: 0},
    trusted: parseTrusted(['127.0.0.1']),
    certificate: leaf,
  })
  const socket = connect(https!, '127.0.0.1')
  socket.write('PROXY TCP6 2001:db8::9 2001:db8::1 40000 443\r\n')
  const text = await new Promise<string>((resolve, reject) => {
    const call = httpsRequest(
      {
        createConnection: () => tlsConnect({socket, servername: 'shop.example.org', ca: authority.cert}),
        host: 'shop.example.org',
      },
      (response) => {
        let body = ''
        response.setEncoding('utf8').on('data', (chunk) => (body += chunk))
        response.on('end', () => resolve(body))
      },
    )
    call.on('error', reject)
    call.end()
  })
  expect(answerOf(text)).toMatchObject({
    client: {address: '2001:db8::9', from: 'proxy-header'},
    tls: {serverName: 'shop.example.org'},
  })
})
