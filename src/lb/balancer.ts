/** Programs that `lb render` writes configuration for. */
export const balancers = ['haproxy', 'nginx', 'envoy'] as const
export type Balancer = (typeof balancers)[number]

/** Which PROXY header goes in front of each connection; `off` for the time before and after. */
export const headers = ['v1', 'v2', 'off'] as const
export type Header = (typeof headers)[number]

/** Where one port leads. */
export interface Backend {
  readonly name: string
  readonly address: string
  readonly port: number
}

export interface BalancerPort {
  /** The port that clients come to. */
  readonly port: number
  readonly backends: readonly Backend[]
}

/** Everything that a configuration is made of. */
export interface BalancerSpec {
  readonly ports: readonly BalancerPort[]
  readonly header: Header
  /** Address to listen on; undefined means every address of both families. */
  readonly listen: string | undefined
  /** Milliseconds that a connection may be silent, and that opening one may take. */
  readonly idleTimeout: number
  readonly connectTimeout: number
  /**
   * `spec.healthCheckNodePort` of a Service with externalTrafficPolicy Local: kube-proxy answers there over plain HTTP, 200 on nodes
   * that have a pod and 503 on the others, which drop what comes to the node port.
   */
  readonly nodeHealthPort: number | undefined
}
