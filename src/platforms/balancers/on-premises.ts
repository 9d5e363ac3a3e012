import {inferred, said, unconfirmed} from '../cell.ts'
import {at, shared} from '../sources.ts'
import {shapes, type BalancerRow} from './row.ts'

const metallb = at('metallb/metallb', 'website/content/usage/_index.md')
const metallbStatus = at('metallb/metallb', 'controller/service.go')
const kubeVip = at('kube-vip/kube-vip', 'pkg/services/services.go')
const ciliumL2 =
  'https://github.com/cilium/cilium/blob/026740195c43504fcf9e1fd6b8c92754d45c0f5d/Documentation/network/l2-announcements.rst'
const purelb = at('purelb/purelb', 'internal/allocator/ingress.go')
const klipper = at('k3s-io/klipper-lb', 'entry')
const klipperStatus =
  'https://github.com/k3s-io/k3s/blob/0821db5a081300bc46bddeb04b09823c79255655/pkg/cloudprovider/servicelb.go'
const seeStatus = 'kubectl get service NAME -o jsonpath={.status.loadBalancer}'

/** Where the nodes answer for the address themselves, and what stands outside of the cluster (platforms.md 1.3). */
export const onPremises: readonly BalancerRow[] = [
  {
    id: 'metallb',
    title: 'MetalLB',
    place: 'cluster',
    family: 'metallb',
    match: {
      annotations: ['metallb.io/', 'metallb.universe.tf/'],
      written: ['metallb.io/ip-allocated-from-pool', 'metallb.universe.tf/ip-allocated-from-pool'],
      classes: ['metallb.io/', 'metallb.universe.tf/'],
      images: ['/metallb/controller', '/metallb/speaker', '/metallb-controller', '/metallb-speaker'],
    },
    proxy: said([], metallb),
    plain: said('kept', metallb),
    status: {off: said(shapes.ip, metallbStatus), on: said(shapes.ip, metallbStatus)},
    rebuilt: said(false, metallb),
    traps: [said('a hand-set ipMode is undone at the next reconcile', metallbStatus)],
  },
  {
    id: 'kube-vip',
    title: 'kube-vip',
    place: 'cluster',
    family: 'kube-vip',
    match: {
      annotations: ['kube-vip.io/'],
      written: ['kube-vip.io/vipHost'],
      classes: ['kube-vip.io/'],
      images: ['/kube-vip', '/kube-vip-cloud-provider'],
    },
    proxy: said([], 'https://www.github.com/kube-vip/kube-vip/issues/184'),
    plain: said('kept', kubeVip),
    status: {off: said(shapes.ip, kubeVip), on: said(shapes.ip, kubeVip)},
    rebuilt: said(false, kubeVip),
    traps: [said('a hand-set ipMode stays until the address or the ports change', kubeVip)],
  },
  {
    id: 'cilium-lb',
    title: 'Cilium load balancer (LB-IPAM)',
    place: 'cluster',
    family: 'cilium-lb',
    match: {
      annotations: ['lbipam.cilium.io/', 'io.cilium/lb-ipam'],
      classes: ['io.cilium/l2-announcer', 'io.cilium/bgp-control-plane'],
    },
    proxy: said([], ciliumL2),
    plain: said('kept', ciliumL2),
    status: {
      off: unconfirmed(shapes.ip, shared.unread, seeStatus),
      on: unconfirmed(shapes.ip, shared.unread, seeStatus),
    },
    rebuilt: said(false, ciliumL2),
    traps: [
      said(
        'externalTrafficPolicy Local and L2 announcements exclude each other: a node without a pod may announce',
        ciliumL2,
      ),
    ],
  },
  {
    id: 'purelb',
    title: 'PureLB',
    place: 'cluster',
    family: 'purelb',
    match: {
      annotations: ['purelb.io/'],
      written: ['purelb.io/allocated-by', 'purelb.io/allocated-from'],
      classes: ['purelb.io/'],
      images: ['/purelb/', '/lbnodeagent'],
    },
    proxy: said([], purelb),
    plain: said('kept', purelb),
    status: {
      off: said({entries: 'ip', ipMode: 'VIP', since: '0.14.0'}, purelb),
      on: said({entries: 'ip', ipMode: 'VIP', since: '0.14.0'}, purelb),
    },
    rebuilt: said(false, purelb),
    traps: [
      said(
        'externalTrafficPolicy Local is put back to Cluster on local addresses unless annotation purelb.io/allow-local is set',
        at('purelb/purelb', 'internal/local/announcer_local.go'),
      ),
    ],
  },
  {
    id: 'k3s-servicelb',
    title: 'k3s ServiceLB',
    place: 'cluster',
    family: 'k3s-servicelb',
    match: {
      annotations: ['svccontroller.k3s.cattle.io/'],
      written: ['svccontroller.k3s.cattle.io/svcname'],
      images: ['/klipper-lb'],
      providerIDs: ['k3s://'],
    },
    proxy: said([], klipper),
    plain: said('translated', klipper),
    status: {off: said(shapes.ip, klipperStatus), on: said(shapes.ip, klipperStatus)},
    rebuilt: said(false, klipper),
    traps: [
      inferred(
        'the addresses are those of nodes: kube-proxy usually takes a packet before the svclb pod, which would always masquerade it',
        'https://github.com/k3s-io/k3s/discussions/9927',
      ),
    ],
  },
  {
    id: 'cozystack-host',
    title: 'the ingress of the Cozystack host',
    place: 'outside',
    family: 'cozystack-host',
    match: {annotations: []},
    proxy: inferred([], at('cozystack/cozystack', 'packages/apps/kubernetes/values.yaml')),
    plain: inferred('translated', at('cozystack/cozystack', 'packages/apps/kubernetes/values.yaml')),
    status: {
      off: unconfirmed(shapes.unknown, shared.unread, 'nothing in the tenant tells'),
      on: unconfirmed(shapes.unknown, shared.unread, 'nothing in the tenant tells'),
    },
    rebuilt: said(false, at('cozystack/cozystack', 'packages/apps/kubernetes/values.yaml')),
    traps: [
      inferred(
        'sends no PROXY to passthrough backends nor on HTTP',
        at('kubernetes/ingress-nginx', 'internal/ingress/controller/nginx.go'),
      ),
    ],
  },
  {
    id: 'outer-proxy',
    title: 'a proxy outside of the cluster (HAProxy, nginx, F5)',
    place: 'outside',
    family: 'outside',
    match: {annotations: []},
    proxy: unconfirmed(
      [],
      at('haproxy/haproxy', 'doc/configuration.txt'),
      'look into its configuration for send-proxy, or capture one connection (doctor --capture)',
    ),
    plain: said('translated', at('haproxy/haproxy', 'doc/configuration.txt')),
    status: {
      off: unconfirmed(shapes.unknown, shared.unread, 'nothing in the cluster tells'),
      on: unconfirmed(shapes.unknown, shared.unread, 'nothing in the cluster tells'),
    },
    rebuilt: said(false, at('haproxy/haproxy', 'doc/configuration.txt')),
    healthChecks: said(
      'checks follow send-proxy unless the server line has port or addr; then they need check-send-proxy',
      at('haproxy/haproxy', 'doc/configuration.txt'),
    ),
    traps: [],
  },
]
