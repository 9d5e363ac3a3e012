import type {AdoptedOwner, MarkerOwner, WantedKind} from '../../../plugins/coredns/src/index.ts'

/** A wanted name; `target` is `NAMESPACE/NAME` of a proxy Service, or an FQDN where no cluster is asked. */
export interface PlanHost {
  readonly name: string
  readonly kind: WantedKind
  readonly target: string
}

/** Where lines go: the import key where the block imports one, else the Corefile (`auto`); or one of the two and nothing else. */
export type PlaceMode = 'auto' | 'import' | 'corefile'

/** What a person (or `run`) wants of cluster DNS. The hosts are the whole wanted set. */
export interface CorednsPlanRequest {
  readonly operation: 'apply' | 'clean'
  readonly hosts: readonly PlanHost[]
  /** Wanted names that are none, each with the reason as a clause: `has an empty label`. */
  readonly invalid?: readonly {readonly name: string; readonly reason: string}[]
  /** Proxy Services that are ours, `NAMESPACE/NAME` or FQDN: unmarked lines with their FQDN are ours. */
  readonly targets: readonly string[]
  /** Names that keep their own answer under a wanted wildcard. */
  readonly spared?: readonly string[]
  /** Names whose Ingress leads back to itself, with the circle object by object. */
  readonly circles?: ReadonlyMap<string, readonly string[]>
  readonly owner?: MarkerOwner
  readonly adopt?: readonly AdoptedOwner[]
  readonly wildcards?: boolean
  readonly before?: boolean
  readonly repair?: boolean
  readonly allowEmpty?: boolean
  readonly restartCoredns?: boolean
  /** Write although the owner of the object puts it back. */
  readonly force?: boolean
  /** `import`: only through an import key, `corefile`: only between markers; lines of ours elsewhere move. Default `auto`. */
  readonly mode?: PlaceMode
  readonly clusterDomain?: string
}
