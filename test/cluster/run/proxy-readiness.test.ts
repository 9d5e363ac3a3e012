import {afterAll, beforeAll, expect, test} from 'vitest'
import {freePorts} from '../bed/api-server.ts'
import {API_SERVER_PARTS} from '../bed/index.ts'
import {describeWithParts} from '../bed/suite.ts'
import {ingress, proxySlice, startLightCluster} from './light-cluster.ts'
import type {LightCluster} from './light-cluster.ts'
import {RunProcess, runOptions} from './run-process.ts'

const waiting = {timeout: 60_000, interval: 100}

await describeWithParts('a name waits for its proxy (B38)', API_SERVER_PARTS, () => {
  let cluster: LightCluster
  beforeAll(async () => {
    cluster = await startLightCluster()
    await cluster.admin.apply(proxySlice('srcip-proxy', false))
  })
  afterAll(() => cluster?.stop())

  test(
    'nothing is written before an endpoint is ready; what is written stays when it goes',
    {timeout: 180_000},
    async () => {
      await cluster.admin.create(ingress('shop', ['shop.example.org']))
      const before = await cluster.corefile()
      const [port = 0] = await freePorts(1)
      const run = new RunProcess(
        runOptions({kube: {kubeconfig: cluster.kubeconfig}, healthAddress: `127.0.0.1:${port}`}),
      )
      const page = async (path: string): Promise<string> => (await fetch(`http://127.0.0.1:${port}${path}`)).text()
      try {
        await run.said('1 names wait: no-ready-endpoint, srcip/srcip-proxy has none yet')
        expect(await page('/readyz?verbose')).toContain('1 names wait: no-ready-endpoint (srcip/srcip-proxy)')
        expect(await page('/metrics')).toContain('srcip_names_withheld{output="dns",reason="no-ready-endpoint"} 1')
        expect(await cluster.corefile()).toBe(before)

        await cluster.admin.apply(proxySlice('srcip-proxy', true))
        await expect.poll(() => cluster.names(), waiting).toEqual(['shop.example.org'])
        await run.said('no name waits for its proxy any more')

        const said = run.lines.length
        await cluster.admin.apply(proxySlice('srcip-proxy', false))
        await cluster.admin.create(ingress('late', ['late.example.org']))
        await run.said('1 names wait', 30_000, said)
        expect(await cluster.names()).toEqual(['shop.example.org'])
        await cluster.admin.apply(proxySlice('srcip-proxy', true))
        await expect.poll(() => cluster.names(), waiting).toEqual(['late.example.org', 'shop.example.org'])
      } finally {
        expect(await run.stop()).toBe(0)
      }
    },
  )
})
