import {readFileSync} from 'node:fs'
import {setTimeout as sleep} from 'node:timers/promises'
import {publishedNames} from '../../src/controller/published-names.ts'
import {API_SERVER_PARTS, partPaths, until} from '../cluster/bed/index.ts'
import {ingress, startLightCluster} from '../cluster/run/light-cluster.ts'
import {RunProcess} from '../cluster/run/run-process.ts'
import type {Bench, BenchRow} from './bench.ts'

const ingresses = 5000
const megabyte = 1024 * 1024
const peer = 'missing: the controller of ouroboros'

/** `srcip run` as it is built, against a real API server whose CoreDNS pods answer nobody. */
export const bench: Bench = {
  title: `srcip run, ${ingresses} Ingresses with two names each`,
  async run(progress): Promise<readonly BenchRow[]> {
    const parts = await partPaths(API_SERVER_PARTS)
    const row = (work: string, ours: string, goal: string): BenchRow => ({work, ours, peer, ratio: undefined, goal})
    if ('missing' in parts) return [row('first write', `missing: ${String(parts.missing)}`, 'below 2 s')]
    progress('starts the API server and fills it')
    const cluster = await startLightCluster()
    let run: RunProcess | undefined
    try {
      const names = async (): Promise<number> => publishedNames((await cluster.corefile()).split('\n')).length
      await inParallel(ingresses, (index) =>
        cluster.admin.create(ingress(`i${index}`, [`shop${index}.example.org`, `www.shop${index}.example.org`])),
      )
      progress('starts the controller')
      run = new RunProcess(['run', '--relist-interval', '10s', '--verify-timeout', '1h', '--via', 'direct'], {
        POD_NAME: 'srcip-0',
        KUBECONFIG: cluster.kubeconfig,
        SRCIP_PROXY_NAMESPACE: 'srcip',
        SRCIP_HEALTH_ADDRESS: '127.0.0.1:0',
        NODE_OPTIONS: '--max-semi-space-size=1',
        MALLOC_ARENA_MAX: '1',
      })
      await until('all names stand', 60, async () => (await names()) === 2 * ingresses)
      const {lines} = run
      const at = (begin: string): number => Date.parse(lines.find(({msg}) => msg.startsWith(begin))?.ts ?? '')
      const first = at('wrote ') - at('srcip run starts')
      const before = run.count(/^wrote /)
      progress('5,000 updates in 10 s')
      await Promise.all([
        sleep(10_000),
        inParallel(5000, (index) => cluster.admin.apply(ingress(`i${index}`, [`new${index}.example.org`]))),
      ])
      await until('the updates stand', 120, async () => (await names()) === ingresses)
      const writes = run.count(/^wrote /) - before
      progress('ten lists anew')
      await sleep(15_000)
      const early = run.rss()
      await sleep(100_000)
      const late = run.rss()
      const spent = cpuSeconds(run.child.pid)
      await sleep(20_000)
      const idle = ((cpuSeconds(run.child.pid) - spent) / 20) * 100
      return [
        row('first write after start', `${(first / 1000).toFixed(2)} s`, 'below 2 s (ouroboros elsewhere: 0.84 s)'),
        row('writes for 5,000 updates in 10 s', String(writes), 'at most 5'),
        row('resident memory', `${Math.round(early / megabyte)} MB`, 'below 100 MB (ouroboros elsewhere: 49 MB)'),
        row('after ten lists more', `${Math.round(late / megabyte)} MB`, 'the same'),
        row('CPU with a list every 10 s', `${idle.toFixed(2)} %`, 'below 0.5 % with one an hour'),
      ]
    } finally {
      await run?.stop()
      await cluster.stop()
    }
  },
}

/** Seconds of CPU that a process has used, from the kernel's ticks of 10 ms. */
function cpuSeconds(pid: number | undefined): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / 100
}

async function inParallel(count: number, work: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0
  await Promise.all(
    Array.from({length: 24}, async () => {
      while (next < count) await work(next++)
    }),
  )
}
