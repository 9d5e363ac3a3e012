import {describe, expect, it} from 'vitest'
import type {SrcipError} from '../../../../src/model/errors.ts'
import type {KubeObject} from '../../../../src/model/kubernetes.ts'
import {locateClusterDns, type DnsLocation} from '../../../../src/platforms/dns/locate.ts'
import {projectDnsObjects} from '../../../../src/platforms/dns/objects.ts'
import {
  caseObjects,
  configMap,
  corednsSpec,
  deployment,
  dnsService,
  kubeadmDns,
  pod,
} from '../../../support/dns-objects.ts'

function locate(objects: readonly KubeObject[], service?: string): DnsLocation {
  return locateClusterDns(projectDnsObjects(objects), {service})
}

function refusal(objects: readonly KubeObject[]): SrcipError {
  try {
    locate(objects)
  } catch (error) {
    return error as SrcipError
  }
  throw new Error('was located')
}

describe('locating cluster DNS', () => {
  it('follows RKE2 from the Service to its ConfigMap, passes the decoy over and names the Helm release (B17)', () => {
    const location = locate(caseObjects('B17-configmap-is-not-named-coredns/objects.yaml'))
    expect(location.corefile).toMatchObject({configMap: 'rke2-coredns-rke2-coredns', key: 'Corefile', live: true})
    expect(location.container.version).toBe('1.12.2')
    expect(location.workload).toEqual({kind: 'Deployment', name: 'rke2-coredns-rke2-coredns'})
    expect(location.ignored).toEqual([
      {object: 'configmap/kube-system/coredns', reason: 'holds a Corefile that no DNS pod mounts'},
    ])
    expect(location.owner?.title).toBe('Helm release rke2-coredns of RKE2')
    expect(location.owner?.instead).toContain('HelmChartConfig kube-system/rke2-coredns')
  })

  describe('a ConfigMap that must not be read', () => {
    const objects = [
      dnsService(),
      deployment('coredns', corednsSpec({custom: 'coredns-custom'})),
      configMap('coredns', {Corefile: '.:53 {\n}\n'}),
    ]
    const locateWithout = (...names: string[]): DnsLocation => {
      const projected = projectDnsObjects(objects)
      const configMaps = projected.configMaps.filter(({metadata}) => !names.includes(metadata.name))
      return locateClusterDns({
        ...projected,
        configMaps,
        forbiddenMaps: new Set(names.map((name) => `kube-system/${name}`)),
      })
    }

    it('is fatal where it holds the Corefile (31)', () => {
      expect(() => locateWithout('coredns')).toThrow(
        expect.objectContaining({
          exitCode: 31,
          message: expect.stringContaining('not allowed to get configmaps/coredns'),
        }),
      )
    })

    it('is told, and what it fills counts as unknown, where it is only mounted', () => {
      const location = locateWithout('coredns-custom')
      expect(location.forbidden).toEqual(['kube-system/coredns-custom'])
      expect(location.opaqueMounts).toEqual(['/etc/coredns/custom'])
      expect(location.mounts.find((mount) => mount.configMap === 'coredns-custom')).toMatchObject({
        whole: false,
        exists: false,
      })
    })

    it('of somebody else is told and nothing more', () => {
      const {forbidden, opaqueMounts} = locateWithout('node-local-dns')
      expect({forbidden, opaqueMounts}).toEqual({forbidden: ['kube-system/node-local-dns'], opaqueMounts: []})
    })
  })

  it('refuses two Deployments behind one Service that mount different Corefiles, and lists both', () => {
    const error = refusal([
      ...kubeadmDns(),
      deployment('coredns-new', corednsSpec({configMap: 'coredns-new'})),
      configMap('coredns-new', {Corefile: '.:53 {\n}\n'}),
    ])
    expect(error.exitCode).toBe(32)
    expect(error.message).toContain('deployment/kube-system/coredns (configmap/kube-system/coredns, key Corefile)')
    expect(error.message).toContain(
      'deployment/kube-system/coredns-new (configmap/kube-system/coredns-new, key Corefile)',
    )
  })

  it('refuses two DNS Services over different Deployments until one is named', () => {
    const objects = [
      ...kubeadmDns(),
      dnsService('other-dns', {spec: {clusterIP: '10.96.0.11', clusterIPs: ['10.96.0.11'], selector: {app: 'other'}}}),
      deployment('other', corednsSpec({configMap: 'other'}), {app: 'other'}),
      configMap('other', {Corefile: '.:53 {\n}\n'}),
    ]
    const error = refusal(objects)
    expect(error.exitCode).toBe(32)
    expect(error.hints).toEqual(['--dns-service kube-system/kube-dns', '--dns-service kube-system/other-dns'])
    expect(locate(objects, 'kube-system/other-dns').corefile.configMap).toBe('other')
  })

  it('ignores a CoreDNS for other purposes: its Service lacks the label that kubelets follow', () => {
    const location = locate([
      ...kubeadmDns(),
      dnsService('edge-dns', {
        metadata: {labels: {}},
        spec: {clusterIP: '10.96.0.12', clusterIPs: ['10.96.0.12'], selector: {app: 'edge'}},
      }),
      deployment('edge', corednsSpec({configMap: 'edge'}), {app: 'edge'}),
      configMap('edge', {Corefile: '.:53 {\n}\n'}),
    ])
    expect(location.corefile.configMap).toBe('coredns')
    expect(location.ignored.map((entry) => entry.object)).toContain('service/kube-system/edge-dns')
  })

  it('finds DNS by its endpoints where no Service carries the label', () => {
    const location = locate([
      dnsService('dns-default', {
        metadata: {namespace: 'openshift-dns', labels: {}},
        spec: {selector: undefined, ports: [{port: 53, protocol: 'TCP', targetPort: 'dns-tcp'}]},
      }),
      {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: {
          namespace: 'openshift-dns',
          name: 'dns-default-x',
          labels: {'kubernetes.io/service-name': 'dns-default'},
        },
        endpoints: [{addresses: ['10.128.0.4'], targetRef: {kind: 'Pod', name: 'dns-default-1'}}],
      },
      pod(
        'dns-default-1',
        corednsSpec({
          configMap: 'dns-default',
          image: 'quay.example.org/release@sha256:00',
          container: {
            name: 'dns',
            command: ['coredns'],
            ports: [{name: 'dns-tcp', containerPort: 5353, protocol: 'TCP'}],
          },
        }),
        {
          metadata: {
            namespace: 'openshift-dns',
            ownerReferences: [{kind: 'DaemonSet', name: 'dns-default', uid: 'x', controller: true}],
          },
        },
      ),
      configMap(
        'dns-default',
        {Corefile: '.:5353 {\n}\n'},
        {namespace: 'openshift-dns', labels: {'dns.operator.openshift.io/owning-dns': 'default'}},
      ),
    ])
    expect(location).toMatchObject({
      namespace: 'openshift-dns',
      dnsPort: 5353,
      workload: {kind: 'DaemonSet', name: 'dns-default'},
    })
    expect(location.container.version).toBeUndefined()
    expect(location.owner).toMatchObject({id: 'openshift', edits: 'reverted'})
  })

  it('counts pods that are Ready and not going', () => {
    const spec = corednsSpec()
    const {pods} = locate([
      ...kubeadmDns(),
      pod('a', spec),
      pod('b', spec, {status: {conditions: [{type: 'Ready', status: 'False'}]}}),
      pod('c', spec, {metadata: {deletionTimestamp: '2026-01-01T00:00:00Z'}}),
      pod('d', spec, {status: {phase: 'Failed', conditions: []}}),
      pod('elsewhere', spec, {metadata: {labels: {'k8s-app': 'other'}}}),
    ])
    expect(pods.map((entry) => [entry.name, entry.counting, entry.reason])).toEqual([
      ['a', true, undefined],
      ['b', false, 'is not Ready'],
      ['c', false, 'is being deleted'],
      ['d', false, 'is Failed'],
    ])
  })

  it('finds the Deployment of a pod through its ReplicaSet, and by the hash without the right to read it', () => {
    const owned = {
      metadata: {
        labels: {'k8s-app': 'kube-dns', 'pod-template-hash': '7d9f'},
        ownerReferences: [{kind: 'ReplicaSet', name: 'dns-x-7d9f', uid: 'u', controller: true}],
      },
    }
    expect(locate([...kubeadmDns(), pod('a', corednsSpec(), owned)]).workload).toEqual({
      kind: 'Deployment',
      name: 'dns-x',
    })
    const set = {
      apiVersion: 'apps/v1',
      kind: 'ReplicaSet',
      metadata: {
        namespace: 'kube-system',
        name: 'dns-x-7d9f',
        ownerReferences: [{kind: 'Deployment', name: 'dns', uid: 'v', controller: true}],
      },
    }
    expect(locate([...kubeadmDns(), set, pod('a', corednsSpec(), owned)]).workload).toEqual({
      kind: 'Deployment',
      name: 'dns',
    })
  })

  it.each([
    [['-conf=/etc/coredns/Corefile']],
    [['--conf', '/etc/coredns/Corefile']],
    [['-dns.port=53', '-conf', '$(ROOT)/Corefile']],
  ])('reads -conf in every spelling: %j', (args) => {
    const location = locate(kubeadmDns(undefined, {args, container: {env: [{name: 'ROOT', value: '/etc/coredns'}]}}))
    expect(location.corefilePath).toBe('/etc/coredns/Corefile')
  })

  it('follows items that rename the key, and projected volumes', () => {
    const volumes = [
      {
        name: 'v',
        projected: {
          sources: [{secret: {name: 's'}}, {configMap: {name: 'dns', items: [{key: 'main', path: 'conf/Corefile'}]}}],
        },
      },
    ]
    const location = locate([
      dnsService(),
      deployment(
        'coredns',
        corednsSpec({args: ['-conf', '/cfg/conf/Corefile'], volumes, mounts: [{name: 'v', mountPath: '/cfg/'}]}),
      ),
      configMap('dns', {main: 'text'}),
    ])
    expect(location.corefile).toMatchObject({configMap: 'dns', key: 'main', text: 'text', live: true})
  })

  it('knows that a subPath mount and an immutable ConfigMap never change in a running pod', () => {
    const mounts = [{name: 'config-volume', mountPath: '/etc/coredns/Corefile', subPath: 'Corefile'}]
    expect(locate(kubeadmDns(undefined, {mounts})).corefile.live).toBe(false)
    const [service, workload, map] = kubeadmDns()
    const frozen = locate([service!, workload!, {...map!, immutable: true}])
    expect(frozen.corefile).toMatchObject({live: false, immutable: true})
  })

  it('lists mounted files, and the optional ConfigMap that does not exist yet', () => {
    const without = locate(kubeadmDns(undefined, {custom: 'coredns-custom'}))
    expect(without.mounts).toContainEqual(
      expect.objectContaining({
        path: '/etc/coredns/custom',
        configMap: 'coredns-custom',
        optional: true,
        exists: false,
      }),
    )
    expect(without.files.map((file) => file.path)).toEqual(['/etc/coredns/Corefile'])
    const withKey = locate([
      ...kubeadmDns(undefined, {custom: 'coredns-custom'}),
      configMap('coredns-custom', {'a.override': 'log\n'}),
    ])
    expect(withKey.files.map((file) => [file.path, file.configMap, file.key])).toEqual([
      ['/etc/coredns/Corefile', 'coredns', 'Corefile'],
      ['/etc/coredns/custom/a.override', 'coredns-custom', 'a.override'],
    ])
  })

  it('takes the environment from values and ConfigMaps, and knows what it cannot know', () => {
    const env = [
      {name: 'A', value: '1'},
      {name: 'B', valueFrom: {configMapKeyRef: {name: 'vars', key: 'b'}}},
      {name: 'C', valueFrom: {secretKeyRef: {name: 's', key: 'c'}}},
      {name: 'D', value: '$(A)2'},
    ]
    const location = locate([...kubeadmDns(undefined, {container: {env}}), configMap('vars', {b: 'bee'})])
    expect([...location.environment]).toEqual([
      ['A', '1'],
      ['B', 'bee'],
      ['C', undefined],
      ['D', '12'],
    ])
    expect(location.hiddenEnvironment).toBe(false)
    expect(locate(kubeadmDns(undefined, {container: {envFrom: [{secretRef: {name: 's'}}]}})).hiddenEnvironment).toBe(
      true,
    )
  })

  it.each([
    [
      'a missing ConfigMap',
      [dnsService(), deployment('coredns', corednsSpec())],
      /configmap\/kube-system\/coredns, which holds the Corefile of deployment\/kube-system\/coredns, does not exist/,
    ],
    [
      'a ConfigMap without the key',
      [dnsService(), deployment('coredns', corednsSpec()), configMap('coredns', {other: ''})],
      /has no text in key Corefile/,
    ],
    [
      'a Corefile from the image',
      kubeadmDns(undefined, {mounts: []}),
      /no volume is mounted over \/etc\/coredns\/Corefile/,
    ],
    [
      'a Corefile from the host',
      kubeadmDns(undefined, {volumes: [{name: 'config-volume', hostPath: {path: '/x'}}]}),
      /volume "config-volume" of type hostPath/,
    ],
    ['nothing at all', [], /no DNS Service was found/],
    [
      'a Service without pods',
      [dnsService()],
      /service\/kube-system\/kube-dns is the DNS Service, but no CoreDNS pod or workload/,
    ],
    [
      'kube-dns',
      [
        dnsService(),
        deployment('kube-dns', {
          containers: [{name: 'kubedns', image: 'registry.example.org/k8s-dns-kube-dns:1.22.28'}],
        }),
      ],
      /deployment\/kube-system\/kube-dns is kube-dns, which has no Corefile/,
    ],
  ])('refuses %s in one line', (_name, objects, message) => {
    const error = refusal(objects)
    expect(error.exitCode).toBe(32)
    expect(error.message).toMatch(message)
    expect(error.hints.length).toBeGreaterThan(0)
  })
})

describe('NodeLocal DNSCache', () => {
  it('is found by what its container is, with its addresses (B22)', () => {
    const location = locate([...kubeadmDns(), ...caseObjects('B22-node-local-dns-answers-first/objects.yaml')])
    expect(location.nodeLocal).toMatchObject({
      daemonSet: 'node-local-dns',
      configMap: 'node-local-dns',
      key: 'Corefile',
      addresses: ['169.254.20.10', '192.0.2.10'],
      takesClusterIP: false,
    })
    expect(location.ignored).toEqual([])
  })

  it('takes the ClusterIP where it listens on it', () => {
    const service = dnsService('kube-dns', {spec: {clusterIP: '192.0.2.10', clusterIPs: ['192.0.2.10']}})
    const [, workload, map] = kubeadmDns()
    const location = locate([service, workload!, map!, ...caseObjects('B22-node-local-dns-answers-first/objects.yaml')])
    expect(location.nodeLocal?.takesClusterIP).toBe(true)
  })

  it('is not mistaken for CoreDNS behind the upstream Service that shares its pods', () => {
    const upstream = dnsService('kube-dns-upstream', {spec: {clusterIP: '10.96.0.99', clusterIPs: ['10.96.0.99']}})
    const location = locate([
      upstream,
      ...kubeadmDns(),
      ...caseObjects('B22-node-local-dns-answers-first/objects.yaml'),
    ])
    expect(location.service.name).toBe('kube-dns')
  })
})
