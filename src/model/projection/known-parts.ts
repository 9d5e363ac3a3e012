/**
 * Software that decides where a client address is kept, by image: ingress controllers, balancers inside the cluster, cloud
 * controllers, data planes, DNS, and the tools against the hairpin. Of these, and only of these, all arguments are kept.
 */
const knownImages =
  /ingress|traefik|haproxy|contour|envoy|istio|pilot|kong|emissary|ambassador|apisix|caddy|nginx|gateway|router|cilium|calico|tigera|flannel|antrea|kube-router|ovn|kube-proxy|aws-vpc-cni|amazon-k8s-cni|aws-load-balancer|metallb|kube-vip|purelb|klipper|svclb|cloud-controller|cloud-provider|cloud-manager|[-/]ccm\b|ccm[:@-]|hcloud|linode|vultr|civo|exoscale|upcloud|scaleway|yandex|occm|cert-manager|coredns|kube-dns|node-cache|node-local-dns|ip-masq|ouroboros|hairpin|srcip|hyperkube|kubelb|k8s-bigip/i

/** Workloads that are known by name where the image was renamed on the way into a private registry. */
const knownNames =
  /^(?:kube-proxy|kube-dns|coredns|rke2-coredns|node-local-dns|kube-flannel|canal|cilium|calico|antrea|aws-node|kube-router|ip-masq-agent|metallb|speaker$|controller$|svclb-|ouroboros|hairpin-proxy)|cloud-controller|cloud-provider|[-]ccm$|ingress|gateway/

/** True for an image of a part that is known. The tag does not count. */
export function isKnownImage(image: string): boolean {
  return knownImages.test((image.split('@')[0] ?? '').replace(/:[^/:]*$/, ''))
}

/** True for a Deployment, DaemonSet or StatefulSet that is kept for its name alone. */
export function isKnownWorkloadName(name: string): boolean {
  return knownNames.test(name)
}
