import type {CorednsSource} from './coredns-plan.ts'
import type {SrcipDocument} from './documents.ts'

/** One server block as `coredns show` tells of it. */
export interface CorednsBlock {
  readonly keys: readonly string[]
  /** Empty for the Corefile itself, else the imported file the block stands in. */
  readonly file: string
  readonly line: number
  /** Directives in the order in which CoreDNS runs them. */
  readonly plugins: readonly string[]
  readonly imports: readonly string[]
  readonly rewrites: readonly CorednsRewrite[]
}

/** A rewrite rule in the order in which it is tried. */
export interface CorednsRewrite {
  readonly file: string
  readonly line: number
  readonly text: string
  readonly owner: 'srcip' | 'ouroboros' | 'other'
}

/** What `coredns show` prints. */
export interface CorednsShow extends SrcipDocument {
  readonly kind: 'CorednsShow'
  readonly sources: readonly CorednsSource[]
  readonly coredns: {
    readonly version: string
    readonly clusterDomain: string
    readonly image?: string
    readonly corefile: string
  }
  readonly reload: boolean
  readonly hash: {readonly sha512: string | null; readonly unknown: readonly string[]}
  readonly blocks: readonly CorednsBlock[]
  /** Only on a cluster. */
  readonly service?: string
  readonly owner?: {readonly title: string; readonly evidence: readonly string[]; readonly lasts: string}
  readonly nodeLocalDns?: {readonly daemonSet: string; readonly addresses: readonly string[]}
  readonly pods?: readonly {readonly name: string; readonly counting: boolean; readonly reason?: string}[]
}

/** What one pod answered. */
export interface PodAnswer {
  readonly pod: string
  readonly rcode?: string
  readonly answers: readonly string[]
  /** Why there is no answer. */
  readonly error?: string
}

/** What `coredns query` prints: the simulation and, on a cluster, every pod's own answer. */
export interface CorednsQuery extends SrcipDocument {
  readonly kind: 'CorednsQuery'
  readonly name: string
  readonly type: string
  readonly simulated: {
    readonly block?: {readonly keys: readonly string[]; readonly line: number}
    readonly rules: readonly {
      readonly line: number
      readonly file: string
      readonly text: string
      readonly outcome: string
    }[]
    /** The name as the plugins behind rewrite see it. */
    readonly seen?: string
    readonly answeredBy?: {readonly plugin: string; readonly line: number; readonly why: string}
    readonly rcode?: string
    readonly answers: readonly string[]
    /** Why no reply could be told. */
    readonly unknown?: string
    readonly notes: readonly string[]
  }
  readonly pods: readonly PodAnswer[]
}

export interface CorednsFinding {
  /** Stable: `CF001`. */
  readonly id: string
  readonly severity: 'error' | 'warning' | 'info'
  readonly title: string
  /** Empty for the Corefile itself, else the imported file. */
  readonly file: string
  /** 1-based; 0 where the whole file is meant. */
  readonly line: number
  /** 1-based, in characters; 0 where only the line is known. */
  readonly column: number
  readonly message: string
  readonly remedy: string
}

/** What `coredns lint` prints; exit code 22 when a finding is an error. */
export interface CorednsLint extends SrcipDocument {
  readonly kind: 'CorednsLint'
  readonly sources: readonly CorednsSource[]
  readonly coredns: {readonly version: string}
  readonly findings: readonly CorednsFinding[]
}
