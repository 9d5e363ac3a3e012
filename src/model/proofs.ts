import type {FieldValue, PlanObject, PlanProof} from './plan.ts'

/** A port that is probed: what a receiver does with a connection that has, or has not, a PROXY header. */
export interface ReceiverPort {
  /** Container port for pods, listening port elsewhere. */
  readonly port: number
  /** Where `port` is the balancer's: the container port of the receiver behind it. */
  readonly podPort?: number
  readonly tls: boolean
  /** Name that is asked for (Host, SNI). */
  readonly host: string
}

interface Titled {
  /** What holds when it is proved, in words. */
  readonly title: string
}

/** The field has the value. */
export interface FieldProof extends Titled {
  readonly proof: 'field'
  readonly object: PlanObject
  readonly path: readonly string[]
  readonly equals: FieldValue
}

/** The object is not there, finalizers and all. */
export interface GoneProof extends Titled {
  readonly proof: 'gone'
  readonly object: PlanObject
}

/** The Deployment has rolled out: its generation is observed, as many pods as wanted are updated and available, no older one is left. */
export interface DeploymentProof extends Titled {
  readonly proof: 'deployment'
  readonly namespace: string
  readonly name: string
}

/** No pod with these labels is left, terminating ones count. */
export interface NoPodsProof extends Titled {
  readonly proof: 'no-pods'
  readonly namespace: string
  readonly selector: Readonly<Record<string, string>>
}

/** Every counting CoreDNS pod answers each host with the ClusterIP of the proxy Service (`proxy`), or with anything but that. */
export interface DnsProof extends Titled {
  readonly proof: 'dns'
  readonly hosts: readonly {readonly name: string; readonly target: string}[]
  readonly answer: 'proxy' | 'other'
}

/**
 * Every pod behind these labels treats fresh connections on each port so: `header` required (plain is cut, a header is taken),
 * refused (plain is taken, a header is not), either. The first `discard` connections to a port do not count.
 */
export interface ReceiverProof extends Titled {
  readonly proof: 'receiver'
  readonly namespace: string
  readonly selector: Readonly<Record<string, string>>
  readonly ports: readonly (ReceiverPort & {readonly header: 'required' | 'refused' | 'either'})[]
  readonly discard?: number
}

/** Fresh connections from here to the address of the balancer get an HTTP answer of the application, not a refusal. */
export interface OutsideProof extends Titled {
  readonly proof: 'outside'
  readonly addresses: readonly string[]
  readonly ports: readonly ReceiverPort[]
}

/**
 * What the balancer sends now, seen from its connections: the logs of the receiver's pods since the run looked first, and fresh
 * connections from here. `sends` is what has to be seen.
 */
export interface BalancerProof extends Titled {
  readonly proof: 'balancer'
  readonly sends: 'v1' | 'v2' | 'header' | 'plain'
  readonly addresses: readonly string[]
  readonly ports: readonly ReceiverPort[]
  readonly namespace: string
  readonly selector: Readonly<Record<string, string>>
}

/** A connection through the proxy's own pods gets an HTTP answer on each port. */
export interface ThroughProxyProof extends Titled {
  readonly proof: 'through-proxy'
  readonly namespace: string
  readonly selector: Readonly<Record<string, string>>
  readonly ports: readonly ReceiverPort[]
}

/**
 * A HelmRelease has done its work: `requestedAt` handled where one was set, the generation observed, Ready for the right reason, and
 * the values it has say so.
 */
export interface HelmReleaseProof extends Titled {
  readonly proof: 'helm-release'
  readonly namespace: string
  readonly name: string
  readonly requestedAt?: string
  readonly values?: readonly {readonly path: readonly string[]; readonly equals: FieldValue}[]
  /** A message that will not go away by waiting. */
  readonly neverWith?: string
}

/** A person has said so on the command line: flag `--done STEP`. */
export interface SaidProof extends Titled {
  readonly proof: 'said'
  readonly step: string
}

/** Nothing but time: caches that may hold an old answer. */
export interface SettleProof extends Titled {
  readonly proof: 'settle'
  readonly seconds: number
}

/** Every proof that a plan may hold; readers in src/cli/workflow/proofs. */
export type Proof =
  | FieldProof
  | GoneProof
  | DeploymentProof
  | NoPodsProof
  | DnsProof
  | ReceiverProof
  | OutsideProof
  | BalancerProof
  | ThroughProxyProof
  | HelmReleaseProof
  | SaidProof
  | SettleProof

/** A proof as plans hold it: their schema keeps proofs open, this union closes them. */
export function asProof(proof: Proof): PlanProof {
  return proof
}
