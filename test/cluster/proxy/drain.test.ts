import {afterEach, describe, expect, test} from 'vitest'
import {describeWithParts} from '../bed/suite.ts'
import {ready, startProxy, until} from './processes.ts'
import {dial, headerBackend, nextBytes} from './wire.ts'

const open: {stop?(): Promise<void>; close?(): Promise<void>}[] = []
const keep = <T extends {stop?(): Promise<void>; close?(): Promise<void>}>(it: T): T => {
  open.push(it)
  return it
}
afterEach(async () => {
  await Promise.all(open.splice(0).map(async (each) => each.stop?.() ?? each.close?.()))
})

function drainSuite(name: string, engine: readonly string[]): void {
  describe(`the end of a proxy, ${name} engine`, () => {
    test('SIGTERM: not ready at once, open connections go on, exit 0 when the last one ends', async () => {
      const target = keep(await headerBackend((socket) => socket.on('data', (chunk: Buffer) => socket.write(chunk))))
      const proxy = keep(
        await startProxy(
          [[5000, target.port]],
          [...engine, '--drain-delay', '400ms', '--drain-timeout', '20s', '--probe-interval', '1h'],
        ),
      )
      await ready(proxy)
      const client = await dial(proxy.ports.get(5000) ?? 0)
      client.write('one')
      expect((await nextBytes(client)).toString()).toBe('one')
      proxy.signal('SIGTERM')
      await until('draining', async () => (await proxy.ask('/readyz')).body.includes('[-]shutdown draining'))
      // Connections that are on their way while the Service forgets the pod are served.
      const late = await dial(proxy.ports.get(5000) ?? 0)
      late.write('late')
      expect((await nextBytes(late)).toString()).toBe('late')
      late.destroy()
      target.sockets.at(-1)?.destroy()
      await until('the port is closed', () =>
        dial(proxy.ports.get(5000) ?? 0).then(
          (socket) => !socket.destroy(),
          () => true,
        ),
      )
      client.write('two')
      expect((await nextBytes(client)).toString()).toBe('two')
      client.destroy()
      for (const socket of target.sockets) socket.destroy()
      expect(await proxy.ended).toBe(0)
    })

    test.each([['1'], ['2']])('--drain-timeout ends what is left, with %s threads', async (threads) => {
      const target = keep(await headerBackend((socket) => socket.write('in')))
      const proxy = keep(
        await startProxy(
          [[5000, target.port]],
          [...engine, '--drain-timeout', '300ms', '--workers', threads, '--probe-interval', '1h'],
        ),
      )
      await ready(proxy)
      const client = await dial(proxy.ports.get(5000) ?? 0)
      await nextBytes(client)
      const ended = new Promise<string>((resolve) => {
        client.on('error', () => resolve('reset'))
        client.on('end', () => resolve('end'))
      })
      proxy.signal('SIGTERM')
      // HAProxy ends what is left in an ordinary way; docs/proxy-engines.md says so.
      expect(await ended).toBe(name === 'node' ? 'reset' : 'end')
      client.destroy()
      expect(await proxy.ended).toBe(0)
      expect(proxy.lines.some((line) => line.includes('--drain-timeout is over: 1 connections are cut'))).toBe(true)
    })
  })
}

drainSuite('node', [])
await describeWithParts('HAProxy that ends', ['haproxy'], ({haproxy}) =>
  drainSuite('haproxy', ['--engine', 'haproxy', '--haproxy', haproxy]),
)
