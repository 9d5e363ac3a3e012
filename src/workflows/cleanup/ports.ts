import type {CleanedObject} from '../../model/cleanup.ts'
import type {CorednsResult} from '../../model/coredns-plan.ts'

/** One object that carries our label, or one of the exact names of docs/cleanup.md. */
export interface OwnObject {
  /** `kind/namespace/name`. */
  readonly text: string
  /** Value of the label srcip.dev/component. */
  readonly component: string
  /** `NAMESPACE/NAME` of the Helm release that owns it. */
  readonly release?: string
  /** Deployments of the controller only. */
  readonly replicas?: number
  /** It publishes names, to ExternalDNS: goes with the lines in cluster DNS, before the proxies. */
  readonly isRecord?: boolean
}

/** A name of ours in cluster DNS that leads to a proxy with ready endpoints: pods are served by it now. */
export interface ServedProxy {
  readonly service: string
  readonly readyEndpoints: number
}

/** What was found, and what taking it out of DNS would write. */
export interface Traces {
  readonly objects: readonly OwnObject[]
  /** The plan of DNS; nothing was written. */
  readonly dns: CorednsResult
  readonly lines: number
  readonly served: readonly ServedProxy[]
  /** The Lease of cluster DNS, when its object exists. */
  readonly lease?: {readonly text: string; readonly holder?: string}
}

/** The Lease of cluster DNS, held by us. */
export interface HeldLock {
  /** Aborts when it is lost. */
  readonly signal: AbortSignal
  release(): Promise<void>
}

/** What cleaning up needs from outside. */
export interface CleanupPorts {
  /** Reads everything of ours, once. Throws 30, 31 or 32 from the cluster. */
  find(signal: AbortSignal): Promise<Traces>
  /** Scales a controller Deployment to 0; `server` only checks. */
  stop(deployment: OwnObject, dryRun: 'none' | 'server', signal: AbortSignal): Promise<void>
  /** Takes the Lease of cluster DNS, waiting up to `waitMs` for a live holder to go; throws 33 naming the holder. */
  lock(waitMs: number, signal: AbortSignal): Promise<HeldLock>
  /** Takes our lines out and proves it on every CoreDNS pod; the lock is held. */
  cleanDns(dryRun: 'none' | 'server', signal: AbortSignal): Promise<CorednsResult>
  sleep(ms: number, signal: AbortSignal): Promise<void>
  /** Deletes exactly the object that was found, and waits until it is gone. Never throws for one object. */
  remove(object: OwnObject, dryRun: 'none' | 'server', signal: AbortSignal): Promise<CleanedObject>
  /** Deletes the Lease unless somebody has taken it meanwhile. */
  removeLease(signal: AbortSignal): Promise<CleanedObject | undefined>
}
