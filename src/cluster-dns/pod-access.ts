import {request as httpRequest} from 'node:http'
import {resources, type KubeClient} from '../kube/index.ts'
import type {DnsPod} from '../platforms/dns/locate.ts'
import {dnsOverStream, dnsOverTcp, type DnsConnection} from './dns/connection.ts'

/** How pods are asked: through the API server, at their own address, or whichever fits where we run. */
export type Via = 'auto' | 'api' | 'direct'

/** Asks one CoreDNS pod. Every call rejects with an Error whose message says in a few words why there is no answer. */
export interface PodAccess {
  /** Text of `/metrics`. */
  metrics(pod: DnsPod, signal?: AbortSignal): Promise<string>
  /** The container's log of the last `sinceSeconds` (rounded up to whole ones), at most 8 MiB, each line with its time in front. */
  log(pod: DnsPod, sinceSeconds: number, signal?: AbortSignal): Promise<string>
  /** A fresh connection to the DNS port; the caller closes it. */
  dns(pod: DnsPod, signal?: AbortSignal): Promise<DnsConnection>
}

export interface PodAccessOptions {
  readonly client: KubeClient
  /** Container that runs CoreDNS. */
  readonly container: string
  readonly dnsPort: number
  /** Port of the `prometheus` plugin; undefined when the Corefile has none. */
  readonly metricsPort: number | undefined
  readonly via: Via
}

/** Milliseconds for one answer of one pod. */
const timeoutMs = 10_000
const logBytes = 8 << 20
const metricsBytes = 8 << 20

/** Access through the API server (needs get of pods/log and pods/proxy, get and create of pods/portforward), or at pod addresses. */
export function createPodAccess(options: PodAccessOptions): PodAccess {
  const {client, container, dnsPort, metricsPort} = options
  const inPod = client.config.source === 'in-cluster'
  const direct = options.via === 'direct' || (options.via === 'auto' && inPod)
  return {
    metrics(pod, signal) {
      if (metricsPort === undefined) return Promise.reject(new Error('the Corefile has no prometheus plugin'))
      return direct
        ? directMetrics(addressOf(pod), metricsPort, signal)
        : proxiedMetrics(client, pod, metricsPort, signal)
    },
    log(pod, sinceSeconds, signal) {
      const range = {sinceSeconds: Math.ceil(sinceSeconds), limitBytes: logBytes, timestamps: true}
      return client.logs({namespace: pod.namespace, name: pod.name}, {container, signal, timeoutMs, ...range})
    },
    async dns(pod, signal) {
      if (direct) return dnsOverTcp(addressOf(pod), dnsPort)
      return dnsOverStream(
        await client.portForward({namespace: pod.namespace, name: pod.name}, dnsPort, {signal, timeoutMs}),
      )
    },
  }
}

function addressOf(pod: DnsPod): string {
  const [address] = pod.ips
  if (address === undefined) throw new Error('the pod has no address')
  return address
}

async function proxiedMetrics(
  client: KubeClient,
  pod: DnsPod,
  port: number,
  signal: AbortSignal | undefined,
): Promise<string> {
  const {body} = await client.request({
    path: `/api/v1/namespaces/${encodeURIComponent(pod.namespace)}/pods/${encodeURIComponent(pod.name)}:${port}/proxy/metrics`,
    maxBytes: metricsBytes,
    accept: 'text/plain',
    timeoutMs,
    signal,
    about: {verb: 'get', resource: resources.pods, subresource: 'proxy', namespace: pod.namespace, name: pod.name},
  })
  return body.toString('utf8')
}

async function directMetrics(address: string, port: number, signal: AbortSignal | undefined): Promise<string> {
  return await new Promise<string>((resolve, reject) => {
    const limit = AbortSignal.timeout(timeoutMs)
    const request = httpRequest(
      {
        host: address,
        port,
        path: '/metrics',
        agent: false,
        signal: signal === undefined ? limit : AbortSignal.any([limit, signal]),
      },
      (response) => {
        const chunks: Buffer[] = []
        let size = 0
        response.on('data', (chunk: Buffer) => {
          size += chunk.length
          if (size > metricsBytes) response.destroy(new Error(`metrics of over ${metricsBytes} bytes`))
          else chunks.push(chunk)
        })
        response.on('error', reject)
        response.on('end', () => {
          if (response.statusCode === 200) resolve(Buffer.concat(chunks).toString('utf8'))
          else reject(new Error(`/metrics answered ${response.statusCode}`))
        })
      },
    )
    request.on('error', reject)
    request.end()
  })
}
