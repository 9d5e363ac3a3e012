import {SrcipError} from '../../../src/model/errors.ts'
import type {Published} from '../../../src/controller/names-guard.ts'
import type {Blocked, Output, OutputPlan, OutputView, Proof, RefusedName} from '../../../src/controller/output.ts'

/** An output in memory with a version that writes are conditional on, as a ConfigMap has one. */
export class MemoryOutput implements Output {
  readonly name = 'dns'
  names: readonly Published[] = []
  version = 1
  managers: readonly string[] = []
  blocked: Blocked | undefined
  refuse: (name: Published) => RefusedName | undefined = () => undefined
  /** Runs between plan and write: somebody else's edit, or a failing server. */
  beforeWrite: () => void = () => undefined
  beforeRead: () => void = () => undefined
  proof: () => Promise<Proof> = () => Promise.resolve({verdict: 'done', details: []})
  readonly writes: string[][] = []
  /** How often a write was told that its evidence begins anew. */
  renewed = 0

  edit(names: readonly Published[]): void {
    this.names = names
    this.version++
  }

  read(): Promise<OutputView> {
    this.beforeRead()
    const {names, version} = this
    return Promise.resolve({
      version: `${version} ${this.blocked?.code ?? ''}`,
      published: names,
      object: {apiVersion: 'v1', kind: 'ConfigMap', namespace: 'kube-system', name: 'coredns'},
      managers: () => Promise.resolve(this.managers),
      plan: (wanted) => this.#plan(names, version, wanted),
    })
  }

  #plan(before: readonly Published[], version: number, wanted: readonly Published[]): OutputPlan {
    const refused = wanted.flatMap((entry) => this.refuse(entry) ?? [])
    const published = wanted.filter((entry) => !refused.some(({name}) => name === entry.name))
    const text = (names: readonly Published[]): string =>
      JSON.stringify(names.map(({name, kind, target}) => [name, kind, target]).sort())
    return {
      changes: text(before) !== text(published),
      refused,
      blocked: this.blocked,
      warnings: [],
      published,
      bytes: text(published).length,
      write: () => {
        this.beforeWrite()
        if (this.version !== version) {
          return Promise.reject(
            new SrcipError('Conflict', 'configmap/kube-system/coredns was changed since it was read'),
          )
        }
        this.edit(published)
        this.writes.push(published.map(({name}) => name))
        let mine = this.version
        const proof = this.proof
        return Promise.resolve({
          prove: () => proof(),
          renew: () => {
            this.renewed++
            return Promise.resolve()
          },
          standsAgain: () => {
            mine = this.version
          },
          undo: () => {
            if (this.version !== mine) return Promise.resolve({restored: false, reason: 'was changed'})
            this.edit(before)
            return Promise.resolve({restored: true})
          },
        })
      },
    }
  }
}
