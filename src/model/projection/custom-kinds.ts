import {projectSettings} from './config-map.ts'
import {conditions} from './core-kinds.ts'
import type {SnapshotKind} from './kind.ts'
import {projectFields, type ShapeFields} from './shape.ts'

interface Row {
  readonly group: string
  readonly versions: readonly string[]
  readonly kinds: Readonly<Record<string, readonly [kind: string, fields: ShapeFields]>>
  /** These of `kinds` belong to the whole cluster. */
  readonly clusterWide?: readonly string[]
}

const target: ShapeFields = {
  group: 'scalar',
  kind: 'scalar',
  name: 'scalar',
  namespace: 'scalar',
  sectionName: 'scalar',
}

const policyStatus: ShapeFields = {
  conditions,
  ancestors: [{ancestorRef: target, controllerName: 'scalar', conditions}],
}

const selector: ShapeFields = {matchLabels: 'pairs', matchExpressions: 'tree'}

/** A listener filter of Envoy, as much of it as tells whether it takes a PROXY header and whether it must be there. */
const listenerFilter: ShapeFields = {
  name: 'scalar',
  typed_config: {'@type': 'scalar', allow_requests_without_proxy_protocol: 'scalar'},
}

/** What is kept of chart values: the switches of Cozystack and of the ingress controllers it installs (cozystack.md 1). */
const chartValues: ShapeFields = {
  publishing: {
    proxyProtocol: 'scalar',
    proxyProtocolAcknowledgeUnclean: 'scalar',
    ingressName: 'scalar',
    externalIPs: ['scalar'],
    loadBalancerClass: 'scalar',
    host: 'scalar',
    exposedServices: ['scalar'],
    exposure: 'scalar',
  },
  bundles: {disabledPackages: ['scalar'], enabledPackages: ['scalar'], system: {enabled: 'scalar', variant: 'scalar'}},
  gateway: {enabled: 'scalar'},
  networking: {clusterDomain: 'scalar', podCIDR: 'scalar', serviceCIDR: 'scalar'},
  proxyProtocol: 'scalar',
  cloudflareProxy: 'scalar',
  whitelist: ['scalar'],
  'ingress-nginx': {
    controller: {
      config: projectSettings,
      kind: 'scalar',
      hostNetwork: 'scalar',
      extraArgs: {'enable-ssl-passthrough': 'scalar'},
      service: {type: 'scalar', externalTrafficPolicy: 'scalar', externalIPs: ['scalar']},
    },
  },
  cilium: {
    ingressController: {enabled: 'scalar', enableProxyProtocol: 'scalar'},
    gatewayAPI: {enabled: 'scalar', enableProxyProtocol: 'scalar'},
    kubeProxyReplacement: 'scalar',
  },
  ouroboros: {
    controller: {
      mode: 'scalar',
      clusterDomain: 'scalar',
      ingressClass: 'scalar',
      gatewayApi: {enabled: 'scalar'},
    },
    proxy: {target: {namespace: 'scalar', serviceName: 'scalar'}},
  },
}

const addon: ShapeFields = {
  enabled: 'scalar',
  exposeMethod: 'scalar',
  hosts: ['scalar'],
  valuesOverride: chartValues,
}

const tenantValues: ShapeFields = {
  addons: {
    ouroboros: addon,
    ingressNginx: addon,
    gatewayAPI: {enabled: 'scalar'},
    coredns: {valuesOverride: chartValues},
  },
}

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

const rows: readonly Row[] = [
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
    group: 'gateway.nginx.org',
    versions: ['v1alpha2', 'v1alpha1'],
    kinds: {
      nginxproxies: [
        'NginxProxy',
        {
          spec: {
            rewriteClientIP: {
              mode: 'scalar',
              setIPRecursively: 'scalar',
              trustedAddresses: [{type: 'scalar', value: 'scalar'}],
            },
            kubernetes: {service: {type: 'scalar', externalTrafficPolicy: 'scalar'}},
          },
        },
      ],
    },
  },
  {
    group: 'gateway.envoyproxy.io',
    versions: ['v1alpha1'],
    kinds: {
      clienttrafficpolicies: [
        'ClientTrafficPolicy',
        {
          spec: {
            targetRef: target,
            targetRefs: [target],
            targetSelectors: 'tree',
            proxyProtocol: {optional: 'scalar'},
            enableProxyProtocol: 'scalar',
            clientIPDetection: {
              xForwardedFor: {numTrustedHops: 'scalar', trustedCIDRs: ['scalar']},
              customHeader: {name: 'scalar', failClosed: 'scalar'},
            },
          },
          status: policyStatus,
        },
      ],
      backendtrafficpolicies: [
        'BackendTrafficPolicy',
        {spec: {targetRef: target, targetRefs: [target], proxyProtocol: {version: 'scalar'}}, status: policyStatus},
      ],
      envoyproxies: [
        'EnvoyProxy',
        {
          spec: {
            provider: {
              type: 'scalar',
              kubernetes: {
                envoyService: {type: 'scalar', externalTrafficPolicy: 'scalar', loadBalancerClass: 'scalar'},
              },
            },
          },
        },
      ],
    },
  },
  {
    group: 'projectcontour.io',
    versions: ['v1alpha1'],
    kinds: {
      contourconfigurations: [
        'ContourConfiguration',
        {
          spec: {
            envoy: {
              listener: {useProxyProtocol: 'scalar', disableAllowChunkedLength: 'scalar'},
              network: {numTrustedHops: 'scalar'},
              service: {name: 'scalar', namespace: 'scalar'},
            },
          },
        },
      ],
      contourdeployments: [
        'ContourDeployment',
        {
          spec: {
            runtimeSettings: {envoy: {listener: {useProxyProtocol: 'scalar'}, network: {numTrustedHops: 'scalar'}}},
          },
        },
      ],
    },
  },
  {
    group: 'operator.openshift.io',
    versions: ['v1'],
    clusterWide: ['dnses', 'networks'],
    kinds: {
      ingresscontrollers: [
        'IngressController',
        {
          spec: {domain: 'scalar', replicas: 'scalar', endpointPublishingStrategy: 'tree'},
          status: {domain: 'scalar', endpointPublishingStrategy: 'tree', conditions},
        },
      ],
      dnses: ['DNS', {spec: {servers: 'tree'}, status: {clusterIP: 'scalar', clusterDomain: 'scalar'}}],
      networks: ['Network', {spec: {defaultNetwork: {type: 'scalar'}, kubeProxyConfig: 'tree'}}],
    },
  },
  {
    group: 'getambassador.io',
    versions: ['v3alpha1', 'v2'],
    kinds: {
      listeners: [
        'Listener',
        {
          spec: {
            port: 'scalar',
            protocol: 'scalar',
            protocolStack: ['scalar'],
            securityModel: 'scalar',
            l7Depth: 'scalar',
            hostBinding: 'tree',
          },
        },
      ],
      modules: [
        'Module',
        {spec: {config: {use_proxy_proto: 'scalar', use_remote_address: 'scalar', xff_num_trusted_hops: 'scalar'}}},
      ],
    },
  },
  {
    group: 'networking.istio.io',
    // EnvoyFilter is v1alpha3 in every release, Gateway became v1 in 1.22.
    versions: ['v1', 'v1beta1', 'v1alpha3'],
    kinds: {
      gateways: [
        'Gateway',
        {
          spec: {
            selector: 'pairs',
            servers: [
              {
                port: {number: 'scalar', name: 'scalar', protocol: 'scalar'},
                hosts: ['scalar'],
                tls: {mode: 'scalar', httpsRedirect: 'scalar'},
              },
            ],
          },
        },
      ],
      envoyfilters: [
        'EnvoyFilter',
        {
          spec: {
            workloadSelector: {labels: 'pairs'},
            targetRefs: [target],
            configPatches: [
              {
                applyTo: 'scalar',
                match: {context: 'scalar', listener: {portNumber: 'scalar', name: 'scalar'}},
                patch: {operation: 'scalar', value: {...listenerFilter, listener_filters: [listenerFilter]}},
              },
            ],
          },
        },
      ],
    },
  },
  {
    group: 'traefik.io',
    versions: ['v1alpha1'],
    kinds: {
      serverstransporttcps: ['ServersTransportTCP', {spec: {proxyProtocol: {version: 'scalar'}}}],
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
  {
    group: 'cozystack.io',
    versions: ['v1alpha1'],
    clusterWide: ['packages', 'packagesources'],
    kinds: {
      packages: [
        'Package',
        {
          spec: {
            variant: 'scalar',
            ignoreDependencies: ['scalar'],
            components: (value) => componentValues(value),
          },
          status: {conditions},
        },
      ],
      packagesources: [
        'PackageSource',
        {
          spec: {
            sourceRef: target,
            variants: [
              {
                name: 'scalar',
                dependsOn: ['scalar'],
                components: [{name: 'scalar', install: {namespace: 'scalar', releaseName: 'scalar'}}],
              },
            ],
          },
          status: {conditions},
        },
      ],
    },
  },
  {
    group: 'helm.toolkit.fluxcd.io',
    versions: ['v2', 'v2beta2', 'v2beta1'],
    kinds: {
      helmreleases: [
        'HelmRelease',
        {
          spec: {
            suspend: 'scalar',
            interval: 'scalar',
            releaseName: 'scalar',
            targetNamespace: 'scalar',
            chartRef: target,
            chart: {spec: {chart: 'scalar', version: 'scalar'}},
            dependsOn: [{name: 'scalar', namespace: 'scalar'}],
            values: {...chartValues, ...tenantValues},
          },
          status: {observedGeneration: 'scalar', lastHandledReconcileAt: 'scalar', conditions},
        },
      ],
    },
  },
  {
    group: 'apps.cozystack.io',
    versions: ['v1alpha1'],
    kinds: {
      kuberneteses: ['Kubernetes', {spec: tenantValues, status: {version: 'scalar', conditions}}],
      ingresses: [
        'Ingress',
        {
          spec: {
            proxyProtocol: 'scalar',
            cloudflareProxy: 'scalar',
            whitelist: ['scalar'],
            replicas: 'scalar',
          },
          status: {conditions},
        },
      ],
      tenants: ['Tenant', {spec: {ingress: 'scalar', host: 'scalar', gateway: 'scalar'}, status: {conditions}}],
    },
  },
  {
    group: 'kamaji.clastix.io',
    versions: ['v1alpha1'],
    kinds: {
      tenantcontrolplanes: [
        'TenantControlPlane',
        {
          spec: {
            networkProfile: {clusterDomain: 'scalar', address: 'scalar', port: 'scalar', dnsServiceIPs: ['scalar']},
            addons: (value) => addonNames(value),
          },
          status: {controlPlaneEndpoint: 'scalar'},
        },
      ],
    },
  },
]

/** Objects that the tool itself might write: their field owners are kept. */
const written = new Set(['packages'])

/** Custom resources of the platforms that are known, asked for where discovery shows them. */
export const customKinds: readonly SnapshotKind[] = rows.flatMap(({group, versions, kinds, clusterWide}) =>
  Object.entries(kinds).map(([plural, [kind, fields]]): SnapshotKind => ({
    group,
    versions,
    plural,
    kind,
    namespaced: clusterWide?.includes(plural) !== true,
    read: 'all',
    builtIn: false,
    metadata: {labels: 'all', ...(written.has(plural) ? {managedFields: true as const} : {})},
    fields,
  })),
)

/** Components of a Package: of any of them the same few values. */
function componentValues(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => name !== '__proto__')
      .map(([name, component]) => [name, projectFields(component, {enabled: 'scalar', values: chartValues}) ?? {}]),
  )
}

/** Which addons a tenant control plane has; their settings are of no use here. */
function addonNames(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  return Object.fromEntries(
    Object.keys(value)
      .filter((name) => /^[A-Za-z]+$/.test(name))
      .sort()
      .map((name) => [name, {}]),
  )
}
