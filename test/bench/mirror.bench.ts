import {
  blob,
  digestAt,
  document,
  image,
  noise,
  pointer,
  push,
  sha256,
  types,
  type Document,
} from '../cluster/mirror/images.ts'
import {mirrorPart} from '../cluster/mirror/parts.ts'
import {Registries, type TestRegistry} from '../cluster/mirror/registries.ts'
import {median, type Bench, type BenchRow} from './bench.ts'
import {type Contestant, crane, measure, ours, regctl, skopeo, type Usage} from './mirror-load/contestants.ts'
import {delayProxy} from './mirror-load/delay-proxy.ts'

/** Rounds of each row; the goals speak of medians of at least 7. */
const rounds = Number(process.env['SRCIP_BENCH_ROUNDS'] ?? 7)
/** Which loads to run, as an expression on their titles (`kB$`, `GiB$`, `30 ms`); all without. */
const only = new RegExp(process.env['SRCIP_BENCH_ONLY'] ?? '')
const latency = 30

interface Load {
  readonly title: string
  readonly names: readonly string[]
  readonly content: ReadonlyMap<string, Document>
  readonly wallGoal: number
}

function loads(): Load[] {
  const many = new Map(
    Array.from({length: 20}, (_, at) => [`many/img${at}`, image(`bench ${at}`, {layers: 30, layerSize: 50_000})]),
  )
  const part = noise('bench big', 64 * 1024 * 1024)
  const pieces = Array.from({length: 16}, (_, at) => {
    const piece = Buffer.from(part)
    piece.writeInt32LE(at, 0)
    return piece
  })
  const bytes = Buffer.concat(pieces)
  const config = blob('{"architecture":"amd64","os":"linux","config":{}}', types.config)
  const layer = {digest: sha256(bytes), bytes, mediaType: types.layer}
  const big = document(
    types.manifest,
    {schemaVersion: 2, mediaType: types.manifest, config: pointer(config), layers: [pointer(layer)]},
    [config, layer],
  )
  return [
    {title: '20 images of 30 layers of 50 kB', names: [...many.keys()], content: many, wallGoal: 1},
    {title: 'one layer of 1 GiB', names: ['big/one'], content: new Map([['big/one', big]]), wallGoal: 1.05},
  ]
}

/** What one row measured, by contestant: wall, CPU, memory, requests of each round. */
type Measured = Map<string, {readonly usage: Usage; readonly requests: number}[]>

function note(measured: Measured, name: string, usage: Usage, requests: number): void {
  measured.set(name, [...(measured.get(name) ?? []), {usage, requests}])
}

interface Course {
  readonly registries: Registries
  readonly binary: string
  readonly time: string
  readonly source: TestRegistry
  readonly contestants: readonly Contestant[]
  readonly delay: number
}

/** One round of one load: a fresh target, every contestant in turn, then everyone again with nothing to do. */
async function round(
  course: Course,
  load: Load,
  number: number,
  cold: Measured,
  trust: Measured,
  walk: Measured,
): Promise<void> {
  const {registries, contestants, delay, source} = course
  const target = await registries.start(course.binary)
  const proxies = delay === 0 ? [] : await Promise.all([delayProxy(source.host, delay), delayProxy(target.host, delay)])
  const [from, to] = delay === 0 ? [source.host, target.host] : [proxies[0]?.host ?? '', proxies[1]?.host ?? '']
  const run = async (contestant: Contestant, into: Measured, trusts: boolean, again: boolean): Promise<void> => {
    const before = source.requests() + target.requests()
    const job = {source: from, target: to, prefix: contestant.name, names: load.names, trust: trusts, again}
    const usage = await measure(course.time, contestant.command(job, registries.path), registries.path)
    note(into, contestant.name, usage, source.requests() + target.requests() - before)
  }
  // Another one begins in each round: whoever goes first finds colder caches.
  const order = contestants.map((_, at) => contestants[(at + number) % contestants.length] as Contestant)
  for (const contestant of order) {
    await run(contestant, cold, false, false)
    await gate(contestant, load, target)
  }
  // With one image a second run measures nothing but the start of a process.
  for (const contestant of load.names.length > 1 ? order : []) {
    if (contestant.again !== 'walks') await run(contestant, trust, true, true)
    if (contestant.again !== 'trusts') await run(contestant, walk, false, true)
  }
  for (const proxy of proxies) proxy.close()
  target.process.kill('SIGKILL')
}

/** No figure counts before the digests are right. skopeo's sync keeps the last component of the path. */
async function gate(contestant: Contestant, load: Load, target: TestRegistry): Promise<void> {
  const catalog = (await (await fetch(`http://${target.host}/v2/_catalog?n=1000`)).json()) as {repositories: string[]}
  for (const [name, content] of load.content) {
    const place = catalog.repositories.find(
      (one) => one.startsWith(`${contestant.name}/`) && one.split('/').at(-1) === name.split('/').at(-1),
    )
    if (place === undefined || (await digestAt(target.host, place, '1')) !== content.digest)
      throw new Error(`${contestant.name} did not copy ${name} whole`)
  }
}

/** @param beside named in the row, but not what the goal compares with */
function rowsOf(title: string, measured: Measured, wallGoal: number, beside: readonly string[] = []): BenchRow[] {
  const own = measured.get('srcip') ?? []
  const peers = [...measured].filter(([name]) => name !== 'srcip')
  const of = (name: string, pick: (usage: Usage) => number) => (measured.get(name) ?? []).map(({usage}) => pick(usage))
  const row = (what: string, pick: (usage: Usage) => number, goal: number): BenchRow => {
    const best = peers
      .filter(([name]) => !beside.includes(name))
      .map(([name]) => ({name, value: median(of(name, pick))}))
      .sort((one, other) => one.value - other.value)[0]
    const others = peers.map(([name]) => `${name} ${median(of(name, pick)).toFixed(2)}`).join(', ')
    if (best === undefined)
      return {
        work: `${title}: ${what}`,
        ours: `${median(of('srcip', pick)).toFixed(2)} s`,
        peer: 'no peer',
        ratio: undefined,
        goal: `below ${goal}`,
      }
    const theirs = of(best.name, pick)
    const ratio = median(of('srcip', pick).map((value, at) => value / (theirs[at] as number)))
    return {
      work: `${title}: ${what}`,
      ours: `${median(of('srcip', pick)).toFixed(2)} s`,
      peer: others,
      ratio,
      goal: goal === 1 ? 'below 1' : `at most ${goal}`,
    }
  }
  const memory = (name: string) => median((measured.get(name) ?? []).map(({usage}) => usage.memory)).toFixed(0)
  const requests = (name: string) => median((measured.get(name) ?? []).map((one) => one.requests))
  return [
    row('wall', ({wall}) => wall, wallGoal),
    row('CPU', ({cpu}) => cpu, 1),
    {
      work: `${title}: peak memory`,
      ours: `${memory('srcip')} MB`,
      peer: peers.map(([name]) => `${name} ${memory(name)}`).join(', '),
      ratio: undefined,
      goal: 'below 150 MB',
    },
    {
      work: `${title}: requests`,
      ours: `${requests('srcip')}`,
      peer: peers.map(([name]) => `${name} ${requests(name)}`).join(', '),
      ratio: undefined,
      goal: `${own.length} rounds`,
    },
  ]
}

/** Copies on loopback registries against crane, regctl and skopeo, all in one run, in turn, each round on a fresh target. */
export const bench: Bench = {
  title: 'Mirror against crane, regctl and skopeo',
  async run(progress) {
    const [binary, time, cranePath, regctlPath, skopeoPath] = await Promise.all(
      ['registry-3', 'time', 'crane', 'regctl', 'skopeo'].map((name) => mirrorPart(name as 'time')),
    )
    const rows: BenchRow[] = []
    if (typeof binary !== 'string' || typeof time !== 'string')
      throw new Error('the bench needs distribution (Go) and time(1): apt-get install time')
    const peers: [string, string | {readonly missing: string} | undefined, (path: string) => Contestant][] = [
      ['crane', cranePath, crane],
      ['regctl', regctlPath, regctl],
      ['skopeo', skopeoPath, skopeo],
    ]
    const registries = new Registries()
    const contestants = [ours(registries.path)]
    for (const [name, path, make] of peers) {
      if (typeof path === 'string') contestants.push(make(path))
      else rows.push({work: name, ours: '-', peer: `missing: ${path?.missing}`, ratio: undefined, goal: '-'})
    }
    try {
      const source = await registries.start(binary)
      for (const load of loads()) {
        for (const [name, content] of load.content) await push(source.host, name, content, ['1'])
        for (const delay of [0, latency]) {
          const title = `${load.title}${delay === 0 ? '' : `, ${delay} ms a request`}`
          if (!only.test(title)) continue
          const course: Course = {registries, binary, time, source, contestants, delay}
          const [cold, trust, walk]: [Measured, Measured, Measured] = [new Map(), new Map(), new Map()]
          for (let number = 0; number < rounds; number++) {
            progress(`${title}: round ${number + 1} of ${rounds}`)
            await round(course, load, number, cold, trust, walk)
          }
          rows.push(...rowsOf(title, cold, load.wallGoal))
          if (load.names.length === 1) continue
          // The goal compares with crane and regctl here; what skopeo sync needs for the same stands beside them.
          rows.push(...rowsOf(`${title}, again, trusting manifests`, trust, 1, ['skopeo']))
          rows.push(...rowsOf(`${title}, again, walking`, walk, 1))
        }
      }
    } finally {
      registries.stop()
    }
    return rows
  },
}
