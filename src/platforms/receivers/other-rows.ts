import {inferred, said} from '../cell.ts'
import {at} from '../sources.ts'
import type {ReceiverRow} from './row.ts'

const traefik = at('traefik/traefik', 'pkg/server/server_entrypoint_tcp.go')
const haproxytech = at('haproxytech/kubernetes-ingress', 'documentation/annotations.md')
const haproxytechRule = at('haproxytech/kubernetes-ingress', 'pkg/haproxy/rules/reqProxyProtocol.go')
const haproxyIngress = at('jcmoraisjr/haproxy-ingress', 'docs/content/en/docs/configuration/keys.md')
const caddy = at('caddyserver/ingress', 'internal/caddy/global/configmap.go')
const caddyWrapper =
  'https://github.com/caddyserver/caddy/blob/0eb8d46e7c03ce988400f5da6d692235be231398/modules/caddyhttp/proxyprotocol/listenerwrapper.go'
const openshift = at(
  'openshift/api',
  'operator/v1/zz_generated.crd-manifests/0000_50_ingress_00_ingresscontrollers-Default.crd.yaml',
)
const bind = at('haproxy/haproxy', 'doc/configuration.txt')

/** Traefik, the HAProxy controllers, Caddy and OpenShift's router (platforms.md 2.1). */
export const otherRows: readonly ReceiverRow[] = [
  {
    id: 'traefik',
    title: 'Traefik',
    match: {
      ingressControllers: ['traefik.io/ingress-controller'],
      gatewayControllers: ['traefik.io/gateway-controller'],
      commands: ['traefik'],
      images: ['/traefik', '/traefik/traefik', '/rancher/mirrored-library-traefik'],
      labels: [{'app.kubernetes.io/name': 'traefik'}],
    },
    setting: said({kind: 'entry-points'}, traefik),
    versions: said(['v1', 'v2'], traefik),
    withoutHeader: said('tolerated', traefik),
    trust: said({kind: 'ranges', key: 'proxyProtocol.trustedIPs', absent: 'nobody'}, traefik),
    scope: said('each port', traefik),
    enable: '--entryPoints.NAME.proxyProtocol.trustedIPs with the peers it really sees, for each entry point',
    forwarded: said('--entryPoints.NAME.forwardedHeaders.trustedIPs', traefik),
    traps: [said('it is set for each entry point, not for a router', traefik)],
  },
  {
    id: 'haproxytech',
    title: 'HAProxy Technologies Kubernetes Ingress',
    match: {
      ingressControllers: ['haproxy.org/ingress-controller'],
      gatewayControllers: ['haproxy.org/gateway-controller'],
      commands: ['haproxy-ingress-controller'],
      images: ['/haproxytech/kubernetes-ingress', '/kubernetes-ingress'],
      labels: [{run: 'haproxy-ingress'}, {'app.kubernetes.io/name': 'kubernetes-ingress'}],
    },
    setting: said({kind: 'config-map', flags: ['--configmap'], key: 'proxy-protocol', on: 'addresses'}, haproxytech),
    versions: said(['v1', 'v2'], haproxytech),
    withoutHeader: said('per-source', haproxytechRule),
    trust: said({kind: 'ranges', key: 'proxy-protocol', absent: 'nobody'}, haproxytech),
    scope: said('all ports', haproxytech),
    enable: 'proxy-protocol with the peers that send it, in the ConfigMap that --configmap names',
    forwarded: said('src-ip-header', haproxytech),
    traps: [],
  },
  {
    id: 'haproxy-ingress',
    title: 'HAProxy Ingress (jcmoraisjr)',
    match: {
      ingressControllers: ['haproxy-ingress.github.io/controller'],
      gatewayControllers: ['haproxy-ingress.github.io/controller'],
      commands: [],
      images: ['/jcmoraisjr/haproxy-ingress', '/haproxy-ingress'],
      labels: [{'app.kubernetes.io/name': 'haproxy-ingress'}],
    },
    setting: said({kind: 'config-map', flags: ['--configmap'], key: 'use-proxy-protocol', on: 'true'}, haproxyIngress),
    versions: said(['v1', 'v2'], haproxyIngress),
    withoutHeader: said('refused', haproxyIngress),
    trust: said({kind: 'anyone'}, haproxyIngress),
    scope: said('all ports', haproxyIngress),
    enable: 'use-proxy-protocol: "true" in the ConfigMap that --configmap names',
    traps: [],
  },
  {
    id: 'caddy',
    title: 'Caddy ingress',
    match: {
      ingressControllers: ['caddy.io/ingress-controller'],
      gatewayControllers: [],
      commands: ['ingress-controller'],
      images: ['/caddy/ingress', '/caddyserver/ingress'],
      labels: [{'app.kubernetes.io/name': 'caddy-ingress-controller'}],
    },
    setting: said(
      {kind: 'config-map', flags: ['-config-map', '--config-map'], key: 'proxyProtocol', on: 'true'},
      caddy,
    ),
    versions: said(['v1', 'v2'], caddyWrapper),
    withoutHeader: said('tolerated', caddy),
    trust: inferred(
      {kind: 'ranges', key: 'none: the ingress does not set the allow list', absent: 'nobody'},
      caddyWrapper,
    ),
    scope: said('all ports', caddy),
    enable: 'nothing helps: proxyProtocol: "true" reads the header and throws its address away',
    traps: [inferred('with an empty allow list headers are read and thrown away', caddyWrapper)],
  },
  {
    id: 'openshift-router',
    title: 'OpenShift router',
    match: {
      ingressControllers: ['openshift.io/ingress-to-route'],
      gatewayControllers: ['openshift.io/gateway-controller'],
      commands: ['openshift-router'],
      images: ['/haproxy-router', '/origin-haproxy-router'],
      labels: [{'ingresscontroller.operator.openshift.io/deployment-ingresscontroller': 'default'}],
    },
    setting: said({kind: 'resource', resource: 'IngressController'}, openshift),
    versions: said(['v1', 'v2'], bind),
    withoutHeader: said('refused', openshift),
    trust: said({kind: 'anyone'}, openshift),
    scope: said('all ports', openshift),
    enable:
      'IngressController spec.endpointPublishingStrategy: protocol PROXY, or providerParameters for a cloud balancer',
    traps: [said('the switch is not atomic: router and balancer change one after the other', openshift)],
  },
]
