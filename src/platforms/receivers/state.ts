import type {Grade} from '../../model/doctor.ts'
import type {KubeObject} from '../../model/kubernetes.ts'
import type {SnapshotIndex} from '../../model/snapshot.ts'
import type {Runner} from '../workloads.ts'
import type {TcpService} from './tcp-services.ts'
import type {RecognisedReceiver} from './recognise.ts'
import type {ReceiverRow, TrustRule, WithoutHeader} from './row.ts'

/** Where a setting was seen. */
export interface Seen {
  readonly object: string
  readonly field: string
  readonly value: string
}

/** Whose header a receiver believes on one port, now. */
export type Trust =
  | {readonly kind: 'anyone'}
  | {readonly kind: 'ranges'; readonly ranges: readonly string[]; readonly byDefault: boolean; readonly key: string}
  | {readonly kind: 'nobody'; readonly key: string}
  | {readonly kind: 'unknown'; readonly key: string}

/** What a receiver does on one port. */
export interface ReceiverState {
  /** Does it read a PROXY header? `some`: its pods differ. */
  readonly asks: 'yes' | 'no' | 'some' | 'unknown'
  readonly withoutHeader: WithoutHeader
  readonly versions: readonly ('v1' | 'v2')[]
  readonly trust: Trust
  readonly seen: readonly Seen[]
  readonly grade: Grade
  readonly sources: readonly string[]
  readonly check?: string
  /** What changes where the switch goes on, in ways that the row does not say. */
  readonly whenOn: Pick<Found, 'withoutHeader' | 'versions' | 'trust'>
  /** Whose X-Forwarded-For is believed; undefined: nobody's, or not known. */
  readonly forwarded?: Trust
  /** The receiver itself shows another address than that of the connection while PROXY is off. */
  readonly loopback: boolean
  /** The port is a TCP service of ingress-nginx: a connection of its own to something else. */
  readonly tcpService?: TcpService
  /** Things to say whatever the verdict is: keys that do nothing, another ConfigMap than the one that looks like it. */
  readonly notes: readonly string[]
}

/** What the readers get to see. */
export interface ReceiverQuestion {
  readonly index: SnapshotIndex
  readonly row: ReceiverRow
  readonly receiver: RecognisedReceiver
  readonly service: KubeObject
  readonly runners: readonly Runner[]
  /** Everything that runs in the namespace of the Service. */
  readonly neighbours: readonly Runner[]
  readonly port: number
  readonly portName: string
  /** Port inside the pod; undefined when it is a name that no container has. */
  readonly targetPort: number | undefined
}

/** What a reader found: the switch, and the list where the receiver has one. */
export interface Found {
  readonly asks: ReceiverState['asks']
  readonly seen: readonly Seen[]
  /** Only where it differs from the row. */
  readonly withoutHeader?: WithoutHeader
  readonly versions?: readonly ('v1' | 'v2')[]
  readonly trust?: Trust
  readonly grade?: Grade
  /** Where a rule that the row does not hold is written. */
  readonly source?: string
  readonly check?: string
  readonly whenOn?: Pick<Found, 'withoutHeader' | 'versions' | 'trust'>
  readonly forwarded?: Trust
  readonly loopback?: boolean
  readonly tcpService?: TcpService
  readonly notes?: readonly string[]
}

/** The trust of a row where the list stands in `value`; undefined: the setting is not there. */
export function trustFrom(rule: TrustRule, value: string | undefined): Trust {
  if (rule.kind === 'anyone') return {kind: 'anyone'}
  if (value !== undefined) {
    const ranges = value.split(/[\s,]+/).filter((word) => word !== '')
    return ranges.length === 0
      ? {kind: 'nobody', key: rule.key}
      : {kind: 'ranges', ranges, byDefault: false, key: rule.key}
  }
  return rule.absent === 'nobody'
    ? {kind: 'nobody', key: rule.key}
    : {kind: 'ranges', ranges: rule.absent, byDefault: true, key: rule.key}
}
