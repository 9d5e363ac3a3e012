import {record} from '../fields.ts'
import {conditions} from './core-kinds.ts'
import {target, type Row} from './custom-rows.ts'
import type {ShapeFields} from './shape.ts'

const policyStatus: ShapeFields = {
  conditions,
  ancestors: [{ancestorRef: target, controllerName: 'scalar', conditions}],
}

/** A listener filter of Envoy, as much of it as tells whether it takes a PROXY header and whether it must be there. */
const listenerFilter: ShapeFields = {
  name: 'scalar',
  typed_config: {'@type': 'scalar', allow_requests_without_proxy_protocol: 'scalar'},
}

const issuer: ShapeFields = {
  spec: {
    acme: {
      server: 'scalar',
      solvers: [
        {
          selector: {dnsNames: ['scalar'], dnsZones: ['scalar'], matchLabels: 'pairs'},
          http01: namesOnly,
          dns01: namesOnly,
        },
      ],
    },
  },
}

/** Objects by which ingress and Gateway controllers are told about PROXY and trust (platforms.md 2). */
export const receiverRows: readonly Row[] = [
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
    // Who checks itself through the public name (HTTP-01), and who needs the outside view of DNS (DNS-01).
    group: 'cert-manager.io',
    versions: ['v1'],
    clusterWide: ['clusterissuers'],
    kinds: {clusterissuers: ['ClusterIssuer', issuer], issuers: ['Issuer', issuer]},
  },
]

/** Names of the fields only: settings of DNS providers are next to credentials. */
function namesOnly(value: unknown): unknown {
  const names = Object.keys(record(value)).filter((name) => /^[A-Za-z0-9]+$/.test(name))
  return Object.fromEntries(names.sort().map((name) => [name, {}]))
}
