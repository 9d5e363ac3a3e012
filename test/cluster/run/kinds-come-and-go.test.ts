import {afterAll, beforeAll, expect, test} from 'vitest'
import {API_SERVER_PARTS} from '../bed/index.ts'
import {describeWithParts} from '../bed/suite.ts'
import {gatewayKinds, installGatewayKinds, installTrafficPolicyKind} from './gateway-kinds.ts'
import {ingress, startLightCluster} from './light-cluster.ts'
import type {LightCluster} from './light-cluster.ts'
import {RunProcess, runOptions} from './run-process.ts'

/** Absence is believed after 30 s, and asked about again after 30 to 60 s. */
const waiting = {timeout: 150_000, interval: 250}
const group = '/apis/gateway.networking.k8s.io/v1/namespaces/demo'

await describeWithParts('kinds of the Gateway API that come and go while run is up', API_SERVER_PARTS, () => {
  let cluster: LightCluster
  beforeAll(async () => {
    cluster = await startLightCluster()
  })
  afterAll(() => cluster?.stop())

  /** A Gateway and a route of one name. */
  async function createRoute(name: string): Promise<void> {
    const meta = {namespace: 'demo', name}
    const apiVersion = 'gateway.networking.k8s.io/v1'
    const listeners = [{name: 'http', port: 80, protocol: 'HTTP'}]
    await cluster.admin.request('POST', `${group}/gateways`, {
      apiVersion,
      kind: 'Gateway',
      metadata: meta,
      spec: {gatewayClassName: 'edge', listeners},
    })
    const spec = {parentRefs: [{name}], hostnames: [`${name}.example.org`]}
    await cluster.admin.request('POST', `${group}/httproutes`, {apiVersion, kind: 'HTTPRoute', metadata: meta, spec})
  }

  /** Envoy Gateway's word that a Gateway asks for the PROXY header. */
  async function createPolicy(gateway: string): Promise<void> {
    const apiVersion = 'gateway.envoyproxy.io/v1alpha1'
    const targetRefs = [{group: 'gateway.networking.k8s.io', kind: 'Gateway', name: gateway}]
    await cluster.admin.request('POST', `/apis/${apiVersion}/namespaces/demo/clienttrafficpolicies`, {
      apiVersion,
      kind: 'ClientTrafficPolicy',
      metadata: {namespace: 'demo', name: gateway},
      spec: {targetRefs, proxyProtocol: {}},
    })
  }

  test(
    'fault 6: absent at start, installed, removed, back: other names stay all along, routes appear',
    {timeout: 480_000},
    async () => {
      await cluster.admin.create(ingress('shop', ['shop.example.org']))
      const run = new RunProcess(runOptions({kube: {kubeconfig: cluster.kubeconfig}}))
      try {
        await expect.poll(() => cluster.names(), waiting).toEqual(['shop.example.org'])
        await run.said('source httproutes is not served by this cluster', 90_000)
        await installGatewayKinds(cluster.admin)
        await installTrafficPolicyKind(cluster.admin)
        await createRoute('wiki')
        await createRoute('lan')
        await createPolicy('wiki')
        await expect.poll(() => cluster.names(), waiting).toEqual(['shop.example.org', 'wiki.example.org'])
        // Envoy Gateway's policy names the Gateway `wiki`, so `lan` is of the same class and gets no header.
        await createPolicy('lan')
        await expect
          .poll(() => cluster.names(), waiting)
          .toEqual(['lan.example.org', 'shop.example.org', 'wiki.example.org'])

        const said = run.lines.length
        for (const {metadata} of gatewayKinds()) {
          await cluster.admin.request(
            'DELETE',
            `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${metadata.name}`,
          )
        }
        await run.said('source httproutes is not served any more', 120_000, said)
        expect(await cluster.names()).toContain('shop.example.org')
        await installGatewayKinds(cluster.admin)
        await createRoute('docs')
        await expect
          .poll(() => cluster.names(), waiting)
          .toEqual(expect.arrayContaining(['docs.example.org', 'shop.example.org']))
      } finally {
        expect(await run.stop()).toBe(0)
      }
      expect(run.lines.filter(({level}) => level === 'fatal' || level === 'text')).toEqual([])
    },
  )
})
