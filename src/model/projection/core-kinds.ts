import {configMapShape} from './config-map.ts'
import type {SnapshotKind} from './kind.ts'
import {podSpecShape} from './pod-spec.ts'
import {maskText} from './mask.ts'
import {project, type Shape, type ShapeFields} from './shape.ts'

/** Conditions without times and free text. */
export const conditions: Shape = [{type: 'scalar', status: 'scalar', reason: 'scalar', observedGeneration: 'scalar'}]

const labelSelector: ShapeFields = {
  matchLabels: 'pairs',
  matchExpressions: [{key: 'scalar', operator: 'scalar', values: ['scalar']}],
}

const loadBalancer: ShapeFields = {
  ingress: [
    {
      ip: 'scalar',
      hostname: 'scalar',
      ipMode: 'scalar',
      ports: [{port: 'scalar', protocol: 'scalar', error: 'scalar'}],
    },
  ],
}

/** Annotations by which providers and controllers take orders about a Service. */
const serviceAnnotations =
  /^(?:[\w.-]*(?:kubernetes\.io|k8s\.io|hetzner\.cloud|openstack\.org|ovhcloud\.com|civo\.com|oraclecloud\.com|cloud\.google\.com|metallb\.io|metallb\.universe\.tf|kube-vip\.io|cilium\.io|io\.cilium|purelb\.io|kube-router\.io|antrea\.io|vmware\.com|stackit\.cloud|outscale\.com|scaleway\.com|projectcontour\.io|istio\.io|haproxy\.org|traefik\.io|konghq\.com|getambassador\.io|k3s\.cattle\.io|cattle\.io|kubelb\.k8c\.io|f5\.com|gke\.io|aws\.amazon\.com|k8s\.aws))\//

/** Annotations of Ingresses and routes that add names, change who is asked, or limit who may come. */
const routeAnnotations =
  /^(?:kubernetes\.io\/ingress\.class$|cert-manager\.io\/|acme\.cert-manager\.io\/|external-dns\.alpha\.kubernetes\.io\/(?:hostname|target)$|[\w.-]+\/(?:server-alias|from-to-www-redirect|auth-url|auth-signin|ssl-passthrough|force-ssl-redirect|ssl-redirect|whitelist-source-range|allowlist-source-range|denylist-source-range|allow-list|deny-list|backend-protocol|use-proxy-protocol|proxy-protocol|send-proxy-protocol|real-ip-hdr|forwardfor|forwarded-for|src-ip-header|router\.entrypoints|use-regex|upstream-vhost|scheme|target-type|load-balancer-name|group\.name|ip-address-type|target-group-attributes|load-balancer-attributes|enable-ingress-proxy-protocol|loadbalancer-mode)$)/

const podAnnotations =
  /^(?:proxy\.istio\.io\/config$|cni\.projectcalico\.org\/allowedSourcePrefixes$|srcip\.dev\/|k8s\.v1\.cni\.cncf\.io\/networks$)/

const templateShape: ShapeFields = {
  metadata: {labels: 'pairs', annotations: keptAnnotations},
  spec: podSpecShape,
}

function keptAnnotations(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const kept = Object.entries(value).filter(
    (entry): entry is [string, string] => podAnnotations.test(entry[0]) && typeof entry[1] === 'string',
  )
  return kept.length === 0 ? undefined : Object.fromEntries(kept.map(([key, text]) => [key, maskText(text)]))
}

const workloadFields: ShapeFields = {
  spec: {replicas: 'scalar', selector: labelSelector, template: templateShape},
  status: {
    observedGeneration: 'scalar',
    replicas: 'scalar',
    readyReplicas: 'scalar',
    availableReplicas: 'scalar',
    updatedReplicas: 'scalar',
    desiredNumberScheduled: 'scalar',
    currentNumberScheduled: 'scalar',
    numberReady: 'scalar',
    numberAvailable: 'scalar',
    updatedNumberScheduled: 'scalar',
  },
}

function core(plural: string, kind: string, rest: Rest): SnapshotKind {
  return builtIn('', plural, kind, rest)
}

type Rest = Pick<SnapshotKind, 'read' | 'metadata' | 'fields'> & {readonly namespaced?: boolean}

function builtIn(group: string, plural: string, kind: string, rest: Rest): SnapshotKind {
  return {group, versions: ['v1'], plural, kind, namespaced: true, builtIn: true, ...rest}
}

/** Kinds that every cluster serves. */
export const coreKinds: readonly SnapshotKind[] = [
  core('namespaces', 'Namespace', {read: 'all', namespaced: false, metadata: {labels: 'all'}, fields: {}}),
  core('nodes', 'Node', {
    read: 'all',
    namespaced: false,
    metadata: {
      labels: 'all',
      annotations:
        /^(?:k3s\.io|rke2\.io|kube-vip\.io|projectcalico\.org\/IPv|flannel\.alpha\.coreos\.com\/(?:backend-type|public-ip))/,
    },
    fields: {
      spec: {
        podCIDR: 'scalar',
        podCIDRs: ['scalar'],
        providerID: 'scalar',
        unschedulable: 'scalar',
        taints: [{key: 'scalar', value: 'scalar', effect: 'scalar'}],
      },
      status: {
        addresses: [{type: 'scalar', address: 'scalar'}],
        conditions: (value) => readyOnly(value),
        nodeInfo: {
          kubeletVersion: 'scalar',
          kubeProxyVersion: 'scalar',
          osImage: 'scalar',
          kernelVersion: 'scalar',
          containerRuntimeVersion: 'scalar',
        },
      },
    },
  }),
  core('services', 'Service', {
    read: 'all',
    metadata: {labels: 'all', annotations: serviceAnnotations, managedFields: true},
    fields: {
      spec: {
        type: 'scalar',
        clusterIP: 'scalar',
        clusterIPs: ['scalar'],
        ipFamilies: ['scalar'],
        ipFamilyPolicy: 'scalar',
        externalName: 'scalar',
        externalIPs: ['scalar'],
        externalTrafficPolicy: 'scalar',
        internalTrafficPolicy: 'scalar',
        trafficDistribution: 'scalar',
        healthCheckNodePort: 'scalar',
        loadBalancerIP: 'scalar',
        loadBalancerClass: 'scalar',
        loadBalancerSourceRanges: ['scalar'],
        allocateLoadBalancerNodePorts: 'scalar',
        publishNotReadyAddresses: 'scalar',
        sessionAffinity: 'scalar',
        selector: 'pairs',
        ports: [
          {
            name: 'scalar',
            port: 'scalar',
            protocol: 'scalar',
            targetPort: 'scalar',
            nodePort: 'scalar',
            appProtocol: 'scalar',
          },
        ],
      },
      status: {loadBalancer, conditions},
    },
  }),
  core('pods', 'Pod', {
    read: 'chosen',
    metadata: {labels: 'all', annotations: podAnnotations},
    fields: {
      spec: podSpecShape,
      status: {
        phase: 'scalar',
        hostIP: 'scalar',
        podIP: 'scalar',
        podIPs: [{ip: 'scalar'}],
        conditions: (value) => readyOnly(value),
      },
    },
  }),
  core('configmaps', 'ConfigMap', {
    read: 'named',
    metadata: {labels: 'all', managedFields: true, resourceVersion: true},
    fields: configMapShape,
  }),
  builtIn('discovery.k8s.io', 'endpointslices', 'EndpointSlice', {
    read: 'chosen',
    metadata: {},
    fields: {
      addressType: 'scalar',
      endpoints: [
        {
          addresses: ['scalar'],
          conditions: {ready: 'scalar', serving: 'scalar', terminating: 'scalar'},
          nodeName: 'scalar',
          zone: 'scalar',
          targetRef: {kind: 'scalar', namespace: 'scalar', name: 'scalar'},
        },
      ],
      ports: [{name: 'scalar', port: 'scalar', protocol: 'scalar', appProtocol: 'scalar'}],
    },
  }),
  ...(['deployments/Deployment', 'daemonsets/DaemonSet', 'statefulsets/StatefulSet'] as const).map((word) => {
    const [plural = '', kind = ''] = word.split('/')
    return builtIn('apps', plural, kind, {read: 'chosen', metadata: {labels: 'all'}, fields: workloadFields})
  }),
  builtIn('apps', 'replicasets', 'ReplicaSet', {read: 'never', metadata: {}, fields: workloadFields}),
  // By its name alone: the Job that RKE1 puts the DNS addon in with.
  builtIn('batch', 'jobs', 'Job', {read: 'never', metadata: {}, fields: {}}),
  builtIn('networking.k8s.io', 'ingresses', 'Ingress', {
    read: 'all',
    metadata: {annotations: routeAnnotations},
    fields: {
      spec: {
        ingressClassName: 'scalar',
        defaultBackend: {service: {name: 'scalar', port: {name: 'scalar', number: 'scalar'}}},
        rules: [
          {
            host: 'scalar',
            http: {
              paths: [
                {
                  path: 'scalar',
                  pathType: 'scalar',
                  backend: {service: {name: 'scalar', port: {name: 'scalar', number: 'scalar'}}},
                },
              ],
            },
          },
        ],
        tls: [{hosts: ['scalar']}],
      },
      status: {loadBalancer},
    },
  }),
  builtIn('networking.k8s.io', 'ingressclasses', 'IngressClass', {
    read: 'all',
    namespaced: false,
    metadata: {annotations: /^ingressclass\.kubernetes\.io\//},
    fields: {
      spec: {
        controller: 'scalar',
        parameters: {apiGroup: 'scalar', kind: 'scalar', name: 'scalar', namespace: 'scalar', scope: 'scalar'},
      },
    },
  }),
]

const gatewayGroup = 'gateway.networking.k8s.io'

const listeners: Shape = [
  {
    name: 'scalar',
    hostname: 'scalar',
    port: 'scalar',
    protocol: 'scalar',
    tls: {mode: 'scalar'},
    allowedRoutes: {
      namespaces: {from: 'scalar', selector: labelSelector},
      kinds: [{group: 'scalar', kind: 'scalar'}],
    },
  },
]

const listenerStatus: Shape = [{name: 'scalar', attachedRoutes: 'scalar', conditions}]

const reference: ShapeFields = {
  group: 'scalar',
  kind: 'scalar',
  namespace: 'scalar',
  name: 'scalar',
  sectionName: 'scalar',
  port: 'scalar',
}

const routeFields: ShapeFields = {
  spec: {parentRefs: [reference], hostnames: ['scalar'], rules: [{backendRefs: [reference]}]},
  status: {parents: [{parentRef: reference, controllerName: 'scalar', conditions}]},
}

function gateway(plural: string, kind: string, versions: readonly string[], rest: Rest): SnapshotKind {
  return {...builtIn(gatewayGroup, plural, kind, rest), versions, builtIn: false}
}

/** The Gateway API; releases differ in the versions they serve (controller.md 3.2). */
export const gatewayKinds: readonly SnapshotKind[] = [
  gateway('gatewayclasses', 'GatewayClass', ['v1', 'v1beta1'], {
    read: 'all',
    namespaced: false,
    metadata: {},
    fields: {spec: {controllerName: 'scalar', parametersRef: reference}, status: {conditions}},
  }),
  gateway('gateways', 'Gateway', ['v1', 'v1beta1'], {
    read: 'all',
    metadata: {labels: 'all', annotations: new RegExp(`${routeAnnotations.source}|${serviceAnnotations.source}`)},
    fields: {
      spec: {
        gatewayClassName: 'scalar',
        addresses: [{type: 'scalar', value: 'scalar'}],
        listeners,
        allowedListeners: {namespaces: {from: 'scalar', selector: labelSelector}},
        infrastructure: {labels: 'pairs', parametersRef: reference},
      },
      status: {addresses: [{type: 'scalar', value: 'scalar'}], conditions, listeners: listenerStatus},
    },
  }),
  gateway('listenersets', 'ListenerSet', ['v1', 'v1beta1', 'v1alpha1'], {
    read: 'all',
    metadata: {labels: 'all', annotations: routeAnnotations},
    fields: {spec: {parentRef: reference, listeners}, status: {conditions, listeners: listenerStatus}},
  }),
  ...(
    [
      ['httproutes', 'HTTPRoute', ['v1', 'v1beta1']],
      ['grpcroutes', 'GRPCRoute', ['v1', 'v1alpha2']],
      ['tlsroutes', 'TLSRoute', ['v1', 'v1alpha3', 'v1alpha2']],
      ['tcproutes', 'TCPRoute', ['v1', 'v1alpha2']],
      ['udproutes', 'UDPRoute', ['v1', 'v1alpha2']],
    ] as const
  ).map(([plural, kind, versions]) =>
    gateway(plural, kind, versions, {read: 'all', metadata: {annotations: routeAnnotations}, fields: routeFields}),
  ),
]

/** Only whether it is Ready: heartbeats would make every snapshot another one. */
function readyOnly(value: unknown): unknown {
  const kept = project(value, conditions)
  return Array.isArray(kept) ? kept.filter((one) => (one as {type?: unknown}).type === 'Ready') : undefined
}
