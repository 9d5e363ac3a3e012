import {beforeAll, expect, test} from 'vitest'
import {proxyObjects, rights, runObjects} from '../../../scripts/demo/product-objects.ts'
import {applicationObjects, BED_PARTS, bedForSuite, callerPod, describeWithParts, ingressFor} from '../bed/index.ts'
import type {KubeObject} from '../bed/index.ts'

const host = 'shop.example.org'
const namespace = 'ingress-nginx'

/**
 * The proxy as `enable` and the chart make it for a strict receiver: its target is a headless Service, so that it follows single pods,
 * and one of its ports is another one inside the pod.
 */
await describeWithParts('run and a proxy that follows pods by a headless Service', BED_PARTS, async () => {
  const current = await bedForSuite({ingress: 'nginx-plain', publicZones: ['example.org']})

  /** Statuses of fresh connections of a pod, by the cluster's own DNS, which leads to the proxy. */
  async function inside(port: number, times = 1): Promise<string[]> {
    const argv = ['curl', '-s', '-m', '5', '-o', '/dev/null', '-w', '%{http_code}', `http://${host}:${port}/`]
    const all: string[] = []
    for (let call = 0; call < times; call++) all.push((await current().inPod('shop/caller', argv)).stdout)
    return all
  }
  /** Each port follows by probes of its own, a quarter of a second apart. */
  const settled = async (port: number) =>
    await expect.poll(() => inside(port, 5), {timeout: 60_000}).toEqual(Array<string>(5).fill('200'))
  const settings = async (value: string) =>
    await current().api.patch(
      {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'ingress-nginx-controller', namespace}},
      {data: {'use-proxy-protocol': value}},
    )

  beforeAll(async () => {
    const bed = current()
    await bed.create(
      {apiVersion: 'v1', kind: 'Namespace', metadata: {name: 'shop'}},
      ...applicationObjects('shop', 'shop'),
      ingressFor('shop', 'shop', host, 'shop'),
      callerPod('shop', 'caller'),
      {apiVersion: 'v1', kind: 'Namespace', metadata: {name: 'srcip'}},
    )
    const service = await bed.api.get<KubeObject & {spec: {selector: Record<string, string>}}>(
      `/api/v1/namespaces/${namespace}/services/ingress-nginx-controller`,
    )
    const headless: KubeObject = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {namespace, name: 'ingress-endpoints'},
      spec: {clusterIP: 'None', selector: service.spec.selector, ports: [{name: 'http', port: 80}]},
    }
    for (const object of [...rights(), headless, ...proxyOverPods(), ...runObjects()]) await bed.api.apply(object)
    for (const each of ['shop', 'srcip', namespace]) await bed.waitReady(each)
  })

  test(
    'plain, then with the header, then two pods: every call of a pod gets through, on the port that differs too',
    {timeout: 180_000},
    async () => {
      // The balancer has no such port: who gets an answer there came through the proxy.
      await settled(8000)
      await settled(80)

      await settings('true')
      await expect.poll(refusesPlain, {timeout: 30_000}).toBe(true)
      await settled(8000)
      await settled(80)

      const ingress: KubeObject = {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: {namespace, name: 'ingress-nginx-controller'},
      }
      await current().api.patch(ingress, {spec: {replicas: 2}})
      await current().waitReady(namespace)
      await expect.poll(podsServed, {timeout: 60_000, interval: 1000}).toBe(2)
      expect(await inside(8000, 10)).toEqual(Array<string>(10).fill('200'))

      await settings('false')
      await expect.poll(refusesPlain, {timeout: 30_000}).toBe(false)
      await settled(8000)
      await settled(80)
    },
  )

  /** A connection that goes straight to an ingress pod, without a header. */
  async function refusesPlain(): Promise<boolean> {
    const [address = ''] = await ingressAddresses()
    const argv = ['curl', '-s', '-m', '5', '-o', '/dev/null', '-w', '%{http_code}', '-H', `host: ${host}`]
    return (await current().inPod('shop/caller', [...argv, `http://${address}/`])).stdout !== '200'
  }

  async function ingressAddresses(): Promise<string[]> {
    const pods = await current().api.list<KubeObject & {status?: {podIP?: string}}>(
      `/api/v1/namespaces/${namespace}/pods`,
    )
    return pods.flatMap(({status}) => status?.podIP ?? [])
  }

  /** Ingress pods that have answered the host since they started. */
  async function podsServed(): Promise<number> {
    await inside(8000, 4)
    const keys = current().pods.items.values()
    const logs = await Promise.all(
      [...keys]
        .filter(({metadata}) => metadata.namespace === namespace)
        .map(async ({metadata}) => await current().podLog(`${namespace}/${metadata.name}`)),
    )
    return logs.filter((log) => log.includes(host)).length
  }
})

/** The demo's proxy, over pods, with a Service port that is 80 inside the pod. */
function proxyOverPods(): KubeObject[] {
  const text = JSON.stringify(proxyObjects())
    .replace(
      '--to=ingress-nginx-controller.ingress-nginx.svc.cluster.local',
      '--to=ingress-endpoints.ingress-nginx.svc',
    )
    .replace('"--port=443=8443"', '"--port=8000=8090,to=80,probe=http"')
    .replace('--send-proxy=always', '--send-proxy=auto')
    .replace('"name":"https","port":443,"targetPort":8443', '"name":"other","port":8000,"targetPort":8090')
    .replace('{"containerPort":8443}', '{"containerPort":8090}')
  return JSON.parse(text) as KubeObject[]
}
