import {afterAll, afterEach, beforeAll, beforeEach, expect, test} from 'vitest'
import {API_SERVER_PARTS} from '../bed/index.ts'
import {describeWithParts} from '../bed/suite.ts'
import {kubeadmCorefile} from '../bed/cluster-objects.ts'
import type {KubeObject} from '../bed/objects.ts'
import {rightsObjects} from '../../support/rights.ts'
import {ingress, proxyService, rightsNames, startLightCluster} from './light-cluster.ts'
import type {LightCluster} from './light-cluster.ts'
import {RunProcess, runOptions} from './run-process.ts'

const leasePath = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/srcip-dns'

await describeWithParts('srcip run against a real API server, with the rights of the chart', API_SERVER_PARTS, () => {
  let cluster: LightCluster
  const processes: RunProcess[] = []
  beforeAll(async () => {
    cluster = await startLightCluster()
  })
  beforeEach(async () => {
    await cluster.setCorefile(kubeadmCorefile())
  })
  afterEach(async () => {
    for (const process of processes.splice(0)) await process.stop('SIGKILL')
    cluster.gate.set('pass')
    const ingresses = await cluster.admin.list<KubeObject>('/apis/networking.k8s.io/v1/ingresses')
    for (const {metadata} of ingresses) await cluster.admin.delete(ingress(metadata.name, []))
    await cluster.admin.request('DELETE', leasePath).catch(() => undefined)
  })
  afterAll(() => cluster?.stop())

  const start = (more: Parameters<typeof runOptions>[0] = {}, name = 'srcip-0') => {
    const process = new RunProcess(runOptions({kube: {kubeconfig: cluster.kubeconfig}, ...more}), {POD_NAME: name})
    processes.push(process)
    return process
  }
  const eventually = (expected: string[], ms = 60_000) =>
    expect.poll(() => cluster.names(), {timeout: ms, interval: 100}).toEqual(expected)
  const events = async (): Promise<string[]> => {
    const list = await cluster.admin.list<{reason: string; note: string; regarding: {name: string}}>(
      '/apis/events.k8s.io/v1/namespaces/kube-system/events',
    )
    return list.map((event) => `${event.regarding.name} ${event.reason}: ${event.note}`)
  }

  test('first write, a new Ingress, a changed one, a deleted one; SIGTERM leaves what stands', async () => {
    await cluster.admin.create(ingress('shop', ['shop.example.org']))
    const run = start()
    await eventually(['shop.example.org'])
    const before = await cluster.corefile()
    expect(before.replace(/^.*rewrite.*\n|^.*===.*\n/gm, '')).toBe(kubeadmCorefile())
    await cluster.admin.create(ingress('wiki', ['wiki.example.org', 'www.wiki.example.org']))
    await eventually(['shop.example.org', 'wiki.example.org', 'www.wiki.example.org'])
    await cluster.admin.apply(ingress('wiki', ['wiki.example.org']))
    await cluster.admin.delete(ingress('wiki', []))
    await eventually(['shop.example.org'])
    expect(await cluster.corefile()).toBe(before)
    expect(await run.stop()).toBe(0)
    expect(await cluster.corefile()).toBe(before)
    expect(run.lines.filter((line) => line.level === 'fatal' || line.level === 'text')).toEqual([])
    const lease = await cluster.admin.get<{spec: {holderIdentity?: string}}>(leasePath)
    expect(lease.spec.holderIdentity ?? '').toBe('')
    expect(await events()).toContain('coredns Applied: wrote 1 names to dns: 1 new, 0 gone')
  })

  test('fault 1: an API server that is away for ten seconds costs nothing: no write, no name lost, then it goes on', async () => {
    await cluster.admin.create(ingress('shop', ['shop.example.org']))
    const run = start()
    await eventually(['shop.example.org'])
    const before = await cluster.corefile()
    await run.said(/^wrote /)
    const writes = run.count(/^wrote /)
    cluster.gate.set('refuse')
    await cluster.admin.create(ingress('wiki', ['wiki.example.org']))
    await new Promise((resolve) => setTimeout(resolve, 10_000))
    expect(await cluster.corefile()).toBe(before)
    cluster.gate.set('pass')
    await eventually(['shop.example.org', 'wiki.example.org'])
    await expect.poll(() => run.count(/^wrote /), {timeout: 5000}).toBe(writes + 1)
    expect(run.child.exitCode).toBeNull()
  })

  test('fault 5: a right that is taken away mid-run keeps the names, also of a process that starts meanwhile; given back, it heals', async () => {
    await cluster.admin.create(ingress('shop', ['shop.example.org']))
    const first = start({relistMs: 20_000})
    await eventually(['shop.example.org'])
    const binding = rightsObjects(rightsNames).find((object) => object.kind === 'ClusterRoleBinding') as KubeObject
    await cluster.admin.delete(binding)
    await cluster.admin.delete(ingress('shop', []))
    cluster.gate.cut()
    await first.said('source ingresses is forbidden')
    expect(await cluster.names()).toEqual(['shop.example.org'])
    await first.stop()
    const second = start()
    await second.said('source ingresses is forbidden')
    await second.said('this process holds the Lease')
    await new Promise((resolve) => setTimeout(resolve, 5000))
    expect(await cluster.names()).toEqual(['shop.example.org'])
    expect(second.count(/^source ingresses is forbidden/)).toBe(1)
    await second.stop()
    const {metadata, ...rest} = binding
    await cluster.admin.create({...rest, metadata: {name: metadata.name}})
    await cluster.admin.create(ingress('wiki', ['wiki.example.org']))
    start()
    await eventually(['wiki.example.org'])
  })

  test('fault 8: two replicas: one writes; SIGTERM hands over at once, kill -9 after the Lease has run out', async () => {
    await cluster.admin.create(ingress('shop', ['shop.example.org']))
    const a = start({}, 'srcip-a')
    await a.said('this process holds the Lease')
    const b = start({}, 'srcip-b')
    await eventually(['shop.example.org'])
    await b.said('source ingresses is synced')
    expect(b.count(/^wrote /)).toBe(0)
    await a.stop()
    await b.said('this process holds the Lease', 10_000)
    await cluster.admin.create(ingress('wiki', ['wiki.example.org']))
    await eventually(['shop.example.org', 'wiki.example.org'])
    const c = start({}, 'srcip-c')
    await c.said('source ingresses is synced')
    await b.stop('SIGKILL')
    await c.said('this process holds the Lease', 40_000)
    await cluster.admin.delete(ingress('wiki', []))
    await eventually(['shop.example.org'])
  })

  test('a Corefile that somebody renders anew gets its names back; damaged markers stop the writing and are named', async () => {
    await cluster.admin.create(ingress('shop', ['shop.example.org']))
    const run = start()
    await eventually(['shop.example.org'])
    await cluster.setCorefile(kubeadmCorefile('30s'))
    await eventually(['shop.example.org'])
    expect(await cluster.corefile()).toContain('reload 30s')
    await run.said('our names were taken out by another writer')

    const damaged = (await cluster.corefile()).replace(/^.*=== END srcip ===.*\n/m, '')
    await cluster.setCorefile(damaged)
    await run.said('nothing is written to dns')
    await cluster.admin.create(ingress('wiki', ['wiki.example.org']))
    await new Promise((resolve) => setTimeout(resolve, 4000))
    expect(await cluster.corefile()).toBe(damaged)
    expect((await events()).filter((event) => event.includes('MarkersDamaged'))).toHaveLength(1)
    await cluster.setCorefile(kubeadmCorefile())
    await eventually(['shop.example.org', 'wiki.example.org'])
  })

  test('fault 9, 10: a missing Corefile is not invented, an immutable one is left alone; both are met again when they are back', async () => {
    await cluster.admin.create(ingress('shop', ['shop.example.org']))
    const run = start()
    await eventually(['shop.example.org'])
    const meta = {name: 'coredns', namespace: 'kube-system'}
    const configMap: KubeObject = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: meta,
      data: {Corefile: kubeadmCorefile()},
    }
    await cluster.admin.delete(configMap)
    await new Promise((resolve) => setTimeout(resolve, 3000))
    await expect(cluster.corefile()).rejects.toThrow(/not found/)
    await cluster.admin.create({...configMap, immutable: true})
    await run.said('is immutable')
    expect(await cluster.names()).toEqual([])
    await cluster.admin.delete(configMap)
    await cluster.admin.create(configMap)
    await eventually(['shop.example.org'])
  })

  test(
    '--once waits for no kind that the cluster does not serve, and ends with 0 where all is seen',
    {timeout: 25_000},
    async () => {
      await cluster.admin.create(ingress('shop', ['shop.example.org']))
      const once = start({once: true, dryRun: true})
      expect(await once.exited).toBe(0)
      expect((await once.said('would write'))['added']).toEqual(['shop.example.org'])
      expect(once.count(/^source httproutes is not served by this cluster/)).toBe(1)
    },
  )

  test('--once writes once and ends; --dry-run writes nothing; a proxy for another class takes nothing', async () => {
    await cluster.admin.create(ingress('shop', ['shop.example.org']))
    const before = await cluster.corefile()
    const dry = start({once: true, dryRun: true, families: ['ingress']})
    expect(await dry.exited).toBe(0)
    expect(await cluster.corefile()).toBe(before)
    expect((await dry.said('would write'))['added']).toEqual(['shop.example.org'])
    // Nobody answers for the pods here, so the one pass ends unconfirmed.
    const once = start({once: true, verifyTimeoutMs: 3000, families: ['ingress']})
    expect(await once.exited).toBe(21)
    expect(await cluster.names()).toEqual(['shop.example.org'])

    await cluster.admin.apply(proxyService('srcip-proxy', {'srcip.dev/ingress-classes': 'other'}))
    try {
      const other = start({once: true, dryRun: true, families: ['ingress']})
      await other.exited
      expect(other.count(/would write/)).toBe(0)
      await other.said('1 names stay: no source names anything')
    } finally {
      await cluster.admin.apply(proxyService('srcip-proxy'))
    }
  })
})
