import {existsSync, readFileSync} from 'node:fs'
import type {Socket} from 'node:net'
import fc from 'fast-check'
import {afterEach, describe, expect, test} from 'vitest'
import {readHeader} from '../../../src/proxy/header/decode.ts'
import {headerRows} from '../../support/proxy-headers.ts'
import {propertySeed} from '../../support/property-seed.ts'
import {describeWithParts} from '../bed/suite.ts'
import {ready, sleep, startProxy, until, type RunningProxy} from './processes.ts'
import {backend, collect, dial, exchange, headerBackend, nextBytes, type Backend} from './wire.ts'

const closers: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

async function serve(target: Promise<Backend>): Promise<Backend> {
  const it = await target
  closers.push(() => it.close())
  return it
}

async function proxyFor(port: number, ...flags: string[]): Promise<RunningProxy & {readonly port: number}> {
  const proxy = await startProxy([[5000, port]], ['--probe-interval', '1h', ...flags])
  closers.push(() => proxy.stop())
  await ready(proxy)
  return {...proxy, port: proxy.ports.get(5000) ?? 0}
}

const idle = (proxy: RunningProxy) =>
  until(
    'no connection is left',
    async () => (await proxy.metric('srcip_proxy_connections_active', 'port="5000"')) === 0,
  )

/** Says from whom the header in front says that it comes, then gives the payload back. */
const sayWho = (socket: Socket, source: string | undefined) => {
  socket.write(`${source ?? 'nobody'}|`)
  socket.on('data', (chunk: Buffer) => socket.write(chunk)).on('end', () => socket.end())
}

/** Writes the bytes in pieces that end at these places, each in a packet of its own as far as the system allows. */
async function inPieces(socket: Socket, bytes: Buffer, cuts: readonly number[]): Promise<void> {
  const ends = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].toSorted((a, b) => a - b)
  let start = 0
  for (const end of [...ends, bytes.length]) {
    if (end > start) socket.write(bytes.subarray(start, end))
    start = end
    await new Promise((resolve) => setImmediate(resolve))
  }
  socket.end()
}

describe('hostile clients', () => {
  test(
    'any bytes in any pieces, from a trusted peer: what the reader of headers says, and nothing stays behind',
    {timeout: 120_000},
    async () => {
      const target = await serve(headerBackend(sayWho))
      const proxy = await proxyFor(target.port, '--accept-proxy', '--trusted-cidr', '127.0.0.0/8')
      const tlv = (type: number, length: number) => Buffer.concat([Buffer.of(type, length >> 8, length & 0xff)])
      const rows = headerRows().map(({bytes}) => bytes)
      const start = fc.oneof(
        fc.constantFrom(...rows),
        // one byte of a good header is another
        fc
          .tuple(fc.constantFrom(...rows.filter((row) => row.length > 0)), fc.nat(), fc.nat(255))
          .map(([row, at, to]) => {
            const changed = Buffer.from(row)
            changed[at % changed.length] = to
            return changed
          }),
        fc.constantFrom(
          Buffer.from('PROXY UNKNOWN\r\n'),
          Buffer.from(`PROXY UNKNOWN ${'x'.repeat(91)}\r\n`),
          Buffer.from(`PROXY UNKNOWN ${'x'.repeat(92)}\r\n`),
          Buffer.from('PROXY TCP4 198.51.100.7 192.0.2.10 1 2\r\r\n'),
          Buffer.from('PROXY TCP4 198.51.100.7 192.0.2.10 1 2\n\r\n'),
          Buffer.from('\r\nPROXY TCP4 198.51.100.7 192.0.2.10 1 2\r\n'),
          Buffer.concat([Buffer.from('0d0a0d0a000d0a515549540a21110fff', 'hex'), Buffer.alloc(12), tlv(4, 4080)]),
          Buffer.concat([Buffer.from('0d0a0d0a000d0a515549540a2111ffff', 'hex'), Buffer.alloc(12)]),
        ),
      )
      let served = 0
      await fc.assert(
        fc.asyncProperty(
          start,
          fc.uint8Array({maxLength: 300}),
          fc.array(fc.nat(400), {maxLength: 6}),
          async (header, payload, cuts) => {
            const bytes = Buffer.concat([header, payload])
            const read = readHeader(bytes)
            const socket = await dial(proxy.port)
            const received = collect(socket)
            await inPieces(socket, bytes, cuts)
            const answer = (await received).bytes
            if (read.status !== 'header') {
              expect(answer.length).toBe(0)
              return
            }
            served++
            const {source, destination} = read.header
            // No header can carry a client of IPv6 and a destination of IPv4 (B36: only six forms leave).
            const isMixed = source?.address.includes(':') && !destination?.address.includes(':')
            const who = Buffer.from(`${isMixed ? 'nobody' : (source?.address ?? '127.0.0.1')}|`)
            expect(answer).toEqual(Buffer.concat([who, bytes.subarray(read.length)]))
          },
        ),
        {numRuns: 300, seed: propertySeed},
      )
      expect(served).toBeGreaterThan(30)
      await idle(proxy)
      expect(proxy.lines.filter((line) => !line.startsWith('{'))).toEqual([])
    },
  )

  test('peers that send their header byte by byte are cut at the limit, and hold up nobody', async () => {
    const target = await serve(headerBackend(sayWho))
    const proxy = await proxyFor(
      target.port,
      ...['--accept-proxy', '--trusted-cidr', '127.0.0.0/8', '--header-timeout', '1s', '--max-connections', '100'],
    )
    const slow = await Promise.all(Array.from({length: 60}, () => dial(proxy.port)))
    const ends = slow.map(collect)
    let isOver = false
    const trickle = async (socket: Socket) => {
      for (const byte of Buffer.from(`PROXY UNKNOWN ${'x'.repeat(80)}`)) {
        if (isOver || socket.destroyed) return
        socket.write(Buffer.of(byte))
        await sleep(100)
      }
    }
    const trickling = Promise.all(slow.map(trickle))
    const {bytes} = await exchange(proxy.port, Buffer.from('PROXY TCP4 198.51.100.7 192.0.2.10 1 2\r\nhello'))
    expect(bytes.toString()).toBe('198.51.100.7|hello')
    for (const end of ends) expect((await end).bytes.length).toBe(0)
    isOver = true
    await trickling
    expect(await proxy.metric('srcip_proxy_connection_errors_total', 'port="5000",reason="header-too-slow"')).toBe(60)
    await idle(proxy)
  })

  test.each([['1'], ['2']])(
    'more connections than open files, %s threads: refused, and it goes on',
    async (threads) => {
      const target = await serve(headerBackend(sayWho))
      const limited = await startProxy(
        [[5000, target.port]],
        ['--probe-interval', '1h', '--max-connections', '4000', '--workers', threads],
        {},
        {openFiles: 220},
      )
      closers.push(() => limited.stop())
      await ready(limited)
      expect(limited.lines.join('\n')).toMatch(/--max-connections 4000 is lowered to [0-9]+: .* 220 open files/)
      const port = limited.ports.get(5000) ?? 0
      const storm = await Promise.all(Array.from({length: 500}, () => dial(port).catch(() => undefined)))
      expect(limited.lines.filter((line) => line.includes('EMFILE'))).toEqual([])
      const {status} = await limited.ask('/livez')
      expect(status).toBe(200)
      for (const socket of storm) socket?.destroy()
      await idle(limited)
      expect((await exchange(port, Buffer.from('after'))).bytes.toString()).toBe('127.0.0.1|after')
    },
  )
})

describe('kill -9', () => {
  test('of the proxy: clients see it at once, and the next one has the ports', async () => {
    const target = await serve(headerBackend(sayWho))
    const proxy = await proxyFor(target.port)
    const client = await dial(proxy.port)
    client.write('x')
    // The answer may come in two pieces.
    for (let seen = ''; !seen.endsWith('x');) seen += (await nextBytes(client)).toString()
    const more = nextBytes(client)
    proxy.signal('SIGKILL')
    await expect(more).rejects.toThrow()
    client.destroy()
    expect(await proxy.ended).toBe('SIGKILL')
    const again = await startProxy(
      [],
      [...['--port', `5000=${proxy.port},to=${target.port}`, '--probe-interval', '1h']],
    )
    closers.push(() => again.stop())
    await ready(again)
    expect((await exchange(proxy.port, Buffer.from('again'))).bytes.toString()).toBe('127.0.0.1|again')
  })
})

/** Children of a process, by the kernel's own list. */
function children(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim()
  return text === '' ? [] : text.split(' ').map(Number)
}

await describeWithParts('HAProxy that dies', ['haproxy'], ({haproxy}) => {
  test('kill -9 of its master: /livez says so, so that the Pod is started again', async () => {
    const target = await serve(headerBackend(sayWho))
    const proxy = await proxyFor(target.port, '--engine', 'haproxy', '--haproxy', haproxy)
    const [master = 0] = children(proxy.pid)
    process.kill(master, 'SIGKILL')
    const body = await until('it is noticed', async () => {
      const answer = await proxy.ask('/livez')
      return answer.status === 503 && answer.body
    })
    expect(body).toBe('[-]haproxy ended with SIGKILL\n')
    await proxy.stop()
    expect(await proxy.ended).toBe(0)
  })

  test('kill -9 of its worker: the same', async () => {
    const target = await serve(headerBackend(sayWho))
    const proxy = await proxyFor(target.port, '--engine', 'haproxy', '--haproxy', haproxy)
    const [master = 0] = children(proxy.pid)
    const [worker = 0] = children(master)
    process.kill(worker, 'SIGKILL')
    await until('it is noticed', async () => (await proxy.ask('/livez')).status === 503)
    await proxy.stop()
    expect(existsSync(`/proc/${master}`)).toBe(false)
  })
})

describe('its own Service', () => {
  test('a chain that ends in another replica of the proxy does not grow, and neither is ready', async () => {
    // Two replicas whose target is their own Service: each connection is given to the other one.
    let first: RunningProxy | undefined
    let second: RunningProxy | undefined
    let turn = 0
    const service = await serve(
      backend((socket) => {
        const to = turn++ % 2 === 0 ? first : second
        dial(to?.ports.get(80) ?? 0).then(
          (other) => {
            socket.pipe(other).pipe(socket)
            other.on('error', () => socket.destroy())
            socket.on('close', () => other.destroy())
          },
          () => socket.destroy(),
        )
      }),
    )
    const start = async () => {
      const proxy = await startProxy([[80, service.port]], ['--probe-interval', '200ms', '--max-connections', '200'])
      closers.push(() => proxy.stop())
      return proxy
    }
    first = await start()
    second = await start()
    const cause = async (proxy: RunningProxy) => /\[-\]port-80 ([a-z-]+)/.exec((await proxy.ask('/readyz')).body)?.[1]
    for (const proxy of [first, second]) {
      await until('it is not ready', async () => ['target-is-self', 'target-cuts'].includes((await cause(proxy)) ?? ''))
    }
    const answer = await exchange(first.ports.get(80) ?? 0, Buffer.from('HEAD / HTTP/1.1\r\nHost: a\r\n\r\n'))
    expect(answer.bytes.toString()).toBe('')
    for (const proxy of [first, second])
      expect(await proxy.metric('srcip_proxy_connections_active', 'port="80"')).toBeLessThan(20)
  })
})
