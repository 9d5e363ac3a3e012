import {selector, type Row} from './custom-rows.ts'

const calicoKinds: Row['kinds'] = {
  ippools: [
    'IPPool',
    {
      spec: {
        cidr: 'scalar',
        natOutgoing: 'scalar',
        disabled: 'scalar',
        disableBGPExport: 'scalar',
        ipipMode: 'scalar',
        vxlanMode: 'scalar',
        allowedUses: ['scalar'],
        nodeSelector: 'scalar',
      },
    },
  ],
  felixconfigurations: [
    'FelixConfiguration',
    {
      spec: {
        bpfEnabled: 'scalar',
        bpfExternalServiceMode: 'scalar',
        bpfDSROptoutCIDRs: ['scalar'],
        bpfKubeProxyIptablesCleanupEnabled: 'scalar',
        bpfConnectTimeLoadBalancing: 'scalar',
        bpfEnforceRPF: 'scalar',
        natOutgoingAddress: 'scalar',
        natOutgoingExclusions: 'scalar',
        workloadSourceSpoofing: 'scalar',
        iptablesBackend: 'scalar',
        nftablesMode: 'scalar',
      },
    },
  ],
  bgpconfigurations: [
    'BGPConfiguration',
    {
      spec: {
        serviceClusterIPs: [{cidr: 'scalar'}],
        serviceExternalIPs: [{cidr: 'scalar'}],
        serviceLoadBalancerIPs: [{cidr: 'scalar'}],
      },
    },
  ],
}

/** Load balancers in the cluster, and data planes (platforms.md 1.3 and 3). */
export const networkRows: readonly Row[] = [
  {
    group: 'metallb.io',
    versions: ['v1beta1'],
    kinds: {
      ipaddresspools: ['IPAddressPool', {spec: {addresses: ['scalar'], autoAssign: 'scalar'}}],
      l2advertisements: [
        'L2Advertisement',
        {
          spec: {
            ipAddressPools: ['scalar'],
            ipAddressPoolSelectors: [selector],
            nodeSelectors: [selector],
            interfaces: ['scalar'],
          },
        },
      ],
      bgpadvertisements: [
        'BGPAdvertisement',
        {spec: {ipAddressPools: ['scalar'], ipAddressPoolSelectors: [selector], nodeSelectors: [selector]}},
      ],
    },
  },
  {
    group: 'metallb.io',
    versions: ['v1beta2', 'v1beta1'],
    // Only that there are peers, and which: passwords stand in the same object.
    kinds: {
      bgppeers: [
        'BGPPeer',
        {spec: {myASN: 'scalar', peerASN: 'scalar', peerAddress: 'scalar', nodeSelectors: [selector]}},
      ],
    },
  },
  {
    group: 'cilium.io',
    versions: ['v2', 'v2alpha1'],
    clusterWide: [
      'ciliumloadbalancerippools',
      'ciliuml2announcementpolicies',
      'ciliumbgpadvertisements',
      'ciliumbgpclusterconfigs',
      'ciliumbgppeeringpolicies',
    ],
    kinds: {
      ciliumloadbalancerippools: [
        'CiliumLoadBalancerIPPool',
        {spec: {blocks: 'tree', cidrs: 'tree', disabled: 'scalar'}},
      ],
      ciliuml2announcementpolicies: [
        'CiliumL2AnnouncementPolicy',
        {
          spec: {
            externalIPs: 'scalar',
            loadBalancerIPs: 'scalar',
            interfaces: ['scalar'],
            serviceSelector: selector,
            nodeSelector: selector,
          },
        },
      ],
      ciliumbgpadvertisements: [
        'CiliumBGPAdvertisement',
        {spec: {advertisements: [{advertisementType: 'scalar', service: {addresses: ['scalar']}, selector}]}},
      ],
      ciliumbgpclusterconfigs: ['CiliumBGPClusterConfig', {spec: {nodeSelector: selector}}],
      ciliumbgppeeringpolicies: [
        'CiliumBGPPeeringPolicy',
        {spec: {nodeSelector: selector, virtualRouters: [{serviceSelector: selector, exportPodCIDR: 'scalar'}]}},
      ],
    },
  },
  {
    group: 'crd.projectcalico.org',
    versions: ['v1'],
    clusterWide: ['ippools', 'felixconfigurations', 'bgpconfigurations'],
    kinds: calicoKinds,
  },
  {
    // The same objects through Calico's own API server, as manifests have them.
    group: 'projectcalico.org',
    versions: ['v3'],
    clusterWide: ['ippools', 'felixconfigurations', 'bgpconfigurations'],
    kinds: calicoKinds,
  },
  {
    group: 'cis.f5.com',
    versions: ['v1'],
    kinds: {
      ingresslinks: [
        'IngressLink',
        {spec: {virtualServerAddress: 'scalar', host: 'scalar', iRules: ['scalar'], selector}},
      ],
    },
  },
  {
    group: 'operator.tigera.io',
    versions: ['v1'],
    clusterWide: ['installations'],
    kinds: {
      installations: [
        'Installation',
        {
          spec: {
            cni: {type: 'scalar'},
            calicoNetwork: {
              linuxDataplane: 'scalar',
              bgp: 'scalar',
              ipPools: [{cidr: 'scalar', natOutgoing: 'scalar', encapsulation: 'scalar'}],
            },
          },
        },
      ],
    },
  },
  {
    group: 'kubeovn.io',
    versions: ['v1'],
    clusterWide: ['subnets'],
    kinds: {
      subnets: [
        'Subnet',
        {
          spec: {
            cidrBlock: 'scalar',
            natOutgoing: 'scalar',
            natOutgoingPolicyRules: 'tree',
            gatewayType: 'scalar',
            vpc: 'scalar',
            default: 'scalar',
          },
        },
      ],
    },
  },
  {
    group: 'purelb.io',
    versions: ['v2', 'v1'],
    kinds: {
      servicegroups: ['ServiceGroup', {spec: {local: 'tree', remote: 'tree'}}],
      lbnodeagents: ['LBNodeAgent', {spec: {local: 'tree'}}],
    },
  },
]
