import type {Cell} from '../cell.ts'

/** What happens to a connection without a header while the receiver asks for one. */
export type WithoutHeader =
  /** Cut, or answered with 400. */
  | 'refused'
  /** Taken as it is. */
  | 'tolerated'
  /** Taken from sources that are not listed, refused from those that are. */
  | 'per-source'

/** Where PROXY is switched on a receiver. The readers in this folder know what each means. */
export type ReceiverSetting =
  /** A key of the ConfigMap that the flag names (or, without one, of this ConfigMap). `addresses`: the value is the list of those that must send it. */
  | {
      readonly kind: 'config-map'
      readonly flags: readonly string[]
      readonly fixed?: {readonly namespace: string; readonly name: string}
      readonly key: string
      readonly on: 'true' | 'addresses'
    }
  /** Traefik's static configuration by entry point. */
  | {readonly kind: 'entry-points'}
  /** A flag of the process. */
  | {readonly kind: 'flag'; readonly flag: string}
  /** An environment variable with listen directives, in which this word switches it. */
  | {readonly kind: 'listen-variable'; readonly name: string; readonly word: string}
  /** A custom resource; `resource-readers.ts` has one reader for each. */
  | {
      readonly kind: 'resource'
      readonly resource:
        'NginxProxy' | 'ClientTrafficPolicy' | 'ContourConfiguration' | 'Listener' | 'IngressController'
    }
  /** Istio: annotation of the pods, mesh configuration or an EnvoyFilter. */
  | {readonly kind: 'mesh'}
  /** APISIX: ports in config.yaml. */
  | {readonly kind: 'config-file'}
  /** Nobody says how. */
  | {readonly kind: 'unknown'}

/** Whose header is believed. */
export type TrustRule =
  /** Everybody's who reaches the port. */
  | {readonly kind: 'anyone'}
  /** That of listed ranges. `absent`: what holds without the setting. */
  | {
      readonly kind: 'ranges'
      readonly key: string
      readonly absent: readonly string[] | 'nobody'
    }

export interface ReceiverMatch {
  /** Beginnings of IngressClass spec.controller. */
  readonly ingressControllers: readonly string[]
  /** Beginnings of GatewayClass spec.controllerName. */
  readonly gatewayControllers: readonly string[]
  /** Words in the command or arguments of the container, by the last part of a path. */
  readonly commands: readonly string[]
  /** Parts of image names, `/` in front. */
  readonly images: readonly string[]
  /** Labels of pods or in the Service's selector; each entry is one way to be recognised. */
  readonly labels: readonly Readonly<Record<string, string>>[]
}

/** Everything that is known of one ingress or gateway controller (platforms.md 2). */
export interface ReceiverRow {
  readonly id: string
  readonly title: string
  readonly match: ReceiverMatch
  readonly setting: Cell<ReceiverSetting>
  readonly versions: Cell<readonly ('v1' | 'v2')[]>
  readonly withoutHeader: Cell<WithoutHeader>
  readonly trust: Cell<TrustRule>
  /** Is the switch one for all ports of the receiver? */
  readonly scope: Cell<'all ports' | 'each port'>
  /** What it does with the client's address when the service proxy has translated it: Cilium's Envoy gets it past that. */
  readonly transparent?: Cell<true>
  /** What to set, for a remedy. */
  readonly enable: string
  /** Which setting believes X-Forwarded-For, and from whom. */
  readonly forwarded?: Cell<string>
  readonly traps: readonly Cell<string>[]
}
