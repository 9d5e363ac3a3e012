import {describe, expect, test} from 'vitest'
import {diagnose, type DiagnoseOptions} from '../../../src/diagnosis/diagnose.ts'
import type {DoctorReport} from '../../../src/model/doctor.ts'
import type {KubeObject} from '../../../src/model/kubernetes.ts'
import {indexSnapshot} from '../../../src/model/snapshot.ts'
import {doctorCases, doctorObjects, snapshotOf} from '../../support/doctor-cases.ts'

const cases = doctorCases()

function objectsOf(name: string): KubeObject[] {
  return doctorObjects(name, cases[name]!)
}

function report(objects: readonly KubeObject[], options: DiagnoseOptions = {}): DoctorReport {
  return diagnose(indexSnapshot(snapshotOf(objects)), options)
}

function breaksOf(name: string, port: number, more: readonly KubeObject[] = []): readonly string[] {
  const {paths} = report([...objectsOf(name), ...more], {for: 'enable'})
  return paths.find((path) => path.port === port)?.after?.breaks ?? []
}

describe('what a switch would break', () => {
  test('a TCP service that does not decode, by its line in the ConfigMap (B41)', () => {
    expect(breaksOf('case-tcp-services-before', 22)).toContain(
      'tcp-services 22: git/forge-ssh:22 does not decode PROXY; it needs git/forge-ssh:22:PROXY',
    )
  })

  test('a balancer that never sends (B43 c), and only then', () => {
    expect(breaksOf('lb-metallb-l2-local', 443).join()).toMatch(/MetalLB never sends PROXY/)
    expect(breaksOf('lb-hetzner-plain', 443).join()).not.toMatch(/never sends/)
  })

  test('who calls in from inside: an auth-url (B30), and an issuer that looks for zones (B51)', () => {
    const issuer = {
      apiVersion: 'cert-manager.io/v1',
      kind: 'ClusterIssuer',
      metadata: {name: 'dns01'},
      spec: {acme: {solvers: [{dns01: {webhook: {groupName: 'acme.example.org', solverName: 'x'}}}]}},
    }
    const breaks = breaksOf('case-auth-url-before', 443, [issuer])
    expect(breaks.join('\n')).toMatch(/Ingress \S+ calls https:\/\/\S+ from inside the cluster: fix the hairpin first/)
    expect(breaks.join('\n')).toMatch(/ClusterIssuer dns01 uses DNS-01/)
  })
})

describe('options', () => {
  test('--for judges the state after the switch: today is the reason to switch', () => {
    expect(report(objectsOf('lb-hetzner-plain')).exitCode).toBe(22)
    expect(report(objectsOf('lb-hetzner-plain'), {for: 'enable'}).exitCode).toBe(0)
    expect(report(objectsOf('lb-do-proxy'), {for: 'enable'}).exitCode).toBe(22)
    // the version of the controller is not seen
    expect(report(objectsOf('lb-hetzner-plain-ccm-unseen'), {for: 'enable'}).exitCode).toBe(21)
  })

  test('--ignore takes a finding out of the list and of the exit code, never a verdict', () => {
    const all = report(objectsOf('lb-do-proxy'))
    const errors = all.findings.filter(({severity}) => severity === 'error').map(({id}) => id)
    const less = report(objectsOf('lb-do-proxy'), {ignore: errors})
    expect(less.findings.map(({id}) => id)).toEqual(all.findings.map(({id}) => id).filter((id) => !errors.includes(id)))
    expect(less.paths).toEqual(all.paths)
    expect({before: all.exitCode, after: less.exitCode}).toEqual({before: 22, after: 21})
  })

  test('one Service: its ways in and what concerns them', () => {
    const {paths, findings} = report(objectsOf('bad-several-classes'), {service: 'internal/internal-nginx'})
    expect(new Set(paths.map((path) => `${path.namespace}/${path.service}`))).toEqual(
      new Set(['internal/internal-nginx']),
    )
    expect(findings.filter(({object}) => object === 'service/ingress-nginx/ingress-nginx-controller')).toEqual([])
  })
})

test('names go with the class that a controller serves, not with its make', () => {
  const {paths} = report(objectsOf('bad-several-classes'))
  const hosts = Object.fromEntries(paths.filter(({port}) => port === 443).map((path) => [path.service, path.hosts]))
  expect(hosts).toEqual({'ingress-nginx-controller': ['app.example.org'], 'internal-nginx': ['intranet.example.org']})
})

test('a Service that leads nobody in is said to be none', () => {
  const {paths, warnings} = report(objectsOf('lb-do-proxy'), {service: 'demo/web'})
  expect({paths, warnings}).toEqual({
    paths: [],
    warnings: ['Service demo/web is no way in: it is not of type LoadBalancer or NodePort and has no externalIPs'],
  })
})

test('kube-vip for the API server alone feeds no Service', () => {
  const vip = (enabled: string): KubeObject => ({
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: {name: 'kube-vip', namespace: 'kube-system'},
    spec: {
      template: {
        spec: {
          containers: [
            {name: 'kube-vip', image: 'ghcr.io/kube-vip/kube-vip:v1.0.0', env: [{name: 'svc_enable', value: enabled}]},
          ],
        },
      },
    },
  })
  const balancer = (enabled: string): string | undefined =>
    report([...objectsOf('lb-hetzner-proxy'), vip(enabled)]).paths[0]?.platform.balancer
  expect(balancer('false')).toBe('hetzner')
  // nodes of a cloud, a controller in the cluster, and the annotations of the cloud: those decide
  expect(balancer('true')).toBe('hetzner')
  const plain = (enabled: string): string | undefined =>
    report([...objectsOf('lb-gcp-local'), vip(enabled)]).paths[0]?.platform.balancer
  expect({off: plain('false'), on: plain('true')}).toEqual({off: 'gce', on: undefined})
})

describe('findings beside the ways in', () => {
  const map = (data: Record<string, string>, metadata: Record<string, unknown> = {}): KubeObject => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {name: 'coredns-custom', namespace: 'kube-system', ...metadata},
    data,
  })
  const ids = (objects: readonly KubeObject[]): string[] => report(objects).findings.map(({id}) => id)

  test('a rendered chart that owns the data of coredns-custom; one without data does no harm', () => {
    const chart = {labels: {'app.kubernetes.io/managed-by': 'Helm'}, annotations: {'helm.sh/resource-policy': 'keep'}}
    expect(ids([map({'site.override': 'log'}, chart)])).toContain('SRC053')
    expect(ids([map({}, chart)])).not.toContain('SRC053')
    expect(ids([map({'site.override': 'log'})])).not.toContain('SRC053')
  })

  test('two tools against the hairpin at once', () => {
    const ouroboros = objectsOf('case-ouroboros-in-place')
    expect(ids(ouroboros)).not.toContain('SRC051')
    const other: KubeObject = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: {name: 'hairpin-proxy-controller', namespace: 'hairpin-proxy'},
      spec: {
        template: {spec: {containers: [{name: 'main', image: 'docker.io/compumike/hairpin-proxy-controller:0.2.1'}]}},
      },
    }
    expect(ids([...ouroboros, other])).toContain('SRC051')
  })

  test('a proxy that lacks a port of the ingress Service', () => {
    const proxy = (ports: readonly number[]): KubeObject => ({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {
        name: 'srcip-proxy',
        namespace: 'srcip',
        labels: {'srcip.dev/component': 'proxy'},
        annotations: {'srcip.dev/feeds': 'ingress-nginx/ingress-nginx-controller'},
      },
      spec: {ports: ports.map((port) => ({port, protocol: 'TCP'}))},
    })
    expect(ids([...objectsOf('lb-do-proxy'), proxy([80])])).toContain('SRC054')
    expect(ids([...objectsOf('lb-do-proxy'), proxy([80, 443])])).not.toContain('SRC054')
  })

  test('Cozystack: an add-on on a tenant whose ingress is plain, and the acknowledge flag', () => {
    const tenant = (config: Record<string, string>): KubeObject => ({
      apiVersion: 'apps.cozystack.io/v1alpha1',
      kind: 'Kubernetes',
      metadata: {name: 'dev', namespace: 'tenant-root'},
      spec: {
        addons: {
          ouroboros: {enabled: true},
          ingressNginx: {enabled: true, valuesOverride: {'ingress-nginx': {controller: {config}}}},
        },
      },
    })
    expect(ids([tenant({})])).toContain('SRC060')
    expect(ids([tenant({'use-proxy-protocol': 'true'})])).not.toContain('SRC060')
    const platform = (value: unknown): KubeObject => ({
      apiVersion: 'cozystack.io/v1alpha1',
      kind: 'Package',
      metadata: {name: 'cozystack.cozystack-platform'},
      spec: {components: {platform: {values: {publishing: {proxyProtocolAcknowledgeUnclean: value}}}}},
    })
    expect(ids([platform(true)])).toContain('SRC061')
    // a text that is not empty is true for the guard, whatever it says
    expect(ids([platform('false')])).toContain('SRC061')
    expect(ids([platform(false)])).not.toContain('SRC061')
  })
})

describe('what may not be read is not taken for missing', () => {
  const without = (name: string, kind: string): DoctorReport =>
    diagnose(indexSnapshot(snapshotOf(objectsOf(name), [kind])), {})

  test('pods: a proxy against the hairpin is not said to have none', () => {
    const {hairpin} = without('case-hairpin-srcip-in-place', 'Pod').paths[0]!
    expect(hairpin.verdict).toBe('depends')
    expect(hairpin.why).toContain('could not be read')
  })

  test('nodes or pods: Cilium L2 with policy Local is not said to have a pod on each node', () => {
    for (const kind of ['Node', 'Pod'])
      expect(without('lb-cilium-l2-local', kind).paths[0]!.outside.verdict).toBe('depends')
  })
})

test("the remedy for an annotation that nobody reads names the cloud's own (B43 b)", () => {
  const finding = report(objectsOf('case-annotation-unknown-on-linode')).findings.find(({id}) => id === 'SRC010')
  const said = JSON.stringify(finding?.remedies)
  expect(said).toContain('service.beta.kubernetes.io/linode-loadbalancer-default-proxy-protocol')
  expect(said).not.toContain('never adds PROXY')
})

test('a Service that is gone is named as DNS names it (B57)', () => {
  const finding = report(objectsOf('case-rewrites-left-behind')).findings.find(({id}) => id === 'SRC052')
  expect(finding?.title).toContain('points at srcip-proxy.srcip, which does not exist')
})

test('each Service is asked once, with all of its ways in', () => {
  const services = [...Array(300).keys()].map((number): KubeObject => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {name: `s${number}`, namespace: 'many'},
    spec: {type: 'LoadBalancer', ports: [{port: 80}, {port: 443}]},
  }))
  const {paths, findings} = report(services)
  expect(paths).toHaveLength(600)
  const asked = findings.filter(({id}) => id === 'SRC013').map(({object}) => object)
  expect(asked).toHaveLength(new Set(asked).size)
  expect(asked).toHaveLength(300)
})
