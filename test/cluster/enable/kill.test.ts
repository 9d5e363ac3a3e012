import {beforeAll, describe, expect, test} from 'vitest'
import type {RunResult} from '../../../src/model/plan.ts'
import {BED_PARTS, bedForSuite, describeWithParts, PRODUCT_IMAGE_BY_DIGEST} from '../bed/index.ts'
import {Pair} from './pair.ts'

const whens = ['before', 'unanswered', 'after'] as const

await describeWithParts('a run that is killed at a write', BED_PARTS, async () => {
  const current = await bedForSuite({ingress: 'nginx-plain', publicZones: ['example.org']})
  let pair: Pair
  let writes: readonly string[] = []
  const off = ['--yes', '--wait-manual', '60s', '-o', 'json']
  const settings = async () => (await pair.configMap('ingress-nginx', 'ingress-nginx-controller')).data ?? {}
  const proxyMode = async (): Promise<string> => {
    const path = '/apis/apps/v1/namespaces/srcip/deployments/srcip-proxy'
    const {metadata} = await current().api.get<{metadata: {annotations: Record<string, string>}}>(path)
    return metadata.annotations['srcip.dev/send-proxy'] ?? ''
  }
  const state = async () => ({settings: await settings(), proxy: await proxyMode()})
  /** With an empty home: what a run needs to go on lies in the cluster. */
  const go = async (
    verb: 'resume' | 'rollback',
    id: string,
  ): Promise<{code: number; result: RunResult; stderr: string}> => {
    const argv = [
      'env',
      `HOME=${current().folder}/empty-home`,
      'kubectl',
      'srcip',
      verb,
      id,
      '--lock-timeout',
      '30s',
      ...off,
    ]
    const {code, stdout, stderr} = await current().cli(argv, {timeout: 200_000})
    return {code, result: JSON.parse(stdout || '{}') as RunResult, stderr}
  }
  let before: Awaited<ReturnType<typeof state>>
  const enable = ['enable', '--image', PRODUCT_IMAGE_BY_DIGEST, '--no-guard', ...off]

  beforeAll(async () => {
    pair = new Pair(current())
    await pair.start()
    // the parts are there already, so that the runs hold little but the switch: installing is a run of its own, in generic.test.ts
    const installed = await pair.srcip('enable', '--image', PRODUCT_IMAGE_BY_DIGEST, '--no-guard', '--yes')
    expect(installed.code, installed.stderr).toBe(21)
    before = await state()
  }, 200_000)

  /** The balancer is switched already: what a run waits for longest is not what is killed here. */
  async function sending<T>(work: () => Promise<T>): Promise<T> {
    await current().balancer.setSendProxy('v1')
    return await work()
  }

  async function backToTheStart(id: string): Promise<void> {
    await current().balancer.setSendProxy('off')
    const {code, stderr} = await go('rollback', id)
    expect(code, stderr).toBe(0)
    expect(await state()).toEqual(before)
  }

  test('without a kill: so many writes there are', {timeout: 200_000}, async () => {
    const {code, stderr, ...run} = await sending(() => pair.srcipCut({nth: 0, when: 'never'}, ...enable))
    expect(code, stderr).toBe(0)
    writes = run.writes
    expect(writes.some((line) => line.includes('configmaps/ingress-nginx-controller'))).toBe(true)
    await backToTheStart(await pair.lastRun())
  })

  // as many places as the first run has writes; the test before fails when there are more
  describe.each(whens)('%s', (when) => {
    test.each(Array.from({length: 8}, (_, index) => index + 1))(
      'write %i: resume converges, rollback too',
      {timeout: 300_000},
      async (nth) => {
        expect(writes.length).toBeLessThanOrEqual(8)
        if (nth > writes.length) return
        const runs = (await pair.runs()).length
        const {code, stderr} = await sending(() => pair.srcipCut({nth, when}, ...enable))
        expect(code, stderr).toBe('SIGKILL')
        if ((await pair.runs()).length === runs) {
          await current().balancer.setSendProxy('off')
          expect(await state()).toEqual(before)
          return
        }
        const id = await pair.lastRun()
        if (nth % 2 === 0) {
          const resumed = await sending(() => go('resume', id))
          expect(resumed.code, resumed.stderr).toBe(0)
          expect(await state()).toEqual({settings: {'use-proxy-protocol': 'true'}, proxy: 'always'})
          expect([await pair.outside(), await pair.inside()]).toEqual(['200', '200'])
        }
        await backToTheStart(id)
        expect([await pair.outside(), await pair.inside()]).toEqual(['200', '200'])
      },
    )
  })
})
