import {resources, type KubeClient} from '../../kube/index.ts'
import type {EventSink} from '../../model/events.ts'
import type {KubeObject} from '../../model/kubernetes.ts'
import type {Plan} from '../../model/plan.ts'
import type {EnginePorts} from '../../workflows/engine/ports.ts'
import type {RunOptions} from '../../workflows/engine/run-plan.ts'
import {confirm} from '../terminal.ts'
import {auditedClient, openAuditLog, withoutSecrets} from './audit-log.ts'
import {enginePorts} from './engine-ports.ts'
import type {RunFlagValues} from './flags.ts'

/** What a command gives to everything that runs a plan. */
export interface RunContext {
  readonly client: KubeClient
  readonly signal: AbortSignal
  readonly onEvent: EventSink
  readonly say: (line: string) => void
  readonly argv: readonly string[]
  readonly toolVersion: string
  /** Shows the plan to the person who is asked. */
  readonly show: (plan: Plan) => void
}

/** Opens everything that a run needs, hands it over, and closes it whatever happens. */
export async function withEngine<T>(
  context: RunContext,
  flags: RunFlagValues,
  place: {readonly namespace: string; readonly recordVersion?: string | undefined; readonly question: string},
  work: (ports: EnginePorts, options: RunOptions) => Promise<T>,
): Promise<T> {
  const {signal, onEvent} = context
  const audit =
    flags['audit-log'] === undefined
      ? undefined
      : openAuditLog(flags['audit-log'], {
          context: context.client.config.context ?? '',
          user: await userOf(context.client, signal),
          arguments: withoutSecrets(context.argv),
        })
  const client = audit === undefined ? context.client : auditedClient(context.client, audit)
  const ports = enginePorts({
    client,
    namespace: place.namespace,
    dns: {dnsService: flags['dns-service'], via: flags.via, verifyTimeoutMs: 180_000, onEvent},
    said: flags.done,
    lockTimeoutMs: flags['lock-timeout'] ?? 0,
    audit,
    recordVersion: place.recordVersion,
  })
  const options: RunOptions = {
    dryRun: flags['dry-run'],
    manualWaitMs: flags['wait-manual'] ?? 0,
    signal,
    onEvent,
    async approve(plan) {
      if (!flags.yes) context.show(plan)
      context.say(`context ${client.config.context ?? '(none)'}, server ${client.config.server}`)
      return await confirm(place.question, flags)
    },
  }
  try {
    return await work(ports, options)
  } finally {
    ports.close()
    audit?.close()
  }
}

/** Who the API server takes us for (KEP-3325); an old server or a missing right leaves it open. */
async function userOf(client: KubeClient, signal: AbortSignal): Promise<string> {
  try {
    const review = await client.create<KubeObject>(
      {
        ...{group: 'authentication.k8s.io', version: 'v1', namespaced: false},
        ...{plural: 'selfsubjectreviews', kind: 'SelfSubjectReview'},
      },
      {apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview', metadata: {} as KubeObject['metadata']},
      {signal},
    )
    const {userInfo} = (review['status'] ?? {}) as {readonly userInfo?: {readonly username?: string}}
    return userInfo?.username ?? ''
  } catch {
    signal.throwIfAborted()
    return ''
  }
}

/** The identity of a cluster: the uid of its namespace kube-system. */
export async function clusterUid(client: KubeClient, signal: AbortSignal): Promise<string> {
  const {metadata} = await client.get<KubeObject>(resources.namespaces, {name: 'kube-system'}, {signal})
  return metadata.uid ?? ''
}
