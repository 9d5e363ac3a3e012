import {PRODUCT_IMAGE, type KubeObject} from '../../test/cluster/bed/index.ts'
import {rightsObjects} from '../../test/support/rights.ts'

const namespace = 'srcip'

/** Accounts and rights of `run` and `proxy`, from the file that the chart uses. */
export function rights(): KubeObject[] {
  return rightsObjects({
    name: 'srcip',
    namespace,
    dnsNamespace: 'kube-system',
    dnsConfigMaps: ['coredns'],
  }) as KubeObject[]
}

function deployment(
  component: string,
  account: string,
  args: string[],
  healthPort: number,
  ports: number[],
): KubeObject {
  const labels = {'app.kubernetes.io/name': 'srcip', 'srcip.dev/component': component}
  const name = component === 'proxy' ? 'srcip-proxy' : 'srcip'
  const container = {
    name: component,
    image: PRODUCT_IMAGE,
    args,
    env: [
      {name: 'POD_NAME', valueFrom: {fieldRef: {fieldPath: 'metadata.name'}}},
      {name: 'POD_NAMESPACE', valueFrom: {fieldRef: {fieldPath: 'metadata.namespace'}}},
    ],
    ports: ports.map((containerPort) => ({containerPort})),
    readinessProbe: {httpGet: {path: '/readyz', port: healthPort, scheme: 'HTTP'}, periodSeconds: 2},
  }
  const spec = {
    serviceAccountName: account,
    ...(component === 'proxy' ? {automountServiceAccountToken: false} : {}),
    terminationGracePeriodSeconds: 30,
    containers: [container],
  }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: {name, namespace, labels},
    spec: {replicas: 1, selector: {matchLabels: labels}, template: {metadata: {labels}, spec}},
  }
}

/** Arguments that the demo gives to `kubectl srcip`. */
export const RUN_ARGUMENTS = ['run']
export const PROXY_ARGUMENTS = [
  'proxy',
  '--to=ingress-nginx-controller.ingress-nginx.svc.cluster.local',
  '--port=80=8080',
  '--port=443=8443',
  '--send-proxy=always',
]

/** The proxy with the Service that names what it feeds. */
export function proxyObjects(): KubeObject[] {
  const selector = {'app.kubernetes.io/name': 'srcip', 'srcip.dev/component': 'proxy'}
  const service: KubeObject = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name: 'srcip-proxy',
      namespace,
      labels: selector,
      annotations: {
        'srcip.dev/feeds': 'ingress-nginx/ingress-nginx-controller',
        'srcip.dev/ingress-classes': 'nginx',
      },
    },
    spec: {
      selector,
      ports: [
        {name: 'http', port: 80, targetPort: 8080},
        {name: 'https', port: 443, targetPort: 8443},
      ],
    },
  }
  return [service, deployment('proxy', 'srcip-proxy', PROXY_ARGUMENTS, 8081, [8080, 8443])]
}

/** The controller. */
export function runObjects(): KubeObject[] {
  return [deployment('controller', 'srcip', RUN_ARGUMENTS, 8080, [])]
}
