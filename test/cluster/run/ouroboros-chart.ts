import type {KubeObject} from '../bed/objects.ts'

/**
 * What the chart of ouroboros 0.8 renders for its controller, as Cozystack installs it: release `ouroboros` in namespace
 * `cozy-ouroboros` (facts of charts/ouroboros/templates: clusterrole, role-coredns, role-coredns-import, role-externaldns,
 * controller-deployment, etchosts-daemonset).
 */
export type ChartMode = 'coredns' | 'coredns-import' | 'external-dns' | 'etc-hosts'

export const chartNamespace = 'cozy-ouroboros'
const account = {kind: 'ServiceAccount', name: 'ouroboros', namespace: chartNamespace}
const rbac = 'rbac.authorization.k8s.io'

/** ServiceAccount, roles and bindings of the controller in a mode. */
export function chartRights(mode: ChartMode, output: 'crd' | 'service' = 'crd'): KubeObject[] {
  const clusterRole: KubeObject = {
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRole',
    metadata: {name: 'ouroboros'},
    rules: [
      {apiGroups: ['networking.k8s.io'], resources: ['ingresses'], verbs: ['get', 'list', 'watch']},
      {
        apiGroups: ['gateway.networking.k8s.io'],
        resources: ['gateways', 'httproutes'],
        verbs: ['get', 'list', 'watch'],
      },
    ],
  }
  return [
    {apiVersion: 'v1', kind: 'ServiceAccount', metadata: {name: 'ouroboros', namespace: chartNamespace}},
    clusterRole,
    binding('ClusterRole', 'ouroboros'),
    ...(mode === 'coredns' ? role('ouroboros-coredns', 'kube-system', configMapRule('coredns')) : []),
    ...(mode === 'coredns-import'
      ? role('ouroboros-coredns-import', 'kube-system', configMapRule('coredns-custom'))
      : []),
    ...(mode === 'external-dns'
      ? [
          ...role('ouroboros-externaldns', chartNamespace, {
            apiGroups: [output === 'crd' ? 'externaldns.k8s.io' : ''],
            resources: [output === 'crd' ? 'dnsendpoints' : 'services'],
            verbs: ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'],
          }),
          ...role('ouroboros-externaldns-discover', chartNamespace, {
            apiGroups: [''],
            resources: ['services'],
            resourceNames: ['ouroboros-proxy'],
            verbs: ['get'],
          }),
        ]
      : []),
  ]
}

/** Arguments of the controller's container. */
export function chartArguments(mode: ChartMode, more: readonly string[] = []): string[] {
  const start = ['controller', `--mode=${mode}`, '--resync=1s', '--log-level=info', '--gateway-api']
  const service = ['--proxy-service-name=ouroboros-proxy', `--proxy-service-namespace=${chartNamespace}`]
  switch (mode) {
    case 'coredns':
      return [
        ...start,
        '--coredns-namespace=kube-system',
        '--coredns-configmap=coredns',
        '--coredns-key=Corefile',
        ...service,
        ...more,
      ]
    case 'coredns-import':
      return [
        ...start,
        '--cluster-domain=cluster.local',
        '--coredns-import-namespace=kube-system',
        '--coredns-import-configmap=coredns-custom',
        '--coredns-import-key=ouroboros.override',
        `--proxy-fqdn=ouroboros-proxy.${chartNamespace}.svc.cluster.local.`,
        ...more,
      ]
    case 'external-dns':
      return [
        ...start,
        `--external-dns-namespace=${chartNamespace}`,
        '--external-dns-record-ttl=60',
        '--external-dns-proxy-service=ouroboros-proxy',
        '--external-dns-annotation-prefix=external-dns.alpha.kubernetes.io/',
        ...more,
      ]
    case 'etc-hosts':
      // the DaemonSet passes no --resync
      return ['controller', '--mode=etc-hosts', '--log-level=info', '--gateway-api', ...more]
  }
}

function configMapRule(name: string) {
  return {apiGroups: [''], resources: ['configmaps'], resourceNames: [name], verbs: ['get', 'update', 'patch']}
}

function role(name: string, namespace: string, rule: object): KubeObject[] {
  const metadata = {name, namespace}
  return [
    {apiVersion: `${rbac}/v1`, kind: 'Role', metadata, rules: [rule]},
    {...binding('Role', name), metadata},
  ]
}

function binding(kind: 'Role' | 'ClusterRole', name: string): KubeObject {
  return {
    apiVersion: `${rbac}/v1`,
    kind: `${kind}Binding`,
    metadata: {name},
    roleRef: {apiGroup: rbac, kind, name},
    subjects: [account],
  }
}
