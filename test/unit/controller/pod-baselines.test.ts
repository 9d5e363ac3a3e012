import {expect, test} from 'vitest'
import type {PodAccess} from '../../../src/cluster-dns/pod-access.ts'
import {PodBaselines} from '../../../src/controller/pod-baselines.ts'
import type {DnsPod} from '../../../src/platforms/dns/locate.ts'
import {systemClock} from '../../../src/kube/index.ts'

const pod = (name: string) =>
  ({namespace: 'kube-system', name, ips: ['192.0.2.1'], counting: true}) as unknown as DnsPod
const never = new AbortController().signal

/** One pod answers with what `failed` says, all others say nothing until they are told to stop. */
function access(answering: string, failed: () => number): PodAccess {
  const silence = (signal: AbortSignal | undefined) =>
    new Promise<never>((_, reject) => {
      signal?.addEventListener('abort', () => reject(new Error('stopped')), {once: true})
    })
  return {
    metrics: (asked, signal) =>
      asked.name === answering ? Promise.resolve(`coredns_reload_failed_total ${failed()}\n`) : silence(signal),
    log: (asked, _, signal) => (asked.name === answering ? Promise.resolve('') : silence(signal)),
    dns: () => Promise.reject(new Error('not asked here')),
  }
}

test('a silent pod has no baseline and is waited for once; counters are read anew each time', async () => {
  const baselines = new PodBaselines(systemClock)
  let failed = 1
  const pods = [pod('a'), pod('b')]
  baselines.sound(() => access('a', () => failed), pods, never)
  failed = 4
  const first = await baselines.read(
    access('a', () => failed),
    pods,
    never,
  )
  expect([...first].map(([id, {failedTotal}]) => [id, failedTotal])).toEqual([['kube-system/a', 4]])
  const start = performance.now()
  await baselines.read(
    access('a', () => failed),
    pods,
    never,
  )
  // A pod that was asked with the full limit would take three seconds.
  expect(performance.now() - start).toBeLessThan(2500)
  const both = await baselines.read(
    access('b', () => 7),
    pods,
    never,
  )
  expect([...both.keys()]).toEqual(['kube-system/b'])
})

test('the end of the process ends the question', async () => {
  const end = new AbortController()
  const reading = new PodBaselines(systemClock).read(
    access('a', () => 0),
    [pod('b')],
    end.signal,
  )
  end.abort(new Error('shutting down'))
  await expect(reading).rejects.toThrow('shutting down')
})
