import {spawn} from 'node:child_process'
import {readFileSync} from 'node:fs'
import {setTimeout as sleep} from 'node:timers/promises'
import {requirePart} from '../cluster/bed/index.ts'
import {onPath} from '../cluster/bed/parts.ts'
import {freePorts, until, workFolder} from '../cluster/proxy/processes.ts'
import {dial} from '../cluster/proxy/wire.ts'
import {median, type Bench, type BenchRow} from './bench.ts'
import {
  ask,
  buildLoad,
  cpuSeconds,
  goRelay,
  haproxyRelay,
  nginxRelay,
  ours,
  ouroborosRelay,
  residentBytes,
  withIdle,
  type Relay,
} from './proxy-load/relays.ts'

const rounds = 3
const gigabyte = 1_000_000_000

/** One kind of work; `measure` gives a figure of one relay, smaller is better. */
interface Work {
  readonly name: string
  readonly unit: string
  readonly goal: string
  readonly rounds: number
  measure(relay: Relay, load: string): Promise<number>
}

const at = ({port}: Relay) => `127.0.0.1:${port}`

/** CPU of the relay for `count` units of work, in `scale` units a second. */
async function cpuFor(relay: Relay, count: number, scale: number, work: () => Promise<unknown>): Promise<number> {
  const before = cpuSeconds(relay)
  await work()
  return ((cpuSeconds(relay) - before) / count) * scale
}

/** 10,000, or as many as the limit of open files leaves room for. */
function idleConnections({files}: Relay): number {
  const line = /^Max open files +([0-9]+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))
  return Math.min(10_000, Math.floor((Number(line?.[1] ?? 1024) - 500) / files))
}

/** What each run at a fixed rate took beyond a run straight to the backend just before it. */
const added = new Map<Relay, {p50: number[]; p99: number[]}>()
/** Address of the backend, which the work at a fixed rate also asks directly. */
let straight = ''

const works: readonly Work[] = [
  {
    name: 'CPU per keep-alive request',
    unit: 'µs',
    goal: 'node ahead of Go, haproxy ahead of both',
    rounds,
    measure: (relay, load) => cpuFor(relay, 30_000, 1e6, () => ask(load, ['keepalive', at(relay), 20, 30_000, 0])),
  },
  {
    name: 'CPU per connection',
    unit: 'µs',
    goal: 'node within 10 % of Go, haproxy ahead',
    rounds,
    measure: (relay, load) => cpuFor(relay, 4000, 1e6, () => ask(load, ['connect', at(relay), 10, 4000])),
  },
  {
    name: 'CPU per GB',
    unit: 'ms',
    goal: 'node within 10 % of Go, haproxy ahead',
    rounds,
    measure: (relay, load) => cpuFor(relay, 2, 1e3, () => ask(load, ['bulk', at(relay), 2 * gigabyte])),
  },
  {
    name: 'p50 added at 1,000 requests a second',
    unit: 'µs',
    goal: '',
    rounds,
    measure: async (relay, load) => {
      const work = [20, 2000, 1000]
      const bare = await ask(load, ['keepalive', straight, ...work, 'direct'])
      const {p50, p99} = await ask(load, ['keepalive', at(relay), ...work])
      const seen = added.get(relay) ?? {p50: [], p99: []}
      added.set(relay, {p50: [...seen.p50, p50 - bare.p50], p99: [...seen.p99, p99 - bare.p99]})
      return p50 - bare.p50
    },
  },
  {
    name: 'p99 added at 1,000 requests a second',
    unit: 'µs',
    goal: 'below 1 ms',
    rounds: 1,
    measure: async (relay) => median(added.get(relay)?.p99 ?? []),
  },
  {
    name: 'memory per idle connection (up to 10,000 of them)',
    unit: 'KB',
    goal: 'node below 20 KB',
    rounds: 1,
    measure: async (relay, load) => {
      const before = residentBytes(relay)
      const count = idleConnections(relay)
      return withIdle(load, relay.port, count, async () => {
        await sleep(2500)
        return (residentBytes(relay) - before) / count / 1000
      })
    },
  },
]

export const bench: Bench = {
  title: 'Proxy: our engines against ouroboros, HAProxy, nginx stream and a plain Go relay, one worker each',
  async run(progress) {
    const {path: folder, remove} = workFolder()
    const relays: Relay[] = []
    const load = await buildLoad(folder)
    const [backend = 0] = await freePorts(1)
    const server = spawn(load, ['backend', `127.0.0.1:${backend}`], {stdio: 'ignore'})
    try {
      await until('the backend listens', () =>
        dial(backend).then(
          (socket) => Boolean(socket.destroy()),
          () => false,
        ),
      )
      const places = {folder, load, backend}
      relays.push(await ours('node', places), await ours('haproxy', places), await goRelay(places))
      relays.push(await haproxyRelay(await requirePart('haproxy'), places))
      const ouroboros = onPath('ouroboros')
      if (ouroboros !== undefined) relays.push(await ouroborosRelay(ouroboros, places))
      straight = `127.0.0.1:${backend}`
      relays.push(await nginxRelay(await requirePart('nginx-stream'), places))
      // What runs for months is measured warm: a compiler that works while it runs has done its work by then.
      for (const relay of relays) {
        await ask(load, ['connect', at(relay), 10, 6000])
        await ask(load, ['bulk', at(relay), gigabyte])
      }
      const rows: BenchRow[] = []
      for (const work of works) rows.push(...(await compare(work, relays, load, progress)))
      if (ouroboros === undefined) rows.push(missing)
      return rows
    } finally {
      await Promise.all(relays.map((relay) => relay.stop()))
      server.kill('SIGKILL')
      remove()
    }
  },
}

/** Its module is not to be had from the Go module proxy (403 for every version), so nothing here builds it. */
const missing: BenchRow = {
  work: 'all of these',
  ours: '-',
  peer: 'ouroboros 0.8 is missing: put its program on PATH as `ouroboros` (the Go relay stands in: the same io.Copy)',
  ratio: undefined,
  goal: '',
}

/** Measures every relay in turn, round by round, and sets each of ours beside each peer. */
async function compare(
  work: Work,
  relays: readonly Relay[],
  load: string,
  progress: (line: string) => void,
): Promise<BenchRow[]> {
  const values = new Map(relays.map((relay) => [relay, [] as number[]]))
  for (let round = 0; round < work.rounds; round++) {
    for (const relay of relays) {
      const value = await work.measure(relay, load)
      values.get(relay)?.push(value)
      progress(`${work.name}: ${relay.name} ${value.toFixed(1)} ${work.unit}`)
    }
  }
  const figure = (relay: Relay) => median(values.get(relay) ?? [])
  const [node, haproxy, ...peers] = relays
  return [node, haproxy].flatMap((own) =>
    own === undefined
      ? []
      : peers.map((peer) => ({
          work: work.name,
          ours: `${own.name}: ${figure(own).toFixed(1)} ${work.unit}`,
          peer: `${peer.name}: ${figure(peer).toFixed(1)} ${work.unit}`,
          ratio: figure(own) / figure(peer),
          goal: work.goal,
        })),
  )
}
