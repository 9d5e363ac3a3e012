import type {Random} from '../../support/random.ts'
import {ingress} from '../run/light-cluster.ts'
import type {RunProcess} from '../run/run-process.ts'
import type {SoakCluster} from './soak-cluster.ts'
import type {Storm} from './storm.ts'

/** What a fault may touch. */
export interface Stage {
  readonly cluster: SoakCluster
  readonly run: RunProcess
  readonly storm: Storm
  readonly random: Random
  /** Changes Ingresses at the pace of 200 a minute; failures of an API server that is away do not count. */
  readonly change: (count: number) => Promise<void>
}

export interface Fault {
  readonly name: string
  /** Not again before this long: the product stays away from a writer who keeps at it, and so it should. */
  readonly restMs?: number
  run(stage: Stage): Promise<void>
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

const revision = /^# kept by the operator, revision (\d+)$/m
const bindings = (stage: Stage, kind: string) => stage.cluster.rights.filter((object) => object.kind === kind)

/** Takes rights away for a while, with changes meanwhile, and gives them back. */
async function withoutRights(stage: Stage, kind: string): Promise<void> {
  const {admin, gate} = stage.cluster
  const taken = bindings(stage, kind)
  for (const object of taken) await admin.delete(object)
  gate.cut()
  await stage.change(15)
  for (const {apiVersion, kind: same, metadata, ...rest} of taken) {
    const {name, namespace} = metadata
    const kept = namespace === undefined ? {name} : {name, namespace}
    await admin.create({apiVersion, kind: same, metadata: kept, ...rest})
  }
}

async function behindGate(stage: Stage, mode: 'refuse' | 'freeze', ms: number, changes: number): Promise<void> {
  stage.cluster.gate.set(mode)
  await Promise.all([pause(ms), stage.change(changes)])
  stage.cluster.gate.set('pass')
}

export const faults: readonly Fault[] = [
  {name: 'changes alone', run: (stage) => stage.change(30)},
  {
    name: 'API server restarted',
    async run(stage) {
      await stage.change(10)
      await Promise.all([stage.cluster.api.restart(), stage.change(10)])
    },
  },
  {name: 'API server refuses', run: (stage) => behindGate(stage, 'refuse', 1000 + stage.random.below(9000), 20)},
  {name: 'bytes lost', run: (stage) => behindGate(stage, 'freeze', 1000 + stage.random.below(12_000), 20)},
  {
    name: 'connections cut',
    async run(stage) {
      for (let cuts = 1 + stage.random.below(5); cuts > 0; cuts--) {
        stage.cluster.gate.cut()
        await stage.change(5)
      }
    },
  },
  {
    name: 'etcd compacted while away',
    async run(stage) {
      const {gate, api} = stage.cluster
      gate.set('refuse')
      await stage.change(20)
      await api.compact()
      await api.restart()
      gate.set('pass')
    },
  },
  {
    name: 'edit outside our block',
    async run(stage) {
      for (let edits = 1 + stage.random.below(3); edits > 0; edits--) {
        const write = stage.cluster.edit((text) =>
          text.replace(revision, (_, number: string) => `# kept by the operator, revision ${Number(number) + 1}`),
        )
        await Promise.all([write, stage.change(8)])
      }
    },
  },
  {
    name: 'names taken out by an edit',
    restMs: 230_000,
    async run(stage) {
      await stage.cluster.edit((text) => text.replace(/^[ \t]*# === BEGIN srcip [^]*?=== END srcip ===.*\n/m, ''))
      await stage.change(5)
    },
  },
  {
    name: 'markers damaged and mended',
    restMs: 60_000,
    async run(stage) {
      let end = ''
      const line = /^.*# === END srcip ===.*\n/m
      await stage.cluster.edit((text) => {
        end = line.exec(text)?.[0] ?? ''
        return text.replace(line, '')
      })
      if (end === '') return
      await stage.change(12)
      await stage.cluster.edit((text) => text.replace(/((?:^.*rewrite name .*\n)+)/m, (rules) => rules + end))
    },
  },
  {
    name: 'CoreDNS restarted',
    run: async (stage) => void (await Promise.all([stage.cluster.coredns.restart(), stage.change(10)])),
  },
  {name: 'right to read taken away', restMs: 90_000, run: (stage) => withoutRights(stage, 'ClusterRoleBinding')},
  {name: 'right to write taken away', restMs: 90_000, run: (stage) => withoutRights(stage, 'RoleBinding')},
  {
    name: 'storm through the proxy',
    async run(stage) {
      const size = () => stage.random.below(256 * 1024)
      await Promise.all([stage.storm.blow(100, size, false), stage.change(10)])
    },
  },
  {
    name: 'storm while the target restarts',
    async run(stage) {
      const {storm, random} = stage
      const blowing = storm.blow(100, () => random.below(256 * 1024), true)
      await pause(random.below(60))
      await storm.stopTarget()
      await Promise.all([blowing, stage.change(5)])
      await storm.startTarget()
      await storm.blow(5, () => random.below(4096), false)
    },
  },
]

const pool = 90

/** Creates, changes and deletes Ingresses; `base` ones stay, so that the set is never empty. */
export async function changeIngresses(cluster: SoakCluster, random: Random, count: number): Promise<void> {
  for (let done = 0; done < count; done++) {
    const index = random.below(pool)
    const name = `i${index}`
    const hosts = [`shop${index}.example.org`, `v${random.below(40)}.shop${index}.example.org`]
    const wanted = ingress(name, hosts.slice(0, 1 + random.below(2)))
    const change = random.chance(0.35) ? cluster.admin.delete(wanted) : cluster.admin.apply(wanted)
    // Deleted already, or an API server that is away: the truth is asked for before it is compared.
    await Promise.all([change.catch(() => undefined), pause(300)])
  }
}
