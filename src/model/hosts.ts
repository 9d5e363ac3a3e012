/** How much of the DNS tree a host entry stands for: Ingress wildcards span one label, Gateway API wildcards any depth. */
export type HostKind = 'exact' | 'wildcard-one-label' | 'wildcard-any-depth'

/** A name that in-cluster clients should find at the proxy. `name` is lower case, A-label form, no final dot; wildcards start with `*.`. */
export interface Host {
  readonly name: string
  readonly kind: HostKind
  /** Proxy Service as `NAMESPACE/NAME`, or an FQDN where no cluster is asked. */
  readonly target: string
  readonly ports: readonly number[]
  /** `kind/namespace/name` of what asked for it, or `flag`, `file:PATH`. */
  readonly sources: readonly string[]
}

/** A name (or object without one) that was left out, and why. */
export interface ExcludedHost {
  readonly name: string
  readonly reason: string
  readonly source: string
}

/** The whole wanted set, in a deterministic order (by name, then kind, then target). */
export interface HostSet {
  readonly hosts: readonly Host[]
  readonly excluded: readonly ExcludedHost[]
}
