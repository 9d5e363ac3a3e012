import type {KubeClient} from '../../kube/index.ts'
import type {CleanupReport} from '../../model/cleanup.ts'
import type {EventSink} from '../../model/events.ts'
import {textDiff} from '../../present/coredns-plan.ts'
import {cleanUp} from '../../workflows/cleanup/clean-up.ts'
import {confirm} from '../terminal.ts'
import {cleanupPorts} from './cluster-ports.ts'
import {assertNoRun} from './open-runs.ts'

/** Flags of `cleanup`, as the parser gives them. */
export interface CleanupFlagValues {
  readonly namespace?: string | undefined
  readonly 'stop-run': boolean
  readonly 'dns-only': boolean
  readonly 'even-in-use': boolean
  readonly settle?: number | undefined
  readonly target?: string | undefined
  readonly 'dns-service'?: string | undefined
  readonly via: 'auto' | 'api' | 'direct'
  readonly 'verify-timeout'?: number | undefined
  readonly repair: boolean
  readonly 'restart-coredns': boolean
  readonly force: boolean
  readonly 'dry-run': 'none' | 'client' | 'server'
  readonly yes: boolean
}

/** A stopped controller gives the Lease back at once; one that was killed keeps it for its 15 s. */
const leaseWaitMs = 60_000

/** `cleanup` on a cluster: find, ask, stop, take out, prove, settle, delete, look again. */
export async function runCleanup(options: {
  readonly client: KubeClient
  readonly flags: CleanupFlagValues
  readonly signal: AbortSignal
  readonly onEvent: EventSink
  readonly say: (line: string) => void
  /** Prints a diff, which is safe for a terminal and may be coloured. */
  readonly sayDiff: (text: string) => void
  readonly color: boolean
}): Promise<CleanupReport> {
  const {client, flags, signal, onEvent, say, sayDiff} = options
  if (!flags['dns-only']) await assertNoRun(client, flags.namespace, {evenInUse: flags['even-in-use'], signal})
  const ports = cleanupPorts({
    client,
    namespace: flags.namespace,
    dnsOnly: flags['dns-only'],
    askServed: !flags['even-in-use'],
    target: flags.target,
    dnsService: flags['dns-service'],
    via: flags.via,
    verifyTimeoutMs: flags['verify-timeout'] ?? 180_000,
    force: flags.force,
    repair: flags.repair,
    restart: flags['restart-coredns'],
    onEvent,
  })
  return await cleanUp(ports, {
    dryRun: flags['dry-run'],
    dnsOnly: flags['dns-only'],
    stopRun: flags['stop-run'],
    evenInUse: flags['even-in-use'],
    settleMs: flags.settle ?? 30_000,
    leaseWaitMs,
    approve: async (traces) => {
      const diff = textDiff(ports.texts(), options.color).trimEnd()
      if (diff !== '') sayDiff(diff)
      if (!flags['dns-only']) for (const object of traces.objects) say(`delete ${object.text}`)
      say(`context ${client.config.context ?? '(none)'}, server ${client.config.server}`)
      return await confirm('take this out of the cluster?', flags)
    },
    signal,
    onEvent,
  })
}
