import {afterAll, afterEach, beforeAll, expect, test} from 'vitest'
import {API_SERVER_PARTS} from '../bed/index.ts'
import {describeWithParts} from '../bed/suite.ts'
import {kubeadmCorefile} from '../bed/cluster-objects.ts'
import {ingress, startLightCluster} from './light-cluster.ts'
import type {LightCluster} from './light-cluster.ts'
import {RunProcess, runOptions} from './run-process.ts'

await describeWithParts('srcip run against a real API server, with the rights of the chart', API_SERVER_PARTS, () => {
  let cluster: LightCluster
  const processes: RunProcess[] = []
  beforeAll(async () => {
    cluster = await startLightCluster()
  })
  afterEach(async () => {
    for (const process of processes.splice(0)) await process.stop('SIGKILL')
  })
  afterAll(() => cluster?.stop())

  const start = (more: Parameters<typeof runOptions>[0] = {}) => {
    const process = new RunProcess(runOptions({kube: {kubeconfig: cluster.kubeconfig}, ...more}), {POD_NAME: 'srcip-0'})
    processes.push(process)
    return process
  }
  const eventually = (expected: string[]) => expect.poll(() => cluster.names(), {timeout: 30_000}).toEqual(expected)

  test('first write, a new Ingress, a changed one, a deleted one; SIGTERM leaves what stands', async () => {
    await cluster.admin.create(ingress('shop', ['shop.example.org']))
    const run = start()
    await eventually(['shop.example.org'])
    const before = await cluster.corefile()
    expect(before.replace(/^.*rewrite.*\n|^.*===.*\n/gm, '')).toBe(kubeadmCorefile())
    await cluster.admin.create(ingress('wiki', ['wiki.example.org', 'www.wiki.example.org']))
    await eventually(['shop.example.org', 'wiki.example.org', 'www.wiki.example.org'])
    await cluster.admin.delete(ingress('wiki', []))
    await eventually(['shop.example.org'])
    expect(await cluster.corefile()).toBe(before)
    expect(await run.stop()).toBe(0)
    expect(await cluster.corefile()).toBe(before)
    expect(run.lines.filter((line) => line.level === 'fatal' || line.level === 'text')).toEqual([])
    const lease = await cluster.admin.get<{spec: {holderIdentity?: string}}>(
      '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/srcip-dns',
    )
    expect(lease.spec.holderIdentity ?? '').toBe('')
  })
})
