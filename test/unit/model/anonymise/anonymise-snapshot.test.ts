import {createHmac} from 'node:crypto'
import fc from 'fast-check'
import {expect, test} from 'vitest'
import {anonymiseSnapshot} from '../../../../src/model/anonymise/anonymise-snapshot.ts'
import {knownWords} from '../../../../src/model/anonymise/known-words.ts'
import type {KubeObject} from '../../../../src/model/kubernetes.ts'
import {projectObject, snapshotKindOf} from '../../../../src/model/projection/project-object.ts'
import {indexSnapshot, type Snapshot} from '../../../../src/model/snapshot.ts'
import {propertySeed} from '../../../support/property-seed.ts'

const digest = (text: string): string => createHmac('sha256', 'test').update(text).digest('hex')

function snapshotOf(objects: readonly object[], more: Partial<Snapshot> = {}): Snapshot {
  return {
    apiVersion: 'srcip.dev/v1alpha1',
    kind: 'Snapshot',
    format: 1,
    source: 'cluster',
    anonymised: false,
    cluster: {version: 'v1.36.0', uid: '3f0c0f8e-0000-4000-8000-000000000001'},
    readings: [],
    objects: objects.flatMap((object) => {
      const {apiVersion, kind} = object as KubeObject
      const found = snapshotKindOf(apiVersion, kind)
      return (found && projectObject(found, object as KubeObject)) ?? []
    }),
    exitCode: 0,
    changed: false,
    warnings: [],
    ...more,
  }
}

/** The value at a path of keys. */
function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>((inner, key) => (inner as Record<string | number, unknown> | undefined)?.[key], value)
}

/** A small cluster of somebody whose names are these words. */
function clusterOf(company: string, product: string, person: string): object[] {
  const namespace = `${product}-prod`
  const host = `${product}.${company}.com`
  const labels = {
    app: product,
    'app.kubernetes.io/name': 'ingress-nginx',
    'app.kubernetes.io/instance': `${company}-edge`,
  }
  const container = {
    name: 'controller',
    image: `harbor.${company}.com/${person}/ingress-nginx/controller:v1.12.1`,
    args: [
      '/nginx-ingress-controller',
      `--configmap=${namespace}/${company}-ingress-nginx`,
      `--publish-service=${namespace}/${company}-ingress-nginx`,
      `--default-server=www.${host}`,
    ],
  }
  return [
    {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: {name: namespace, uid: '11111111-2222-4333-8444-555555555555', labels: {team: person}},
    },
    {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: {
        name: `${company}-worker-1`,
        labels: {'kubernetes.io/hostname': `${company}-worker-1`, 'topology.kubernetes.io/zone': `${person}-1a`},
      },
      spec: {providerID: `aws:///${company}-1a/i-0${'ab12'.repeat(4)}`},
      status: {
        addresses: [
          {type: 'Hostname', address: `n1.${company}.internal`},
          {type: 'InternalIP', address: '10.20.30.40'},
        ],
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {
        name: `${company}-ingress-nginx`,
        namespace,
        annotations: {
          'service.beta.kubernetes.io/do-loadbalancer-hostname': `edge.${host}`,
          'load-balancer.hetzner.cloud/uses-proxyprotocol': 'true',
          'meta.helm.sh/release-name': company,
          'service.beta.kubernetes.io/aws-load-balancer-subnets': `subnet-${person}`,
        },
      },
      spec: {
        type: 'NodePort',
        selector: labels,
        ports: [{name: 'http', port: 80, protocol: 'TCP', targetPort: 'http'}],
      },
      status: {
        loadBalancer: {ingress: [{hostname: `a1-${product}.elb.eu-west-1.amazonaws.com`}, {ip: '198.51.100.7'}]},
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: `${company}-ingress-nginx-5d78c9869d-x7k2p`,
        namespace,
        labels: {...labels, 'pod-template-hash': '5d78c9869d'},
        ownerReferences: [
          {kind: 'ReplicaSet', name: `${company}-ingress-nginx-5d78c9869d`, uid: 'u', controller: true},
        ],
      },
      spec: {nodeName: `${company}-worker-1`, containers: [container]},
      status: {podIP: '10.20.31.5'},
    },
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {name: `${company}-ingress-nginx`, namespace},
      data: {
        'use-proxy-protocol': 'true',
        'proxy-real-ip-cidr': '10.20.30.0/24,198.51.100.0/24',
        '9000': `${namespace}/${product}:5432`,
      },
    },
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {name: 'coredns', namespace: 'kube-system'},
      data: {
        Corefile: `${company}.com:53 {\n    forward . 10.20.30.53\n}\n.:53 {\n    rewrite name regex (.*)\\.${product}\\.${company}\\.com {1}.x.svc.cluster.local\n    rewrite name exact ${host} ${product}.${namespace}.svc.cluster.local.\n    kubernetes cluster.local in-addr.arpa\n    reload\n}\n`,
      },
    },
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'Ingress',
      metadata: {
        name: product,
        namespace,
        annotations: {
          'nginx.ingress.kubernetes.io/auth-url': `https://sso.${company}.com/check`,
          'nginx.ingress.kubernetes.io/server-alias': `alt.${host}`,
        },
      },
      spec: {
        ingressClassName: `${company}-nginx`,
        rules: [{host, http: {paths: [{path: '/', backend: {service: {name: product}}}]}}],
        tls: [{hosts: [`*.${host}`]}],
      },
    },
  ]
}

test('no name, host or address of the cluster is left in it', () => {
  const word = fc.stringMatching(/^[a-z]{5,10}$/).filter((text) => !knownWords.has(text))
  const words = fc.uniqueArray(word, {minLength: 3, maxLength: 3})
  fc.assert(
    fc.property(words, ([company = '', product = '', person = '']) => {
      const warnings = [`service/${product}-prod/x stands in /home/${person}/a.yaml and in b.yaml, and they differ`]
      const readings = [
        {
          group: '',
          version: 'v1',
          resource: 'pods',
          kind: 'Pod',
          verb: 'list',
          state: 'denied',
          namespace: `${product}-prod`,
          message: `User "${person}" cannot list`,
        },
      ] as const
      const text = JSON.stringify(
        anonymiseSnapshot(snapshotOf(clusterOf(company, product, person), {warnings, readings}), digest),
      )
      for (const name of [company, product, person]) {
        // A word may be part of a key that everybody uses.
        const inKeys = /kubernetes|controller|template|loadbalancer|amazonaws|configuration/.exec(name)
        if (inKeys === null) expect(text.toLowerCase()).not.toMatch(new RegExp(`(?<![a-z])${name}(?![a-z])`))
      }
      for (const address of ['10.20.30', '10.20.31', '198.51.100.7', '3f0c0f8e', '11111111-2222', 'ab12ab12'])
        expect(text).not.toContain(address)
    }),
    {seed: propertySeed, numRuns: 100},
  )
})

test('what belonged together still does', () => {
  const before = snapshotOf(clusterOf('acmecorp', 'webshop', 'jdoe'))
  const after = anonymiseSnapshot(before, digest)
  const index = indexSnapshot(after)
  expect(after.anonymised).toBe(true)
  expect(after.objects.map(({kind}) => kind)).toEqual(before.objects.map(({kind}) => kind))
  const only = (kind: string): KubeObject => {
    const [found] = index.list(kind)
    if (found === undefined) throw new Error(`no ${kind}`)
    return found
  }
  const [service, pod, node, ingress] = ['Service', 'Pod', 'Node', 'Ingress'].map(only) as [
    KubeObject,
    KubeObject,
    KubeObject,
    KubeObject,
  ]
  const labels = pod.metadata.labels ?? {}
  expect(at(service, 'spec', 'type')).toBe('NodePort')
  expect(labels).toMatchObject(at(service, 'spec', 'selector') as object)
  expect(labels['app.kubernetes.io/name']).toBe('ingress-nginx')
  expect(service.metadata.namespace).toBe(pod.metadata.namespace)
  expect(at(pod, 'spec', 'nodeName')).toBe(node.metadata.name)
  expect(pod.metadata.ownerReferences?.[0]?.name).toMatch(new RegExp(`-ingress-nginx-${labels['pod-template-hash']}$`))
  expect(at(pod, 'spec', 'containers', 0, 'args', 1)).toBe(
    `--configmap=${service.metadata.namespace}/${service.metadata.name}`,
  )
  expect(at(pod, 'spec', 'containers', 0, 'image')).toMatch(/\/ingress-nginx\/controller:v1\.12\.1$/)
  expect(index.get('ConfigMap', service.metadata.namespace, service.metadata.name)).toBeDefined()
  const host = String(at(ingress, 'spec', 'rules', 0, 'host'))
  const domain = host.split('.').slice(-2).join('.')
  const corefile = at(index.get('ConfigMap', 'kube-system', 'coredns'), 'data', 'Corefile')
  expect(corefile).toContain(`${domain}:53 {`)
  expect(corefile).toContain(`rewrite name regex (.*)\\.${host.replaceAll('.', '\\.')} {1}.x.svc.cluster.local`)
  expect(corefile).toContain(`rewrite name exact ${host} `)
  expect(at(ingress, 'spec', 'tls', 0, 'hosts')).toEqual([`*.${host}`])
  expect(ingress.metadata.annotations?.['nginx.ingress.kubernetes.io/auth-url']).toContain(`https://sso.${domain}/`)
  // The provider's part of a name tells the provider.
  expect(at(service, 'status', 'loadBalancer', 'ingress', 0, 'hostname')).toMatch(/\.amazonaws\.com$/)
  expect(node['spec']).toEqual({providerID: 'aws:///x-x/i-x'})
})

test('the same snapshot gives the same bytes; anonymising twice changes no relation', () => {
  const before = snapshotOf(clusterOf('acmecorp', 'webshop', 'jdoe'))
  const once = anonymiseSnapshot(before, digest)
  expect(JSON.stringify(anonymiseSnapshot(before, digest))).toBe(JSON.stringify(once))
  expect(anonymiseSnapshot(once, digest).objects.length).toBe(once.objects.length)
})

test('names that stand in a Corefile or in an argument only', () => {
  const corefile = `corp.acme.intern:53 {
    forward . tls://192.0.2.9 {
        tls_servername dns.acmedns.net
    }
}
.:53 {
    import /etc/coredns/custom/*.override
    hosts /etc/hosts.conf {
        10.1.2.3 printer.acme-office.local
    }
    kubernetes k8s.acme.intern in-addr.arpa
    forward . /etc/resolv.conf
}
`
  const argument = '--endpoint=https://vault.acmecloud.io:8200/v1'
  const container = {
    name: 'c',
    image: 'registry.k8s.io/ingress-nginx/controller:v1',
    args: [argument, '--controller-class=k8s.io/ingress-nginx'],
  }
  const after = anonymiseSnapshot(
    snapshotOf([
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: {name: 'coredns', namespace: 'kube-system'},
        data: {Corefile: corefile},
      },
      {apiVersion: 'v1', kind: 'Pod', metadata: {name: 'p', namespace: 'x'}, spec: {containers: [container]}},
    ]),
    digest,
  )
  const text = JSON.stringify(after)
  expect(text).not.toMatch(/acme|printer|vault/)
  const [map, pod] = after.objects
  expect(at(pod, 'spec', 'containers', 0, 'args', 1)).toBe('--controller-class=k8s.io/ingress-nginx')
  const kept = String(at(map, 'data', 'Corefile'))
  expect(kept).toMatch(/^\S+\.(d\d+\.example):53 \{[^]*kubernetes k8s\.\1 in-addr\.arpa/)
  expect(kept).toContain('import /etc/coredns/custom/*.override')
  expect(kept).toContain('forward . /etc/resolv.conf')
})

test('warnings about readings are said again with other names, the rest is counted', () => {
  const readings = [
    {
      group: 'apps',
      version: 'v1',
      resource: 'deployments',
      kind: 'Deployment',
      verb: 'list',
      state: 'denied',
      namespace: 'acmecorp',
      message: 'User "jdoe" cannot',
    },
  ] as const
  const after = anonymiseSnapshot(snapshotOf([], {readings, warnings: ['a', 'b']}), digest)
  expect(after.warnings).toEqual([
    'denied: list deployments.apps in namespace t1',
    '1 more warnings were left out, since they hold names',
  ])
  expect(after.readings[0]).not.toHaveProperty('message')
})
