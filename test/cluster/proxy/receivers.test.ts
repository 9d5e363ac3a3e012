import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import {headerRows} from '../../support/proxy-headers.ts'
import {describeWithParts} from '../bed/suite.ts'
import {
  freePorts,
  ready,
  startHaproxy,
  startNginx,
  startProxy,
  until,
  workFolder,
  type Running,
  type RunningProxy,
} from './processes.ts'
import {dial, exchange} from './wire.ts'

const request = Buffer.from('GET / HTTP/1.0\r\n\r\n')
const endsEarly = (name: string) => name === 'tls-hello-no-header' || name === 'v2-cut-short'

/** What an HTTP answer says, in the words of the byte table. The body is `client=ADDRESS;`. */
function inWords(bytes: Buffer, reset: boolean, peer: string): string {
  const text = bytes.toString()
  const status = /^HTTP\/1\.[01] ([0-9]{3})/.exec(text)?.[1]
  if (status === undefined) return reset ? 'reset' : 'closed, no answer'
  const client = /client=([^;]*);/.exec(text)?.[1]
  if (status !== '200') return status
  return `200, client ${client === peer ? '= socket peer' : client}`
}

async function listening(...ports: number[]): Promise<void> {
  for (const port of ports)
    await until(`something listens on ${port}`, () =>
      dial(port).then(
        (socket) => socket.destroy() && true,
        () => false,
      ),
    )
}

await describeWithParts(
  'PROXY headers and real programs (B36)',
  ['nginx', 'nginx-stream', 'haproxy'],
  ({nginx, haproxy}) => {
    const folder = workFolder()
    const running: Running[] = []
    let strict = 0
    let strict6 = 0
    let plain = 0
    let strictHaproxy = 0
    beforeAll(async () => {
      const [a = 0, b = 0, c = 0, d = 0] = await freePorts(4)
      ;[strict, strict6, plain, strictHaproxy] = [a, b, c, d]
      const answer = (variable: string) =>
        `location / {return 200 "client=${variable};port=$proxy_protocol_server_port;";}`
      running.push(
        startNginx(
          nginx,
          folder.path,
          'receiver',
          `http { server {listen 127.0.0.1:${strict} proxy_protocol; ${answer('$proxy_protocol_addr')}}
          server {listen [::1]:${strict6} proxy_protocol; ${answer('$proxy_protocol_addr')}}
          server {listen 127.0.0.1:${plain}; ${answer('$remote_addr')}} }`,
        ),
        startHaproxy(
          haproxy,
          folder.path,
          'receiver',
          `frontend f\n  mode http\n  bind 127.0.0.1:${strictHaproxy} accept-proxy\n  http-request return status 200 content-type text/plain lf-string "client=%[src];port=%[dst_port];"`,
        ),
      )
      await listening(strict, plain, strictHaproxy)
    })
    afterAll(async () => {
      await Promise.all(running.map((each) => each.stop()))
      folder.remove()
    })

    describe('the byte table is what these programs do', () => {
      test.each(headerRows())('$name', async ({name, bytes, nginx: byNginx, haproxy: byHaproxy}) => {
        const sent = endsEarly(name) ? bytes : Buffer.concat([bytes, request])
        const [one, two] = await Promise.all([exchange(strict, sent), exchange(strictHaproxy, sent)])
        // An LF-only header, UNKNOWN and LOCAL leave nginx without an address from the header: the variable is empty.
        const words = inWords(one.bytes, false, '')
        expect(words).toBe(byNginx)
        expect(inWords(two.bytes, true, '127.0.0.1')).toBe(byHaproxy)
      })
    })

    describe.each([
      ['node', 'v1'],
      ['node', 'v2'],
      ['haproxy', 'v1'],
      ['haproxy', 'v2'],
    ])('sent by the %s engine in %s', (engine, version) => {
      const flags = ['--proxy-protocol', version, '--engine', engine, '--haproxy', haproxy]
      let proxy: RunningProxy
      let proxy6: RunningProxy
      beforeAll(async () => {
        proxy = await startProxy(
          [
            [80, strict],
            [8080, strictHaproxy],
          ],
          flags,
        )
        proxy6 = await startProxy([[80, strict6]], [...flags, '--to', '::1', '--listen', '::'])
        await Promise.all([ready(proxy), ready(proxy6)])
      })
      afterAll(() => Promise.all([proxy.stop(), proxy6.stop()]))

      test.each([
        ['nginx', 80],
        ['HAProxy', 8080],
      ])('%s sees the address of the client and the port it asked for', async (_, service) => {
        for (const address of ['127.0.0.1', '127.0.0.42']) {
          const socket = await dial(proxy.ports.get(service) ?? 0, '127.0.0.1', address)
          const parts: Buffer[] = []
          socket.on('data', (chunk: Buffer) => parts.push(chunk)).end(request)
          await new Promise((resolve) => socket.on('close', resolve))
          expect(Buffer.concat(parts).toString()).toContain(`client=${address};port=${service};`)
        }
      })

      test('IPv6 clients appear with their address, IPv4 clients of a dual-stack port as IPv4', async () => {
        const port = proxy6.ports.get(80) ?? 0
        expect((await exchange(port, request, '::1')).bytes.toString()).toContain('client=::1;port=80;')
        expect((await exchange(port, request, '127.0.0.1')).bytes.toString()).toContain('client=127.0.0.1;port=80;')
      })
    })

    describe('received by us (chain mode)', () => {
      const client = 'client=198.51.100.7;'
      const rows = headerRows()

      test.each(rows)('$name from a trusted peer', async ({name, bytes, ours}) => {
        const {port, lines} = chain
        const before = lines.length
        const sent = endsEarly(name) ? bytes : Buffer.concat([bytes, request])
        const {bytes: answer} = await exchange(port, sent)
        if (ours.startsWith('refused')) {
          expect(answer.toString()).toBe('')
          const line = await until('the refusal is logged', () =>
            lines.slice(before).find((each) => each.includes('header-refused')),
          )
          expect(line).toMatch(/connection from 127\.0\.0\.1:[0-9]+ refused: /)
        } else if (name === 'v1-twice') expect(answer.toString()).toContain(' 400 ')
        else expect(answer.toString()).toContain(`client=${ours === 'peer' ? '127.0.0.1' : ours};`)
      })

      test.each(rows.filter(({ours}) => !ours.startsWith('refused') && ours !== 'peer'))(
        '$name torn into single bytes',
        async ({name, bytes, ours}) => {
          if (name === 'v1-twice') return
          const socket = await dial(chain.port)
          const parts: Buffer[] = []
          socket.on('data', (chunk: Buffer) => parts.push(chunk))
          for (const byte of Buffer.concat([bytes, request])) {
            socket.write(Buffer.of(byte))
            await new Promise((resolve) => setImmediate(resolve))
          }
          await new Promise((resolve) => socket.on('end', resolve))
          socket.destroy()
          expect(Buffer.concat(parts).toString()).toContain(`client=${ours};`)
        },
      )

      test('from an untrusted peer the header is taken off, and none is needed', async () => {
        for (const {name, bytes, ours} of rows.filter(
          (row) => !row.ours.startsWith('refused') && row.name !== 'v1-twice',
        )) {
          const {bytes: answer} = await exchange(untrusting.port, Buffer.concat([bytes, request]))
          expect(answer.toString(), `${name} ${ours}`).toContain('client=127.0.0.1;')
        }
        expect((await exchange(untrusting.port, request)).bytes.toString()).toContain('client=127.0.0.1;')
        expect(
          await untrusting.proxy.metric('srcip_proxy_headers_received_total', 'port="80",result="ignored"'),
        ).toBeGreaterThan(8)
        expect(untrusting.lines.some((line) => line.includes('no PROXY header will be honoured'))).toBe(true)
      })

      test('HAProxy (v1, v2) and nginx stream in front: the client behind them arrives', async () => {
        const [v1 = 0, v2 = 0, stream = 0] = await freePorts(3)
        running.push(
          startHaproxy(
            haproxy,
            folder.path,
            'sender',
            `listen one\n  bind 127.0.0.1:${v1}\n  server a 127.0.0.1:${chain.port} send-proxy\nlisten two\n  bind 127.0.0.1:${v2}\n  server a 127.0.0.1:${chain.port} send-proxy-v2`,
          ),
          startNginx(
            nginx,
            folder.path,
            'sender',
            `stream { server {listen 127.0.0.1:${stream}; proxy_pass 127.0.0.1:${chain.port}; proxy_protocol on;} }`,
            'load_module /usr/lib/nginx/modules/ngx_stream_module.so;\n',
          ),
        )
        await listening(v1, v2, stream)
        // nginx stream ends both ways at the first FIN, so the client does not send one.
        for (const port of [v1, v2, stream]) {
          const socket = await dial(port, '127.0.0.1', '127.0.0.77')
          const parts: Buffer[] = []
          socket.on('data', (chunk: Buffer) => parts.push(chunk)).write(request)
          await new Promise((resolve) => socket.on('end', resolve))
          socket.destroy()
          expect(Buffer.concat(parts).toString()).toContain(`client=127.0.0.77;port=${port};`)
        }
      })

      test('a header before bytes in one write keeps both', async () => {
        const {bytes} = await exchange(
          chain.port,
          Buffer.concat([Buffer.from('PROXY TCP4 198.51.100.7 192.0.2.10 51234 443\r\n'), request]),
        )
        expect(bytes.toString()).toContain(client)
      })

      let chain: {proxy: RunningProxy; port: number; lines: string[]}
      let untrusting: typeof chain
      beforeAll(async () => {
        const start = async (...flags: string[]) => {
          const proxy = await startProxy([[80, strict]], ['--accept-proxy', ...flags])
          await ready(proxy)
          return {proxy, port: proxy.ports.get(80) ?? 0, lines: proxy.lines}
        }
        chain = await start('--trusted-cidr', '127.0.0.0/8')
        untrusting = await start()
      })
      afterAll(() => Promise.all([chain.proxy.stop(), untrusting.proxy.stop()]))
    })
  },
)
