import {SrcipError, exitCodes, type ErrorCode} from '../../../model/errors.ts'
import type {EventSink} from '../../../model/events.ts'
import type {DnsOperation, DnsRules} from '../../../model/plan.ts'
import type {KubeClient} from '../../../kube/index.ts'
import {changeDns} from '../../../workflows/coredns/change-dns.ts'
import type {OperationLook} from '../../../workflows/engine/ports.ts'
import {clusterPorts, loadClusterState, type ClusterPortOptions} from '../../coredns/ports.ts'
import {findProxies} from '../../coredns/wanted.ts'

/** How cluster DNS is reached and how long its pods may take. */
export interface DnsAccess {
  readonly dnsService: string | undefined
  readonly via: 'auto' | 'api' | 'direct'
  readonly verifyTimeoutMs: number
  readonly onEvent: EventSink
}

/** Do the rules stand as the operation wants them? What it would refuse is a reason. */
export async function lookAtDns(
  client: KubeClient,
  {after}: DnsOperation,
  access: DnsAccess,
  signal: AbortSignal,
): Promise<OperationLook> {
  const {planned} = await loadClusterState(optionsFor(client, after, access), signal)
  const {document} = planned
  if (document.exitCode === exitCodes.Precondition || document.exitCode === exitCodes.Conflict)
    return {
      state: 'moved',
      reasons: [...document.warnings, ...document.refused.map((one) => `${one.name}: ${one.code}`)],
    }
  return {state: document.edits.length === 0 ? 'done' : 'todo', reasons: []}
}

/** Makes the rules stand and proves it on every CoreDNS pod, under the lock of cluster DNS; what a pod refuses is put back. */
export async function makeDns(
  client: KubeClient,
  {after}: DnsOperation,
  access: DnsAccess,
  {dryRun, signal}: {readonly dryRun: 'none' | 'server'; readonly signal: AbortSignal},
): Promise<string[]> {
  const ports = clusterPorts(optionsFor(client, after, access))
  const result = await changeDns(ports, {
    operation: after.hosts.length === 0 ? 'clean' : 'apply',
    dryRun,
    approve: async () => true,
    signal,
    onEvent: access.onEvent,
  })
  const codes: Readonly<Record<number, ErrorCode>> = {
    21: 'NeedsAction',
    22: 'CheckFailed',
    23: 'Partial',
    32: 'Precondition',
    33: 'Conflict',
  }
  const code = codes[result.exitCode]
  if (code !== undefined) {
    const pods = result.pods.flatMap((pod) => (pod.reason === undefined ? [] : [`pod/${pod.name}: ${pod.reason}`]))
    throw new SrcipError(code, `cluster DNS: ${[result.outcome, ...result.warnings, ...pods].join('; ')}`)
  }
  return [
    `cluster DNS: ${result.outcome}`,
    ...result.pods.map((pod) => `pod/${pod.namespace}/${pod.name} ${pod.verdict}`),
  ]
}

function optionsFor(client: KubeClient, rules: DnsRules, access: DnsAccess): ClusterPortOptions {
  return {
    client,
    async wanted(signal) {
      const targets = (await findProxies(client, undefined, signal)).map((proxy) => proxy.target)
      return {
        operation: rules.hosts.length === 0 ? 'clean' : 'apply',
        hosts: rules.hosts.map(({name, target}) => ({name, kind: 'exact', target})),
        targets: [...new Set([...targets, ...rules.hosts.map((host) => host.target)])],
        owner: rules.owner,
        allowEmpty: rules.hosts.length === 0,
      }
    },
    dnsService: access.dnsService,
    version: undefined,
    via: access.via,
    verifyTimeoutMs: access.verifyTimeoutMs,
    restart: false,
    onEvent: access.onEvent,
  }
}
