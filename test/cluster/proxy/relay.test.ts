import {execFileSync} from 'node:child_process'
import {once} from 'node:events'
import {readFileSync} from 'node:fs'
import type {Socket} from 'node:net'
import {connect as connectTls} from 'node:tls'
import {afterEach, describe, expect, test} from 'vitest'
import {onPath} from '../bed/parts.ts'
import {describeWithParts} from '../bed/suite.ts'
import {ready, sleep, startProxy, until, type RunningProxy, type Served} from './processes.ts'
import {
  backend,
  collect,
  dial,
  exchange,
  headerBackend,
  nextBytes,
  readPattern,
  writePattern,
  type Backend,
} from './wire.ts'

const gigabyte = 1_000_000_000
/** A port whose protocol the proxy does not know: it is ready when connections are taken. */
const service = 5000

function residentMegabytes(pid: number): number {
  return Number(/^VmRSS:\s+([0-9]+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]) / 1024
}

function relaySuite(engine: string, flags: readonly string[]): void {
  describe(`relay, ${engine}`, () => {
    const open: {stop?(): Promise<void>; close?(): Promise<void>}[] = []
    const keep = <T extends {stop?(): Promise<void>; close?(): Promise<void>}>(it: T): T => {
      open.push(it)
      return it
    }
    afterEach(async () => {
      isLive = false
      await Promise.all(open.splice(0).map(async (each) => each.stop?.() ?? each.close?.()))
    })
    // The probe that makes the proxy ready arrives like a connection; handlers see only what comes after it.
    let isLive = false
    const live = (handle: (socket: Socket, source: string | undefined) => void, port = 0) =>
      headerBackend((socket, source) => {
        if (isLive) handle(socket, source)
      }, port)
    const start = async (
      to: number | readonly Served[],
      ...more: string[]
    ): Promise<RunningProxy & {readonly port: number}> => {
      const served = typeof to === 'number' ? ([[service, to]] as const) : to
      const proxy = keep(
        await startProxy(served, [
          ...(more.includes('--probe-interval') ? [] : ['--probe-interval', '1h']),
          ...flags,
          ...more,
        ]),
      )
      await ready(proxy)
      isLive = true
      return {...proxy, port: proxy.ports.get(served[0]?.[0] ?? service) ?? 0}
    }
    const serve = async (target: Promise<Backend>) => keep(await target)

    test('1 GB each way at the same time, every byte compared', {timeout: 120_000}, async () => {
      const atServer = Promise.withResolvers<number>()
      const target = await serve(
        live((socket) => {
          readPattern(socket).then(atServer.resolve, atServer.reject)
          writePattern(socket, gigabyte)
        }),
      )
      const {port, metric} = await start(target.port)
      const client = await dial(port)
      const atClient = readPattern(client)
      writePattern(client, gigabyte)
      expect(await Promise.all([atServer.promise, atClient])).toEqual([gigabyte, gigabyte])
      await until(
        'bytes are counted',
        async () =>
          ((await metric('srcip_proxy_bytes_total', `port="${service}",direction="to_target"`)) ?? 0) >= gigabyte,
      )
    })

    test('a server that speaks first gets its header at once', async () => {
      const sources: (string | undefined)[] = []
      const target = await serve(
        live((socket, source) => {
          sources.push(source)
          socket.write('220 mail.example.org ESMTP\r\n')
          socket.once('data', () => socket.end('221 bye\r\n'))
        }),
      )
      const {port} = await start(target.port)
      const client = await dial(port)
      expect((await nextBytes(client)).toString()).toBe('220 mail.example.org ESMTP\r\n')
      expect(sources).toEqual(['127.0.0.1'])
      client.write('QUIT\r\n')
      expect((await nextBytes(client)).toString()).toBe('221 bye\r\n')
      client.destroy()
    })

    test('half-open: each side may end first and still be answered', async () => {
      const target = await serve(
        live((socket) => {
          const parts: Buffer[] = []
          socket.on('data', (chunk: Buffer) => parts.push(chunk))
          // The answer comes half a second after the client's FIN.
          socket.on('end', () => setTimeout(() => socket.end(`got ${Buffer.concat(parts).length}`), 500))
        }),
      )
      const {port} = await start(target.port)
      expect(await exchange(port, Buffer.alloc(100_000, 'x')).then(({bytes}) => bytes.toString())).toBe('got 100000')

      const other = await serve(live((socket) => socket.end('early')))
      const late = await start(other.port)
      const client = await dial(late.port)
      expect((await nextBytes(client)).toString()).toBe('early')
      await sleep(300)
      const server = other.sockets.at(-1) as Socket
      const received = Promise.withResolvers<string>()
      server.once('data', (chunk: Buffer) => received.resolve(chunk.toString()))
      client.end('late')
      expect(await received.promise).toBe('late')
    })

    test('bytes before the target answers are kept, those of a torn ClientHello too (B34)', async () => {
      // A real ClientHello with SNI and ALPN, caught from a real client.
      const caught = await serve(backend(() => {}))
      const tls = connectTls({
        port: caught.port,
        host: '127.0.0.1',
        servername: 'vault.example.org',
        ALPNProtocols: ['h2', 'http/1.1'],
      })
      tls.on('error', () => {})
      const hello = await nextBytes(await until('a client connected', () => caught.sockets[0]))
      tls.destroy()
      const got: Buffer[] = []
      const target = await serve(
        live((socket) => {
          void collect(socket).then(({bytes}) => got.push(bytes))
          socket.on('end', () => socket.end())
        }),
      )
      const {port} = await start(target.port)
      for (const cut of [hello.length, 1, 5, 60]) {
        const client = await dial(port)
        for (let at = 0; at < hello.length; at += cut) {
          client.write(hello.subarray(at, at + cut))
          if (cut < hello.length && at < 300) await sleep(2)
        }
        client.end()
        const bytes = await until('the target has the hello', () => got.shift())
        expect(bytes).toEqual(hello)
        client.destroy()
      }
      expect(hello.includes('vault.example.org')).toBe(true)
    })

    test('a reader that does not read stops the writer, and memory stays small', {timeout: 60_000}, async () => {
      const target = await serve(live((socket) => writePattern(socket, 400_000_000)))
      const {port, pid} = await start(target.port)
      const before = residentMegabytes(pid)
      const clients = await Promise.all(Array.from({length: 10}, () => dial(port)))
      for (const client of clients) client.pause()
      await sleep(1500)
      const stalled = target.sockets.map((socket) => socket.bytesWritten)
      await sleep(1000)
      expect(target.sockets.map((socket) => socket.bytesWritten)).toEqual(stalled)
      expect(residentMegabytes(pid) - before).toBeLessThan(40)
      const [first, ...others] = clients
      for (const client of others) client.destroy()
      const whole = readPattern(first as Socket)
      first?.resume()
      expect(await whole).toBe(400_000_000)
    })

    test('both sides of a quiet connection are kept alive by TCP', async () => {
      const target = await serve(live((socket) => socket.write('up')))
      const {port} = await start(target.port, '--keep-alive', '77s')
      const client = await dial(port)
      await nextBytes(client)
      await sleep(100)
      const timers = (local: number, peer: number) =>
        execFileSync(
          onPath('ss') ?? '',
          ['-tnoH', 'state', 'established', `( sport = :${local} or dport = :${peer} )`],
          {
            encoding: 'utf8',
          },
        )
          .split('\n')
          .filter((line) => line.includes(`:${local} `) || line.includes(`:${peer} `))
          .map((line) => /timer:\(keepalive,1min1[0-9]sec/.test(line))
      // The side towards the client is the one whose own port is ours; towards the target it is the one whose peer is the target.
      expect(timers(port, target.port)).toEqual([true, true])
      client.destroy()
    })

    test('a target that restarts cuts its connections and takes new ones', async () => {
      const greet = (socket: Socket) => socket.write('hello')
      const first = keep(await live(greet))
      const {port, ask} = await start(first.port, '--probe-interval', '200ms')
      const client = await dial(port)
      expect((await nextBytes(client)).toString()).toBe('hello')
      const ended = once(client, 'end')
      await first.close()
      await ended
      client.destroy()
      await until('not ready without a target', async () => (await ask('/readyz')).body.includes('target-unreachable'))
      await serve(live(greet, first.port))
      await until('ready again', async () => (await ask('/readyz')).status === 200)
      const again = await dial(port)
      expect((await nextBytes(again)).toString()).toBe('hello')
      again.destroy()
    })

    test('over --max-connections a connection is refused, counted, and nobody else is hurt', async () => {
      const target = await serve(
        live((socket) => {
          socket.write('in')
          socket.on('end', () => socket.end()).resume()
        }),
      )
      const {port, metric} = await start(target.port, '--max-connections', '20')
      const inside = await Promise.all(Array.from({length: 20}, () => dial(port)))
      await Promise.all(inside.map(nextBytes))
      const outside = await Promise.all(Array.from({length: 30}, () => exchange(port, Buffer.alloc(0))))
      expect(outside.map(({bytes}) => bytes.toString())).toEqual(Array.from({length: 30}, () => ''))
      expect(await metric('srcip_proxy_connections_active', `port="${service}"`)).toBe(20)
      expect(await metric('srcip_proxy_connection_errors_total', `port="${service}",reason="max-connections"`)).toBe(30)
      for (const client of inside) client.destroy()
      await until(
        'places are free again',
        async () => (await metric('srcip_proxy_connections_active', `port="${service}"`)) === 0,
      )
      const late = await dial(port)
      expect((await nextBytes(late)).toString()).toBe('in')
      late.destroy()
    })

    test('a storm of 3,000 connections: each gets its own answer, none is left', {timeout: 60_000}, async () => {
      const target = await serve(live((socket) => socket.on('data', (chunk: Buffer) => socket.end(chunk))))
      const {port, metric, pid} = await start(target.port)
      const before = residentMegabytes(pid)
      for (let round = 0; round < 10; round++) {
        const answers = await Promise.all(
          Array.from({length: 300}, (_, index) => exchange(port, Buffer.from(`${round}/${index}`))),
        )
        expect(answers.map(({bytes}) => bytes.toString())).toEqual(
          Array.from({length: 300}, (_, index) => `${round}/${index}`),
        )
      }
      await until(
        'all are over',
        async () => (await metric('srcip_proxy_connections_active', `port="${service}"`)) === 0,
      )
      expect(await metric('srcip_proxy_connections_total', `port="${service}"`)).toBe(3000)
      expect(residentMegabytes(pid) - before).toBeLessThan(100)
    })

    // HAProxy ends the other side in an ordinary way; docs/proxy-engines.md says so.
    if (flags.includes('haproxy')) return
    test('a client that resets and a target that resets are both passed on', async () => {
      const target = await serve(live((socket) => socket.write('up')))
      const {port} = await start(target.port)
      const count = target.sockets.length
      const client = await dial(port)
      await nextBytes(client)
      const server = await until('the target is connected', () => target.sockets[count])
      const serverEnd = collect(server)
      client.resetAndDestroy()
      await serverEnd
      const second = await dial(port)
      await nextBytes(second)
      const end = collect(second)
      ;(target.sockets.at(-1) as Socket).resetAndDestroy()
      expect((await end).reset).toBe(true)
    })
  })
}

await describeWithParts('node as engine', ['ip'], () => {
  relaySuite('node engine', [])
  relaySuite('node engine, two threads', ['--workers', '2'])
})
await describeWithParts('HAProxy as engine', ['haproxy', 'ip'], ({haproxy}) =>
  relaySuite('haproxy engine', ['--engine', 'haproxy', '--haproxy', haproxy]),
)
