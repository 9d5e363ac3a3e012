import {execFileSync} from 'node:child_process'
import {join} from 'node:path'
import {connect as connectTls} from 'node:tls'
import {afterAll, afterEach, beforeAll, describe, expect, test} from 'vitest'
import {describeWithParts} from '../bed/suite.ts'
import {
  freePorts,
  program,
  run,
  ready,
  sleep,
  startNginx,
  startProxy,
  until,
  workFolder,
  type Running,
  type RunningProxy,
} from './processes.ts'
import {backend, collect, dial, exchange, headerBackend, nextBytes, type Backend} from './wire.ts'

const request = Buffer.from('GET / HTTP/1.0\r\n\r\n')

/** Body of an HTTPS answer through a port, or the error's code. */
function askTls(port: number): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    const socket = connectTls(
      {port, host: '127.0.0.1', servername: 'shop.example.org', rejectUnauthorized: false},
      () => socket.write(request),
    )
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()))
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    socket.on('close', () => resolve(text))
  })
}

const open: {stop?(): Promise<void>; close?(): Promise<void>}[] = []
const keep = <T extends {stop?(): Promise<void>; close?(): Promise<void>}>(it: T): T => {
  open.push(it)
  return it
}
afterEach(async () => {
  await Promise.all(open.splice(0).map(async (each) => each.stop?.() ?? each.close?.()))
})

/** The check of a port in `/readyz`, as `ok` or `TOKEN: MESSAGE`. */
async function readiness(proxy: RunningProxy, port: number): Promise<string> {
  const {body} = await proxy.ask('/readyz')
  return new RegExp(`^\\[[+-]\\]port-${port} (.*)$`, 'm').exec(body)?.[1] ?? body
}

await describeWithParts('target of the proxy', ['nginx', 'openssl'], ({nginx, openssl}) => {
  const folder = workFolder()
  let ingress: Running & {write(blocks: string): void}
  let http = 0
  let https = 0
  const config = (takesHeader: boolean) => {
    const header = takesHeader ? 'proxy_protocol' : ''
    const client = takesHeader ? '$proxy_protocol_addr' : '$remote_addr'
    return `http { server {listen 127.0.0.1:${http} ${header}; location / {return 200 "client=${client};";}}
      server {listen 127.0.0.1:${https} ssl ${header}; ssl_certificate ${folder.path}/cert; ssl_certificate_key ${folder.path}/key; location / {return 200 "client=${client};";}} }`
  }
  /** Switches the ingress as its controller does: configuration, reload, and the old workers end. */
  const flip = async (takesHeader: boolean) => {
    ingress.write(config(takesHeader))
    ingress.signal('SIGHUP')
    const plainAnswer = async () => (await exchange(http, request)).bytes.toString()
    await until('the ingress has switched', async () => (await plainAnswer()).includes('client=') !== takesHeader)
  }
  beforeAll(async () => {
    execFileSync(
      openssl,
      [
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:P-256',
        '-nodes',
        '-days',
        '2',
        '-subj',
        '/CN=shop.example.org',
        '-keyout',
        join(folder.path, 'key'),
        '-out',
        join(folder.path, 'cert'),
      ],
      {stdio: 'ignore'},
    )
    ;[http = 0, https = 0] = await freePorts(2)
    ingress = startNginx(nginx, folder.path, 'ingress', config(true))
    await until('the ingress listens', () =>
      dial(http).then(
        (socket) => socket.destroy() && true,
        () => false,
      ),
    )
  })
  afterAll(async () => {
    await ingress.stop()
    folder.remove()
  })

  describe.each(['v1', 'v2'])('--send-proxy always, %s', (version) => {
    test('ready with a strict ingress, not ready with a plain one, and says why (B38)', async () => {
      await flip(true)
      const proxy = keep(
        await startProxy(
          [
            [80, http],
            [443, https],
          ],
          ['--proxy-protocol', version, '--probe-interval', '100ms'],
        ),
      )
      await ready(proxy)
      await flip(false)
      for (const port of [80, 443]) {
        await until(`port ${port} is not ready`, async () =>
          (await readiness(proxy, port)).startsWith('header-refused: 127.0.0.1:'),
        )
        expect(await readiness(proxy, port)).toContain('PROXY protocol is off there')
      }
      expect(await proxy.metric('srcip_proxy_ready')).toBe(0)
      await flip(true)
      await ready(proxy)
      expect(await proxy.metric('srcip_proxy_ready')).toBe(1)
    })
  })

  describe.each([['node'], ['haproxy']])('--send-proxy auto, %s engine', (engine) => {
    test('follows the ingress on and off, within a probe period, on 80 and 443', {timeout: 60_000}, async () => {
      await flip(false)
      const proxy = keep(
        await startProxy(
          [
            [80, http],
            [443, https],
          ],
          ['--send-proxy', 'auto', '--engine', engine],
        ),
      )
      await ready(proxy)
      const answers = async () => [
        (await exchange(proxy.ports.get(80) ?? 0, request)).bytes.toString().split('\r\n\r\n')[1],
        (await askTls(proxy.ports.get(443) ?? 0)).split('\r\n\r\n')[1],
      ]
      for (const takesHeader of [true, false, true]) {
        await flip(takesHeader)
        const start = performance.now()
        const takes = takesHeader ? 'header' : 'plain'
        const seen = async (port: number) =>
          (await proxy.metric('srcip_proxy_target_endpoints', `port="${port}",takes="${takes}"`)) === 1
        await until('both ports are seen to have switched', async () => (await seen(80)) && (await seen(443)))
        await until('both ports work again', async () =>
          (await answers()).every((body) => body === 'client=127.0.0.1;'),
        )
        expect(performance.now() - start).toBeLessThan(engine === 'node' ? 3000 : 6000)
      }
      expect((await proxy.ask('/readyz')).status).toBe(200)
    })

    test('is ready with a target that answers either way, and not without one', async () => {
      const [gone = 0] = await freePorts(1)
      const proxy = keep(await startProxy([[80, gone]], ['--send-proxy', 'auto', '--engine', engine]))
      await until('unreachable', async () => (await readiness(proxy, 80)).startsWith('target-unreachable'))
    })
  })

  test('HAProxy reloads without dropping a connection', {timeout: 60_000}, async () => {
    await flip(false)
    const echo = keep(await backend((socket) => socket.pipe(socket)))
    const proxy = keep(
      await startProxy(
        [
          [80, http],
          [7, echo.port, 'plain'],
        ],
        ['--send-proxy', 'auto', '--engine', 'haproxy'],
      ),
    )
    await ready(proxy)
    const held = await dial(proxy.ports.get(7) ?? 0)
    const reloads = () => proxy.lines.filter((line) => line.includes('"reloaded"')).length
    await until('the first routes of both ports stand', () => reloads() === 2)
    for (let round = 0; round < 3; round++) {
      const before = reloads()
      await flip(round % 2 === 0)
      // New connections all along the reload, none refused; the held one answers through it.
      const end = performance.now() + 20_000
      while (reloads() === before) {
        if (performance.now() > end) throw new Error(`no reload: ${proxy.lines.join('\n')}`)
        const fresh = await dial(proxy.ports.get(7) ?? 0)
        fresh.write('fresh')
        expect((await nextBytes(fresh)).toString()).toBe('fresh')
        fresh.destroy()
        held.write(`held ${round}`)
        expect((await nextBytes(held)).toString()).toBe(`held ${round}`)
      }
    }
    held.destroy()
  })
})

describe('life of the proxy', () => {
  test('a name that does not resolve, and a target that is not there: starts, waits, says why', async () => {
    const nowhere = keep(await startProxy([[80, 80]], ['--to', 'nowhere.invalid']))
    await until('unresolved', async () =>
      (await readiness(nowhere, 80)).startsWith('target-unresolved: nowhere.invalid does not resolve: ENOTFOUND'),
    )
    expect((await nowhere.ask('/livez')).status).toBe(200)
    const [later = 0] = await freePorts(1)
    const proxy = keep(await startProxy([[5000, later]], ['--probe-interval', '100ms']))
    await until('unreachable', async () => (await readiness(proxy, 5000)).startsWith('target-unreachable'))
    // A client that comes too early is served as soon as the target is there.
    const early = await dial(proxy.ports.get(5000) ?? 0)
    early.write('early')
    await sleep(200)
    const target = keep(await headerBackend((socket) => socket.on('data', (chunk: Buffer) => socket.end(chunk)), later))
    expect((await nextBytes(early)).toString()).toBe('early')
    expect(target.sockets.length).toBeGreaterThan(0)
    early.destroy()
    await ready(proxy)
  })

  test('never ready when its target is itself, directly or through somebody in between', async () => {
    const [own = 0] = await freePorts(1)
    const direct = keep(await startProxy([[80, own]], ['--port', `90=${own},to=90`, '--max-connections', '200']))
    await until('loop', async () => (await readiness(direct, 80)).startsWith('target-is-self'))

    // A load balancer that sends everything back: only the mark in the probe can tell.
    const {port} = await new Promise<Backend>((resolve) => {
      void backend((socket) => {
        const back = dial(through?.ports.get(80) ?? 0)
        back.then(
          (other) => void (socket.pipe(other), other.pipe(socket), other.on('error', () => socket.destroy())),
          () => socket.destroy(),
        )
      }).then((it) => resolve(keep(it)))
    })
    let through: RunningProxy | undefined
    through = keep(await startProxy([[80, port]], ['--max-connections', '200']))
    const proxy = through
    await until('loop seen', async () => (await readiness(proxy, 80)).startsWith('target-is-self'))
    expect(await proxy.metric('srcip_proxy_connections_active', 'port="80"')).toBeLessThan(5)
  })

  test('flags also come from the environment; a bad one ends with 2 and names it', async () => {
    const target = keep(await headerBackend((socket) => socket.end('hello')))
    const proxy = keep(
      await startProxy([[5000, target.port]], ['--probe-interval', '1h'], {
        SRCIP_PROXY_PROTOCOL: 'v2',
        SRCIP_FIRST_BYTE_TIMEOUT: '1s',
      }),
    )
    await ready(proxy)
    const client = await dial(proxy.ports.get(5000) ?? 0)
    expect((await nextBytes(client)).toString()).toBe('hello')
    client.destroy()
    const [busy] = [...proxy.ports.values()]
    for (const [words, message] of [
      [[`--port`, `6000=${busy}`], 'EADDRINUSE'],
      [['--port', '80:8080'], 'is not SERVICE=LISTEN'],
    ] as const) {
      const bad = run(process.execPath, [program, '--to', '127.0.0.1', '--health-address', 'off', ...words])
      expect(await bad.ended).not.toBe(0)
      expect(bad.lines.join()).toContain(message)
    }
  })

  test('a call in the words of ouroboros works, and says what it does not promise', async () => {
    const target = keep(await headerBackend((socket) => socket.write('hello')))
    const [port = 0, health = 0] = await freePorts(2)
    const words = [
      `-listen-http=127.0.0.1:${port}`,
      '-listen-https=',
      `--listen-health=127.0.0.1:${health}`,
      '--target-host',
      '127.0.0.1',
    ]
    const proxy = keep(
      run(process.execPath, [program, ...words, '--target-http-port', String(target.port), '--shutdown-grace=500ms']),
    )
    const ask = (path: string) =>
      fetch(`http://127.0.0.1:${health}${path}`).then(
        ({status}) => status,
        () => 0,
      )
    await until('ready', async () => (await ask('/readyz')) === 200)
    expect(await ask('/healthz')).toBe(200)
    const client = await dial(port)
    expect((await nextBytes(client)).toString()).toBe('hello')
    client.destroy()
    expect(proxy.lines.filter((line) => line.includes('compat ouroboros')).length).toBe(1)
    proxy.signal('SIGTERM')
    expect(await proxy.ended).toBe(0)
  })

  test('limits: first byte, off per port, and idle', async () => {
    const target = keep(await headerBackend((socket) => socket.on('data', (chunk: Buffer) => socket.write(chunk))))
    const proxy = keep(
      await startProxy(
        [
          [5000, target.port],
          [5001, target.port, 'first-byte=off'],
        ],
        ['--first-byte-timeout', '300ms', '--idle-timeout', '900ms', '--probe-interval', '1h'],
      ),
    )
    await ready(proxy)
    const start = performance.now()
    const quiet = collect(await dial(proxy.ports.get(5000) ?? 0)).then(() => performance.now() - start)
    const exempt = collect(await dial(proxy.ports.get(5001) ?? 0)).then(() => performance.now() - start)
    const talker = await dial(proxy.ports.get(5000) ?? 0)
    talker.write('x')
    await nextBytes(talker)
    const talked = collect(talker).then(() => performance.now() - start)
    expect(await quiet).toBeLessThan(850)
    expect(await exempt).toBeGreaterThan(850)
    expect(await talked).toBeGreaterThan(850)
    expect(await proxy.metric('srcip_proxy_connection_errors_total', 'port="5000",reason="first-byte"')).toBe(1)
    expect(await proxy.metric('srcip_proxy_connection_errors_total', 'port="5000",reason="idle"')).toBe(1)
  })
})
