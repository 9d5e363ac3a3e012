import {readFileSync} from 'node:fs'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {beforeAll, expect, test} from 'vitest'
import type {Plan} from '../../../src/model/plan.ts'
import {
  BED_PARTS,
  bedForSuite,
  describeWithParts,
  OUTSIDE,
  PRODUCT_IMAGE_BY_DIGEST,
  until,
  type Actor,
} from '../bed/index.ts'
import {Pair} from './pair.ts'

interface Load {
  readonly made: number
  readonly failures: readonly {readonly at: number; readonly port: number; readonly reason: string}[]
  readonly ended: Load['failures']
}

/** Starts load on one address; the answer ends it and says what became of it. */
async function loadFrom(actor: Actor, address: string | null): Promise<() => Promise<Load>> {
  const script = fileURLToPath(new URL('load-main.ts', import.meta.url))
  const order = {host: 'shop.example.org', address, ports: [80, 443], perSecond: 50, streams: 5}
  const {child} = await actor.start([process.execPath, script, JSON.stringify(order)])
  let said = ''
  child.stdout?.on('data', (chunk) => (said += String(chunk)))
  await expect.poll(() => said, {timeout: 20_000}).toContain('ready')
  return async () => {
    child.stdin?.end()
    await expect.poll(() => said, {timeout: 20_000}).toMatch(/\}\n$/)
    return JSON.parse(said.trim().split('\n').at(-1) ?? '{}') as Load
  }
}

await describeWithParts('what fails while a pair is switched', BED_PARTS, async () => {
  const current = await bedForSuite({ingress: 'nginx-plain', publicZones: ['example.org'], balancerHardStop: '10m'})
  let pair: Pair
  beforeAll(async () => {
    pair = new Pair(current())
    await pair.start()
    await until(
      'both sides get an answer',
      30,
      async () => `${await pair.outside()} ${await pair.inside()}` === '200 200',
    )
  }, 120_000)

  /** Times of the events of one step, in milliseconds since 1970. */
  const stepTimes = (file: string, step: string): {readonly from: number; readonly until: number} => {
    const events = readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as {type: string; step?: string; time: string})
      .filter((event) => event.step === step)
    const time = (type: string): number => Date.parse(events.find((event) => event.type === type)?.time ?? '')
    return {from: time('step-started'), until: time('step-done')}
  }

  async function switched(operation: 'enable' | 'disable', sends: 'v1' | 'off', ...more: string[]) {
    const bed = current()
    const file = join(bed.folder, `${operation}.jsonl`)
    const flags = ['--no-guard', '--yes', '--wait-manual', '3m', '--events', `jsonl=${file}`, ...more]
    const caller = bed.pod('shop/caller').actor
    if (caller === undefined) throw new Error('the caller does not run')
    const [outside, inside] = [await loadFrom(bed.client, OUTSIDE.balancer), await loadFrom(caller, null)]
    const run = pair.srcip(operation, ...flags)
    await expect.poll(() => readFileSync(file, 'utf8').includes('"step":"balancer"'), {timeout: 120_000}).toBe(true)
    await new Promise((resolve) => setTimeout(resolve, 2000))
    const balancerAt = Date.now()
    await bed.balancer.setSendProxy(sends)
    const {code, stderr} = await run
    expect(code, stderr).toBe(0)
    await new Promise((resolve) => setTimeout(resolve, 3000))
    const replaced = stepTimes(file, 'proxy').from
    return {
      balancerAt,
      replaced,
      receiver: stepTimes(file, 'receiver'),
      outside: await outside(),
      inside: await inside(),
    }
  }

  test.each([
    ['enable', 'v1', ['--image', PRODUCT_IMAGE_BY_DIGEST]],
    ['disable', 'off', ['--settle', '35s']],
  ] as const)(
    '%s: failures only where and when the plan says; streams live on',
    {timeout: 400_000},
    async (operation, sends, more) => {
      const {stdout} = await pair.srcip(operation, '--plan', '--no-guard', '-o', 'json', ...more)
      const cuts = (JSON.parse(stdout) as Plan).orders.flatMap((order) => order.cuts)
      expect(cuts.map(({side, port, from, until}) => `${side} ${port} ${from}-${until}`)).toEqual([
        ...['outside 80 balancer-receiver', 'outside 443 balancer-receiver'],
        ...['inside 80 receiver-receiver', 'inside 443 receiver-receiver'],
      ])
      const seen = await switched(operation, sends, ...more)
      const {balancerAt, receiver, outside, inside} = seen
      for (const load of [outside, inside]) expect(load.made).toBeGreaterThan(500)
      // a connection counts from its first packet: it may have begun just before, and fail because of what came then
      const slack = 300
      const late = outside.failures.filter(({at}) => at < balancerAt - slack || at > receiver.until + slack)
      expect(late, JSON.stringify({balancerAt, receiver})).toEqual([])
      // the bed replaces its packet rules table by table: while pods of the proxy roll, one packet in thousands finds none
      const isBed = ({reason}: {reason: string}): boolean => reason.startsWith('connect ENETUNREACH')
      expect(inside.failures.filter(isBed).length).toBeLessThan(inside.made / 500)
      const own = inside.failures.filter((failure) => !isBed(failure))
      const wrong = own.filter(({at}) => at < receiver.from - slack || at > receiver.from + 2000)
      expect(wrong, JSON.stringify(receiver)).toEqual([])
      expect(outside.ended).toEqual([])
      // streams of pods lead through the proxy, whose pods are replaced: they live for its time to drain (25 s), as the plan says
      const cut = inside.ended.filter(({at}) => operation === 'enable' || at < seen.replaced + 25_000)
      expect(cut, JSON.stringify(seen.receiver)).toEqual([])
    },
  )
})
