import {describe, expect, test} from 'vitest'
import {parseProxyOptions, type ProxyFlags} from '../../../../src/proxy/parse-options.ts'
import type {Outcome} from '../../../../src/proxy/target/probe-bytes.ts'
import type {ProbeOrder} from '../../../../src/proxy/target/probe.ts'
import {Target} from '../../../../src/proxy/target/target.ts'
import {ManualClock} from '../../../support/manual-clock.ts'
import {proxyFlags} from '../../../support/proxy-flags.ts'

/** A target whose name and receivers a test plays. */
function play(
  flags: Partial<ProxyFlags>,
  names: () => readonly string[],
  answer: (order: ProbeOrder) => Outcome,
  delay = 0,
) {
  const clock = new ManualClock()
  const orders: {at: number; order: ProbeOrder}[] = []
  const target = new Target(
    parseProxyOptions(proxyFlags({port: ['80=8080'], ...flags}), 1),
    {
      clock,
      resolve: async () => names(),
      probe: async (order) => {
        orders.push({at: clock.now(), order})
        if (delay > 0) await new Promise<void>((resolve) => clock.after(delay, resolve))
        return answer(order)
      },
      localAddresses: () => new Set(['10.244.0.9']),
      log: () => {},
      changed: () => {},
    },
    'me',
  )
  return {clock, target, orders}
}

const strict = (order: ProbeOrder): Outcome => (order.version ? 'answer' : 'cut')
const plain = (order: ProbeOrder): Outcome => (order.version ? 'rejected' : 'answer')

describe('auto', () => {
  test('each address has its own verdict, and follows its own flip within a period', async () => {
    const takes = new Map([
      ['10.244.0.1', strict],
      ['10.244.0.2', plain],
    ])
    const {clock, target} = play(
      {'send-proxy': 'auto'},
      () => [...takes.keys()],
      (order) => (takes.get(order.address) ?? strict)(order),
    )
    await target.start()
    const sends = () =>
      Object.fromEntries(target.routes[0]?.candidates.map(({address, sendsHeader}) => [address, sendsHeader]) ?? [])
    expect(sends()).toEqual({'10.244.0.1': true, '10.244.0.2': false})
    takes.set('10.244.0.2', strict)
    await clock.advance(250)
    expect(sends()).toEqual({'10.244.0.1': true, '10.244.0.2': true})
    takes.set('10.244.0.1', plain)
    await clock.advance(250)
    expect(sends()).toEqual({'10.244.0.1': false, '10.244.0.2': true})
    expect(target.causes()).toEqual([])
    expect(
      target.verdicts({
        ...(target.routes[0] && {}),
        service: 80,
        listen: 8080,
        to: 80,
        sendsHeader: true,
        probe: 'http',
        hasFirstByteLimit: true,
      }),
    ).toEqual({header: 1, plain: 1, unknown: 0})
    target.stop()
    expect(clock.pending).toBe(0)
  })

  test('a tolerant receiver is found although its bare answers go on', async () => {
    let takes = plain
    const {clock, target, orders} = play(
      {'send-proxy': 'auto'},
      () => ['10.244.0.1'],
      (order) => takes(order),
    )
    await target.start()
    takes = () => 'answer'
    await clock.advance(1000)
    expect(target.routes[0]?.candidates).toMatchObject([{sendsHeader: true, isFit: true}])
    // Every 250 ms, one connection a period in the steady state.
    const count = orders.length
    await clock.advance(1000)
    expect(orders.length - count).toBe(4)
    target.stop()
  })

  test('nothing goes to an address before it is known', async () => {
    const {clock, target} = play(
      {'send-proxy': 'auto'},
      () => ['10.244.0.1'],
      () => 'mute',
    )
    await target.start()
    await clock.advance(2000)
    expect(target.routes.flatMap(({candidates}) => candidates)).toEqual([])
    expect(target.causes()).toMatchObject([{port: 80, token: 'target-mute'}])
    target.stop()
  })
})

describe('always', () => {
  test('a name that stops resolving keeps its addresses; one that never did says why', async () => {
    let names: readonly string[] | undefined
    const {clock, target} = play(
      {to: 'ingress.edge.svc'},
      () => {
        if (!names) throw Object.assign(new Error('no'), {code: 'ENOTFOUND'})
        return names
      },
      strict,
    )
    await target.start()
    expect(target.causes()).toMatchObject([
      {token: 'target-unresolved', message: 'ingress.edge.svc does not resolve: ENOTFOUND'},
    ])
    names = ['10.244.0.2', '10.244.0.1', '10.244.0.1']
    await clock.advance(4000)
    expect(target.addresses).toEqual(['10.244.0.1', '10.244.0.2'])
    expect(target.causes()).toEqual([])
    names = undefined
    await clock.advance(60_000)
    expect(target.addresses).toEqual(['10.244.0.1', '10.244.0.2'])
    names = ['10.244.0.3']
    await clock.advance(5000)
    expect(target.routes[0]?.candidates.map(({address}) => address)).toEqual(['10.244.0.3'])
    target.stop()
  })

  test('addresses that take no header come last and are still tried', async () => {
    const {target} = play(
      {},
      () => ['10.244.0.1', '10.244.0.2'],
      (order) => (order.address === '10.244.0.1' ? plain(order) : strict(order)),
    )
    await target.start()
    expect(target.routes[0]?.candidates).toMatchObject([
      {address: '10.244.0.2', isFit: true, sendsHeader: true},
      {address: '10.244.0.1', isFit: false, sendsHeader: true},
    ])
    expect(target.causes()).toEqual([])
    target.stop()
  })

  test('a plain port needs a connection only, and has no header', async () => {
    const {target, orders} = play(
      {port: ['22=2222,plain']},
      () => ['10.244.0.1'],
      () => 'answer',
    )
    await target.start()
    expect(target.routes[0]?.candidates).toMatchObject([{sendsHeader: false, isFit: true, port: 22}])
    expect(orders.map(({order}) => [order.kind, order.version])).toEqual([['tcp', undefined]])
    target.stop()
  })
})

test('an outage does not multiply the loops, however often connections ask to hurry', async () => {
  const {clock, target, orders} = play(
    {'probe-interval': 2000},
    () => ['10.244.0.1'],
    () => 'unreachable',
    900,
  )
  void target.start()
  for (let step = 0; step < 200; step++) {
    await clock.advance(100)
    target.hurry()
  }
  await clock.advance(2000)
  // The loop of the name, and either the next round or a probe on its way.
  expect(clock.pending).toBeLessThanOrEqual(2)
  const count = orders.length
  await clock.advance(20_000)
  expect(orders.length - count).toBeLessThanOrEqual(11)
  target.stop()
})

describe('itself', () => {
  test.each([
    ['own address and a listening port', {port: ['80=8080,to=8080']}, '10.244.0.9', true],
    ['loopback and a listening port', {port: ['80=8080,to=8080']}, '127.0.0.1', true],
    ['own address, another port', {port: ['80=8080,to=9090']}, '10.244.0.9', false],
    ['another address, same port', {port: ['80=8080,to=8080']}, '10.244.0.1', false],
    ['every address, which is loopback', {port: ['80=8080,to=8080']}, '0.0.0.0', true],
    ['every address of IPv6', {port: ['80=8080,to=8080']}, '::', true],
    ['loopback of IPv6', {port: ['80=8080,to=8080']}, '::1', true],
    ['loopback of IPv6, listening on IPv4 only', {port: ['80=8080,to=8080'], listen: '0.0.0.0'}, '::1', false],
    [
      'another loopback than the one it listens on',
      {port: ['80=8080,to=8080'], listen: '127.0.0.1'},
      '127.0.0.2',
      false,
    ],
    ['the port of another entry', {port: ['80=8080,to=8443', '443=8443']}, '127.0.0.1', true],
    ['own address, but listening on another', {port: ['80=8080,to=8080'], listen: '10.244.0.8'}, '10.244.0.9', false],
  ] as const)('%s: %s', async (_, flags, address, isSelf) => {
    const {target} = play(flags, () => [address], strict)
    await target.start()
    expect(target.causes().map(({port, token}) => [port, token])).toEqual(isSelf ? [[80, 'target-is-self']] : [])
    expect(target.routes[0]?.candidates.length).toBe(isSelf ? 0 : 1)
    target.stop()
  })

  test('a probe that comes back stops the port, until the name means something else', async () => {
    let names = ['10.96.0.5']
    const {clock, target} = play({}, () => names, strict)
    await target.start()
    target.loopSeen(80)
    expect(target.causes()).toMatchObject([{port: 80, token: 'target-is-self'}])
    expect(target.routes[0]?.candidates).toEqual([])
    names = ['10.96.0.6']
    await clock.advance(5000)
    expect(target.causes()).toEqual([])
    target.stop()
  })

  test('own Service, mended without another address: the port comes back when probes are answered and none returns', async () => {
    let answers = false
    const {clock, target} = play(
      {},
      () => ['10.96.0.5'],
      (order) => (answers ? strict(order) : 'cut'),
    )
    await target.start()
    target.loopSeen(80)
    // One endpoint of several may be this proxy: answers in between prove nothing yet.
    answers = true
    await clock.advance(8000)
    target.loopSeen(80)
    await clock.advance(8000)
    expect(target.causes()).toMatchObject([{token: 'target-is-self'}])
    await clock.advance(4000)
    expect(target.causes()).toEqual([])
    expect(target.routes[0]?.candidates).toMatchObject([{address: '10.96.0.5', isFit: true}])
    target.stop()
  })

  test('what the addresses alone say is never forgotten', async () => {
    const {clock, target} = play({port: ['80=8080,to=8080']}, () => ['127.0.0.1'], strict)
    await target.start()
    await clock.advance(120_000)
    expect(target.causes()).toMatchObject([{token: 'target-is-self'}])
    target.stop()
  })
})

test('a resolver that hangs: one question at a time, and known addresses are probed on', async () => {
  const clock = new ManualClock()
  let questions = 0
  let takes = strict
  const target = new Target(
    parseProxyOptions(proxyFlags({port: ['80=8080'], 'send-proxy': 'auto', to: 'ingress.edge.svc'}), 1),
    {
      clock,
      resolve: async () => (questions++ === 0 ? ['10.244.0.1'] : await new Promise<never>(() => {})),
      probe: async (order) => takes(order),
      localAddresses: () => new Set(),
      log: () => {},
      changed: () => {},
    },
    'me',
  )
  await target.start()
  await clock.advance(3000)
  expect(questions).toBe(2)
  takes = plain
  for (let second = 0; second < 30; second++) {
    target.hurry()
    await clock.advance(1000)
  }
  expect(questions).toBe(2)
  expect(target.routes[0]?.candidates).toMatchObject([{address: '10.244.0.1', sendsHeader: false}])
  target.stop()
})
