import type {KubeFlags} from '../kube/index.ts'
import type {LogFormat, LogLevel} from './log.ts'

/** `auto`: the import key where the block imports a mounted glob, else the Corefile. */
export type WriteTo = 'auto' | 'corefile' | 'import' | 'hosts' | 'external-dns'

/** Everything that a person sets for `srcip run`; the command fills it from flags and environment. */
export interface RunOptions {
  readonly kube: KubeFlags
  readonly version: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** `NAMESPACE/NAME` of the only proxy Service; undefined: those with our label in the own namespace. */
  readonly target: string | undefined
  readonly proxyNamespace: string | undefined
  readonly families: readonly ('ingress' | 'gateway')[]
  readonly requiredSources: readonly string[]
  readonly ingressClasses: readonly string[]
  readonly hosts: readonly string[]
  readonly exclude: readonly string[]
  readonly wildcards: boolean
  readonly before: boolean
  readonly writeTo: readonly WriteTo[]
  /** File of the output `hosts`. */
  readonly hostsPath: string
  readonly externalDns: {
    readonly as: 'endpoint' | 'service'
    readonly name: string
    /** Absent: the own namespace. */
    readonly namespace?: string | undefined
    readonly ttl?: number | undefined
    readonly labels: readonly string[]
    readonly annotations: readonly string[]
  }
  /** `NAMESPACE/NAME` of the DNS Service where there are several. */
  readonly dnsService: string | undefined
  readonly via: 'auto' | 'api' | 'direct'
  readonly owner: 'srcip' | 'ouroboros'
  readonly allowEmpty: boolean
  readonly relistMs: number
  readonly verifyTimeoutMs: number
  readonly healthAddress: string
  readonly once: boolean
  readonly dryRun: boolean
  readonly logLevel: LogLevel
  readonly logFormat: LogFormat
}

/** What the process gives: where log lines go, and when to end. */
export interface RunProcess {
  readonly signal: AbortSignal
  readonly writeLog: (line: string) => void
}
