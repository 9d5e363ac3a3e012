/**
 * Commits at which the repositories were read. A statement names repository and path; the address of the very text that
 * was read is made from this list.
 */
const commits: Readonly<Record<string, string>> = {
  'kubernetes/ingress-nginx': 'dbb11b92d',
  'kubernetes-sigs/aws-load-balancer-controller': '225f44568',
  'kubernetes/cloud-provider-aws': '63ec440c',
  'kubernetes-sigs/cloud-provider-azure': '7b31c76ce',
  'hetznercloud/hcloud-cloud-controller-manager': '6485324f',
  'kubernetes/cloud-provider-openstack': 'c453fb7c9',
  'digitalocean/digitalocean-cloud-controller-manager': '70d527e38',
  'scaleway/scaleway-cloud-controller-manager': 'bddc17f',
  'linode/linode-cloud-controller-manager': 'b9aa9012',
  'vultr/vultr-cloud-controller-manager': 'd5f3ab03',
  'exoscale/exoscale-cloud-controller-manager': '32c9584f',
  'kubernetes/cloud-provider-alibaba-cloud': 'eeb0ddc68',
  'UpCloudLtd/uks-instructions': '577ee1c',
  'civo/civo-cloud-controller-manager': '0c98dc9',
  'IBM-Cloud/cloud-provider-vpc-controller': '3ce7c6f',
  'metallb/metallb': '7938d3f89',
  'kube-vip/kube-vip': 'bee5cfe',
  'purelb/purelb': '08b4e190',
  'k3s-io/klipper-lb': '75a20be',
  'traefik/traefik': 'fd5a576df2',
  'nginx/kubernetes-ingress': '0eb3072d1',
  'nginx/nginx-gateway-fabric': 'e55bfe339',
  'envoyproxy/gateway': 'd32f282942',
  'projectcontour/contour': '31c4bb38e',
  'haproxytech/kubernetes-ingress': 'fc120676',
  'jcmoraisjr/haproxy-ingress': '465a51ce',
  'emissary-ingress/emissary': '3ebe0f468',
  'apache/apisix': 'f519a0f04',
  'caddyserver/ingress': '0e3de1e',
  'Kong/kubernetes-ingress-controller': '1fa68f864',
  'flannel-io/flannel': 'cdf76059',
  'cloudnativelabs/kube-router': '7c2c2779',
  'projectcalico/calico': '87c15906f2',
  'antrea-io/antrea': 'fc70f2bb7',
  'ovn-kubernetes/ovn-kubernetes': '8871cd9ce',
  'openshift/api': '2a3d73913',
  'cozystack/cozystack': '3c780acd4',
  'pires/go-proxyproto': 'c435999',
  'haproxy/haproxy': '50872daa6',
}

/** The address of a file as it was read, from `OWNER/REPOSITORY` and the path in it. */
export function at(repository: string, path: string): string {
  return `https://github.com/${repository}/blob/${commits[repository] ?? 'HEAD'}/${path}`
}

/** Sources that many statements share. */
export const shared = {
  ipMode:
    'https://github.com/kubernetes/enhancements/blob/master/keps/sig-network/1860-kube-proxy-IP-node-binding/README.md',
  kubeProxy: 'https://github.com/kubernetes/kubernetes/blob/master/pkg/proxy/iptables/proxier.go',
  virtualIps: 'https://kubernetes.io/docs/reference/networking/virtual-ips/',
  proxyProtocol: 'https://github.com/haproxy/haproxy/blob/50872daa6/doc/proxy-protocol.txt',
  hostnameOnly: 'https://github.com/kubernetes/kubernetes/issues/66607',
  unread: 'not found in any source that was read',
} as const
