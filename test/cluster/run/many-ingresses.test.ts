import {setTimeout as sleep} from 'node:timers/promises'
import {afterAll, beforeAll, expect, test} from 'vitest'
import {API_SERVER_PARTS} from '../bed/index.ts'
import {describeWithParts} from '../bed/suite.ts'
import {installGatewayKinds} from './gateway-kinds.ts'
import {ingress, startLightCluster} from './light-cluster.ts'
import type {LightCluster} from './light-cluster.ts'
import {publishedNames} from '../../../src/controller/published-names.ts'
import {RunProcess} from './run-process.ts'

const ingresses = 5000
const routes = 500
const megabyte = 1024 * 1024
/** Of this some 50 MB are the pages of the Node binary, which all Node processes of a machine share. */
const memoryLimit = 100 * megabyte
/** While everything is listed anew every five seconds, and after 5,000 changes in ten. */
const busyMemoryLimit = 120 * megabyte
/** What ten lists may leave behind: the resident size of an idle process moves by a few megabytes from second to second. */
const flat = 6 * megabyte
const health = '127.0.0.1:38083'

await describeWithParts('srcip run with 5,000 Ingresses and 500 HTTPRoutes', API_SERVER_PARTS, () => {
  let cluster: LightCluster
  beforeAll(async () => {
    cluster = await startLightCluster()
    await installGatewayKinds(cluster.admin)
    const listeners = [{name: 'https', port: 443, protocol: 'HTTPS', allowedRoutes: {namespaces: {from: 'All'}}}]
    await create('gateways', {
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'Gateway',
      metadata: {name: 'edge', namespace: 'demo'},
      spec: {gatewayClassName: 'edge', listeners},
    })
    await inParallel(ingresses, (index) =>
      cluster.admin.create(ingress(`i${index}`, [`shop${index}.example.org`, `www.shop${index}.example.org`])),
    )
    await inParallel(routes, (index) =>
      create('httproutes', {
        apiVersion: 'gateway.networking.k8s.io/v1',
        kind: 'HTTPRoute',
        metadata: {name: `r${index}`, namespace: 'demo'},
        spec: {parentRefs: [{name: 'edge'}], hostnames: [`route${index}.example.net`]},
      }),
    )
  })
  afterAll(() => cluster?.stop())

  const create = (plural: string, object: object) =>
    cluster.admin.request('POST', `/apis/gateway.networking.k8s.io/v1/namespaces/demo/${plural}`, object)
  const names = async () => publishedNames((await cluster.corefile()).split('\n')).length

  const start = (relist: string): RunProcess =>
    // As it is shipped: the memory of a bundle is not that of sources that Node strips while it loads them.
    new RunProcess(['run', '--relist-interval', relist, '--verify-timeout', '1h', '--via', 'direct'], {
      POD_NAME: 'srcip-0',
      KUBECONFIG: cluster.kubeconfig,
      SRCIP_PROXY_NAMESPACE: 'srcip',
      SRCIP_HEALTH_ADDRESS: health,
      // As the chart sets them: one arena of malloc, and a young generation that stays small.
      NODE_OPTIONS: '--max-semi-space-size=1',
      MALLOC_ARENA_MAX: '1',
    })
  /** The smallest resident size of some seconds: what is not garbage. */
  async function resident(run: RunProcess): Promise<number> {
    let least = Infinity
    for (let second = 0; second < 6; second++) {
      least = Math.min(least, run.rss())
      await sleep(1000)
    }
    return least
  }
  async function relists(): Promise<number> {
    const text = await (await fetch(`http://${health}/metrics`)).text()
    return Number(/^srcip_relists_total\{source="ingresses",reason="periodic"\} (\d+)/m.exec(text)?.[1] ?? 0)
  }

  test('fault 14: all names are written in one write, in less than 100 MB', {timeout: 120_000}, async () => {
    const run = start('1h')
    try {
      await expect.poll(names, {timeout: 60_000}).toBe(2 * ingresses + routes)
      const first = await run.said(/^wrote /)
      const begun = run.lines.find((line) => line.msg === 'srcip run starts')
      console.log(`first write ${Date.parse(first.ts) - Date.parse(begun?.ts ?? '')} ms after start`)
      await sleep(5000)
      expect(run.count(/^wrote /)).toBe(1)
      const size = await resident(run)
      console.log(`${Math.round(size / megabyte)} MB resident`)
      expect(size).toBeLessThan(memoryLimit)
    } finally {
      await run.stop()
    }
  })

  test(
    'fault 14: 5,000 updates within 10 s give at most 5 writes, updates without a name none, and ten lists leave nothing behind',
    {timeout: 300_000},
    async () => {
      const run = start('5s')
      try {
        const readyz = async () => (await fetch(`http://${health}/readyz`).catch(() => undefined))?.status
        await expect.poll(readyz, {timeout: 30_000}).toBe(200)
        await sleep(5000)
        const before = run.count(/^wrote /)
        const began = Date.now()
        // Spread over ten seconds: at once they would be one write whatever the pace.
        for (let step = 1; step <= 10; step++) {
          const first = ((step - 1) * ingresses) / 10
          await inParallel(ingresses / 10, (index) =>
            cluster.admin.apply(ingress(`i${first + index}`, [`new${first + index}.example.org`])),
          )
          await sleep(Math.max(0, began + step * 1000 - Date.now()))
        }
        const seconds = (Date.now() - began) / 1000
        await expect.poll(names, {timeout: 60_000}).toBe(ingresses + routes)
        // The write is seen a moment before it is logged.
        await sleep(2000)
        const writes = run.lines.filter(({msg}) => msg.startsWith('wrote ')).slice(before)
        console.log(`${writes.length} writes for ${ingresses} updates in ${seconds.toFixed(1)} s`)
        expect(writes.filter(({ts}) => Date.parse(ts) < began + 10_000).length).toBeLessThanOrEqual(5)
        // On a slow machine the updates take longer, and one write more every five seconds is the pace.
        expect(writes.length).toBeLessThanOrEqual(Math.max(5, 3 + Math.ceil(seconds / 5)))

        // Annotations and status are most of what changes in a cluster, and no name is in them.
        await inParallel(500, (index) =>
          cluster.admin.patch(ingress(`i${index}`, []), {metadata: {annotations: {touched: 'yes'}}}),
        )
        await sleep(5000)
        expect(run.count(/^wrote /) - before).toBe(writes.length)

        const listed = await relists()
        const early = await resident(run)
        await expect.poll(relists, {timeout: 120_000, interval: 1000}).toBeGreaterThanOrEqual(listed + 11)
        const late = await resident(run)
        console.log(
          `${Math.round(early / megabyte)} MB resident, ${Math.round(late / megabyte)} MB after ten lists more`,
        )
        expect(late).toBeLessThan(early + flat)
        expect(late).toBeLessThan(busyMemoryLimit)
        expect(run.count(/^wrote /) - before).toBe(writes.length)
      } finally {
        await run.stop()
      }
    },
  )
})

async function inParallel(count: number, work: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0
  await Promise.all(
    Array.from({length: 24}, async () => {
      while (next < count) await work(next++)
    }),
  )
}
