import {readFileSync} from 'node:fs'
import {parseAllDocuments} from 'yaml'
import type {KubeObject} from '../../src/model/kubernetes.ts'

/** Objects of a YAML file below test/cases. */
export function caseObjects(path: string): KubeObject[] {
  const text = readFileSync(new URL(`../cases/${path}`, import.meta.url), 'utf8')
  return parseAllDocuments(text)
    .map((document) => document.toJS() as KubeObject | null)
    .filter((object) => object !== null)
}

export const kubeadmCorefile = readFileSync(new URL('../cases/corefiles/kubeadm-1.35', import.meta.url), 'utf8')

export function configMap(
  name: string,
  data: Record<string, string>,
  metadata: Record<string, unknown> = {},
): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {namespace: 'kube-system', name, uid: `uid-${name}`, resourceVersion: '7', ...metadata},
    data,
  }
}

export function dnsService(name = 'kube-dns', extra: {spec?: object; metadata?: object} = {}): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {namespace: 'kube-system', name, labels: {'k8s-app': 'kube-dns'}, ...extra.metadata},
    spec: {
      clusterIP: '10.96.0.10',
      clusterIPs: ['10.96.0.10'],
      selector: {'k8s-app': 'kube-dns'},
      ports: [
        {name: 'dns', port: 53, protocol: 'UDP', targetPort: 53},
        {name: 'dns-tcp', port: 53, protocol: 'TCP', targetPort: 53},
      ],
      ...extra.spec,
    },
  }
}

export interface PodTemplateOptions {
  readonly configMap?: string
  readonly custom?: string
  readonly customOptional?: boolean
  readonly image?: string
  readonly args?: readonly string[]
  readonly container?: object
  readonly volumes?: readonly object[]
  readonly mounts?: readonly object[]
}

/** Pod spec as kubeadm writes it, with a coredns-custom volume where one is named. */
export function corednsSpec(options: PodTemplateOptions = {}): object {
  return {
    containers: [
      {
        name: 'coredns',
        image: options.image ?? 'registry.k8s.io/coredns/coredns:v1.14.7',
        args: options.args ?? ['-conf', '/etc/coredns/Corefile'],
        volumeMounts: options.mounts ?? [
          {name: 'config-volume', mountPath: '/etc/coredns', readOnly: true},
          ...(options.custom === undefined ? [] : [{name: 'custom', mountPath: '/etc/coredns/custom'}]),
        ],
        ...options.container,
      },
    ],
    volumes: options.volumes ?? [
      {
        name: 'config-volume',
        configMap: {name: options.configMap ?? 'coredns', items: [{key: 'Corefile', path: 'Corefile'}]},
      },
      ...(options.custom === undefined
        ? []
        : [{name: 'custom', configMap: {name: options.custom, optional: options.customOptional ?? true}}]),
    ],
  }
}

export function deployment(
  name: string,
  spec: object,
  labels: Record<string, string> = {'k8s-app': 'kube-dns'},
): KubeObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: {namespace: 'kube-system', name},
    spec: {replicas: 2, selector: {matchLabels: labels}, template: {metadata: {labels}, spec}},
  }
}

export function pod(name: string, spec: object, extra: {metadata?: object; status?: object} = {}): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {namespace: 'kube-system', name, uid: `uid-${name}`, labels: {'k8s-app': 'kube-dns'}, ...extra.metadata},
    spec,
    status: {phase: 'Running', podIP: '10.244.0.2', conditions: [{type: 'Ready', status: 'True'}], ...extra.status},
  }
}

/** kubeadm's cluster DNS: Service, Deployment, ConfigMap. */
export function kubeadmDns(corefile = kubeadmCorefile, options: PodTemplateOptions = {}): KubeObject[] {
  return [dnsService(), deployment('coredns', corednsSpec(options)), configMap('coredns', {Corefile: corefile})]
}
