import {beforeAll, expect, test} from 'vitest'
import type {Plan, RunList, RunResult} from '../../../src/model/plan.ts'
import {
  applicationObjects,
  BED_PARTS,
  bedForSuite,
  callerPod,
  describeWithParts,
  ingressFor,
  OUTSIDE,
  PRODUCT_IMAGE_BY_DIGEST,
  type KubeObject,
} from '../bed/index.ts'

const host = 'shop.example.org'

await describeWithParts('enable and disable on a plain pair', BED_PARTS, async () => {
  const current = await bedForSuite({ingress: 'nginx-plain', publicZones: ['example.org']})
  const srcip = async (...args: string[]) => {
    const {code, stdout, stderr} = await current().cli(['kubectl', 'srcip', ...args], {timeout: 300_000})
    return {code, stdout, stderr}
  }
  const outside = async (): Promise<string> => {
    const url = `http://${host}/`
    const to = `${host}:80:${OUTSIDE.balancer}`
    const {stdout} = await current().client.exec([
      'curl',
      '-s',
      '-m',
      '5',
      '--resolve',
      to,
      '-o',
      '-',
      '-w',
      '%{http_code}',
      url,
    ])
    return stdout
  }
  const inside = async (): Promise<string> => {
    const {stdout} = await current().inPod('shop/caller', [
      'curl',
      '-s',
      '-m',
      '5',
      '-o',
      '-',
      '-w',
      '%{http_code}',
      `http://${host}/`,
    ])
    return stdout
  }

  beforeAll(async () => {
    const bed = current()
    await bed.create(
      {apiVersion: 'v1', kind: 'Namespace', metadata: {name: 'shop'}},
      ...applicationObjects('shop', 'shop'),
      ingressFor('shop', 'shop', host, 'shop'),
      callerPod('shop', 'caller'),
    )
    await bed.waitReady('shop')
    await bed.waitReady('ingress-nginx')
  }, 120_000)

  test('before: applications see a node, and pods get in', async () => {
    await expect.poll(outside, {timeout: 20_000}).toContain('200')
    await expect.poll(inside, {timeout: 20_000}).toContain('200')
  }, 60_000)

  test('the plan names every step and what fails meanwhile, and writes nothing', async () => {
    const {code, stdout, stderr} = await srcip(
      'enable',
      '--plan',
      '-o',
      'json',
      '--image',
      PRODUCT_IMAGE_BY_DIGEST,
      '--no-guard',
    )
    expect(code, stderr).toBe(0)
    const plan = JSON.parse(stdout) as Plan
    expect(plan.steps.map(({id}) => id)).toEqual(['proxy', 'controller', 'balancer', 'receiver', 'proxy-always'])
    expect(plan.orders[0]?.cuts.length).toBeGreaterThan(0)
  }, 60_000)

  test('on, with a balancer that is switched while the run waits', async () => {
    const bed = current()
    const run = srcip(
      'enable',
      '--image',
      PRODUCT_IMAGE_BY_DIGEST,
      '--no-guard',
      '--yes',
      '--wait-manual',
      '3m',
      '-o',
      'json',
    )
    await expect
      .poll(async () => (await srcip('runs', '-o', 'json')).stdout, {timeout: 60_000, interval: 2000})
      .toContain('"step": "controller"')
    await expect
      .poll(
        async () =>
          (
            await bed.api.get<KubeObject & {data: Record<string, string>}>(
              '/api/v1/namespaces/kube-system/configmaps/coredns',
            )
          ).data['Corefile'],
        {timeout: 200_000},
      )
      .toContain(host)
    await new Promise((resolve) => setTimeout(resolve, 15_000))
    await bed.balancer.setSendProxy('v1')
    const {code, stdout, stderr} = await run
    expect(code, stderr).toBe(0)
    const result = JSON.parse(stdout) as RunResult
    expect(result).toMatchObject({outcome: 'done', changed: true})
    expect(await outside()).toContain('200')
    expect(await inside()).toContain('200')
    const {runs} = JSON.parse((await srcip('runs', '-o', 'json')).stdout) as RunList
    expect(runs).toMatchObject([{status: 'done', operation: 'enable'}])
  }, 400_000)
})
