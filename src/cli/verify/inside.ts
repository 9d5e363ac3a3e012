import {labelSelectorOf, resources, type KubeClient} from '../../kube/index.ts'
import {SrcipError} from '../../model/errors.ts'
import type {VerifyCheck, VerifyReport} from '../../model/verify.ts'
import {projectPod, projectService, type PodView, type ServiceView} from '../../platforms/dns/objects.ts'
import {ask, connectionCheck, dnsChecks, type AskOptions} from '../../verify/index.ts'
import {queryDns, type ReadFlagValues} from '../coredns/read-command.ts'
import {findProxies} from '../coredns/wanted.ts'
import {askOptions, reportOf, type AskFlagValues} from './outside.ts'

/** Flags of `verify inside`, as the parser gives them. */
export interface InsideFlagValues extends ReadFlagValues, AskFlagValues {
  readonly via: 'auto' | 'api' | 'direct'
  readonly path: string
}

/**
 * `verify inside`: asks every CoreDNS pod for the name, then every ready pod of the proxy for the page, each on a fresh connection
 * that runs through the API server (needs pods/portforward). TLS is used on the Service's port 443.
 */
export async function proveInside(
  host: string,
  flags: InsideFlagValues,
  client: KubeClient,
  signal: AbortSignal,
): Promise<VerifyReport> {
  if (flags.filename !== undefined) throw new SrcipError('Usage', 'verify asks a cluster, not a file')
  const services = await proxyServices(client, flags.target, signal)
  const query = await queryDns(host, 'A', flags, async () => client, signal)
  const options = await askOptions(flags, signal)
  const dns = dnsChecks(
    query.pods.map(({pod, answers, rcode, error}) => ({
      pod: `pod/${pod}`,
      addresses: answers.flatMap((line) => (/ A (\S+)$/.exec(line)?.[1] ? [/ A (\S+)$/.exec(line)![1]!] : [])),
      rcode,
      error,
    })),
    services.flatMap(({clusterIPs}) => clusterIPs.filter((ip) => !ip.includes(':'))),
  )
  const connections: VerifyCheck[] = []
  for (const service of services) {
    const pods = await podsOf(client, service, signal)
    for (const pod of pods) connections.push(...(await askPod(client, service, pod, query.name, flags.path, options)))
  }
  const isSilent = services.length > 0 && connections.length === 0
  return reportOf(
    [...dns, ...connections],
    [...query.warnings, ...(isSilent ? ['the proxy has no ready pod: no connection could be tried'] : [])],
  )
}

async function proxyServices(
  client: KubeClient,
  target: string | undefined,
  signal: AbortSignal,
): Promise<ServiceView[]> {
  const proxies = await findProxies(client, target, signal)
  const found = await Promise.all(
    proxies.map(async ({target: key}) => {
      const [namespace = '', name = ''] = key.split('/')
      return name === '' ? undefined : client.find(resources.services, {namespace, name}, {signal})
    }),
  )
  return found.flatMap((object) => (object === undefined ? [] : [projectService(object)]))
}

async function podsOf(client: KubeClient, service: ServiceView, signal: AbortSignal): Promise<PodView[]> {
  const {selector, metadata} = service
  if (selector === undefined || metadata.namespace === undefined) return []
  const labelSelector = labelSelectorOf(selector)
  const pods = await client.list(resources.pods, {namespace: metadata.namespace, labelSelector, signal})
  return pods.items.map(projectPod).filter(({ready}) => ready)
}

async function askPod(
  client: KubeClient,
  service: ServiceView,
  pod: PodView,
  host: string,
  path: string,
  options: AskOptions,
): Promise<VerifyCheck[]> {
  const {namespace = '', name} = pod.metadata
  const key = {namespace, name}
  return Promise.all(
    service.ports
      .filter(({port, protocol}) => protocol === 'TCP' && (port === 443 || port === 80))
      .map(async ({port, targetPort}) => {
        const listening = portIn(pod, targetPort ?? port)
        const open = () => client.portForward(key, listening, {signal: options.signal, timeoutMs: options.timeout})
        const reply = await ask(open, {secure: port === 443, host, port, path}, options)
        return connectionCheck(`pod/${namespace}/${name} port ${port}`, reply)
      }),
  )
}

/** A named target port is a container port of the pod. */
function portIn(pod: PodView, target: number | string): number {
  if (typeof target === 'number') return target
  const all = pod.spec.containers.flatMap(({ports}) => ports)
  return all.find(({name}) => name === target)?.containerPort ?? 0
}
