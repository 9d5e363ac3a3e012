import {afterEach, beforeAll, afterAll, expect, test} from 'vitest'
import {API_SERVER_PARTS} from '../bed/index.ts'
import {kubeadmCorefile} from '../bed/cluster-objects.ts'
import {folder} from '../bed/state-folder.ts'
import {describeWithParts} from '../bed/suite.ts'
import {startAdmissionWebhook} from './admission-webhook.ts'
import type {AdmissionWebhook, ReviewedConfigMap} from './admission-webhook.ts'
import {ingress, startLightCluster} from './light-cluster.ts'
import type {LightCluster} from './light-cluster.ts'
import {RunProcess, runOptions} from './run-process.ts'

const leasePath = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/srcip-dns'

await describeWithParts('admission webhooks in the way of srcip run', API_SERVER_PARTS, () => {
  let cluster: LightCluster
  let webhook: AdmissionWebhook | undefined
  let run: RunProcess | undefined
  let folders = 0
  beforeAll(async () => {
    cluster = await startLightCluster()
  })
  afterEach(async () => {
    await run?.stop('SIGKILL')
    await webhook?.close()
    webhook = undefined
    for (const name of ['shop', 'wiki']) await cluster.admin.delete(ingress(name, [])).catch(() => undefined)
    await cluster.admin.request('DELETE', leasePath).catch(() => undefined)
    // The API server forgets a webhook a moment after its configuration.
    await expect
      .poll(() => cluster.setCorefile(kubeadmCorefile()).then(() => 'put back', String), {timeout: 15_000})
      .toBe('put back')
  })
  afterAll(() => cluster?.stop())

  async function start(kind: 'Validating' | 'Mutating', judge: AdmissionWebhook['judge']): Promise<AdmissionWebhook> {
    webhook = await startAdmissionWebhook(cluster.admin, folder(cluster.api.folder, `webhook-${folders++}`), kind)
    // In force once it is asked about a write that changes nothing of ours.
    const touch = {metadata: {annotations: {touched: String(folders)}}}
    const configMap = {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'coredns', namespace: 'kube-system'}}
    for (const end = Date.now() + 15_000; webhook.asked.length === 0 && Date.now() < end;) {
      await cluster.admin.patch(configMap, touch)
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    webhook.asked.length = 0
    webhook.judge = judge
    await cluster.admin.create(ingress('shop', ['shop.example.org']))
    run = new RunProcess(runOptions({kube: {kubeconfig: cluster.kubeconfig}}), {POD_NAME: 'srcip-0'})
    return webhook
  }
  const eventually = (expected: string[]) =>
    expect.poll(() => cluster.names(), {timeout: 90_000, interval: 100}).toEqual(expected)
  const notesOf = async (reason: string): Promise<string[]> => {
    const list = await cluster.admin.list<{reason: string; note: string}>('/apis/events.k8s.io/v1/events')
    return list.filter((event) => event.reason === reason).map(({note}) => note)
  }

  /** The waits between tries grow. */
  function expectBackoff({asked}: AdmissionWebhook): void {
    expect(asked.length).toBeGreaterThanOrEqual(3)
    expect(asked.length).toBeLessThanOrEqual(8)
    const waits = asked.slice(1).map((at, index) => at - (asked[index] ?? 0))
    expect(waits.at(-1)).toBeGreaterThan(2 * (waits[0] ?? 0))
  }

  test.each([403, 409, 422])(
    'fault 11: a webhook that denies with %i is named with its words, backed off from, and sources go on meanwhile',
    {timeout: 150_000},
    async (status) => {
      const before = await cluster.corefile()
      const guard = await start('Validating', () => ({does: 'deny', status, message: `frozen until ${status}`}))
      const said = `admission webhook "guard.example.org" denied the request: frozen until ${status}`
      const line = await run?.said(said)
      expect(line).toMatchObject({level: 'warn', reason: 'WriteDenied'})
      await cluster.admin.create(ingress('wiki', ['wiki.example.org']))
      await new Promise((resolve) => setTimeout(resolve, 10_000))
      expectBackoff(guard)
      // Once, however often it is tried.
      expect(run?.count(/denied the request/)).toBe(1)
      await expect
        .poll(() => notesOf('WriteDenied'), {timeout: 10_000})
        .toContain(`configmap/kube-system/coredns: ${said}`)
      expect(await cluster.corefile()).toBe(before)
      guard.judge = () => ({does: 'allow'})
      await eventually(['shop.example.org', 'wiki.example.org'])
      await run?.said('the write is allowed again')
      expect(await run?.stop()).toBe(0)
    },
  )

  test(
    'fault 11: a webhook that does not answer is named, backed off from, and forgotten when it answers',
    {timeout: 150_000},
    async () => {
      const before = await cluster.corefile()
      const guard = await start('Validating', () => ({does: 'hang'}))
      await run?.said(/failed calling webhook "guard\.example\.org"/)
      await new Promise((resolve) => setTimeout(resolve, 12_000))
      expectBackoff(guard)
      expect(await cluster.corefile()).toBe(before)
      expect(run?.count(/WriteDenied/)).toBe(0)
      guard.judge = () => ({does: 'allow'})
      await eventually(['shop.example.org'])
      expect(await run?.stop()).toBe(0)
    },
  )

  test(
    'fault 11: a webhook that alters our text is named, the text of before stands again, and nothing is written in a loop',
    {timeout: 150_000},
    async () => {
      const before = await cluster.corefile()
      const without = (text: string): string => text.replace(/^.*rewrite name exact .*\n/gm, '')
      const strip = ({data}: ReviewedConfigMap) => {
        const text = data?.['Corefile'] ?? ''
        if (without(text) === text) return {does: 'allow'} as const
        return {does: 'patch', operations: [{op: 'replace', path: '/data/Corefile', value: without(text)}]} as const
      }
      const guard = await start('Mutating', strip)
      const line = await run?.said('stored another text in key Corefile than it was sent')
      expect(line).toMatchObject({level: 'warn', reason: 'WriteAltered'})
      expect(line?.msg).toMatch(/the text of before stands again$/)
      expect(await cluster.corefile()).toBe(before)
      await new Promise((resolve) => setTimeout(resolve, 12_000))
      // The write and its undoing.
      expect(guard.asked).toHaveLength(2)
      expect(run?.count(/stored another text|taken out by another writer/)).toBe(1)
      expect(await notesOf('WriteAltered')).toEqual([line?.msg])
      guard.judge = () => ({does: 'allow'})
      // Another set is tried at once.
      await cluster.admin.create(ingress('wiki', ['wiki.example.org']))
      await eventually(['shop.example.org', 'wiki.example.org'])
      await run?.said('the text is stored as it was sent again')
      expect(await run?.stop()).toBe(0)
    },
  )

  test('fault 11: a webhook that only adds metadata is nobody’s concern', {timeout: 60_000}, async () => {
    const label = {op: 'add', path: '/metadata/annotations/policy', value: 'seen'}
    await start('Mutating', () => ({does: 'patch', operations: [label]}))
    await eventually(['shop.example.org'])
    expect(run?.count(/stored another text/)).toBe(0)
    expect(await run?.stop()).toBe(0)
  })
})
