import {parseCorefile} from '../../plugins/coredns/src/index.ts'
import {labelSelectorOf, resources, type CallOptions, type KubeClient} from '../kube/index.ts'
import {describePod, type DnsLocation, type DnsPod} from '../platforms/dns/locate.ts'
import {projectEndpointSlice, projectPod} from '../platforms/dns/objects.ts'
import type {DnsState} from './types.ts'

/** The pods behind the DNS Service as they are now, one list call (two where the Service has no selector). */
export async function listDnsPods(
  client: KubeClient,
  location: DnsLocation,
  call: CallOptions = {},
): Promise<DnsPod[]> {
  const {namespace, service} = location
  if (service.selector !== undefined) {
    const labelSelector = labelSelectorOf(service.selector)
    const {items} = await client.list(resources.pods, {...call, namespace, labelSelector})
    return items.map((item) => describePod(projectPod(item)))
  }
  const [slices, pods] = await Promise.all([
    client.list(resources.endpointSlices, {
      ...call,
      namespace,
      labelSelector: `kubernetes.io/service-name=${service.name}`,
    }),
    client.list(resources.pods, {...call, namespace}),
  ])
  const named = new Set(
    slices.items.flatMap((item) => projectEndpointSlice(item).endpoints.map((endpoint) => endpoint.pod)),
  )
  return pods.items.filter((item) => named.has(item.metadata.name)).map((item) => describePod(projectPod(item)))
}

/** Port of the `prometheus` plugin (default 9153); undefined when no server block loads it. */
export function metricsPortOf(state: DnsState): number | undefined {
  const parsed = parseCorefile(state.corefile.bytes, {
    path: state.corefilePath,
    files: state.files,
    imports: 'unknown',
    env: state.env,
    directives: false,
  })
  for (const block of parsed.blocks) {
    const tokens = block.tokens.get('prometheus')
    if (tokens === undefined) continue
    const port = Number(/:(\d+)$/.exec(tokens[1]?.text ?? '')?.[1] ?? 9153)
    if (Number.isInteger(port) && port > 0 && port < 65_536) return port
  }
  return undefined
}
