import {inferred, said, unconfirmed} from '../cell.ts'
import {at, shared} from '../sources.ts'
import type {CniRow} from './row.ts'

const free =
  'https://github.com/cilium/cilium/blob/011b49409877295e4f48ed9438a6a4a6e769d2f3/Documentation/network/kubernetes/kubeproxy-free.rst'
const felix = at('projectcalico/calico', 'api/pkg/apis/projectcalico/v3/felixconfig.go')
const antrea = at('antrea-io/antrea', 'docs/antrea-proxy.md')
const kubeRouter = at('cloudnativelabs/kube-router', 'docs/user-guide.md')
const flannel = at('flannel-io/flannel', 'pkg/trafficmngr/iptables/iptables.go')
const ovn = at('ovn-kubernetes/ovn-kubernetes', 'docs/design/service-traffic-policy.md')
const kubeOvn = at('cozystack/cozystack', 'packages/system/kubeovn/charts/kube-ovn/templates/kube-ovn-crd.yaml')
const byHand = 'start a connection to the address from a pod and see whether it leaves the node (conntrack, tcpdump)'

/** kube-proxy itself: what holds unless a CNI replaces it. */
export const kubeProxyRow: CniRow = {
  id: 'kube-proxy',
  title: 'kube-proxy',
  images: ['/kube-proxy'],
  daemonSets: ['kube-proxy'],
  config: {namespace: 'kube-system', name: 'kube-proxy'},
  replacesKubeProxy: said('no', shared.kubeProxy),
  honoursIpMode: said({from: '1.30.0'}, shared.ipMode),
  cluster: said('translated', shared.kubeProxy),
  masqueradesForwarded: said(false, shared.kubeProxy),
  traps: [],
}

/** The CNIs that are known. */
export const cniRows: readonly CniRow[] = [
  {
    id: 'cilium',
    title: 'Cilium',
    images: ['/cilium/cilium', '/cilium'],
    daemonSets: ['cilium'],
    config: {namespace: 'kube-system', name: 'cilium-config'},
    replacesKubeProxy: said('setting', free),
    honoursIpMode: said({from: '1.17.0', except: ['1.18.0']}, 'https://github.com/cilium/cilium/issues/40913'),
    cluster: said('setting', free),
    masqueradesForwarded: said(false, free),
    traps: [said('DSR needs native routing, or Geneve dispatch; with VXLAN there is no DSR', free)],
  },
  {
    id: 'calico',
    title: 'Calico',
    images: ['/calico/node', '/calico-node'],
    daemonSets: ['calico-node', 'canal'],
    replacesKubeProxy: said('setting', felix),
    honoursIpMode: inferred('always', at('projectcalico/calico', 'felix/bpf/proxy/proxy.go')),
    cluster: said('kept', felix),
    masqueradesForwarded: said(false, at('projectcalico/calico', 'felix/dataplane/linux/masq_mgr.go')),
    traps: [],
  },
  {
    id: 'flannel',
    title: 'Flannel',
    images: ['/flannel-io/flannel', '/flannel/flannel', '/flannel'],
    daemonSets: ['kube-flannel-ds', 'kube-flannel', 'canal'],
    replacesKubeProxy: said('no', flannel),
    honoursIpMode: said({from: '1.30.0'}, shared.ipMode),
    cluster: said('translated', shared.kubeProxy),
    masqueradesForwarded: said(true, flannel),
    traps: [
      said('a connection from outside to a pod on another node is masqueraded on the first node (--ip-masq)', flannel),
    ],
  },
  {
    id: 'antrea',
    title: 'Antrea',
    images: ['/antrea/antrea-agent', '/antrea-agent'],
    daemonSets: ['antrea-agent'],
    config: {namespace: 'kube-system', name: 'antrea-config'},
    replacesKubeProxy: said('setting', antrea),
    honoursIpMode: said({from: '2.0.0'}, antrea),
    cluster: said('setting', antrea),
    masqueradesForwarded: said(false, antrea),
    traps: [said('antreaProxy.proxyLoadBalancerIPs: false leaves every balancer address alone', antrea)],
  },
  {
    id: 'kube-router',
    title: 'kube-router',
    images: ['/cloudnativelabs/kube-router', '/kube-router'],
    daemonSets: ['kube-router'],
    replacesKubeProxy: said('setting', kubeRouter),
    honoursIpMode: said(
      {from: '2.9.0'},
      at('cloudnativelabs/kube-router', 'pkg/controllers/proxy/network_services_controller.go'),
    ),
    cluster: said('translated', kubeRouter),
    masqueradesForwarded: said(false, kubeRouter),
    traps: [
      said('annotation kube-router.io/service.skiplbips leaves the balancer addresses of a Service alone', kubeRouter),
    ],
  },
  {
    id: 'ovn-kubernetes',
    title: 'OVN-Kubernetes',
    images: ['/ovn-kubernetes', '/ovn-kube'],
    daemonSets: ['ovnkube-node', 'ovnkube-single-node-zone'],
    replacesKubeProxy: said('yes', ovn),
    honoursIpMode: inferred('never', at('ovn-kubernetes/ovn-kubernetes', 'go-controller/pkg')),
    cluster: said('translated', ovn),
    masqueradesForwarded: said(false, ovn),
    traps: [],
  },
  {
    id: 'kube-ovn',
    title: 'Kube-OVN',
    images: ['/kubeovn/kube-ovn', '/kube-ovn'],
    daemonSets: ['kube-ovn-cni'],
    replacesKubeProxy: unconfirmed('no', kubeOvn, 'see whether kube-proxy runs'),
    honoursIpMode: unconfirmed({from: '1.30.0'}, shared.unread, byHand),
    cluster: unconfirmed('translated', shared.unread, 'look at the address that the application sees: verify outside'),
    masqueradesForwarded: unconfirmed(
      false,
      shared.unread,
      'look at the address that the application sees: verify outside',
    ),
    traps: [],
  },
  {
    id: 'aws-vpc-cni',
    title: 'AWS VPC CNI',
    images: ['/amazon-k8s-cni', '/aws-network-policy-agent'],
    daemonSets: ['aws-node'],
    replacesKubeProxy: inferred('no', shared.kubeProxy),
    honoursIpMode: said({from: '1.30.0'}, shared.ipMode),
    cluster: said('translated', shared.kubeProxy),
    masqueradesForwarded: inferred(false, shared.kubeProxy),
    traps: [],
  },
]
