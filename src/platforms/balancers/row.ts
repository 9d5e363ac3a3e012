import type {Cell} from '../cell.ts'

/** Version of the PROXY header a sender writes; `some`: nobody says which. */
export type ProxyVersion = 'v1' | 'v2' | 'some'

/**
 * How PROXY is switched on a balancer, as far as the cluster shows it. Keys are annotations of the Service unless said
 * otherwise; a key without `values` does not exist in these forms.
 */
export type ProxySwitch =
  /** One value for the whole Service. `perPort`: the key takes a `.PORT` suffix too. */
  | {
      readonly kind: 'value'
      readonly key: string
      readonly values: Readonly<Record<string, ProxyVersion | 'off'>>
      readonly ignoreCase?: true
    }
  /** A list of ports, or one of the words that mean all of them. */
  | {readonly kind: 'ports'; readonly key: string; readonly all: readonly string[]; readonly version: ProxyVersion}
  /** `NAME=VALUE,…`, where one name switches it. `perPort`: `KEY.PORT` wins for that port. */
  | {
      readonly kind: 'attributes'
      readonly key: string
      readonly name: string
      readonly version: ProxyVersion
      readonly perPort: boolean
    }
  /** JSON by port: `PREFIX` + PORT holds an object with this field. */
  | {readonly kind: 'port-json'; readonly prefix: string; readonly field: string}
  /** One JSON document for the whole balancer, backends by name with this property. */
  | {readonly kind: 'config-json'; readonly key: string; readonly property: string}
  /** A word in a comma-separated list. */
  | {readonly kind: 'word'; readonly key: string; readonly word: string; readonly version: ProxyVersion}
  /** A default of the controller: environment variable of its container; a switch of the Service wins. */
  | {readonly kind: 'environment'; readonly name: string; readonly version: ProxyVersion}

/** What the controller writes into status.loadBalancer.ingress. */
export interface StatusShape {
  readonly entries: 'ip' | 'hostname' | 'ip and hostname' | 'unknown'
  readonly ipMode: 'unset' | 'VIP' | 'Proxy' | 'unknown'
  /** The controller writes this ipMode from that version of itself on. */
  readonly since?: string
  /** Only if every port has PROXY. */
  readonly onlyIfAllPorts?: true
}

/** What tells this balancer. Annotations tell only what somebody wanted; the rest tells what is there. */
export interface BalancerMatch {
  /** Prefixes of Service annotations that this balancer's controller reads. */
  readonly annotations: readonly string[]
  /** Annotations and labels of the Service that only this controller writes. */
  readonly written?: readonly string[]
  /** spec.loadBalancerClass. */
  readonly classes?: readonly string[]
  /** Beginning of spec.providerID of nodes. */
  readonly providerIDs?: readonly string[]
  /** Parts of image names of its controller, `/` in front. */
  readonly images?: readonly string[]
  /** Endings of host names in the status. */
  readonly hostnames?: readonly string[]
}

/** Everything that is known of one balancer (platforms.md 1). */
export interface BalancerRow {
  readonly id: string
  readonly title: string
  /** `cloud`: outside the nodes, made by a cloud controller. `cluster`: the nodes themselves announce the address. `outside`: nothing in the cluster tells. */
  readonly place: 'cloud' | 'cluster' | 'outside'
  /** Rows of one family share nodes and controllers; `among` picks the row (families.ts). */
  readonly family: string
  readonly match: BalancerMatch
  /** Empty: it never writes a header. */
  readonly proxy: Cell<readonly ProxySwitch[]>
  /** What becomes of the client's address when it writes no header. */
  readonly plain: Cell<'kept' | 'translated' | 'depends'>
  readonly status: {readonly off: Cell<StatusShape>; readonly on: Cell<StatusShape>}
  /** Annotation that makes the status a host name only. */
  readonly hostname?: Cell<string>
  /** Annotation that sets ipMode. */
  readonly ipMode?: Cell<string>
  /** Does the switch make the balancer anew, with another address or a gap? `undefined`: nobody says. */
  readonly rebuilt: Cell<boolean | undefined>
  /** What PROXY does to its health checks. */
  readonly healthChecks?: Cell<string>
  readonly traps: readonly Cell<string>[]
}

/** Shapes that many rows share. */
export const shapes = {
  ip: {entries: 'ip', ipMode: 'unset'},
  hostname: {entries: 'hostname', ipMode: 'unset'},
  both: {entries: 'ip and hostname', ipMode: 'unset'},
  vip: {entries: 'ip', ipMode: 'VIP'},
  unknown: {entries: 'unknown', ipMode: 'unknown'},
} as const satisfies Readonly<Record<string, StatusShape>>
