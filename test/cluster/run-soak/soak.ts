import {readdirSync} from 'node:fs'
import {seeded} from '../../support/random.ts'
import type {Random} from '../../support/random.ts'
import {ingress} from '../run/light-cluster.ts'
import {RunProcess, runOptions} from '../run/run-process.ts'
import {Checker} from './checker.ts'
import {changeIngresses, faults} from './faults.ts'
import type {Fault, Stage} from './faults.ts'
import {startSoakCluster} from './soak-cluster.ts'
import {Storm} from './storm.ts'

export interface SoakOptions {
  readonly seed: number
  readonly seconds: number
  readonly coredns: string
  readonly say: (line: string) => void
}

/** What was done, in figures. */
export interface SoakReport {
  readonly steps: number
  readonly writes: number
  readonly slowestSeconds: number
  readonly memory: readonly number[]
  readonly handles: readonly number[]
}

/** Names that no step takes away: an empty set would be held back by the whole-set rule, and rightly. */
const base = Array.from({length: 20}, (_, index) => `base${index}.example.org`)

/**
 * Faults drawn from the seed until the time is up; after each one everything must come right again.
 * @throws with the step, the seed and the controller's last lines when it does not
 */
export async function soak(options: SoakOptions): Promise<SoakReport> {
  const {seed, seconds, say} = options
  const random = seeded(seed)
  const cluster = await startSoakCluster(options.coredns)
  let run: RunProcess | undefined
  let storm: Storm | undefined
  try {
    for (const [index, host] of base.entries()) await cluster.admin.create(ingress(`base${index}`, [host]))
    storm = await Storm.start()
    run = new RunProcess(
      runOptions({
        kube: {kubeconfig: cluster.kubeconfig},
        families: ['ingress'],
        relistMs: 60_000,
        verifyTimeoutMs: 90_000,
        logLevel: 'info',
      }),
      {POD_NAME: 'srcip-0', NODE_OPTIONS: '--max-semi-space-size=1', MALLOC_ARENA_MAX: '1'},
    )
    const checker = new Checker(cluster, run, storm)
    await checker.converged('start')
    const changing = seeded(seed ^ 0x5eed)
    const stage: Stage = {cluster, run, storm, random, change: (count) => changeIngresses(cluster, changing, count)}
    return await drive(options, stage, checker)
  } catch (error) {
    const last = run?.stderr.split('\n').slice(-40).join('\n') ?? ''
    throw new Error(`${(error as Error).message}\nSRCIP_SEED=${seed}, ${seconds} s\n${last}`, {cause: error})
  } finally {
    await run?.stop('SIGKILL')
    await storm?.stop()
    await cluster.stop()
    say('everything is stopped')
  }
}

async function drive({seconds, say}: SoakOptions, stage: Stage, checker: Checker): Promise<SoakReport> {
  const {run, random} = stage
  const memory: number[] = []
  const handles: number[] = []
  const last = new Map<Fault, number>()
  let slowest = 0
  let steps = 0
  for (const end = Date.now() + seconds * 1000; Date.now() < end;) {
    const fault = drawFault(random, last)
    const began = Date.now()
    last.set(fault, began)
    try {
      await fault.run(stage)
      const took = await checker.converged(fault.name)
      slowest = Math.max(slowest, took)
      memory.push(Math.round(run.rss() / 1024 / 1024))
      handles.push(readdirSync(`/proc/${run.child.pid}/fd`).length)
      say(
        `${++steps}. ${fault.name}: ${((Date.now() - began) / 1000).toFixed(1)} s, right again after ${took.toFixed(1)} s, ` +
          `${memory.at(-1)} MB, ${handles.at(-1)} handles`,
      )
    } catch (error) {
      throw new Error(`step ${steps + 1}, ${fault.name}: ${(error as Error).message}`, {cause: error})
    }
  }
  return {steps, writes: run.count(/^wrote /), slowestSeconds: slowest, memory, handles}
}

/** Any fault that has rested long enough; a replay draws the same as long as its machine keeps pace. */
function drawFault(random: Random, last: ReadonlyMap<Fault, number>): Fault {
  for (;;) {
    const fault = random.pick(faults)
    if (Date.now() - (last.get(fault) ?? -Infinity) >= (fault.restMs ?? 0)) return fault
  }
}
