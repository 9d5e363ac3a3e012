import type {Environment} from '../../plugins/coredns/src/index.ts'
import type {DnsLocation} from '../platforms/dns/locate.ts'
import type {ServiceView} from '../platforms/dns/objects.ts'

/** One text that holds DNS configuration: a key of a ConfigMap, or a file of the caller. */
export interface DnsText {
  /** `configmap/NAMESPACE/NAME`, or `file`. */
  readonly source: string
  /** ConfigMap key, or the file's path (`-` for stdin). */
  readonly key: string
  readonly uid?: string
  readonly resourceVersion?: string
  readonly bytes: Uint8Array
}

/**
 * Everything that planning a change of cluster DNS needs, from one moment, as plain data. It holds for one cluster: a tenant's
 * DNS is another state from another client.
 */
export interface DnsState {
  readonly origin: 'cluster' | 'file'
  readonly corefile: DnsText
  /** `-conf` of the container; base of relative imports and name of the file in CoreDNS' messages. */
  readonly corefilePath: string
  /** Other files of the container by absolute path. The Corefile itself is not among them. */
  readonly files: ReadonlyMap<string, Uint8Array>
  /** Directories whose whole content is known: mounted ConfigMap volumes, also empty ones. */
  readonly directories: ReadonlySet<string>
  readonly env: Environment
  /** CoreDNS release, `1.14.7`. */
  readonly version: string
  readonly versionKnown: boolean
  /** Only for `origin: cluster`. */
  readonly location?: DnsLocation
  /** Services by `NAMESPACE/NAME` that were asked for as targets; a missing one is `undefined`. Absent map: no cluster was asked. */
  readonly services?: ReadonlyMap<string, ServiceView | undefined>
}

/** One write: a key of one ConfigMap. `null` is absent, before or after. Only in memory: `before` is foreign text. */
export interface DnsWrite {
  readonly namespace: string
  readonly configMap: string
  readonly key: string
  readonly before: string | null
  readonly after: string | null
  /** Both absent: the ConfigMap does not exist and is created with this key alone. */
  readonly uid?: string
  readonly resourceVersion?: string
}

/** What a counting pod must answer once the change is in effect. */
export interface DnsProbe {
  /** A name to ask for; for a wildcard some name under it. */
  readonly name: string
  /** `is`: exactly these addresses; `is-not`: none of these (a name that was taken out). */
  readonly expect: 'is' | 'is-not'
  readonly addresses: readonly string[]
}

/** A planned change of cluster DNS: what is written, and what proves it. */
export interface DnsChange {
  readonly writes: readonly DnsWrite[]
  /** SHA-512 that CoreDNS will log for the new text, lower-case hex; null where it cannot be predicted. */
  readonly hash: string | null
  readonly probes: readonly DnsProbe[]
  /** The Corefile reloads by itself; false: only a restart brings the change into effect. */
  readonly reloads: boolean
}

/** A write that was done: the object's new resourceVersion is the precondition of its undoing. */
export interface DoneWrite extends DnsWrite {
  readonly uid: string
  readonly resourceVersion: string
}
