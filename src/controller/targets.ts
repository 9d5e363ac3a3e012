import {resources} from '../kube/index.ts'
import type {KubeClient} from '../kube/index.ts'
import type {KubeObject} from '../model/kubernetes.ts'
import type {Published} from './names-guard.ts'
import type {RefusedName} from './output.ts'

/** Addresses of one proxy Service, or why it has none that could be published. */
export type TargetAddresses =
  {readonly addresses: readonly string[]} | {readonly code: string; readonly reason: string; readonly remedy: string}

/** Reads the ClusterIPs of the given Services (`NAMESPACE/NAME`); both families of a dual-stack one. */
export async function readTargets(
  client: Pick<KubeClient, 'find'>,
  targets: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, TargetAddresses>> {
  const found = await Promise.all(
    [...new Set(targets)].map(async (target): Promise<[string, TargetAddresses]> => {
      const [namespace = '', name = ''] = target.split('/')
      return [target, addressesOf(target, await client.find(resources.services, {namespace, name}, {signal}))]
    }),
  )
  return new Map(found)
}

function addressesOf(target: string, service: KubeObject | undefined): TargetAddresses {
  const remedy = 'give the proxy a Service of type ClusterIP'
  if (service === undefined) return {code: 'TargetNotFound', reason: `service/${target} does not exist`, remedy}
  const spec = (service['spec'] ?? {}) as {type?: unknown; clusterIP?: unknown; clusterIPs?: unknown}
  if (spec.type === 'ExternalName') {
    return {code: 'TargetExternalName', reason: `service/${target} is an ExternalName`, remedy}
  }
  const listed = Array.isArray(spec.clusterIPs) ? (spec.clusterIPs as unknown[]) : [spec.clusterIP]
  const addresses = listed.filter((ip): ip is string => typeof ip === 'string' && ip !== '' && ip !== 'None')
  if (addresses.length === 0) return {code: 'TargetNoClusterIP', reason: `service/${target} has no ClusterIP`, remedy}
  return {addresses}
}

/** A name with the addresses that it gets. */
export interface AddressedName extends Published {
  readonly addresses: readonly string[]
}

/** Splits names into those whose target has addresses and those that are refused for it. */
export function withAddresses(
  names: readonly Published[],
  targets: ReadonlyMap<string, TargetAddresses>,
): {taken: AddressedName[]; refused: RefusedName[]} {
  const taken: AddressedName[] = []
  const refused: RefusedName[] = []
  for (const entry of names) {
    const target = targets.get(entry.target)
    if (target === undefined) {
      refused.push({
        name: entry.name,
        code: 'TargetNotFound',
        reason: `${entry.target} is no proxy Service that is known`,
      })
    } else if ('code' in target) {
      refused.push({name: entry.name, code: target.code, reason: target.reason, remedy: target.remedy})
    } else {
      taken.push({...entry, addresses: target.addresses})
    }
  }
  return {taken, refused}
}

/** Proxy Services among the wanted targets and those that stand already: both must be looked up. */
export function targetsOf(targets: readonly string[], published: readonly Published[]): string[] {
  return [...new Set([...targets, ...published.map((entry) => entry.target)])].filter((target) => target.includes('/'))
}
