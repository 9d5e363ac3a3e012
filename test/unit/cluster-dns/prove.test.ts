import {describe, expect, it} from 'vitest'
import type {DnsReply} from '../../../src/cluster-dns/dns/message.ts'
import {readBaseline} from '../../../src/cluster-dns/observe.ts'
import type {PodAccess} from '../../../src/cluster-dns/pod-access.ts'
import {proveChange, type ProveOptions} from '../../../src/cluster-dns/prove.ts'
import type {DnsProbe} from '../../../src/cluster-dns/types.ts'
import type {DnsPod} from '../../../src/platforms/dns/locate.ts'
import {jumpClock} from '../../support/jump-clock.ts'

const newHash = 'ab'.repeat(64)
const oldHash = 'cd'.repeat(64)
const clusterIP = '10.96.5.5'
const probe: DnsProbe = {name: 'shop.example.org', expect: 'is', addresses: [clusterIP]}

/** A CoreDNS pod as its outside looks; functions of the seconds since the write. */
interface Pod {
  name?: string
  counting?: (t: number) => boolean
  metrics?: (t: number) => string
  log?: (t: number) => string
  answers?: (t: number, name: string) => string[]
  rcode?: (t: number) => string
}

const metricsText = (hash: string, failed: number) =>
  `# HELP x y\ncoredns_reload_failed_total ${failed}\ncoredns_reload_version_info{hash="sha512",value="${hash}"} 1\n`

function after(seconds: number, pod: Pod = {}): Pod {
  return {
    metrics: (t) => metricsText(t >= seconds ? newHash : oldHash, 0),
    log: (t) => (t >= seconds ? `[INFO] plugin/reload: Running configuration SHA512 = ${newHash}\n` : ''),
    answers: (t) => (t >= seconds ? [clusterIP] : ['203.0.113.9']),
    ...pod,
  }
}

async function prove(pods: readonly Pod[], options: Partial<ProveOptions> = {}, clock = jumpClock()) {
  const named = pods.map((pod, index) => ({...pod, name: pod.name ?? `coredns-${index}`}))
  const seconds = () => clock.now() / 1000
  const find = (pod: DnsPod) => named.find((entry) => entry.name === pod.name)!
  const speak = <T>(value: T | undefined, what: string): T => {
    if (value === undefined) throw new Error(`${what} is forbidden`)
    return value
  }
  const access: PodAccess = {
    metrics: async (pod) => speak(find(pod).metrics, 'pods/proxy')(seconds()),
    log: async (pod) => speak(find(pod).log, 'pods/log')(seconds()),
    dns: async (pod) => {
      const answers = speak(find(pod).answers, 'pods/portforward')
      return {
        ask: async (name): Promise<DnsReply> => ({
          rcode: find(pod).rcode?.(seconds()) ?? 'NOERROR',
          truncated: false,
          answers: answers(seconds(), name).map((data) => ({name, type: 'A', ttl: 30, data})),
        }),
        close: () => {},
      }
    },
  }
  const list = async () =>
    named.map((pod): DnsPod => ({
      namespace: 'kube-system',
      name: pod.name,
      ips: [],
      counting: pod.counting?.(seconds()) ?? true,
    }))
  const baseline = options.baseline ?? (await readBaseline(access, await list()))
  return await proveChange({
    access,
    pods: list,
    hash: newHash,
    probes: [probe],
    baseline,
    writtenAt: 0,
    clock,
    ...options,
  })
}

describe('proving a change on every pod', () => {
  it('is done when each has the hash, a quiet counter and the right answer', async () => {
    const proof = await prove([after(30), after(75)])
    expect(proof).toEqual({
      verdict: 'done',
      pods: [
        {namespace: 'kube-system', name: 'coredns-0', verdict: 'done', afterMs: 30_000},
        {namespace: 'kube-system', name: 'coredns-1', verdict: 'done', afterMs: 76_000},
      ],
    })
  })

  it('does not take the answer of one pod for all', async () => {
    const proof = await prove([after(10), after(1000)])
    expect(proof.verdict).toBe('failed')
    expect(proof.pods[1]).toMatchObject({
      verdict: 'failed',
      reason: 'answers 203.0.113.9 for shop.example.org instead of 10.96.5.5',
    })
  })

  it('fails at once when the counter rose, although the metric carries the new hash already', async () => {
    const refused = after(1000, {metrics: (t) => metricsText(t >= 20 ? newHash : oldHash, t >= 20 ? 3 : 2)})
    const clock = jumpClock()
    const proof = await prove([refused, after(1000)], {}, clock)
    expect(proof.pods[0]?.reason).toBe('coredns_reload_failed_total rose from 2 to 3')
    expect(clock.now()).toBe(20_000)
  })

  it('fails on the log line of a refused Corefile', async () => {
    const line =
      '[WARNING] plugin/reload: Corefile parse failed: /etc/coredns/Corefile:9 - Error during parsing: Unknown directive'
    const proof = await prove([after(1000, {log: (t) => (t >= 8 ? `${line}\u001b[31m\n` : '')})])
    expect(proof).toMatchObject({
      verdict: 'failed',
      pods: [{reason: expect.stringContaining('Unknown directive?[31m')}],
    })
  })

  it('does not blame the change for a refusal that stood in the log before it', async () => {
    const old = '2026-01-01T00:00:00.1Z [ERROR] plugin/reload: Corefile changed but reload failed: an earlier text\n'
    const good = after(10)
    const proof = await prove([{...good, log: (t) => old + good.log!(t)}])
    expect(proof.verdict).toBe('done')
    const again = old.replace('00.1Z', '09.1Z')
    const bad = await prove([after(1000, {log: (t) => old + (t >= 9 ? again : '')})])
    expect(bad.pods[0]?.reason).toBe(
      'its log says: [ERROR] plugin/reload: Corefile changed but reload failed: an earlier text',
    )
  })

  it('never calls a pod done that could not be asked, and has no evidence against it either', async () => {
    const mute: Pod = {}
    const proof = await prove([after(10), mute])
    expect(proof.verdict).toBe('unconfirmed')
    expect(proof.pods[1]).toMatchObject({
      verdict: 'unconfirmed',
      reason: 'DNS could not be asked: pods/portforward is forbidden',
    })
  })

  it('does not take a right answer for done when neither hash nor log could be read', async () => {
    const {answers} = after(10)
    const proof = await prove([{answers: answers!}])
    expect(proof.pods[0]).toMatchObject({
      verdict: 'unconfirmed',
      reason: 'neither metrics (pods/proxy is forbidden) nor log (pods/log is forbidden) could be read',
    })
  })

  it('takes the log for the hash where metrics are forbidden, and the other way round', async () => {
    const {log, metrics, answers} = after(10)
    expect((await prove([{log: log!, answers: answers!}])).verdict).toBe('done')
    expect((await prove([{metrics: metrics!, answers: answers!}])).verdict).toBe('done')
  })

  it('does not trust the metric alone when the counter before the write is unknown', async () => {
    const {metrics, answers} = after(10)
    expect((await prove([{metrics: metrics!, answers: answers!}], {baseline: new Map()})).verdict).toBe('unconfirmed')
  })

  it('waits for a pod that appears meanwhile and forgets one that goes', async () => {
    const leaving = after(1000, {name: 'old', counting: (t) => t < 20})
    const coming = after(40, {name: 'new', counting: (t) => t >= 20, metrics: () => 'coredns_reload_failed_total 0\n'})
    const proof = await prove([leaving, coming])
    expect(proof.pods.map((pod) => [pod.name, pod.verdict])).toEqual([['new', 'done']])
  })

  it('after a restart waits for the pods that started before it to be gone', async () => {
    const old = after(0, {name: 'old', counting: (t) => t < 30})
    const stale = new Set(['kube-system/old'])
    const proof = await prove([old, after(0, {name: 'new'})], {stale, hash: null})
    expect(proof.pods.map((pod) => [pod.name, pod.verdict])).toEqual([['new', 'done']])
    const stuck = await prove([after(0, {name: 'old'}), after(0, {name: 'new'})], {stale, hash: null})
    expect(stuck.pods[0]).toMatchObject({verdict: 'unconfirmed', reason: 'has not been replaced by the restart yet'})
  })

  it('reads a restarted process anew: its counter starts at zero', async () => {
    const proof = await prove([after(30, {metrics: (t) => metricsText(t >= 30 ? newHash : oldHash, t >= 30 ? 0 : 4)})])
    expect(proof.verdict).toBe('done')
  })

  it('proves nothing without a pod', async () => {
    const proof = await prove([after(0, {counting: () => false})])
    expect(proof).toMatchObject({verdict: 'unconfirmed', pods: [{reason: 'no pod behind the DNS Service is Ready'}]})
  })

  it('goes by the answers where the hash cannot be predicted', async () => {
    const {log, answers} = after(10)
    expect((await prove([{log: log!, answers: answers!}], {hash: null})).verdict).toBe('done')
  })

  it('proves an absence: none of our addresses, whatever else comes back', async () => {
    const gone: DnsProbe = {name: 'shop.example.org', expect: 'is-not', addresses: [clusterIP]}
    const removed = after(20, {
      answers: (t) => (t >= 50 ? [] : [clusterIP]),
      rcode: (t) => (t >= 50 ? 'SERVFAIL' : 'NOERROR'),
    })
    const proof = await prove([removed], {probes: [gone]})
    expect(proof.pods[0]).toMatchObject({verdict: 'done', afterMs: 50_000})
  })

  it('keeps asking while a pod syncs after its reload (SERVFAIL)', async () => {
    const syncing = after(10, {rcode: (t) => (t < 16 ? 'SERVFAIL' : 'NOERROR')})
    expect((await prove([syncing])).pods[0]).toMatchObject({verdict: 'done', afterMs: 16_000})
  })

  it('survives an API server that cannot list pods for a while', async () => {
    const clock = jumpClock()
    let failures = 0
    const list = async (): Promise<DnsPod[]> => {
      if (clock.now() < 60_000) {
        failures++
        throw new Error('connection refused')
      }
      return []
    }
    const proof = await prove([], {pods: list, baseline: new Map()}, clock)
    expect(failures).toBeGreaterThan(5)
    expect(proof.verdict).toBe('unconfirmed')
  })

  it('ends at once when it is interrupted', async () => {
    const controller = new AbortController()
    const clock = jumpClock()
    clock.after(0, () => controller.abort(new Error('stop')))
    await expect(prove([after(1000)], {signal: controller.signal}, clock)).rejects.toThrow('stop')
  })

  it('asks only for answers when nothing was written', async () => {
    const {answers} = after(0)
    const proof = await prove([{answers: answers!}], {writtenAt: undefined})
    expect(proof.verdict).toBe('done')
  })
})
