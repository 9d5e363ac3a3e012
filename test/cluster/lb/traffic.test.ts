import {execFileSync} from 'node:child_process'
import {writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {afterAll, afterEach, describe, expect, test} from 'vitest'
import type {Balancer, Header} from '../../../src/lb/balancer.ts'
import {backendsByHand} from '../../../src/lb/by-hand.ts'
import {renderBalancer} from '../../../src/lb/render.ts'
import {describeWithParts} from '../bed/suite.ts'
import {freePorts, run, sleep, startNginx, until, workFolder, type Running} from '../proxy/processes.ts'
import {backend, dial, headerBackend, nextBytes, type Backend} from '../proxy/wire.ts'

const stream = 'load_module /usr/lib/nginx/modules/ngx_stream_module.so;\n'

await describeWithParts(
  'configuration of lb render in real programs',
  ['nginx', 'nginx-stream', 'haproxy'],
  ({nginx, haproxy}) => {
    const folder = workFolder()
    const running: Running[] = []
    const backends: Backend[] = []
    let count = 0
    afterEach(async () => {
      await Promise.all(running.splice(0).map((each) => each.stop()))
      await Promise.all(backends.splice(0).map((each) => each.close()))
    })
    afterAll(() => folder.remove())

    function render(balancer: Balancer, header: Header, port: number, to: number, nodeHealthPort?: number): string {
      return renderBalancer(balancer, {
        ports: backendsByHand([`${port}=127.0.0.1:${to}`]),
        header,
        listen: '127.0.0.1',
        idleTimeout: 3_600_000,
        connectTimeout: 5000,
        nodeHealthPort,
      }).text
    }

    /** Starts the program on what was rendered; HAProxy's own check goes first, and may not even warn. */
    async function balance(
      balancer: 'haproxy' | 'nginx',
      header: Header,
      to: number,
      health?: number,
    ): Promise<number> {
      const [port = 0] = await freePorts(1)
      const text = render(balancer, header, port, to, health)
      if (balancer === 'nginx') running.push(startNginx(nginx, folder.path, `lb-${count++}`, text, stream))
      else {
        const file = join(folder.path, `lb-${count++}.cfg`)
        writeFileSync(file, text)
        execFileSync(haproxy, ['-c', '-dW', '-q', '-f', file], {stdio: 'pipe'})
        running.push(run(haproxy, ['-db', '-f', file]))
      }
      await until(`${balancer} listens`, () =>
        dial(port).then(
          (socket) => socket.destroy() && true,
          () => false,
        ),
      )
      return port
    }

    describe('traffic', () => {
      test.each([
        ['haproxy', 'v1'],
        ['haproxy', 'v2'],
        ['nginx', 'v1'],
      ] as const)('%s sends the header, %s, with the address of the client', async (balancer, header) => {
        const seen: string[] = []
        const receiver = await headerBackend((socket, source, bytes) => {
          seen.push(bytes[0] === 0x50 ? 'v1' : 'v2')
          socket.end(`client=${source};`)
        })
        backends.push(receiver)
        const port = await balance(balancer, header, receiver.port)
        const socket = await dial(port, '127.0.0.1', '127.0.0.77')
        expect((await nextBytes(socket)).toString()).toBe('client=127.0.0.77;')
        socket.destroy()
        expect(new Set(seen)).toEqual(new Set([header]))
      })

      test.each(['haproxy', 'nginx'] as const)('%s sends bytes alone when the header is off', async (balancer) => {
        const receiver = await backend((socket) => socket.pipe(socket))
        backends.push(receiver)
        const socket = await dial(await balance(balancer, 'off', receiver.port))
        socket.write('hello')
        expect((await nextBytes(socket)).toString()).toBe('hello')
        socket.destroy()
      })

      test.each(['haproxy', 'nginx'] as const)('a stream through %s lives on after a silence', async (balancer) => {
        const receiver = await headerBackend((socket) => socket.pipe(socket))
        backends.push(receiver)
        const socket = await dial(await balance(balancer, 'v1', receiver.port))
        socket.write('before')
        expect((await nextBytes(socket)).toString()).toBe('before')
        // Longer than checks, connect and check time-outs together; the idle time-out itself is an hour.
        await sleep(12_000)
        socket.write('after')
        expect((await nextBytes(socket)).toString()).toBe('after')
        socket.destroy()
      })
    })

    describe('health checks of HAProxy', () => {
      test.each(['v1', 'v2'] as const)('checks begin with the header that connections have: %s', async (header) => {
        const begins: string[] = []
        const receiver = await backend((socket) => {
          socket.once('data', (bytes) => begins.push(bytes[0] === 0x50 ? 'v1' : 'v2'))
          socket.on('end', () => socket.end())
        })
        backends.push(receiver)
        await balance('haproxy', header, receiver.port)
        // One may be the connection that asked whether it listens; the others are checks, as nobody else calls.
        await until('two checks brought a header', () => begins.length >= 3)
        expect(new Set(begins)).toEqual(new Set([header]))
      })

      test('the health port is asked in plain HTTP, and its 503 takes the node out', async () => {
        const asked: string[] = []
        let status = '200 OK'
        const health = await backend((socket) => {
          socket.once('data', (bytes) => {
            asked.push(bytes.toString().split('\r\n')[0] ?? '')
            socket.end(`HTTP/1.0 ${status}\r\n\r\n`)
          })
        })
        const receiver = await headerBackend((socket) => socket.end('served'))
        backends.push(health, receiver)
        const port = await balance('haproxy', 'v1', receiver.port, health.port)
        const served = async () => {
          const socket = await dial(port)
          const bytes = await nextBytes(socket).catch(() => Buffer.alloc(0))
          socket.destroy()
          return bytes.toString() === 'served'
        }
        await until('a check was made', () => asked.length > 0)
        expect(asked[0]).toMatch(/^GET \/healthz HTTP/)
        expect(await served()).toBe(true)
        status = '503 Service Unavailable'
        await until('the node is out', async () => !(await served()))
      })
    })
  },
)
