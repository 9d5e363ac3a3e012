import {afterAll, beforeAll, expect, test} from 'vitest'
import type {RunResult} from '../../../src/model/plan.ts'
import {BED_PARTS, bedForSuite, describeWithParts, PRODUCT_IMAGE_BY_DIGEST, type KubeObject} from '../bed/index.ts'
import {runJobs} from '../chart/job-runner.ts'
import {Pair} from './pair.ts'

await describeWithParts('commit or return', BED_PARTS, async () => {
  const current = await bedForSuite({ingress: 'nginx-plain', publicZones: ['example.org'], users: [{name: 'viewer'}]})
  let pair: Pair
  const jobs = new AbortController()
  const enable = ['enable', '--image', PRODUCT_IMAGE_BY_DIGEST, '--guard-window', '15s', '--yes', '-o', 'json']
  const settings = async () => (await pair.configMap('ingress-nginx', 'ingress-nginx-controller')).data ?? {}
  let before: unknown

  beforeAll(async () => {
    pair = new Pair(current())
    await pair.start()
    void runJobs(current(), 'srcip', jobs.signal)
    before = await settings()
  }, 120_000)
  afterAll(() => jobs.abort())

  test(
    'the API is out of reach for good right after the flip: the guard puts it back',
    {timeout: 300_000},
    async () => {
      await current().balancer.setSendProxy('v1')
      const cut = {nth: 1, when: 'cut-after', only: 'configmaps/ingress-nginx-controller'} as const
      const started = pair.srcipCut(cut, ...enable, '--wait-manual', '60s')
      await expect.poll(settings, {timeout: 120_000}).toEqual({'use-proxy-protocol': 'true'})
      const flipped = performance.now()
      await expect.poll(settings, {timeout: 40_000, interval: 200}).toEqual(before)
      const seconds = (performance.now() - flipped) / 1000
      expect(seconds).toBeGreaterThan(12)
      const {code, stdout, stderr} = await started
      expect(code, stderr).toBe(30)
      const result = JSON.parse(stdout) as RunResult
      expect(result).toMatchObject({outcome: 'failed', changed: true})
      expect(result.reason).toContain('could not be renewed: the API server gives no answer')
      expect(result.next.join()).toContain('rollback')
      const guard = await pair.configMap('srcip', 'srcip-guard')
      expect(guard.data['state']).toBe('returned')
    },
  )

  test(
    'resume does not switch again behind a guard that has returned; rollback leaves nothing',
    {timeout: 300_000},
    async () => {
      const id = await pair.lastRun()
      const resumed = await pair.srcip('resume', id, '--yes', '--lock-timeout', '30s', '-o', 'json')
      expect(resumed.code, resumed.stderr).toBe(23)
      const result = JSON.parse(resumed.stdout) as RunResult
      expect(result.reason).toContain('"returned", not yet "watching"')
      expect(await settings()).toEqual(before)
      await current().balancer.setSendProxy('off')
      const back = await pair.srcip('rollback', id, '--yes', '--lock-timeout', '30s', '-o', 'json')
      expect(back.code, back.stderr).toBe(0)
      const left = await current().api.list<KubeObject>('/apis/apps/v1/namespaces/srcip/deployments')
      expect(left).toEqual([])
      expect((await pair.configMap('kube-system', 'coredns')).data['Corefile']).not.toContain('shop.example.org')
      expect([await pair.outside(), await pair.inside()]).toEqual(['200', '200'])
    },
  )

  test('no rights for one of the writes: 31 before the first, with verb and resource', {timeout: 60_000}, async () => {
    const {code, stdout, stderr} = await current().cli(['kubectl', 'srcip', ...enable], {
      user: 'viewer',
      timeout: 60_000,
    })
    expect(code, stdout + stderr).toBe(31)
  })
})
