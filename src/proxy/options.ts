import type {ProxyVersion} from './header/types.ts'
import type {Cidr} from './trust.ts'

/** What a port of the target speaks, as far as a probe can use it. `tcp`: only that it takes connections. */
export type ProbeKind = 'http' | 'tls' | 'tcp'

/** One `--port SERVICE=LISTEN[,plain][,to=PORT][,probe=http|tls|tcp][,first-byte=off]`. */
export interface PortSpec {
  /** Port of the Service, which clients ask for; it stands in the header and names the port in metrics. */
  readonly service: number
  readonly listen: number
  /** Port of the target. */
  readonly to: number
  readonly sendsHeader: boolean
  readonly probe: ProbeKind
  /** Whether the first-byte limit holds on this port. */
  readonly hasFirstByteLimit: boolean
}

export type Engine = 'node' | 'haproxy'

/** Everything that `srcip proxy` can be told, checked. Times are milliseconds; 0 switches a limit off. */
export interface ProxyOptions {
  readonly to: string
  readonly ports: readonly PortSpec[]
  readonly listenAddress: string
  readonly mode: 'always' | 'auto'
  readonly version: ProxyVersion
  readonly acceptProxy: boolean
  readonly trusted: readonly Cidr[]
  readonly engine: Engine
  readonly haproxy: string
  readonly workers: number
  readonly maxConnections: number
  readonly idleTimeout: number
  readonly firstByteTimeout: number
  readonly connectTimeout: number
  readonly headerTimeout: number
  readonly keepAlive: number
  readonly resolveInterval: number
  readonly probeInterval: number
  readonly probeHost: string
  readonly probeTimeout: number
  readonly drainDelay: number
  readonly drainTimeout: number
  readonly healthAddress: {readonly host: string; readonly port: number} | undefined
}
