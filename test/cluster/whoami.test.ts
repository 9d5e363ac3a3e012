import {spawn, type ChildProcess} from 'node:child_process'
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs'
import {get} from 'node:http'
import {connect, createServer, type AddressInfo} from 'node:net'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterAll, beforeAll, expect, test} from 'vitest'
import type {WhoamiAnswer} from '../../src/model/whoami.ts'
import {parseTrusted} from '../../src/whoami/options.ts'
import {WhoamiServer} from '../../src/whoami/server.ts'
import {describeWithParts, until} from './bed/index.ts'

const senders = {
  plain: '',
  v1: 'send-proxy',
  v2: 'send-proxy-v2',
  tlvs: 'send-proxy-v2 proxy-v2-options crc32c,unique-id',
}

await describeWithParts('whoami behind the real HAProxy', ['haproxy'], ({haproxy}) => {
  const folder = mkdtempSync(join(tmpdir(), 'srcip-whoami-'))
  let echo: WhoamiServer
  let balancer: ChildProcess
  const ports: Record<string, number> = {}

  beforeAll(async () => {
    echo = new WhoamiServer(
      {
        listen: '127.0.0.1',
        ports: {http: 0, tcp: 0},
        trusted: parseTrusted(['127.0.0.9/32']),
        demandsHeader: false,
        headerTimeout: 500,
        maxConnections: 100,
      },
      () => undefined,
    )
    const {http, tcp} = await echo.listen()
    const lines = ['defaults', '  mode tcp', '  timeout connect 2s', '  timeout client 10s', '  timeout server 10s']
    for (const [name, options] of Object.entries(senders)) {
      for (const [kind, port] of [
        ['http', http],
        ['tcp', tcp],
      ] as const) {
        const listener = `${name}-${kind}`
        ports[listener] = await freePort()
        // HAProxy connects from an address of its own, which the echo trusts or not.
        lines.push(
          `listen ${listener}`,
          `  bind 127.0.0.1:${ports[listener]}`,
          '  unique-id-format %pid',
          `  server echo 127.0.0.1:${port} source 127.0.0.9 ${options}`,
        )
      }
    }
    writeFileSync(join(folder, 'haproxy.cfg'), `${lines.join('\n')}\n`)
    balancer = spawn(haproxy, ['-f', join(folder, 'haproxy.cfg'), '-db'], {stdio: 'ignore'})
    await until('HAProxy listens', 20, async () => (await ask('plain-http').catch(() => undefined)) !== undefined)
  })
  afterAll(() => {
    balancer?.kill('SIGKILL')
    echo?.close()
    rmSync(folder, {recursive: true, force: true})
  })

  const ask = (listener: string): Promise<WhoamiAnswer> =>
    new Promise((resolve, reject) => {
      get({host: '127.0.0.1', port: ports[listener], agent: false, localAddress: '127.0.0.7'}, (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk) => (text += chunk))
        response.on('end', () => resolve(JSON.parse(text) as WhoamiAnswer))
      }).on('error', reject)
    })

  test('without a header the echo sees HAProxy', async () => {
    expect(await ask('plain-http')).toMatchObject({
      client: {address: '127.0.0.9', from: 'peer'},
      peer: {trusted: true},
      proxyHeader: null,
    })
  })

  test.each([
    ['v1', 1],
    ['v2', 2],
    ['tlvs', 2],
  ] as const)('%s: the client’s own address', async (name, version) => {
    expect(await ask(`${name}-http`)).toMatchObject({
      client: {address: '127.0.0.7', from: 'proxy-header'},
      peer: {address: '127.0.0.9'},
      proxyHeader: {version, family: 'tcp4', believed: true},
    })
  })

  test.each(['plain', 'v1', 'v2', 'tlvs'])(
    'the TCP port answers %s with one line, without a word of the client',
    async (name) => {
      const line = await new Promise<string>((resolve, reject) => {
        let text = ''
        const socket = connect({host: '127.0.0.1', port: ports[`${name}-tcp`]!, localAddress: '127.0.0.7'})
        socket.setEncoding('utf8').on('data', (chunk) => (text += chunk))
        socket.on('end', () => resolve(text)).on('error', reject)
      })
      const answer = JSON.parse(line) as WhoamiAnswer
      expect(answer.client.address).toBe(name === 'plain' ? '127.0.0.9' : '127.0.0.7')
    },
  )
})

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const {port} = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
