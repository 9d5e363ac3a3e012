/** Software that checks know, and those who make it. */
export const softwareWords: ReadonlySet<string> = wordSet(`
  nginx nginxinc haproxy haproxytech jcmoraisjr traefik envoy envoyproxy contour projectcontour istio istiod pilot ingressgateway
  egressgateway kong konghq emissary ambassador getambassador apisix caddy openshift kgateway gloo
  cilium calico canal tigera felix typha flannel antrea weave kuberouter ovn ovnkube kubeovn multus cni aws vpc azure gcp gke eks aks
  doks ccm hcloud hetzner hetznercloud digitalocean linode lke akamai vultr civo exoscale upcloud scaleway ovh ovhcloud
  openstack octavia occm oracle oci alibaba alicloud ibm yandex metallb kubevip purelb klipper svclb k3s rke2 rke rancher cattle
  talos siderolabs kamaji clastix gardener cozystack cozy ouroboros hairpin srcip helm flux fluxcd argocd argo
  kustomize kustomization helmrelease cloudapp azmk8s
  certmanager jetstack
`)

/**
 * Words that say nothing about whose cluster it is: parts of Kubernetes and of the software in platforms.md, what settings
 * files are written in, and what everybody calls things. They stay; checks recognise software by them.
 */
export const knownWords: ReadonlySet<string> = new Set([
  ...softwareWords,
  ...wordSet(`
  kube kubernetes k8s system public node nodes lease default proxy dns coredns kubedns autoscaler local nodelocal cache cluster
  custom base controller controllers manager operator operators webhook admission agent server client speaker daemon daemonset
  deployment service services pod pods namespace namespaces config configmap configmaps configuration settings install
  installation core kind version latest stable main master control plane worker role admin api apis app apps application web www http
  https http2 h2c tcp udp tls ssl grpc metrics health healthz ready readyz livez status websecure plain secure internal external
  private public backend frontend gateway gateways gatewayclass listener listeners route routes ingress ingresses ingressclass class
  loadbalancer balancer load lb lbs nlb alb elb vip ip ips ipv4 ipv6 pool pools range cidr edge echo whoami test tests demo example
  component components snapshot controlplane masq masquerade iptables nftables ipvs ebpf bpf dsr snat geneve vxlan
  hybrid true false yes no on off none all any auto always never optional required strict local cluster proxyprotocol
  linux windows amd64 arm64 arm s390x ppc64le instance hostname name part component managed by tier key value values type
  deploy rollout stable canary blue green leader election job cronjob hook cleanup guard run
  errors lameduck kubernetes insecure verified fallthrough ttl prometheus forward max concurrent prefer expire reload loop loadbalance
  hosts file template rewrite import bind log debug dnssec erratic etcd hosts import minimal nsid pprof secondary sign trace transfer
  tsig whoami view acl any autopath bufsize cancel chaos clouddns route53 dns64 header metadata ready refresh root timeouts exact prefix
  suffix substring regex answer question continue stop inaddr arpa addr in ip6 ip4 to from policy sequential random round robin success denial
  prefetch serve stale verify keepttl zone zones svc resolv conf etc usr bin local run var lib tmp override include arguments args
  spec data mode apiversion enabled enable disable disabled container containers image images registry docker io io org com net
  dev local internal mirror library quay ghcr gcr pkg public ecr mcr microsoft amazonaws googleapis
  front end back site blog shop mail files static assets auth login sso dashboard grafana monitoring logging ui backend
  production prod staging stage development team
  cloud tenant root release releases package packages source sources platform bundle bundles addon addons mesh sidecar router routers
  reconcile ensureexists addon kind gardener kamaji
  nodeport clusterip externalname singlestack dualstack implementationspecific
  `),
])

function wordSet(text: string): ReadonlySet<string> {
  return new Set(text.split(/\s+/).filter((word) => word !== ''))
}

/** Registries from which anybody can pull: an image there tells nothing about whose cluster it is. */
export const publicRegistries: ReadonlySet<string> = new Set([
  'docker.io',
  'registry.k8s.io',
  'k8s.gcr.io',
  'gcr.io',
  'mirror.gcr.io',
  'ghcr.io',
  'quay.io',
  'public.ecr.aws',
  'mcr.microsoft.com',
  'registry.access.redhat.com',
  'registry.suse.com',
])

/** Ends of names that providers give out: what stands before them is the customer's, they themselves tell the provider. */
export const providerDomains: readonly string[] = [
  'amazonaws.com',
  'azure.com',
  'azmk8s.io',
  'cloudapp.net',
  'windows.net',
  'googleapis.com',
  'googleusercontent.com',
  'oraclecloud.com',
  'cloud.ibm.com',
  'appdomain.cloud',
  'alibabacloud.com',
  'aliyuncs.com',
  'digitaloceanspaces.com',
  'ondigitalocean.app',
  'linodeusercontent.com',
  'nodebalancer.linode.com',
  'civo.com',
  'upcloudlb.com',
  'scw.cloud',
  'ovh.net',
  'your-server.de',
  'hetzner.cloud',
  'nip.io',
  'sslip.io',
]

/** Zones inside a cluster and of the DNS itself. */
export const systemDomains: readonly string[] = [
  'cluster.local',
  'cozy.local',
  'svc',
  'in-addr.arpa',
  'ip6.arpa',
  'arpa',
]
