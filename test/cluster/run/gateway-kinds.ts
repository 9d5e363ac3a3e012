import type {ApiClient} from '../bed/api-client.ts'
import type {KubeObject} from '../bed/objects.ts'

const kinds: readonly (readonly [kind: string, plural: string])[] = [
  ['Gateway', 'gateways'],
  ['ListenerSet', 'listenersets'],
  ['HTTPRoute', 'httproutes'],
  ['GRPCRoute', 'grpcroutes'],
  ['TLSRoute', 'tlsroutes'],
]

/** The kinds of the Gateway API with names and version of the standard channel and an open schema. */
export function gatewayKinds(version = 'v1'): KubeObject[] {
  return kinds.map(([kind, plural]) => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${plural}.gateway.networking.k8s.io`,
      // Names in *.k8s.io are kept for the project; the server wants to see that somebody has agreed to them.
      annotations: {'api-approved.kubernetes.io': 'https://github.com/kubernetes-sigs/gateway-api/pull/1'},
    },
    spec: {
      group: 'gateway.networking.k8s.io',
      names: {kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List`},
      scope: 'Namespaced',
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          subresources: {status: {}},
          schema: {openAPIV3Schema: {type: 'object', 'x-kubernetes-preserve-unknown-fields': true}},
        },
      ],
    },
  }))
}

/** Creates them and waits until they are served. */
export async function installGatewayKinds(admin: ApiClient, version = 'v1'): Promise<void> {
  for (const object of gatewayKinds(version)) await admin.create(object)
  for (const [, plural] of kinds) {
    for (const end = Date.now() + 15_000; ;) {
      const served = await admin.get(`/apis/gateway.networking.k8s.io/${version}/${plural}`).catch(() => undefined)
      if (served !== undefined) break
      if (Date.now() > end) throw new Error(`${plural} is not served`)
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
  }
}
