import {inferred, said, unconfirmed} from '../cell.ts'
import {at, shared} from '../sources.ts'
import type {ReceiverRow} from './row.ts'

const template = at('kubernetes/ingress-nginx', 'internal/ingress/controller/template/template.go')
const defaults = at('kubernetes/ingress-nginx', 'internal/ingress/controller/template/configmap.go')
const f5 = at('nginx/kubernetes-ingress', 'internal/configs/configmaps.go')
const fabric = at('nginx/nginx-gateway-fabric', 'apis/v1alpha2/nginxproxy_types.go')
const kong = 'https://developer.konghq.com/kubernetes-ingress-controller/preserve-client-ip'
const kongNames = at('Kong/kubernetes-ingress-controller', 'internal/store/store.go')
const apisix = at('apache/apisix', 'conf/config.yaml.example')
const nginxListen = 'https://nginx.org/en/docs/http/ngx_http_core_module.html#listen'

/** Receivers built on nginx: `listen … proxy_protocol` is for every connection of the port (platforms.md 2.1). */
export const nginxRows: readonly ReceiverRow[] = [
  {
    id: 'ingress-nginx',
    title: 'ingress-nginx',
    match: {
      ingressControllers: ['k8s.io/ingress-nginx'],
      gatewayControllers: [],
      commands: ['nginx-ingress-controller'],
      images: ['/ingress-nginx/controller', '/ingress-nginx-controller', '/nginx-ingress-controller'],
      labels: [{'app.kubernetes.io/name': 'ingress-nginx'}],
    },
    setting: said({kind: 'config-map', flags: ['--configmap'], key: 'use-proxy-protocol', on: 'true'}, template),
    versions: said(['v1', 'v2'], template),
    withoutHeader: said('refused', template),
    trust: said({kind: 'ranges', key: 'proxy-real-ip-cidr', absent: ['0.0.0.0/0']}, defaults),
    scope: said('all ports', template),
    enable:
      'use-proxy-protocol: "true" and proxy-real-ip-cidr with the peers it really sees, in the ConfigMap that --configmap names',
    forwarded: said(
      'use-forwarded-headers with a scoped proxy-real-ip-cidr',
      at('kubernetes/ingress-nginx', 'docs/user-guide/nginx-configuration/configmap.md'),
    ),
    traps: [
      inferred(
        'with --enable-ssl-passthrough port 443 is read by a Go listener that takes connections without a header and believes any peer; port 80 still refuses',
        at('kubernetes/ingress-nginx', 'internal/ingress/controller/nginx.go'),
      ),
      said(
        'from v1.13.0 use-proxy-protocol with use-forwarded-headers lets X-Forwarded-For win',
        'https://github.com/kubernetes/ingress-nginx/blob/controller-v1.13.0/rootfs/etc/nginx/template/nginx.tmpl',
      ),
    ],
  },
  {
    id: 'f5-nginx',
    title: 'F5 NGINX Ingress Controller',
    match: {
      ingressControllers: ['nginx.org/ingress-controller'],
      gatewayControllers: [],
      commands: ['nginx-ingress'],
      images: ['/nginx/nginx-ingress', '/nginx-ic/', '/nginx-plus-ingress'],
      labels: [{'app.kubernetes.io/name': 'nginx-ingress'}],
    },
    setting: said(
      {kind: 'config-map', flags: ['-nginx-configmaps', '--nginx-configmaps'], key: 'proxy-protocol', on: 'true'},
      f5,
    ),
    versions: said(['v1', 'v2'], f5),
    withoutHeader: said('refused', f5),
    trust: said({kind: 'ranges', key: 'set-real-ip-from', absent: 'nobody'}, f5),
    scope: said('all ports', f5),
    enable:
      'proxy-protocol: "True", real-ip-header: proxy_protocol and set-real-ip-from with the peers it really sees, in the ConfigMap of -nginx-configmaps',
    forwarded: said('real-ip-header: X-Forwarded-For with set-real-ip-from', f5),
    traps: [said('without set-real-ip-from the header is read and its address thrown away', f5)],
  },
  {
    id: 'nginx-gateway-fabric',
    title: 'NGINX Gateway Fabric',
    match: {
      ingressControllers: [],
      gatewayControllers: ['gateway.nginx.org/nginx-gateway-controller'],
      commands: [],
      images: ['/nginx-gateway-fabric', '/nginx-gateway-fabric/nginx', '/nginx-gateway-fabric/nginx-plus'],
      labels: [{'app.kubernetes.io/name': 'nginx-gateway-fabric'}, {'app.kubernetes.io/managed-by': 'ngf-nginx'}],
    },
    setting: said({kind: 'resource', resource: 'NginxProxy'}, fabric),
    versions: said(['v1', 'v2'], fabric),
    withoutHeader: said('refused', fabric),
    trust: said({kind: 'ranges', key: 'spec.rewriteClientIP.trustedAddresses', absent: 'nobody'}, fabric),
    scope: said('all ports', fabric),
    enable: 'NginxProxy spec.rewriteClientIP {mode: ProxyProtocol, trustedAddresses: [the peers it really sees]}',
    forwarded: said('NginxProxy spec.rewriteClientIP.mode XForwardedFor with trustedAddresses', fabric),
    traps: [],
  },
  {
    id: 'kong',
    title: 'Kong',
    match: {
      ingressControllers: ['ingress-controllers.konghq.com/kong'],
      gatewayControllers: ['konghq.com/kic-gateway-controller', 'konghq.com/gateway-operator'],
      commands: ['kong'],
      images: ['/kong', '/kong/kong-gateway', '/kong-gateway'],
      labels: [
        {'app.kubernetes.io/name': 'kong'},
        {'app.kubernetes.io/name': 'gateway', 'app.kubernetes.io/part-of': 'kong'},
      ],
    },
    setting: said({kind: 'listen-variable', name: 'KONG_PROXY_LISTEN', word: 'proxy_protocol'}, kong),
    versions: inferred(['v1', 'v2'], nginxListen),
    withoutHeader: inferred('refused', nginxListen),
    trust: unconfirmed(
      {kind: 'ranges', key: 'KONG_TRUSTED_IPS', absent: 'nobody'},
      kong,
      'read KONG_TRUSTED_IPS and KONG_REAL_IP_HEADER of the proxy container',
    ),
    scope: said('each port', kongNames),
    enable: 'parameter proxy_protocol on the proxy listeners, KONG_REAL_IP_HEADER=proxy_protocol and KONG_TRUSTED_IPS',
    traps: [],
  },
  {
    id: 'apisix',
    title: 'Apache APISIX',
    match: {
      ingressControllers: ['apisix.apache.org/'],
      gatewayControllers: ['apisix.apache.org/'],
      commands: [],
      images: ['/apache/apisix', '/apisix'],
      labels: [{'app.kubernetes.io/name': 'apisix'}],
    },
    setting: said({kind: 'config-file'}, apisix),
    versions: said(['v1', 'v2'], apisix),
    withoutHeader: said('refused', apisix),
    trust: said({kind: 'ranges', key: 'nginx_config.http.real_ip_from', absent: ['127.0.0.1', 'unix:']}, apisix),
    scope: said('each port', apisix),
    enable:
      'apisix.proxy_protocol.listen_http_port and listen_https_port in config.yaml: ports of their own, the plain ones keep working',
    traps: [
      unconfirmed('its IngressClass controller is not confirmed', shared.unread, 'kubectl get ingressclass -o yaml'),
    ],
  },
]
