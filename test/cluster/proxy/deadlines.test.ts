import {once} from 'node:events'
import {connect} from 'node:net'
import {afterEach, describe, expect, test} from 'vitest'
import {Occupancy, occupancyBytes} from '../../../src/proxy/engines/occupancy.ts'
import {newCounters} from '../../../src/proxy/metrics.ts'
import type {PortSpec} from '../../../src/proxy/options.ts'
import {BufferPool, ownBytes} from '../../../src/proxy/relay/buffers.ts'
import type {Connection} from '../../../src/proxy/relay/connection.ts'
import {RelayPort, type Candidate, type RelayShared} from '../../../src/proxy/relay/port.ts'
import {parseCidr} from '../../../src/proxy/trust.ts'
import {ManualClock} from '../../support/manual-clock.ts'
import {freePorts, run, sleep, until} from './processes.ts'
import {backend, collect, dial, headerBackend, nextBytes, type Backend} from './wire.ts'

const closers: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

async function target(handle: Parameters<typeof headerBackend>[0], port?: number): Promise<Backend> {
  const it = await headerBackend(handle, port)
  closers.push(() => it.close())
  return it
}

/** A port whose connections stay in the air: its process is stopped and its backlog is full. */
async function neverAnswers(port: number): Promise<void> {
  const child = run(process.execPath, [
    '-e',
    `require('net').createServer().listen({host:'127.0.0.1',port:${port},backlog:1},()=>console.error('up'))`,
  ])
  closers.push(() => child.signal('SIGKILL'))
  await until('the listener is up', () => child.lines.length > 0)
  child.signal('SIGSTOP')
  const fillers = Array.from({length: 4}, () => connect({port, host: '127.0.0.1'}).on('error', () => {}))
  closers.push(() => fillers.forEach((socket) => socket.destroy()))
  await sleep(100)
}

/** One relaying port in this process, real sockets, and a clock that the test moves. */
async function relay(candidates: () => Candidate[], changes: Partial<RelayShared> = {}, spec: Partial<PortSpec> = {}) {
  const clock = new ManualClock()
  const open = new Set<Connection>()
  const counters = newCounters(80)
  const log: string[] = []
  const pool = new BufferPool(64 * 1024 * 1024)
  const port = new RelayPort(
    {service: 80, listen: 0, to: 0, sendsHeader: true, probe: 'tcp', hasFirstByteLimit: true, ...spec},
    counters,
    {
      clock,
      pool,
      version: 'v1',
      acceptsHeaders: false,
      trusted: [],
      occupancy: new Occupancy(new ArrayBuffer(occupancyBytes(1)), 0, 100),
      idleTimeout: 0,
      firstByteTimeout: 60_000,
      connectTimeout: 5000,
      headerTimeout: 5000,
      keepAlive: 30_000,
      open,
      candidates,
      isOwnProbe: () => false,
      exhausted: () => {},
      log: (_, message) => log.push(message),
      ...changes,
    },
  )
  const number = await port.listen('127.0.0.1', false)
  closers.push(() => {
    port.close()
    for (const connection of open) connection.cut()
  })
  return {clock, counters, log, open, pool, number}
}

const to = (port: number, address = '127.0.0.1'): Candidate => ({address, port, sendsHeader: true, isFit: true})

describe('time limits, on a clock that the test moves', () => {
  test('first byte: runs while nobody speaks, and ends with the first byte of either side', async () => {
    const silent = await target((socket) => socket.resume())
    const {clock, counters, number, open} = await relay(() => [to(silent.port)])
    const quiet = collect(await dial(number))
    const talker = await dial(number)
    await until('both are connected', () => counters.connected === 2)
    talker.write('x')
    await until('the byte has passed', () => [...open].some(({bytes}) => bytes.up === 1))
    await clock.advance(59_000)
    expect(open.size).toBe(2)
    await clock.advance(1000)
    expect((await quiet).reset).toBe(true)
    await clock.advance(3_600_000)
    expect(counters.errors).toEqual({'first-byte': 1})
    expect(open.size).toBe(1)
    talker.destroy()
  })

  test('idle: off by default for hours, and put off by traffic when on', async () => {
    const echo = await target((socket) => socket.on('data', (chunk: Buffer) => socket.write(chunk)))
    const forever = await relay(() => [to(echo.port)])
    const long = await dial(forever.number)
    long.write('x')
    await nextBytes(long)
    await forever.clock.advance(30 * 24 * 3_600_000)
    long.write('still')
    expect((await nextBytes(long)).toString()).toBe('still')
    long.destroy()

    const {clock, counters, number} = await relay(() => [to(echo.port)], {idleTimeout: 10_000})
    const client = await dial(number)
    for (let round = 0; round < 5; round++) {
      client.write('x')
      await nextBytes(client)
      await clock.advance(9000)
    }
    expect(counters.errors).toEqual({})
    const received = collect(client)
    await clock.advance(1000)
    expect((await received).reset).toBe(true)
    expect(counters.errors).toEqual({idle: 1})
  })

  test('connect: tries again all the time, and gives up at the limit', async () => {
    const [nobody = 0] = await freePorts(1)
    const {clock, counters, number, log} = await relay(() => [to(nobody)])
    const client = collect(await dial(number))
    for (let step = 0; step < 26; step++) {
      await clock.advance(200)
      await sleep(5)
    }
    expect((await client).reset).toBe(true)
    expect(counters.errors['connect-timeout']).toBe(1)
    expect(counters.errors['connect-failed']).toBeGreaterThan(5)
    expect(log[0]).toBe(`port 80: 127.0.0.1:${nobody} does not take a connection: ECONNREFUSED`)
  })

  test('the next address is tried when one refuses, and when one does not answer for a second', async () => {
    const [nobody = 0, silent = 0] = await freePorts(2)
    await neverAnswers(silent)
    const greeting = await target((socket) => socket.write('hello'))
    const refused = await relay(() => [to(nobody), to(greeting.port)])
    const client = await dial(refused.number)
    expect((await nextBytes(client)).toString()).toBe('hello')
    client.destroy()

    const stuck = await relay(() => [to(silent), to(greeting.port)])
    const second = await dial(stuck.number)
    await sleep(50)
    expect(stuck.counters).toMatchObject({connected: 0, errors: {}})
    await stuck.clock.advance(1000)
    expect((await nextBytes(second)).toString()).toBe('hello')
    expect(stuck.counters).toMatchObject({connected: 1, errors: {'connect-failed': 1}})
    second.destroy()
  })

  test('header: a trusted peer that is too slow is cut, an untrusted one is passed on', async () => {
    const got: string[] = []
    const greeting = await target((socket) => socket.on('data', (chunk: Buffer) => got.push(chunk.toString())))
    const strict = await relay(() => [to(greeting.port)], {acceptsHeaders: true, trusted: [parseCidr('127.0.0.0/8')]})
    const slow = await dial(strict.number)
    slow.write('PROXY TCP4 ')
    const received = collect(slow)
    await until('it is there', () => strict.open.size === 1)
    await sleep(20)
    await strict.clock.advance(4999)
    expect(strict.open.size).toBe(1)
    await strict.clock.advance(1)
    expect((await received).reset).toBe(true)
    expect(strict.counters.errors).toEqual({'header-too-slow': 1})
    expect(strict.log.at(-1)).toMatch(
      /^port 80: connection from 127\.0\.0\.1:[0-9]+ refused: the PROXY header did not arrive in time$/,
    )

    const open = await relay(() => [to(greeting.port)], {acceptsHeaders: true})
    const half = await dial(open.number)
    half.write('PRO')
    await until('connected', () => open.counters.connected === 1)
    await sleep(20)
    expect(got).toEqual([])
    await open.clock.advance(5000)
    await until('the bytes are passed on', () => got.join('') === 'PRO')
    half.write('PFIND /')
    await until('and what follows', () => got.join('') === 'PROPFIND /')
    half.destroy()
  })
})

describe('the first write to the target', () => {
  test('is the header with the bytes that are already there; without any the header alone, at once', async () => {
    const chunks: string[] = []
    const raw = await backend((socket) => socket.on('data', (chunk: Buffer) => chunks.push(chunk.toString())))
    closers.push(() => raw.close())
    let candidates: Candidate[] = []
    const {clock, counters, number} = await relay(() => candidates)
    const early = await dial(number)
    early.write('EHLO example.org\r\n')
    await until('the client is accepted', () => counters.accepted === 1)
    await sleep(50)
    candidates = [to(raw.port)]
    await clock.advance(200)
    await until('it arrives', () => chunks.length > 0)
    expect(chunks).toEqual([`PROXY TCP4 127.0.0.1 127.0.0.1 ${early.localPort} 80\r\nEHLO example.org\r\n`])
    const silent = await dial(number)
    await until('its header arrives', () => chunks.length > 1)
    expect(chunks[1]).toBe(`PROXY TCP4 127.0.0.1 127.0.0.1 ${silent.localPort} 80\r\n`)
    early.destroy()
    silent.destroy()
  })
})

describe('buffers', () => {
  test('a transfer takes a large buffer, and an idle connection has none', async () => {
    const source = await target((socket) => socket.once('data', () => socket.write(Buffer.alloc(64 * 1024 * 1024))))
    const {number, open, pool} = await relay(() => [to(source.port)])
    const client = await dial(number)
    let got = 0
    let largest = 0
    client.on('data', (chunk: Buffer) => {
      got += chunk.length
      largest = Math.max(largest, pool.inUse)
    })
    client.write('x')
    await until('everything came', () => got === 64 * 1024 * 1024)
    expect(largest).toBeGreaterThanOrEqual(ownBytes[0])
    const [connection] = open
    connection?.sweep()
    connection?.sweep()
    expect(pool.inUse).toBe(0)
    // And it still works: the next burst begins small again.
    client.write('y')
    const end = once(client, 'close')
    client.destroy()
    await end
  })
})
