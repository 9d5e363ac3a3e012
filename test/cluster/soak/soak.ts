import {proxyObjects, rights, runObjects} from '../../../scripts/demo/product-objects.ts'
import {seeded} from '../../support/random.ts'
import {applicationObjects, callerPod, until, type Bed} from '../bed/index.ts'
import {faults, type Fault} from './faults.ts'
import {createWorld, type Vitals, type World} from './world.ts'

export interface SoakOptions {
  readonly seconds: number
  readonly seed: number
  /** Told each step before it happens. */
  readonly say: (line: string) => void
}

export interface SoakResult {
  readonly steps: number
  readonly changes: number
  readonly faults: Readonly<Record<string, number>>
  readonly before: Vitals
  readonly after: Vitals
}

/** Ingress changes of one step; with steps of a few seconds this is over 200 a minute. */
const changesAStep = 25
/** Seconds that everything may take to be in step again on a busy machine. */
const settleSeconds = 150
/** Megabytes and handles that the controller may grow by. */
const growth = {megabytes: 60, handles: 40}

/**
 * Random faults with a checker behind each: no name lost, none kept that has gone, no foreign byte touched, no connection mixed up,
 * nothing unhandled, memory and handles flat. Throws at the first thing that does not hold, with the seed.
 */
export async function soak(bed: Bed, options: SoakOptions): Promise<SoakResult> {
  const {seconds, seed, say} = options
  const random = seeded(seed)
  const world = await prepare(bed, random)
  const end = performance.now() + seconds * 1000
  const counts: Record<string, number> = {}
  let steps = 0
  let before: Vitals | undefined
  // Each fault once in an order of its own, then at random.
  const order = shuffled(faults, (limit) => random.below(limit))
  while (performance.now() < end) {
    const fault = order[steps] ?? random.pick(faults)
    say(`step ${steps}: ${fault.name}`)
    await step(world, fault).catch((error: Error) => {
      throw new Error(`seed ${seed}, step ${steps}, ${fault.name}: ${error.message}`, {cause: error})
    })
    counts[fault.name] = (counts[fault.name] ?? 0) + 1
    steps++
    before ??= world.vitals()
  }
  const after = world.vitals()
  before ??= after
  if (after.megabytes > before.megabytes + growth.megabytes || after.handles > before.handles + growth.handles)
    throw new Error(`seed ${seed}: the controller grew from ${JSON.stringify(before)} to ${JSON.stringify(after)}`)
  await expectQuietLogs(bed)
  return {steps, changes: steps * changesAStep, faults: counts, before, after}
}

async function prepare(bed: Bed, random: World['random']): Promise<World> {
  for (const name of ['shop', 'srcip']) await bed.create({apiVersion: 'v1', kind: 'Namespace', metadata: {name}})
  await bed.create(...applicationObjects('shop', 'shop'), callerPod('shop', 'caller'))
  for (const object of [...rights(), ...proxyObjects(), ...runObjects()]) await bed.api.apply(object)
  await bed.waitReady('shop')
  await bed.waitReady('srcip')
  const {spec} = await bed.api.get<{spec: {clusterIP: string}}>('/api/v1/namespaces/srcip/services/srcip-proxy')
  const world = await createWorld(bed, random, spec.clusterIP)
  await world.settle(settleSeconds)
  await until('the pod gets through', 60, async () => world.storm(1).then(() => true))
  return world
}

async function step(world: World, fault: Fault): Promise<void> {
  const changes = world.changeIngresses(changesAStep)
  await fault.happen(world)
  if (fault.breaksNames !== true) await world.expectSteadyNames()
  await changes
  if (fault.breaksNames !== true) await world.expectSteadyNames()
  await world.settle(settleSeconds)
  await world.expectForeignBytes()
  await world.storm(10)
}

/** Neither program was restarted by itself, and neither has lost an error. */
async function expectQuietLogs(bed: Bed): Promise<void> {
  for (const key of [...bed.pods.items.keys()].filter((name) => name.startsWith('srcip/'))) {
    const log = await bed.podLog(key)
    const found = /unhandled|uncaught|TypeError|ReferenceError|heap out of memory/i.exec(log)
    if (found !== null) throw new Error(`${key} logged ${log.slice(Math.max(0, found.index - 200), found.index + 300)}`)
    for (const {restart} of bed.pod(key).containers.values()) if (restart > 0) throw new Error(`${key} was restarted`)
  }
}

function shuffled<T>(list: readonly T[], below: (limit: number) => number): T[] {
  const left = [...list]
  const order: T[] = []
  while (left.length > 0) order.push(...left.splice(below(left.length), 1))
  return order
}
