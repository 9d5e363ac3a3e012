import type {ApiClient} from '../bed/api-client.ts'
import type {KubeObject} from '../bed/objects.ts'

const group = 'gateway.networking.k8s.io'
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
    ...openKind(group, kind, plural, version),
    metadata: {
      name: `${plural}.${group}`,
      // Names in *.k8s.io are kept for the project; the server wants to see that somebody has agreed to them.
      annotations: {'api-approved.kubernetes.io': 'https://github.com/kubernetes-sigs/gateway-api/pull/1'},
    },
  }))
}

/** Envoy Gateway's kind that says whether a Gateway asks for the PROXY header. */
const trafficPolicyKind = openKind('gateway.envoyproxy.io', 'ClientTrafficPolicy', 'clienttrafficpolicies', 'v1alpha1')

/** A namespaced kind that takes any fields. */
function openKind(ofGroup: string, kind: string, plural: string, version: string): KubeObject {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {name: `${plural}.${ofGroup}`},
    spec: {
      group: ofGroup,
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
  }
}

/** Creates them and waits until they are served. */
export async function installGatewayKinds(admin: ApiClient, version = 'v1'): Promise<void> {
  for (const object of gatewayKinds(version)) await admin.create(object)
  for (const [, plural] of kinds) await untilServed(admin, `${group}/${version}/${plural}`)
}

/** The same for the kind of Envoy Gateway. */
export async function installTrafficPolicyKind(admin: ApiClient): Promise<void> {
  await admin.create(trafficPolicyKind)
  await untilServed(admin, 'gateway.envoyproxy.io/v1alpha1/clienttrafficpolicies')
}

/** Waits until the API server serves a kind that was just created, `GROUP/VERSION/PLURAL`. */
async function untilServed(admin: ApiClient, path: string): Promise<void> {
  for (const end = Date.now() + 15_000; ;) {
    const served = await admin.get(`/apis/${path}`).catch(() => undefined)
    if (served !== undefined) return
    if (Date.now() > end) throw new Error(`${path} is not served`)
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}
