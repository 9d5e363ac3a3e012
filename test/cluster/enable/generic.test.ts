import {readFileSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {afterAll, beforeAll, expect, test} from 'vitest'
import type {Plan, RunList, RunResult} from '../../../src/model/plan.ts'
import type {StatusReport} from '../../../src/model/status.ts'
import {BED_PARTS, bedForSuite, describeWithParts, PRODUCT_IMAGE_BY_DIGEST, type KubeObject} from '../bed/index.ts'
import {runJobs} from '../chart/job-runner.ts'
import {Pair} from './pair.ts'

await describeWithParts('enable and disable on a plain pair', BED_PARTS, async () => {
  const current = await bedForSuite({ingress: 'nginx-plain', publicZones: ['example.org']})
  let pair: Pair
  const jobs = new AbortController()
  const image = ['--image', PRODUCT_IMAGE_BY_DIGEST]
  const settings = async () => (await pair.configMap('ingress-nginx', 'ingress-nginx-controller')).data
  const corefile = async () => (await pair.configMap('kube-system', 'coredns')).data['Corefile'] ?? ''
  let before: {readonly settings: unknown; readonly corefile: string}

  beforeAll(async () => {
    pair = new Pair(current())
    await pair.start()
    void runJobs(current(), 'srcip', jobs.signal)
    before = {settings: await settings(), corefile: await corefile()}
  }, 120_000)
  afterAll(() => jobs.abort())

  test('the plan names every step and what fails meanwhile, and nothing is written', {timeout: 60_000}, async () => {
    const writes = pair.writes()
    const {code, stdout, stderr} = await pair.srcip('enable', '--plan', '-o', 'json', ...image)
    expect(code, stderr).toBe(0)
    const plan = JSON.parse(stdout) as Plan
    const ids = [
      'proxy',
      'names',
      'controller',
      'guard',
      'balancer',
      'receiver',
      'confirm',
      'guard-away',
      'proxy-always',
    ]
    expect(plan.steps.map(({id}) => id)).toEqual(ids)
    expect(plan.orders[0]?.cuts.map(({side, port, from, until}) => `${side} ${port} ${from} ${until}`)).toEqual([
      ...['outside 80 balancer receiver', 'outside 443 balancer receiver'],
      ...['inside 80 receiver receiver', 'inside 443 receiver receiver'],
    ])
    const again = await pair.srcip('enable', '--plan', '-o', 'json', ...image)
    expect(again.stdout, 'same cluster, same bytes').toBe(stdout)
    expect(pair.writes()).toEqual(writes)
  })

  test('without an image, a yes or a right: said before the first write', {timeout: 60_000}, async () => {
    const writes = pair.writes()
    expect(await pair.srcip('enable', '--plan')).toMatchObject({code: 2, stderr: expect.stringContaining('--image')})
    expect(await pair.srcip('enable', ...image)).toMatchObject({code: 2, stderr: expect.stringContaining('--yes')})
    expect(pair.writes().filter((line) => !line.includes('leases'))).toEqual(writes)
    const {code, stdout, stderr} = await pair.srcip('enable', ...image, '--dry-run=server', '-o', 'json')
    expect(code, stderr).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({outcome: 'planned', dryRun: 'server'})
    expect(pair.writes().filter((line) => !line.includes('leases'))).toEqual(writes)
    expect([await settings(), await corefile()]).toEqual([before.settings, before.corefile])
  })

  test(
    'a plan of before is refused when the cluster has moved on, and when it was edited (32)',
    {timeout: 60_000},
    async () => {
      const file = join(current().folder, 'plan.json')
      const {stdout} = await pair.srcip('enable', '--plan', '-o', 'json', ...image)
      writeFileSync(file, stdout)
      expect(await pair.srcip('enable', '--plan-file', file, '--dry-run=client')).toMatchObject({code: 0})
      const map = {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: {name: 'ingress-nginx-controller', namespace: 'ingress-nginx'},
      }
      await current().api.patch(map, {data: {'use-proxy-protocol': 'no'}})
      const stale = await pair.srcip('enable', '--plan-file', file, '--yes')
      await current().api.patch(map, {data: {'use-proxy-protocol': 'false'}})
      expect(stale.code, stale.stderr).toBe(32)
      expect(stale.stderr).toContain(
        'configmap/ingress-nginx/ingress-nginx-controller: data.use-proxy-protocol is "no", not "false" as planned',
      )
      writeFileSync(file, stdout.replace('"true"', '"sure"'))
      const edited = await pair.srcip('enable', '--plan-file', file, '--yes')
      expect(edited).toMatchObject({code: 32, stderr: expect.stringContaining('was edited after it was planned')})
      expect(pair.writes().filter((line) => !line.includes('leases'))).toEqual([])
    },
  )

  test(
    'a value that Helm owns is not written behind its back; --force says how long it lasts',
    {timeout: 60_000},
    async () => {
      const map = {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: {name: 'ingress-nginx-controller', namespace: 'ingress-nginx'},
      }
      const owned = (value: string | null) =>
        current().api.patch(map, {metadata: {annotations: {'meta.helm.sh/release-name': value}}})
      await owned('edge')
      const refused = await pair.srcip('enable', '--plan', ...image)
      expect(refused.code, refused.stderr).toBe(32)
      expect(refused.stderr).toContain(
        'belongs to Helm (release edge in ingress-nginx), which would put the value back',
      )
      expect(refused.stderr).toContain('helm upgrade edge -n ingress-nginx')
      const forced = await pair.srcip('enable', '--plan', '--force', ...image)
      expect(forced.code, forced.stderr).toBe(0)
      expect(forced.stderr).toContain('the write lasts until the next helm upgrade of edge')
      await owned(null)
    },
  )

  test('a gate ends with 21 and what to do; nothing but the plan has changed', {timeout: 200_000}, async () => {
    const {code, stdout, stderr} = await pair.srcip('enable', ...image, '--yes', '-o', 'json')
    expect(code, stderr).toBe(21)
    const result = JSON.parse(stdout) as RunResult
    expect(result.outcome).toBe('waiting')
    expect(result.next.join('\n')).toContain('switch the PROXY header on for ports 80 and 443')
    expect(await corefile()).toContain('shop.example.org')
    expect(await settings()).toEqual(before.settings)
    const cleaned = await pair.srcip('cleanup', '--yes')
    expect(cleaned.code, cleaned.stderr).toBe(32)
    expect(cleaned.stderr).toContain(`run ${result.run} is not over`)
    await expect.poll(() => pair.outside(), {timeout: 20_000}).toBe('200')
    await expect.poll(() => pair.inside(), {timeout: 20_000}).toBe('200')
  })

  test('a balancer that is switched while resume waits: done, proved, confirmed', {timeout: 300_000}, async () => {
    const run = pair.srcip('resume', await pair.lastRun(), '--yes', '--wait-manual', '3m', '-o', 'json')
    await new Promise((resolve) => setTimeout(resolve, 5000))
    await current().balancer.setSendProxy('v1')
    const {code, stdout, stderr} = await run
    expect(code, stderr).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({outcome: 'done', changed: true})
    expect(await settings()).toEqual({'use-proxy-protocol': 'true'})
    expect([await pair.outside(), await pair.inside()]).toEqual(['200', '200'])
    expect(await current().api.list('/apis/batch/v1/namespaces/srcip/jobs')).toEqual([])
    const {runs} = JSON.parse((await pair.srcip('runs', '-o', 'json')).stdout) as RunList
    const status = JSON.parse((await pair.srcip('status', '-o', 'json')).stdout) as StatusReport
    expect(status.rows.filter(({row}) => row === 'run')).toMatchObject([
      {
        state: 'ok',
        detail: expect.stringMatching(/^enable of service\/ingress-nginx\/ingress-nginx-controller: done, since 20/),
      },
    ])
    expect(runs).toMatchObject([
      {status: 'done', operation: 'enable', subject: 'service/ingress-nginx/ingress-nginx-controller'},
    ])
  })

  test('a second enable changes nothing and writes nothing', {timeout: 60_000}, async () => {
    const writes = pair.writes()
    const {code, stdout, stderr} = await pair.srcip('enable', ...image, '--yes', '-o', 'json')
    expect(code, stderr).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({outcome: 'already-so', changed: false})
    expect(pair.writes()).toEqual(writes)
  })

  test('disable: plain again, the names out of DNS, nothing of ours left', {timeout: 400_000}, async () => {
    const log = join(current().folder, 'audit.jsonl')
    const run = pair.srcip(
      'disable',
      '--yes',
      '--wait-manual',
      '3m',
      '--settle',
      '5s',
      '--audit-log',
      log,
      '-o',
      'json',
    )
    await expect.poll(() => pair.standsAt('balancer'), {timeout: 120_000, interval: 1000}).toBe(true)
    await current().balancer.setSendProxy('off')
    const {code, stdout, stderr} = await run
    expect(code, stderr).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({outcome: 'done', operation: 'disable'})
    expect((await settings()) ?? {}).toEqual({})
    expect(await corefile()).toBe(before.corefile)
    await expect.poll(() => pair.outside(), {timeout: 20_000}).toBe('200')
    await expect.poll(() => pair.inside(), {timeout: 20_000}).toBe('200')
    const left = await current().api.list<KubeObject>('/apis/apps/v1/namespaces/srcip/deployments')
    expect(left.map(({metadata}) => metadata.name)).toEqual([])
    const lines = readFileSync(log, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as {verb: string; object: string})
    expect(lines.some(({object}) => object === 'configmaps/ingress-nginx/ingress-nginx-controller')).toBe(true)
    expect((await pair.srcip('disable', '--yes')).code).toBe(0)
  })
})
