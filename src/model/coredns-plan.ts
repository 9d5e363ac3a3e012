import type {SrcipDocument} from './documents.ts'

/** A text that the plan was made from: a ConfigMap key, or a file. */
export interface CorednsSource {
  /** `configmap/NAMESPACE/NAME`; absent for a file. */
  readonly object?: string
  /** Path as given, `-` for stdin; absent for a ConfigMap. */
  readonly file?: string
  readonly key: string
  readonly resourceVersion?: string
}

/** A proxy Service that hosts are pointed at. */
export interface CorednsTarget {
  /** `NAMESPACE/NAME`, or the FQDN where no cluster was asked. */
  readonly name: string
  readonly fqdn: string
  /** The Service was read and is fit. */
  readonly checked: boolean
  readonly addresses: readonly string[]
}

export interface CorednsHost {
  readonly name: string
  readonly kind: 'exact' | 'wildcard-one-label' | 'wildcard-any-depth'
  readonly target: string
  /** How the rule is written: a line of its own, an alternation shared with others, or an anchored pattern. */
  readonly form: 'exact' | 'packed' | 'wildcard'
  readonly block: {readonly keys: readonly string[]; readonly line: number}
}

export interface CorednsRefusal {
  /** `*` where the whole text is refused. */
  readonly name: string
  /** From the closed list of docs/refusals.md. */
  readonly code: string
  readonly reason: string
  readonly line?: number
  readonly remedy: string
}

/** At byte `offset` of the value of `key` in `source`, the bytes `removed` are replaced by `inserted`. */
export interface CorednsEdit {
  readonly source: string
  readonly key: string
  readonly offset: number
  readonly removed: string
  readonly inserted: string
}

/** What `coredns plan` prints, and what `apply` and `clean` act on. */
export interface CorednsPlan extends SrcipDocument {
  readonly kind: 'CorednsPlan'
  readonly sources: readonly CorednsSource[]
  readonly targets: readonly CorednsTarget[]
  readonly coredns: {readonly version: string; readonly clusterDomain: string}
  readonly hosts: readonly CorednsHost[]
  readonly refused: readonly CorednsRefusal[]
  readonly edits: readonly CorednsEdit[]
  readonly hash: {readonly sha512: string | null; readonly unknown: readonly string[]}
}

/** One text before and after; `null` is absent. */
export interface CorednsTextChange {
  readonly source: string
  readonly key: string
  readonly before: string | null
  readonly after: string | null
}

/** What one pod has shown after a write. */
export type PodVerdict = 'done' | 'failed' | 'unconfirmed'

export interface PodProof {
  readonly namespace: string
  readonly name: string
  readonly verdict: PodVerdict
  /** Why it is not done: the log line, the wrong answer, or why it could not be asked. */
  readonly reason?: string
  /** Milliseconds from the write to the proof; only for `done`. */
  readonly afterMs?: number
}

/** `done`: every counting pod is. `failed`: there is evidence against the change. `unconfirmed`: neither. */
export interface DnsProof {
  readonly verdict: PodVerdict
  readonly pods: readonly PodProof[]
}

/** What `coredns apply` and `coredns clean` print when they worked on a cluster. */
export interface CorednsResult extends SrcipDocument {
  readonly kind: 'CorednsResult'
  readonly operation: 'apply' | 'clean'
  readonly dryRun: 'none' | 'client' | 'server'
  readonly plan: CorednsPlan
  /** `proved`: every pod answers so. `unproved`: written, not all pods could be asked. `undone`: put back. `left`: failed and not put back. */
  readonly outcome: 'already-so' | 'planned' | 'proved' | 'unproved' | 'undone' | 'left' | 'refused'
  readonly pods: readonly PodProof[]
}
