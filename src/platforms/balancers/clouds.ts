import {inferred, said, unconfirmed} from '../cell.ts'
import {at, shared} from '../sources.ts'
import {shapes, type BalancerRow, type ProxySwitch} from './row.ts'

const hcloud = at('hetznercloud/hcloud-cloud-controller-manager', 'hcloud/load_balancers.go')
const digitalocean = at(
  'digitalocean/digitalocean-cloud-controller-manager',
  'cloud-controller-manager/do/loadbalancers.go',
)
const occm = at('kubernetes/cloud-provider-openstack', 'pkg/openstack/loadbalancer.go')
const ovh =
  'https://github.com/ovh/docs/blob/01d41b04ae31853a49f169a632f6be7ac2e6bceb/pages/public_cloud/containers_orchestration/managed_kubernetes/expose_your_applications_using_a_load_balancer/guide.en-gb.md'
const scaleway = at('scaleway/scaleway-cloud-controller-manager', 'scaleway/loadbalancers.go')
const linode = at('linode/linode-cloud-controller-manager', 'cloud/linode/loadbalancers.go')
const vultr = at('vultr/vultr-cloud-controller-manager', 'vultr/loadbalancers.go')
const exoscale = at('exoscale/exoscale-cloud-controller-manager', 'docs/service-loadbalancer.md')
const upcloud = at('UpCloudLtd/uks-instructions', 'ccm/README.md')
const civo = at('civo/civo-cloud-controller-manager', 'cloud-controller-manager/civo/loadbalancer.go')

const seeVersion = 'capture one connection at a receiver and look at its first bytes (doctor --capture)'
const seeRebuild = 'switch it on a Service that nobody uses, and compare its address'

/** A boolean annotation as Go's strconv.ParseBool reads it. */
function flag(key: string, version: 'v1' | 'v2' | 'some'): ProxySwitch {
  return {
    kind: 'value',
    key,
    values: {true: version, '1': version, t: version, false: 'off', '0': 'off', f: 'off'},
    ignoreCase: true,
  }
}

function scalewayPorts(key: string, version: 'v1' | 'v2'): ProxySwitch {
  return {kind: 'ports', key: `service.beta.kubernetes.io/scw-loadbalancer-${key}`, all: ['true', '*'], version}
}

/** The other managed clouds (platforms.md 1.1). */
export const clouds: readonly BalancerRow[] = [
  {
    id: 'hetzner',
    title: 'Hetzner Load Balancer',
    place: 'cloud',
    family: 'hetzner',
    match: {
      annotations: ['load-balancer.hetzner.cloud/'],
      providerIDs: ['hcloud://', 'hrobot://'],
      images: ['/hcloud-cloud-controller-manager'],
    },
    proxy: said(
      [
        flag('load-balancer.hetzner.cloud/uses-proxyprotocol', 'some'),
        {kind: 'environment', name: 'HCLOUD_LOAD_BALANCERS_USES_PROXYPROTOCOL', version: 'some'},
      ],
      hcloud,
    ),
    plain: unconfirmed('translated', shared.unread, 'look at the address that the application sees: verify outside'),
    status: {
      off: said({entries: 'ip', ipMode: 'VIP', since: '1.21.0'}, hcloud),
      on: said({entries: 'ip', ipMode: 'Proxy', since: '1.21.0'}, hcloud),
    },
    hostname: said('load-balancer.hetzner.cloud/hostname', hcloud),
    rebuilt: unconfirmed(undefined, shared.unread, seeRebuild),
    traps: [
      said(
        'PROXY by the default HCLOUD_LOAD_BALANCERS_USES_PROXYPROTOCOL did not set ipMode before v1.29.1',
        at('hetznercloud/hcloud-cloud-controller-manager', 'CHANGELOG.md'),
      ),
    ],
  },
  {
    id: 'digitalocean',
    title: 'DigitalOcean Load Balancer',
    place: 'cloud',
    family: 'digitalocean',
    match: {
      annotations: ['service.beta.kubernetes.io/do-loadbalancer-', 'kubernetes.digitalocean.com/load-balancer-'],
      providerIDs: ['digitalocean://'],
      images: ['/digitalocean-cloud-controller-manager'],
    },
    proxy: said([flag('service.beta.kubernetes.io/do-loadbalancer-enable-proxy-protocol', 'some')], digitalocean),
    plain: said('depends', digitalocean),
    status: {off: said(shapes.ip, digitalocean), on: said(shapes.ip, digitalocean)},
    hostname: said(
      'service.beta.kubernetes.io/do-loadbalancer-hostname',
      at('digitalocean/digitalocean-cloud-controller-manager', 'docs/controllers/services/examples/README.md'),
    ),
    rebuilt: unconfirmed(undefined, shared.unread, seeRebuild),
    healthChecks: said(
      'the controller forces PROXY off for health checks unless its override annotation is set',
      digitalocean,
    ),
    traps: [],
  },
  {
    id: 'openstack',
    title: 'OpenStack Octavia',
    place: 'cloud',
    family: 'openstack',
    match: {
      annotations: ['loadbalancer.openstack.org/'],
      providerIDs: ['openstack://'],
      images: ['/openstack-cloud-controller-manager'],
    },
    proxy: said(
      [
        {
          kind: 'value',
          key: 'loadbalancer.openstack.org/proxy-protocol',
          values: {true: 'v1', v1: 'v1', v2: 'v2', false: 'off'},
        },
      ],
      occm,
    ),
    plain: said('translated', occm),
    status: {
      off: said({entries: 'ip', ipMode: 'VIP', since: '1.30.0'}, occm),
      on: said({entries: 'ip', ipMode: 'Proxy', since: '1.30.0'}, occm),
    },
    hostname: said('loadbalancer.openstack.org/hostname', occm),
    rebuilt: unconfirmed(undefined, shared.unread, seeRebuild),
    traps: [
      said('lb-provider=ovn cannot send PROXY', occm),
      said('proxy-protocol and x-forwarded-for exclude each other', occm),
      said('idle time-outs are 50 s by default: long silent connections are cut', occm),
    ],
  },
  {
    id: 'ovh',
    title: 'OVHcloud load balancer (Octavia)',
    place: 'cloud',
    family: 'openstack',
    match: {annotations: ['loadbalancer.ovhcloud.com/'], providerIDs: ['openstack://']},
    proxy: said(
      [
        {
          kind: 'value',
          key: 'loadbalancer.openstack.org/proxy-protocol',
          values: {true: 'v1', v1: 'v1', v2: 'v2', false: 'off'},
        },
      ],
      ovh,
    ),
    plain: said('translated', ovh),
    status: {
      off: unconfirmed(shapes.ip, shared.unread, 'kubectl get service NAME -o jsonpath={.status.loadBalancer}'),
      on: unconfirmed(
        {entries: 'ip', ipMode: 'unknown'},
        shared.unread,
        'kubectl get service NAME -o jsonpath={.status.loadBalancer}',
      ),
    },
    hostname: said('loadbalancer.openstack.org/hostname', ovh),
    rebuilt: unconfirmed(undefined, shared.unread, seeRebuild),
    traps: [said('idle time-outs are 50 s by default: long silent connections are cut', ovh)],
  },
  {
    id: 'scaleway',
    title: 'Scaleway Load Balancer',
    place: 'cloud',
    family: 'scaleway',
    match: {
      annotations: ['service.beta.kubernetes.io/scw-loadbalancer-'],
      providerIDs: ['scaleway://'],
      images: ['/scaleway-cloud-controller-manager'],
    },
    proxy: said(
      [
        scalewayPorts('proxy-protocol-v1', 'v1'),
        scalewayPorts('proxy-protocol-v2', 'v2'),
        scalewayPorts('send-proxy-v2', 'v2'),
      ],
      at('scaleway/scaleway-cloud-controller-manager', 'scaleway/loadbalancers_annotations.go'),
    ),
    plain: said('translated', scaleway),
    status: {
      off: said({entries: 'ip', ipMode: 'VIP', since: '0.33.0'}, scaleway),
      on: said({entries: 'ip', ipMode: 'Proxy', since: '0.33.0', onlyIfAllPorts: true}, scaleway),
    },
    hostname: said('service.beta.kubernetes.io/scw-loadbalancer-use-hostname', scaleway),
    ipMode: said('service.beta.kubernetes.io/scw-loadbalancer-ip-mode', scaleway),
    rebuilt: unconfirmed(undefined, shared.unread, seeRebuild),
    healthChecks: said(
      'health checks carry PROXY only with service.beta.kubernetes.io/scw-loadbalancer-health-check-send-proxy',
      scaleway,
    ),
    traps: [said('one port without PROXY turns ipMode of the whole Service to VIP', scaleway)],
  },
  {
    id: 'linode',
    title: 'Akamai (Linode) NodeBalancer',
    place: 'cloud',
    family: 'linode',
    match: {
      annotations: ['service.beta.kubernetes.io/linode-loadbalancer-'],
      providerIDs: ['linode://'],
      images: ['/linode-cloud-controller-manager'],
      hostnames: ['.ip.linodeusercontent.com', '.nodebalancer.linode.com'],
    },
    proxy: said(
      [
        {kind: 'port-json', prefix: 'service.beta.kubernetes.io/linode-loadbalancer-port-', field: 'proxy-protocol'},
        {
          kind: 'value',
          key: 'service.beta.kubernetes.io/linode-loadbalancer-default-proxy-protocol',
          values: {none: 'off', v1: 'v1', v2: 'v2'},
        },
        {
          kind: 'value',
          key: 'service.beta.kubernetes.io/linode-loadbalancer-proxy-protocol',
          values: {none: 'off', v1: 'v1', v2: 'v2'},
        },
      ],
      at('linode/linode-cloud-controller-manager', 'docs/configuration/annotations.md'),
    ),
    plain: said('translated', linode),
    status: {off: said(shapes.both, linode), on: said(shapes.both, linode)},
    hostname: said('service.beta.kubernetes.io/linode-loadbalancer-hostname-only-ingress', linode),
    rebuilt: unconfirmed(undefined, shared.unread, seeRebuild),
    traps: [said('the status has address and host name in one entry, which is short-circuited all the same', linode)],
  },
  {
    id: 'vultr',
    title: 'Vultr Load Balancer',
    place: 'cloud',
    family: 'vultr',
    match: {
      annotations: ['service.beta.kubernetes.io/vultr-loadbalancer-'],
      providerIDs: ['vultr://'],
      images: ['/vultr-cloud-controller-manager'],
    },
    proxy: said([flag('service.beta.kubernetes.io/vultr-loadbalancer-proxy-protocol', 'some')], vultr),
    plain: unconfirmed('translated', shared.unread, 'look at the address that the application sees: verify outside'),
    status: {off: said(shapes.ip, vultr), on: said(shapes.ip, vultr)},
    hostname: said('service.beta.kubernetes.io/vultr-loadbalancer-hostname', vultr),
    rebuilt: unconfirmed(undefined, shared.unread, seeRebuild),
    traps: [unconfirmed('nobody says which version of the header it writes', shared.unread, seeVersion)],
  },
  {
    id: 'exoscale',
    title: 'Exoscale NLB',
    place: 'cloud',
    family: 'exoscale',
    match: {
      annotations: ['service.beta.kubernetes.io/exoscale-loadbalancer-'],
      providerIDs: ['exoscale://'],
      images: ['/exoscale-cloud-controller-manager', '/cloud-controller-manager-exoscale'],
    },
    proxy: said([], exoscale),
    plain: said('kept', exoscale),
    status: {off: said(shapes.ip, exoscale), on: said(shapes.ip, exoscale)},
    rebuilt: said(false, exoscale),
    traps: [],
  },
  {
    id: 'upcloud',
    title: 'UpCloud Load Balancer',
    place: 'cloud',
    family: 'upcloud',
    match: {
      annotations: ['service.beta.kubernetes.io/upcloud-load-balancer-'],
      providerIDs: ['upcloud://'],
      images: ['/upcloud-cloud-controller-manager'],
      hostnames: ['.upcloudlb.com'],
    },
    proxy: said(
      [
        {
          kind: 'config-json',
          key: 'service.beta.kubernetes.io/upcloud-load-balancer-config',
          property: 'outbound_proxy_protocol',
        },
      ],
      at('UpCloudLtd/uks-instructions', 'ingress/README.md'),
    ),
    plain: said('translated', upcloud),
    status: {
      off: unconfirmed(shapes.hostname, upcloud, 'kubectl get service NAME -o jsonpath={.status.loadBalancer}'),
      on: unconfirmed(shapes.hostname, upcloud, 'kubectl get service NAME -o jsonpath={.status.loadBalancer}'),
    },
    rebuilt: unconfirmed(undefined, shared.unread, seeRebuild),
    traps: [said('a partial JSON replaces parts of the configuration: change it by merging', upcloud)],
  },
  {
    id: 'civo',
    title: 'Civo Load Balancer',
    place: 'cloud',
    family: 'civo',
    match: {
      annotations: ['kubernetes.civo.com/'],
      providerIDs: ['civo://'],
      images: ['/civo-cloud-controller-manager'],
      hostnames: ['.lb.civo.com'],
    },
    proxy: said(
      [
        {
          kind: 'value',
          key: 'kubernetes.civo.com/loadbalancer-enable-proxy-protocol',
          values: {'send-proxy': 'v1', 'send-proxy-v2': 'v2', '': 'off'},
        },
      ],
      civo,
    ),
    plain: inferred('translated', civo),
    status: {off: said(shapes.both, civo), on: said(shapes.hostname, civo)},
    rebuilt: unconfirmed(undefined, shared.unread, seeRebuild),
    traps: [said('idle time-outs are 60 s by default: long silent connections are cut', civo)],
  },
]
