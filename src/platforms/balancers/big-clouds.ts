import {inferred, said, unconfirmed} from '../cell.ts'
import {at, shared} from '../sources.ts'
import {shapes, type BalancerRow} from './row.ts'

const lbc = at('kubernetes-sigs/aws-load-balancer-controller', 'docs/guide/service/annotations.md')
const lbcStatus = at('kubernetes-sigs/aws-load-balancer-controller', 'controllers/service/service_controller.go')
const inTree = at('kubernetes/cloud-provider-aws', 'docs/service_controller.md')
const inTreeStatus = at('kubernetes/cloud-provider-aws', 'pkg/providers/v1/aws.go')
const azure = at('kubernetes-sigs/cloud-provider-azure', 'pkg/provider/azure_loadbalancer.go')
const targetGroups = 'https://docs.aws.amazon.com/elasticloadbalancing/latest/network/edit-target-group-attributes.html'
const aws = 'service.beta.kubernetes.io/aws-load-balancer-'

/** Attributes of an NLB's target group; the switch of the whole Service wins over them. */
const targetGroupSwitch = {
  kind: 'attributes',
  key: `${aws}target-group-attributes`,
  name: 'proxy_protocol_v2.enabled',
  version: 'v2',
  perPort: true,
} as const

/** AWS, Google and Microsoft (platforms.md 1.1, 1.2). */
export const bigClouds: readonly BalancerRow[] = [
  {
    id: 'aws-elb',
    title: 'AWS Classic Load Balancer',
    place: 'cloud',
    family: 'aws',
    match: {
      annotations: [aws],
      providerIDs: ['aws://'],
      images: ['/cloud-controller-manager-aws', '/aws-cloud-controller-manager', '/cloud-provider-aws'],
      hostnames: ['.elb.amazonaws.com', '.elb.amazonaws.com.cn'],
    },
    proxy: said([{kind: 'value', key: `${aws}proxy-protocol`, values: {'*': 'v1'}}], inTree),
    plain: said('translated', inTree),
    status: {off: said(shapes.hostname, inTreeStatus), on: said(shapes.hostname, inTreeStatus)},
    rebuilt: unconfirmed(
      undefined,
      shared.unread,
      'switch it on a Service that nobody uses, and compare its host name',
    ),
    traps: [said('only the value "*" switches PROXY on; any other is ignored', inTree)],
  },
  {
    id: 'aws-nlb',
    title: 'AWS Network Load Balancer, made by the cloud provider',
    place: 'cloud',
    family: 'aws',
    match: {
      annotations: [aws],
      providerIDs: ['aws://'],
      images: ['/cloud-controller-manager-aws', '/aws-cloud-controller-manager', '/cloud-provider-aws'],
      hostnames: ['.amazonaws.com', '.amazonaws.com.cn'],
    },
    proxy: said([targetGroupSwitch], inTree),
    plain: said('kept', inTree),
    status: {off: said(shapes.hostname, inTreeStatus), on: said(shapes.hostname, inTreeStatus)},
    rebuilt: unconfirmed(
      undefined,
      shared.unread,
      'switch it on a Service that nobody uses, and compare its host name',
    ),
    healthChecks: said('HTTP and HTTPS health checks fail unless the health port reads PROXY too', lbc),
    traps: [
      said(
        'a target that calls itself through the balancer times out while the client address is preserved',
        targetGroups,
      ),
    ],
  },
  {
    id: 'aws-lbc',
    title: 'AWS Network Load Balancer, made by the AWS Load Balancer Controller',
    place: 'cloud',
    family: 'aws',
    match: {
      annotations: [aws],
      classes: ['service.k8s.aws/nlb', 'eks.amazonaws.com/nlb'],
      providerIDs: ['aws://'],
      images: ['/aws-load-balancer-controller'],
      hostnames: ['.elb.amazonaws.com', '.amazonaws.com', '.amazonaws.com.cn'],
    },
    proxy: said(
      [
        {kind: 'value', key: `${aws}proxy-protocol`, values: {'*': 'v2'}},
        {kind: 'ports', key: `${aws}proxy-protocol-per-target-group`, all: [], version: 'v2'},
        targetGroupSwitch,
      ],
      lbc,
    ),
    plain: said('depends', targetGroups),
    status: {off: said(shapes.hostname, lbcStatus), on: said(shapes.hostname, lbcStatus)},
    rebuilt: unconfirmed(
      undefined,
      shared.unread,
      'switch it on a Service that nobody uses, and compare its host name',
    ),
    healthChecks: said(
      'HTTP and HTTPS health checks fail unless the health port reads PROXY too: do not combine PROXY, instance targets and externalTrafficPolicy Local',
      lbc,
    ),
    traps: [
      said('only the value "*" switches PROXY on for the whole Service', lbc),
      said(
        'a target that calls itself through the balancer times out while the client address is preserved',
        targetGroups,
      ),
    ],
  },
  {
    id: 'gce',
    title: 'Google Cloud passthrough load balancer',
    place: 'cloud',
    family: 'gce',
    match: {annotations: ['networking.gke.io/', 'cloud.google.com/'], providerIDs: ['gce://']},
    proxy: said([], 'https://github.com/kubernetes/ingress-gce/issues/699'),
    plain: said('kept', 'https://cloud.google.com/load-balancing/docs/network'),
    status: {
      off: unconfirmed(shapes.ip, shared.unread, 'kubectl get service NAME -o jsonpath={.status.loadBalancer}'),
      on: unconfirmed(shapes.ip, shared.unread, 'kubectl get service NAME -o jsonpath={.status.loadBalancer}'),
    },
    rebuilt: said(false, 'https://github.com/kubernetes/ingress-gce/issues/699'),
    traps: [],
  },
  {
    id: 'azure',
    title: 'Azure Load Balancer',
    place: 'cloud',
    family: 'azure',
    match: {
      annotations: ['service.beta.kubernetes.io/azure-'],
      providerIDs: ['azure://'],
      images: ['/azure-cloud-controller-manager'],
    },
    proxy: said([], azure),
    plain: said('kept', azure),
    status: {off: said(shapes.ip, azure), on: said(shapes.ip, azure)},
    rebuilt: said(false, azure),
    healthChecks: said('the PROXY switch of Private Link also changes which health probe is made', azure),
    traps: [
      said(
        'service.beta.kubernetes.io/azure-pls-proxy-protocol puts PROXY on connections through Private Link only, never on those of the balancer',
        azure,
      ),
      said(
        'with service.beta.kubernetes.io/azure-disable-load-balancer-floating-ip packets arrive for a node address, and ipMode stays VIP',
        azure,
      ),
    ],
  },
  {
    id: 'alibaba-clb',
    title: 'Alibaba Cloud CLB',
    place: 'cloud',
    family: 'alibaba',
    match: {
      annotations: [
        'service.beta.kubernetes.io/alibaba-cloud-loadbalancer-',
        'service.beta.kubernetes.io/alicloud-loadbalancer-',
      ],
      images: ['/cloud-provider-alibaba-cloud', '/alibaba-cloud-controller-manager'],
      providerIDs: ['alicloud://'],
    },
    proxy: said(
      [
        alibabaSwitch('service.beta.kubernetes.io/alibaba-cloud-loadbalancer-proxy-protocol'),
        alibabaSwitch('service.beta.kubernetes.io/alicloud-loadbalancer-proxy-protocol'),
      ],
      at('kubernetes/cloud-provider-alibaba-cloud', 'pkg/controller/service/clbv1/listeners.go'),
    ),
    plain: unconfirmed('depends', shared.unread, 'look at the address that the application sees: verify outside'),
    status: {off: said(shapes.ip, alibabaStatus('clbv1')), on: said(shapes.ip, alibabaStatus('clbv1'))},
    hostname: said(
      'service.beta.kubernetes.io/alibaba-cloud-loadbalancer-hostname',
      at('kubernetes/cloud-provider-alibaba-cloud', 'pkg/controller/service/reconcile/annotation/annotations.go'),
    ),
    rebuilt: unconfirmed(undefined, shared.unread, 'switch it on a Service that nobody uses, and compare its address'),
    traps: [],
  },
  {
    id: 'alibaba-nlb',
    title: 'Alibaba Cloud NLB',
    place: 'cloud',
    family: 'alibaba',
    match: {
      annotations: [
        'service.beta.kubernetes.io/alibaba-cloud-loadbalancer-',
        'service.beta.kubernetes.io/alicloud-loadbalancer-',
      ],
      classes: ['alibabacloud.com/nlb'],
      images: ['/cloud-provider-alibaba-cloud', '/alibaba-cloud-controller-manager'],
      hostnames: ['.nlb.aliyuncs.com'],
    },
    proxy: said(
      [alibabaSwitch('service.beta.kubernetes.io/alibaba-cloud-loadbalancer-proxy-protocol')],
      alibabaStatus('nlbv2'),
    ),
    plain: unconfirmed('depends', shared.unread, 'look at the address that the application sees: verify outside'),
    status: {off: said(shapes.hostname, alibabaStatus('nlbv2')), on: said(shapes.hostname, alibabaStatus('nlbv2'))},
    rebuilt: unconfirmed(
      undefined,
      shared.unread,
      'switch it on a Service that nobody uses, and compare its host name',
    ),
    traps: [],
  },
  {
    id: 'ibm-vpc',
    title: 'IBM Cloud VPC load balancer',
    place: 'cloud',
    family: 'ibm',
    match: {
      annotations: ['service.kubernetes.io/ibm-load-balancer-cloud-provider-'],
      providerIDs: ['ibm://'],
      hostnames: ['.lb.appdomain.cloud'],
    },
    proxy: said(
      [
        {
          kind: 'word',
          key: 'service.kubernetes.io/ibm-load-balancer-cloud-provider-enable-features',
          word: 'proxy-protocol',
          version: 'some',
        },
      ],
      at(
        'openshift/api',
        'operator/v1/zz_generated.crd-manifests/0000_50_ingress_00_ingresscontrollers-Default.crd.yaml',
      ),
    ),
    plain: unconfirmed(
      'translated',
      shared.unread,
      'tell an ALB from an NLB: the NLB is said to pass addresses through',
    ),
    status: {
      off: said(shapes.hostname, at('IBM-Cloud/cloud-provider-vpc-controller', 'pkg/vpcctl/vpc_lbaas.go')),
      on: said(shapes.hostname, at('IBM-Cloud/cloud-provider-vpc-controller', 'pkg/vpcctl/vpc_lbaas.go')),
    },
    rebuilt: unconfirmed(
      undefined,
      shared.unread,
      'switch it on a Service that nobody uses, and compare its host name',
    ),
    traps: [inferred('on OpenShift the IngressController object sets it, not the Service', shared.unread)],
  },
  {
    id: 'oracle',
    title: 'Oracle Cloud load balancer',
    place: 'cloud',
    family: 'oracle',
    match: {
      annotations: [
        'oci.oraclecloud.com/',
        'oci-network-load-balancer.oraclecloud.com/',
        'service.beta.kubernetes.io/oci-',
      ],
      providerIDs: ['ocid1.'],
    },
    proxy: unconfirmed([], shared.unread, 'read the annotations of the OCI cloud controller manager for its version'),
    plain: said(
      'depends',
      'https://docs.oracle.com/iaas/releasenotes/conteng/conteng-LoadBalancer-IPMode-Release-Notes.htm',
    ),
    status: {
      off: said(
        shapes.ip,
        'https://docs.oracle.com/iaas/releasenotes/conteng/conteng-LoadBalancer-IPMode-Release-Notes.htm',
      ),
      on: unconfirmed(
        {entries: 'ip', ipMode: 'unknown'},
        'https://docs.oracle.com/iaas/releasenotes/conteng/conteng-LoadBalancer-IPMode-Release-Notes.htm',
        'kubectl get service NAME -o jsonpath={.status.loadBalancer}, after the switch',
      ),
    },
    ipMode: said(
      'oci.oraclecloud.com/ingress-ip-mode',
      'https://docs.oracle.com/iaas/releasenotes/conteng/conteng-LoadBalancer-IPMode-Release-Notes.htm',
    ),
    rebuilt: unconfirmed(undefined, shared.unread, 'switch it on a Service that nobody uses, and compare its address'),
    traps: [],
  },
]

function alibabaSwitch(key: string) {
  return {kind: 'value', key, values: {on: 'v2', off: 'off'}, ignoreCase: true} as const
}

function alibabaStatus(kind: 'clbv1' | 'nlbv2'): string {
  return at('kubernetes/cloud-provider-alibaba-cloud', `pkg/controller/service/${kind}/listeners.go`)
}
