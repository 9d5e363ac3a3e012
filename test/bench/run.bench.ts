import {readFileSync} from 'node:fs'
import {setTimeout as sleep} from 'node:timers/promises'
import {publishedNames} from '../../src/controller/published-names.ts'
import {API_SERVER_PARTS, partPaths, until} from '../cluster/bed/index.ts'
import {installGatewayKinds} from '../cluster/run/gateway-kinds.ts'
import {ingress, startLightCluster} from '../cluster/run/light-cluster.ts'
import type {LightCluster} from '../cluster/run/light-cluster.ts'
import {RunProcess} from '../cluster/run/run-process.ts'
import type {Bench, BenchRow} from './bench.ts'

const ingresses = 5000
const routes = 500
const peer = 'missing: the controller of ouroboros'

/** `srcip run` as it is built, against a real API server whose CoreDNS pods answer nobody. */
export const bench: Bench = {
  title: `srcip run, ${ingresses} Ingresses with two names each and ${routes} HTTPRoutes`,
  async run(progress): Promise<readonly BenchRow[]> {
    const parts = await partPaths(API_SERVER_PARTS)
    const row = (work: string, ours: string, goal: string): BenchRow => ({work, ours, peer, ratio: undefined, goal})
    if ('missing' in parts) return [row('first write', `missing: ${String(parts.missing)}`, 'below 2 s')]
    progress('starts the API server and fills it')
    const cluster = await startLightCluster()
    let run: RunProcess | undefined
    const start = (relist: string, verify: string): RunProcess =>
      new RunProcess(['run', '--relist-interval', relist, '--verify-timeout', verify, '--via', 'direct'], {
        POD_NAME: 'srcip-0',
        KUBECONFIG: cluster.kubeconfig,
        SRCIP_PROXY_NAMESPACE: 'srcip',
        SRCIP_HEALTH_ADDRESS: '127.0.0.1:0',
        NODE_OPTIONS: '--max-semi-space-size=1',
        MALLOC_ARENA_MAX: '1',
      })
    try {
      const names = async (): Promise<number> => publishedNames((await cluster.corefile()).split('\n')).length
      await fill(cluster)
      progress('starts the controller')
      run = start('1h', '5s')
      await until('all names stand', 60, async () => (await names()) === 2 * ingresses + routes)
      const {lines} = run
      const at = (begin: string): number => Date.parse(lines.find(({msg}) => msg.startsWith(begin))?.ts ?? '')
      const first = at('wrote ') - at('srcip run starts')
      progress('waits until the pods are given up and absent kinds are known to be absent')
      await sleep(60_000)
      const size = await resident(run)
      const spent = cpuSeconds(run.child.pid)
      await sleep(60_000)
      const idle = ((cpuSeconds(run.child.pid) - spent) / 60) * 100
      await run.stop()

      run = start('10s', '1h')
      await run.said(/^source .* is not served/, 60_000)
      progress('5,000 updates in 10 s')
      const began = Date.now()
      for (let step = 0; step < 10; step++) {
        const from = (step * ingresses) / 10
        await inParallel(ingresses / 10, (index) =>
          cluster.admin.apply(ingress(`i${from + index}`, [`new${from + index}.example.org`])),
        )
        await sleep(Math.max(0, began + (step + 1) * 1000 - Date.now()))
      }
      const seconds = (Date.now() - began) / 1000
      await until('the updates stand', 120, async () => (await names()) === ingresses + routes)
      await sleep(2000)
      const writes = run.count(/^wrote /)
      progress('ten lists anew')
      await sleep(15_000)
      const early = await resident(run)
      await sleep(100_000)
      const late = await resident(run)
      return [
        row('first write after start', `${(first / 1000).toFixed(2)} s`, 'below 2 s (ouroboros elsewhere: 0.84 s)'),
        row('resident memory', megabytes(size), 'below 100 MB (ouroboros elsewhere: 49 MB)'),
        row('CPU when nothing changes', `${idle.toFixed(2)} %`, 'below 0.5 %'),
        row(`writes for 5,000 updates in ${seconds.toFixed(1)} s`, String(writes), 'at most 5'),
        row('memory after that, listing every 10 s', megabytes(early), ''),
        row('after ten lists more', megabytes(late), 'the same'),
      ]
    } finally {
      await run?.stop()
      await cluster.stop()
    }
  },
}

async function fill(cluster: LightCluster): Promise<void> {
  await installGatewayKinds(cluster.admin)
  const apiVersion = 'gateway.networking.k8s.io/v1'
  const create = async (plural: string, object: object): Promise<unknown> =>
    await cluster.admin.request('POST', `/apis/${apiVersion}/namespaces/demo/${plural}`, {apiVersion, ...object})
  const listeners = [{name: 'https', port: 443, protocol: 'HTTPS', allowedRoutes: {namespaces: {from: 'All'}}}]
  await create('gateways', {
    kind: 'Gateway',
    metadata: {name: 'edge', namespace: 'demo'},
    spec: {gatewayClassName: 'edge', listeners},
  })
  await inParallel(ingresses, (index) =>
    cluster.admin.create(ingress(`i${index}`, [`shop${index}.example.org`, `www.shop${index}.example.org`])),
  )
  await inParallel(routes, (index) =>
    create('httproutes', {
      kind: 'HTTPRoute',
      metadata: {name: `r${index}`, namespace: 'demo'},
      spec: {parentRefs: [{name: 'edge'}], hostnames: [`route${index}.example.net`]},
    }),
  )
}

/** The smallest resident size of some seconds: what is not garbage. */
async function resident(run: RunProcess): Promise<number> {
  let least = Infinity
  for (let second = 0; second < 6; second++) {
    least = Math.min(least, run.rss())
    await sleep(1000)
  }
  return least
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1024 / 1024)} MB`
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
