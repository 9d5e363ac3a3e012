import {readdirSync, readFileSync} from 'node:fs'
import {setTimeout as sleep} from 'node:timers/promises'
import type {Random} from '../../support/random.ts'
import {ingressFor, OUTSIDE, type Bed} from '../bed/index.ts'

const corefileMap = {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'coredns', namespace: 'kube-system'}}
const begin = '# === BEGIN srcip'
const end = '# === END srcip'

/** What the soak acts on, and what it knows must be true. */
export interface World {
  readonly bed: Bed
  readonly random: Random
  /** Names that have an Ingress now. */
  readonly wanted: ReadonlySet<string>
  /** Names that had one. */
  readonly gone: ReadonlySet<string>
  editCorefile(edit: (text: string) => string, options?: {readonly ours?: boolean}): Promise<void>
  /** Connections through the proxy, all at once; each answer must be for the one who asked. */
  storm(connections: number): Promise<void>
  changeIngresses(count: number): Promise<void>
  /** Throws when a byte outside of our block is another one than somebody put there. */
  expectForeignBytes(): Promise<void>
  /** Waits until every CoreDNS answers every name as it must; throws with what differs. */
  settle(seconds: number): Promise<void>
  /** Throws when a name that has stood all the time is not answered with the proxy. */
  expectSteadyNames(): Promise<void>
  vitals(): Vitals
}

/** Of the controller's process. */
export interface Vitals {
  readonly megabytes: number
  readonly handles: number
}

/** Names that stay for the whole soak: they may never be lost. */
const steady = ['steady-1.example.org', 'steady-2.example.org', 'steady-3.example.org']

export async function createWorld(bed: Bed, random: Random, proxy: string): Promise<World> {
  const wanted = new Set<string>()
  const gone = new Set<string>()
  let last = 0
  const add = async (name: string): Promise<void> => {
    await insist(() => bed.api.create(ingressFor('shop', name.split('.')[0]!, name, 'shop')))
    wanted.add(name)
    gone.delete(name)
  }
  const remove = async (name: string): Promise<void> => {
    await insist(() => bed.api.delete(ingressFor('shop', name.split('.')[0]!, name, 'shop')))
    wanted.delete(name)
    gone.add(name)
  }
  for (const name of steady) await add(name)
  let foreign = outside(await corefileText(bed))

  const differences = async (): Promise<string[]> => {
    const names = [...wanted].map((name) => [name, proxy] as const)
    const old = [...gone].slice(-20).map((name) => [name, OUTSIDE.balancer] as const)
    const found: string[] = []
    await Promise.all(
      bed.corednsPods().map(async ({key, address}) => {
        for (const [name, goal] of [...names, ...old]) {
          const answer = await bed.resolve(name, {server: address}).catch(() => undefined)
          if (answer?.addresses.join() !== goal)
            found.push(`${key}: ${name} is ${answer?.addresses.join() ?? 'not answered'}, not ${goal}`)
        }
      }),
    )
    return found
  }

  return {
    bed,
    random,
    wanted,
    gone,
    async editCorefile(edit, {ours = false} = {}) {
      await insist(async () => {
        const text = await corefileText(bed)
        const edited = edit(text)
        await bed.api.patch(corefileMap, {data: {Corefile: edited}})
        if (!ours) foreign = outside(edited)
      })
    },
    async storm(connections) {
      const host = random.pick(steady)
      const script = `
        const http = require('http'); let wrong = 0, right = 0, failed = 0, left = ${connections};
        for (let i = 0; i < ${connections}; i++) http.get({host: '${proxy}', port: 80, agent: false, path: '/' + i, headers: {host: '${host}'}, timeout: 10000}, (r) => {
          let text = ''; r.on('data', (c) => (text += c)); r.on('end', () => {
            try { const a = JSON.parse(text); if (r.statusCode === 200 && (a.host !== '${host}' || a.path !== '/' + i || a.client !== process.argv[1])) wrong++; else right++ } catch { failed++ }
            if (--left === 0) console.log(JSON.stringify({wrong, right, failed}))
          })
        }).on('error', () => { failed++; if (--left === 0) console.log(JSON.stringify({wrong, right, failed})) }).on('timeout', function () { this.destroy() })`
      const {address} = bed.pod('shop/caller')
      const {stdout, stderr} = await bed.inPod('shop/caller', [process.execPath, '-e', script, address], {
        timeout: 60_000,
      })
      const {wrong} = JSON.parse(stdout || '{"wrong": -1}') as {wrong: number}
      if (wrong !== 0)
        throw new Error(`${wrong} answers were not for the one who asked: ${stdout}${stderr.slice(-500)}`)
    },
    async changeIngresses(count) {
      for (let change = 0; change < count; change++) {
        const removable = [...wanted].filter((name) => !steady.includes(name))
        if (removable.length > 15 || (removable.length > 0 && random.chance(0.4))) await remove(random.pick(removable))
        else await add(`host-${++last}.example.org`)
      }
    },
    async expectForeignBytes() {
      const now = outside(await insist(() => corefileText(bed)))
      if (now !== foreign)
        throw new Error(`bytes outside of our block changed:\n--- before\n${foreign}\n--- now\n${now}`)
    },
    async settle(seconds) {
      const limit = performance.now() + seconds * 1000
      let left: string[] = []
      while (performance.now() < limit) {
        left = await differences()
        if (left.length === 0) return
        await sleep(500)
      }
      throw new Error(`not settled after ${seconds} s:\n${left.slice(0, 10).join('\n')}`)
    },
    async expectSteadyNames() {
      await Promise.all(
        bed.corednsPods().map(async ({key, address}) => {
          for (const name of steady) {
            // No answer is not a wrong one: the pod may be starting, or the packet lost.
            const answer = await bed.resolve(name, {server: address}).catch(() => undefined)
            if (answer !== undefined && answer.addresses.length > 0 && answer.addresses.join() !== proxy)
              throw new Error(`${key} lost ${name}: ${answer.addresses.join()}`)
          }
        }),
      )
    },
    vitals() {
      const key = [...bed.pods.items.keys()].find((name) => /^srcip\/srcip-[^p]/.test(name)) ?? ''
      const {pid} = bed.pod(key).containers.get('controller')!.inside
      const node = deepest(pid)
      const kilobytes = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${node}/status`, 'utf8'))?.[1] ?? 0)
      return {megabytes: kilobytes / 1024, handles: readdirSync(`/proc/${node}/fd`).length}
    },
  }
}

/** The program at the end of a chain of launchers. */
function deepest(pid: number): number {
  for (;;) {
    const child = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0]
    if (!child) return pid
    pid = Number(child)
  }
}

async function corefileText(bed: Bed): Promise<string> {
  const map = await bed.api.get<{data: {Corefile: string}}>('/api/v1/namespaces/kube-system/configmaps/coredns')
  return map.data.Corefile
}

/** The text without our block. */
function outside(text: string): string {
  const lines = text.split('\n')
  const from = lines.findIndex((line) => line.includes(begin))
  const to = lines.findIndex((line) => line.includes(end))
  return from < 0 || to < 0 ? text : [...lines.slice(0, from), ...lines.slice(to + 1)].join('\n')
}

/** The API may be away for a moment: what a person would do is try again. */
async function insist<T>(act: () => Promise<T>): Promise<T> {
  for (let left = 60; ; left--) {
    try {
      return await act()
    } catch (error) {
      if (left === 0 || /already exists|AlreadyExists/.test(String(error))) throw error
      await sleep(500)
    }
  }
}
