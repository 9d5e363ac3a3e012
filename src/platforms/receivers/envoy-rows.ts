import {said, unconfirmed} from '../cell.ts'
import {at, shared} from '../sources.ts'
import type {ReceiverRow} from './row.ts'

const contour = at('projectcontour/contour', 'internal/envoy/v3/listener.go')
const gateway = at('envoyproxy/gateway', 'api/v1alpha1/clienttrafficpolicy_types.go')
const istio =
  'https://github.com/istio/istio.io/blob/08714e3890348bc131f5471609873271b19f15d8/content/en/docs/ops/configuration/traffic-management/network-topologies/index.md'
const cilium = at('cozystack/cozystack', 'packages/system/cilium/charts/cilium/values.yaml')
const emissary = at('emissary-ingress/emissary', 'pkg/api/getambassador.io/v3alpha1/crd_listener.go')
const envoyFilter =
  'https://www.envoyproxy.io/docs/envoy/latest/_sources/configuration/listeners/listener_filters/proxy_protocol.rst.txt'

/** Receivers built on Envoy: the header is read by a listener filter, and nobody is asked who sent it (platforms.md 2.1). */
export const envoyRows: readonly ReceiverRow[] = [
  {
    id: 'contour',
    title: 'Contour',
    match: {
      ingressControllers: ['projectcontour.io/ingress-controller'],
      gatewayControllers: ['projectcontour.io/gateway-controller'],
      commands: ['contour'],
      images: ['/projectcontour/contour'],
      labels: [{app: 'envoy'}, {app: 'contour'}, {'app.kubernetes.io/name': 'contour'}],
    },
    setting: said({kind: 'resource', resource: 'ContourConfiguration'}, contour),
    versions: said(['v1', 'v2'], envoyFilter),
    withoutHeader: said('refused', contour),
    trust: said({kind: 'anyone'}, contour),
    scope: said('all ports', contour),
    enable: '--use-proxy-protocol on contour serve, or ContourConfiguration spec.envoy.listener.useProxyProtocol: true',
    forwarded: said('num-trusted-hops', at('projectcontour/contour', 'apis/projectcontour/v1alpha1/contourconfig.go')),
    traps: [],
  },
  {
    id: 'envoy-gateway',
    title: 'Envoy Gateway',
    match: {
      ingressControllers: [],
      gatewayControllers: ['gateway.envoyproxy.io/'],
      commands: [],
      images: ['/envoyproxy/gateway'],
      labels: [{'app.kubernetes.io/managed-by': 'envoy-gateway'}],
    },
    setting: said({kind: 'resource', resource: 'ClientTrafficPolicy'}, gateway),
    versions: said(['v1', 'v2'], gateway),
    withoutHeader: said('refused', gateway),
    trust: said({kind: 'anyone'}, gateway),
    scope: said('each port', gateway),
    enable:
      'ClientTrafficPolicy spec.proxyProtocol {} for the Gateway; with optional: true (from v1.5.0) callers without a header are taken, so fence the port',
    forwarded: said('ClientTrafficPolicy spec.clientIPDetection.xForwardedFor', gateway),
    traps: [],
  },
  {
    id: 'istio',
    title: 'Istio gateway',
    match: {
      ingressControllers: ['istio.io/ingress-controller'],
      gatewayControllers: ['istio.io/gateway-controller'],
      commands: [],
      images: ['/istio/proxyv2', '/proxyv2'],
      labels: [{istio: 'ingressgateway'}, {'gateway.istio.io/managed': 'istio.io-gateway-controller'}],
    },
    setting: said({kind: 'mesh'}, istio),
    versions: said(['v1', 'v2'], envoyFilter),
    // the built-in field adds the filter with an empty configuration, which refuses
    withoutHeader: said('refused', istio),
    trust: said({kind: 'anyone'}, istio),
    scope: said('all ports', istio),
    enable:
      'gatewayTopology.proxyProtocol: {} in annotation proxy.istio.io/config of the gateway pods (they must be made anew)',
    forwarded: said('gatewayTopology.numTrustedProxies', istio),
    traps: [said('with numTrustedProxies set, X-Forwarded-For wins over PROXY', istio)],
  },
  {
    id: 'cilium-ingress',
    title: 'Cilium Ingress and Gateway',
    match: {
      ingressControllers: ['cilium.io/ingress-controller'],
      gatewayControllers: ['io.cilium/gateway-controller'],
      commands: [],
      images: [],
      labels: [{'cilium.io/ingress': 'true'}],
    },
    setting: said(
      {
        kind: 'config-map',
        flags: [],
        fixed: {namespace: 'kube-system', name: 'cilium-config'},
        key: 'enable-ingress-proxy-protocol',
        on: 'true',
      },
      cilium,
    ),
    versions: said(['v1', 'v2'], envoyFilter),
    withoutHeader: said('refused', cilium),
    trust: said({kind: 'anyone'}, cilium),
    scope: said('all ports', cilium),
    transparent: said(
      true,
      'https://github.com/cilium/cilium/blob/0e910de48dada7448d96a861d0f80183c1a13e19/Documentation/network/servicemesh/ingress-reference.rst',
    ),
    enable:
      'ingressController.enableProxyProtocol (enable-ingress-proxy-protocol) or gatewayAPI.enableProxyProtocol (enable-gateway-api-proxy-protocol): for the whole cluster',
    traps: [
      said('the switch is for the whole cluster, not for one Gateway', 'https://github.com/cilium/cilium/issues/41876'),
    ],
  },
  {
    id: 'emissary',
    title: 'Emissary-ingress',
    match: {
      ingressControllers: ['getambassador.io/ingress-controller'],
      gatewayControllers: [],
      commands: [],
      images: ['/emissary', '/emissary-ingress'],
      labels: [{'app.kubernetes.io/name': 'emissary-ingress'}],
    },
    setting: said({kind: 'resource', resource: 'Listener'}, emissary),
    versions: said(['v1', 'v2'], envoyFilter),
    withoutHeader: said('refused', emissary),
    trust: said({kind: 'anyone'}, emissary),
    scope: said('each port', emissary),
    enable: 'Listener spec.protocolStack with PROXY before TLS and HTTP, or protocol HTTPPROXY or HTTPSPROXY',
    forwarded: said('Listener spec.l7Depth', emissary),
    traps: [said('HTTPSPROXY expands to TLS, PROXY, HTTP, TCP: the order of the stack matters', emissary)],
  },
  {
    id: 'kgateway',
    title: 'kgateway',
    match: {
      ingressControllers: [],
      gatewayControllers: ['kgateway.dev/'],
      commands: [],
      images: ['/kgateway'],
      labels: [{'app.kubernetes.io/name': 'kgateway'}],
    },
    setting: unconfirmed(
      {kind: 'unknown'},
      'https://github.com/kgateway-dev/kgateway/pull/11752',
      'read the policies of the version that runs',
    ),
    versions: unconfirmed(['v1', 'v2'], shared.unread, 'read the policies of the version that runs'),
    withoutHeader: unconfirmed('refused', shared.unread, 'read the policies of the version that runs'),
    trust: unconfirmed({kind: 'anyone'}, shared.unread, 'read the policies of the version that runs'),
    scope: unconfirmed('all ports', shared.unread, 'read the policies of the version that runs'),
    enable: 'see its documentation: no field is confirmed',
    traps: [],
  },
]
