import type {KubeObject, ObjectMeta} from '../../model/kubernetes.ts'
import {microTime} from './micro-time.ts'
import type {LeaseHolder} from './types.ts'

/** `spec` of a Lease; `strategy` and `preferredHolder` of coordinated leader election are carried along untouched. */
export interface LeaseSpec {
  readonly holderIdentity?: string | null
  readonly leaseDurationSeconds?: number | null
  readonly acquireTime?: string | null
  readonly renewTime?: string | null
  readonly leaseTransitions?: number | null
  readonly [other: string]: unknown
}

export interface LeaseObject extends KubeObject {
  readonly metadata: ObjectMeta
  readonly spec?: LeaseSpec
}

/** Who holds it, by the record alone; undefined for nobody. */
export function holderOf(lease: LeaseObject): LeaseHolder | undefined {
  const {holderIdentity, leaseDurationSeconds, acquireTime, renewTime, leaseTransitions} = lease.spec ?? {}
  if (typeof holderIdentity !== 'string' || holderIdentity === '') return undefined
  return {
    identity: holderIdentity,
    durationSeconds: leaseDurationSeconds ?? 0,
    transitions: leaseTransitions ?? 0,
    ...(typeof acquireTime === 'string' ? {acquireTime} : {}),
    ...(typeof renewTime === 'string' ? {renewTime} : {}),
  }
}

/** What has to stay the same for a holder to count as silent. */
export function fingerprint(lease: LeaseObject): string {
  const {holderIdentity, leaseDurationSeconds, acquireTime, renewTime, leaseTransitions} = lease.spec ?? {}
  return JSON.stringify([holderIdentity, leaseDurationSeconds, acquireTime, renewTime, leaseTransitions])
}

/** A Lease as we create it. */
export function newLease(
  settings: {
    namespace: string
    name: string
    labels: Readonly<Record<string, string>>
    identity: string
    durationSeconds: number
  },
  wallMs: number,
): LeaseObject {
  const {namespace, name, labels, identity, durationSeconds} = settings
  const time = microTime(wallMs)
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: {namespace, name, labels},
    spec: {
      holderIdentity: identity,
      leaseDurationSeconds: durationSeconds,
      acquireTime: time,
      renewTime: time,
      leaseTransitions: 0,
    },
  }
}

/** The record with us as its holder: a renewal when it is ours already, else a take-over, which counts as a transition. */
export function heldBy(lease: LeaseObject, identity: string, durationSeconds: number, wallMs: number): LeaseObject {
  const spec = lease.spec ?? {}
  const time = microTime(wallMs)
  const ours = spec.holderIdentity === identity
  const before = spec.leaseTransitions ?? 0
  return {
    ...lease,
    spec: {
      ...spec,
      holderIdentity: identity,
      leaseDurationSeconds: durationSeconds,
      acquireTime: ours ? (spec.acquireTime ?? time) : time,
      renewTime: time,
      leaseTransitions: ours ? before : before + 1,
    },
  }
}

/** The record given back: nobody holds it, and whoever looks may take it a second later at the latest. */
export function released(lease: LeaseObject, wallMs: number): LeaseObject {
  const time = microTime(wallMs)
  return {
    ...lease,
    spec: {...lease.spec, holderIdentity: '', leaseDurationSeconds: 1, acquireTime: time, renewTime: time},
  }
}
