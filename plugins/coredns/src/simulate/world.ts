import type {DnsMessage, Question} from './message.ts'

/** A Service as far as DNS sees it. */
export interface LiveService {
  readonly namespace: string
  readonly name: string
  readonly type: 'ClusterIP' | 'NodePort' | 'LoadBalancer' | 'ExternalName'
  /** All addresses; empty or `['None']` for a headless one. */
  readonly clusterIPs: readonly string[]
  readonly externalName?: string
  readonly ports: readonly ServicePort[]
  /** Ready endpoints. Unknown if absent, which matters for headless Services and endpoint names only. */
  readonly endpoints?: readonly Endpoint[]
}

export interface ServicePort {
  readonly name?: string
  readonly protocol: string
  readonly port: number
}

export interface Endpoint {
  readonly ip: string
  readonly hostname?: string
  /** Name of the Pod, for `endpoint_pod_names`. */
  readonly targetName?: string
  /** Default: the ports of the Service. */
  readonly ports?: readonly ServicePort[]
}

/** The cluster that `kubernetes` sees. */
export interface LiveCluster {
  readonly namespaces: readonly string[]
  readonly services: readonly LiveService[]
  /** For `pods verified` and autopath. Unknown if absent. */
  readonly pods?: readonly {readonly namespace: string; readonly ip: string}[]
}

/** What the answer depends on beside the Corefile. Everything that is absent is unknown, and never guessed. */
export interface World {
  readonly cluster?: LiveCluster
  /** Hosts files by absolute path. */
  readonly hostsFiles?: ReadonlyMap<string, string>
  /** Search list of the node, which autopath appends. */
  readonly nodeSearch?: readonly string[]
  /** What a server that is forwarded to says. In: its addresses as written, the question. Out: its reply, `unreachable`, or undefined for not known. */
  readonly upstream?: (to: readonly string[], question: Question) => DnsMessage | 'unreachable' | undefined
}
