import {addressesOf} from '../../../src/cluster-dns/dns/message.ts'
import {dnsOverTcp} from '../../../src/cluster-dns/dns/connection.ts'
import type {KubeObject} from '../bed/objects.ts'
import type {RunProcess} from '../run/run-process.ts'
import {pause} from './faults.ts'
import {namesIn, withoutOurs} from './soak-cluster.ts'
import type {SoakCluster} from './soak-cluster.ts'
import type {Storm} from './storm.ts'

/** Longer than the slowest way back of the product: a source that was forbidden is asked again within five minutes. */
const convergenceMs = 420_000

/** What must be true after each step. */
export class Checker {
  readonly #cluster: SoakCluster
  readonly #run: RunProcess
  readonly #storm: Storm
  #target: string | undefined
  #revision = 0
  /** The operator's text but for its first line. */
  #foreign: string | undefined

  constructor(cluster: SoakCluster, run: RunProcess, storm: Storm) {
    this.#cluster = cluster
    this.#run = run
    this.#storm = storm
  }

  /**
   * Waits until the names that stand are those that are wanted, and CoreDNS answers so.
   * @returns seconds that it took
   */
  async converged(step: string): Promise<number> {
    const began = performance.now()
    let problem = ''
    for (;;) {
      this.#alive()
      problem = await this.#difference().catch((error: unknown) => {
        if (error instanceof SoakFailure) throw error
        return String(error)
      })
      if (problem === '') return (performance.now() - began) / 1000
      if (performance.now() - began > convergenceMs) throw new Error(`not right again after ${step}: ${problem}`)
      await pause(250)
    }
  }

  /** Empty when all is right. Throws for what no waiting cures. */
  async #difference(): Promise<string> {
    const {admin} = this.#cluster
    const list = () => admin.list<KubeObject>('/apis/networking.k8s.io/v1/namespaces/demo/ingresses')
    const wanted = await wantedNames(list)
    const text = await this.#cluster.corefile()
    this.#foreignBytes(text)
    const found = namesIn(text)
    const lost = wanted.filter((name) => !found.includes(name))
    if (lost.length > 0) return `${lost.length} names are missing, ${lost[0]} among them`
    const extra = found.filter((name) => !wanted.includes(name))
    if (extra.length > 0 && !this.#heldBack()) return `${extra.length} names are still there, ${extra[0]} among them`
    return await this.#answers(wanted)
  }

  /** Every byte outside our block is as the operator left it; only the revision of the first line moves, and upwards. */
  #foreignBytes(text: string): void {
    const rest = withoutOurs(text)
    const revision = Number(/^# kept by the operator, revision (\d+)\n/.exec(rest)?.[1])
    if (!(revision >= this.#revision)) {
      throw new SoakFailure(`an edit of the operator was undone: revision ${revision} after ${this.#revision}`)
    }
    this.#revision = revision
    const constant = rest.replace(/^.*\n/, '')
    this.#foreign ??= constant
    if (constant !== this.#foreign) throw new SoakFailure(`bytes outside our block were changed:\n${text}`)
  }

  async #answers(wanted: readonly string[]): Promise<string> {
    this.#target ??= (
      await this.#cluster.admin.get<{spec: {clusterIP: string}}>('/api/v1/namespaces/srcip/services/srcip-proxy')
    ).spec.clusterIP
    for (const name of [wanted[0], wanted[Math.floor(wanted.length / 2)], wanted.at(-1)]) {
      if (name === undefined) continue
      const connection = await dnsOverTcp('127.0.0.1', this.#cluster.dnsPort)
      const addresses = await connection
        .ask(name, 'A')
        .then((reply) => addressesOf(reply, name))
        .finally(() => connection.close())
      if (!addresses.includes(this.#target)) return `CoreDNS answers ${addresses.join(', ') || 'nothing'} for ${name}`
    }
    return ''
  }

  /** Names that the whole-set rule keeps back are no error, as long as it says so. */
  #heldBack(): boolean {
    const said = this.#run.lines.filter(({msg}) => / names stay: |no name is kept back any more/.test(msg))
    return said.at(-1)?.msg.includes(' names stay: ') === true
  }

  #alive(): void {
    const {child, lines, stderr} = this.#run
    if (child.exitCode !== null || child.signalCode !== null) throw new SoakFailure(`the controller ended:\n${stderr}`)
    const strange = lines.find(({level}) => level === 'fatal' || level === 'text')
    if (strange !== undefined) throw new SoakFailure(`the controller said: ${strange.msg}`)
    if (this.#storm.proxy.exitCode !== null) throw new SoakFailure(`the proxy ended:\n${this.#storm.stderr}`)
    if (/unhandled|uncaught/i.test(this.#storm.stderr)) throw new SoakFailure(`the proxy said:\n${this.#storm.stderr}`)
  }
}

/** Found wrong, whatever happens next. */
export class SoakFailure extends Error {}

/** Hosts of the Ingresses that exist, sorted: what cluster DNS is to hold. */
async function wantedNames(list: () => Promise<readonly KubeObject[]>): Promise<string[]> {
  const hosts = (await list()).flatMap((object) =>
    ((object['spec'] as {rules?: {host?: string}[]}).rules ?? []).flatMap((rule) => rule.host ?? []),
  )
  return [...new Set(hosts)].sort()
}
