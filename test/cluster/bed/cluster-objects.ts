import type {Deployment, KubeObject, PodTemplate, Service} from './objects.ts'

/** kubeadm's Corefile; `reload` is the argument of its reload line, empty in the original. */
export function kubeadmCorefile(reload = ''): string {
  return `.:53 {
    errors
    health {
       lameduck 5s
    }
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {
       pods insecure
       fallthrough in-addr.arpa ip6.arpa
       ttl 30
    }
    prometheus :9153
    forward . /etc/resolv.conf {
       max_concurrent 1000
    }
    cache 30 {
       disable success cluster.local
       disable denial cluster.local
    }
    loop
    reload${reload === '' ? '' : ` ${reload}`}
    loadbalance
}
`
}

const dnsLabels = {'k8s-app': 'kube-dns'}

/** Address of the cluster's DNS Service. */
export const CLUSTER_DNS = '10.96.0.10'

/** CoreDNS as kubeadm installs it, without its Deployment. */
export function dnsObjects(corefile: string): KubeObject[] {
  const meta = {name: 'coredns', namespace: 'kube-system'}
  const role = {name: 'system:coredns'}
  const service: Service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name: 'kube-dns',
      namespace: 'kube-system',
      labels: {...dnsLabels, 'kubernetes.io/cluster-service': 'true', 'kubernetes.io/name': 'CoreDNS'},
    },
    spec: {
      clusterIP: CLUSTER_DNS,
      selector: dnsLabels,
      ports: [
        {name: 'dns', port: 53, protocol: 'UDP', targetPort: 53},
        {name: 'dns-tcp', port: 53, protocol: 'TCP', targetPort: 53},
        {name: 'metrics', port: 9153, protocol: 'TCP', targetPort: 9153},
      ],
    },
  }
  return [
    {apiVersion: 'v1', kind: 'ServiceAccount', metadata: meta},
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: role,
      rules: [
        {apiGroups: [''], resources: ['endpoints', 'services', 'pods', 'namespaces'], verbs: ['list', 'watch']},
        {apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['list', 'watch']},
      ],
    },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: role,
      roleRef: {apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role.name},
      subjects: [{kind: 'ServiceAccount', ...meta}],
    },
    {apiVersion: 'v1', kind: 'ConfigMap', metadata: meta, data: {Corefile: corefile}},
    service,
  ]
}

/** Pod template of CoreDNS at a version. */
export function dnsTemplate(version: string): PodTemplate {
  return {
    metadata: {labels: dnsLabels},
    spec: {
      serviceAccountName: 'coredns',
      dnsPolicy: 'Default',
      terminationGracePeriodSeconds: 30,
      containers: [
        {
          name: 'coredns',
          image: `registry.k8s.io/coredns/coredns:v${version}`,
          args: ['-conf', '/etc/coredns/Corefile'],
          ports: [
            {name: 'dns', containerPort: 53, protocol: 'UDP'},
            {name: 'dns-tcp', containerPort: 53, protocol: 'TCP'},
            {name: 'metrics', containerPort: 9153, protocol: 'TCP'},
          ],
          readinessProbe: {httpGet: {path: '/ready', port: 8181, scheme: 'HTTP'}, periodSeconds: 2},
          volumeMounts: [{name: 'config-volume', mountPath: '/etc/coredns', readOnly: true}],
        },
      ],
      volumes: [{name: 'config-volume', configMap: {name: 'coredns', items: [{key: 'Corefile', path: 'Corefile'}]}}],
    },
  }
}

/** The Deployment of CoreDNS; with several versions it stands in the middle of a rollout that somebody paused. */
export function dnsDeployment(versions: readonly string[]): Deployment {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: {name: 'coredns', namespace: 'kube-system', labels: dnsLabels},
    spec: {
      replicas: versions.length,
      ...(new Set(versions).size > 1 ? {paused: true} : {}),
      selector: {matchLabels: dnsLabels},
      template: dnsTemplate(versions[0] ?? ''),
    },
  }
}

const ingressLabels = {
  'app.kubernetes.io/name': 'ingress-nginx',
  'app.kubernetes.io/instance': 'ingress-nginx',
  'app.kubernetes.io/component': 'controller',
}

/** A strict ingress as ingress-nginx's chart installs it, behind a load balancer that keeps the node's source. */
export function ingressObjects(options: {proxyProtocol: boolean}): KubeObject[] {
  const meta = {name: 'ingress-nginx-controller', namespace: 'ingress-nginx', labels: ingressLabels}
  const deployment: Deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: meta,
    spec: {
      replicas: 1,
      selector: {matchLabels: ingressLabels},
      template: {
        metadata: {labels: ingressLabels},
        spec: {
          containers: [
            {
              name: 'controller',
              image: 'registry.k8s.io/ingress-nginx/controller:v1.14.1',
              args: [
                '/nginx-ingress-controller',
                '--configmap=$(POD_NAMESPACE)/ingress-nginx-controller',
                '--ingress-class=nginx',
              ],
              env: [{name: 'POD_NAMESPACE', valueFrom: {fieldRef: {fieldPath: 'metadata.namespace'}}}],
              ports: [
                {name: 'http', containerPort: 80},
                {name: 'https', containerPort: 443},
              ],
              readinessProbe: {httpGet: {path: '/healthz', port: 10254, scheme: 'HTTP'}, periodSeconds: 5},
            },
          ],
        },
      },
    },
  }
  const service: Service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: meta,
    spec: {
      type: 'LoadBalancer',
      externalTrafficPolicy: 'Local',
      selector: ingressLabels,
      ports: [
        {name: 'http', port: 80, targetPort: 'http'},
        {name: 'https', port: 443, targetPort: 'https'},
      ],
    },
  }
  return [
    {apiVersion: 'v1', kind: 'Namespace', metadata: {name: 'ingress-nginx'}},
    {apiVersion: 'v1', kind: 'ConfigMap', metadata: meta, data: {'use-proxy-protocol': String(options.proxyProtocol)}},
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'IngressClass',
      metadata: {name: 'nginx', labels: ingressLabels},
      spec: {controller: 'k8s.io/ingress-nginx'},
    },
    service,
    deployment,
  ]
}

/** A Deployment of one container with a Service on port 80: the bed's web application. */
export function applicationObjects(namespace: string, name: string): KubeObject[] {
  const labels = {app: name}
  const deployment: Deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: {name, namespace, labels},
    spec: {
      replicas: 1,
      selector: {matchLabels: labels},
      template: {
        metadata: {labels},
        spec: {
          containers: [
            {
              name: 'echo',
              image: 'bed/echo:1',
              ports: [{name: 'http', containerPort: 8080}],
              readinessProbe: {tcpSocket: {port: 8080}, periodSeconds: 5},
            },
          ],
        },
      },
    },
  }
  const service: Service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {name, namespace, labels},
    spec: {selector: labels, ports: [{name: 'http', port: 80, targetPort: 'http'}]},
  }
  return [deployment, service]
}

/** An Ingress for one host that leads to port 80 of a Service; with a secret's name it speaks TLS. */
export function ingressFor(
  namespace: string,
  name: string,
  host: string,
  service: string,
  secretName?: string,
): KubeObject {
  const backend = {service: {name: service, port: {number: 80}}}
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: {name, namespace},
    spec: {
      ingressClassName: 'nginx',
      ...(secretName === undefined ? {} : {tls: [{hosts: [host], secretName}]}),
      rules: [{host, http: {paths: [{path: '/', pathType: 'Prefix', backend}]}}],
    },
  }
}

/** A pod that does nothing but lend its address and its resolver to commands: the ordinary client inside. */
export function callerPod(namespace: string, name: string): KubeObject {
  const containers = [{name: 'caller', image: 'bed/caller:1'}]
  return {apiVersion: 'v1', kind: 'Pod', metadata: {name, namespace, labels: {app: name}}, spec: {containers}}
}
