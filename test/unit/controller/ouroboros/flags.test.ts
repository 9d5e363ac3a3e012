import {describe, expect, test} from 'vitest'
import {clusterDomainFrom} from '../../../../src/controller/ouroboros/cluster-domain.ts'
import {guaranteesOff} from '../../../../src/controller/ouroboros/guarantees.ts'
import {readControllerFlags} from '../../../../src/controller/ouroboros/flags.ts'

const resolvConf = 'search cozy-ouroboros.svc.cozy.local svc.cozy.local cozy.local example.org\nnameserver 10.96.0.10\n'
const read = (argv: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  readControllerFlags(argv, env, () => resolvConf)

describe('a call of ouroboros controller', () => {
  test('as its chart renders it with the values of a Cozystack host', () => {
    const argv = [
      '--mode=coredns',
      '--resync=30s',
      '--log-level=info',
      '--coredns-namespace=kube-system',
      '--coredns-configmap=coredns',
      '--coredns-key=Corefile',
      '--proxy-service-name=ouroboros-proxy',
      '--proxy-service-namespace=cozy-ouroboros',
    ]
    expect(read(argv, {OUROBOROS_INSTANCE: 'ouroboros'})).toEqual({
      output: {
        mode: 'coredns',
        namespace: 'kube-system',
        configMap: 'coredns',
        key: 'Corefile',
        target: 'ouroboros-proxy.cozy-ouroboros.svc.cozy.local.',
      },
      kubeconfig: undefined,
      gatewayApi: false,
      resyncMs: 30_000,
      logLevel: 'info',
      ingressClass: '',
      gatewayClass: '',
    })
  })

  test('and inside a tenant', () => {
    const argv = [
      '--mode=coredns-import',
      '--resync=30s',
      '--log-level=info',
      '--gateway-api',
      '--cluster-domain=cluster.local',
      '--coredns-import-namespace=kube-system',
      '--coredns-import-configmap=coredns-custom',
      '--coredns-import-key=ouroboros.override',
      '--proxy-fqdn=ouroboros-proxy.cozy-ouroboros.svc.cluster.local.',
    ]
    expect(read(argv)).toMatchObject({
      output: {
        mode: 'coredns-import',
        configMap: 'coredns-custom',
        key: 'ouroboros.override',
        target: 'ouroboros-proxy.cozy-ouroboros.svc.cluster.local.',
      },
      gatewayApi: true,
    })
  })

  test('etc-hosts and external-dns', () => {
    expect(read(['--mode=etc-hosts', '--etc-hosts=/host/hosts', '--proxy-ip=10.96.7.7']).output).toEqual({
      mode: 'etc-hosts',
      path: '/host/hosts',
      proxyIp: '10.96.7.7',
    })
    const argv = [
      '-mode',
      'external-dns',
      '-external-dns-namespace=dns',
      '-external-dns-record-ttl',
      '30',
      '--external-dns-output=service',
      '--external-dns-annotation-prefix=internal.example.org/',
      '--external-dns-annotation=a/b=c=d',
      '--external-dns-annotation=e=',
      '--external-dns-label=instance=internal',
    ]
    expect(read(argv, {OUROBOROS_INSTANCE: 'edge'}).output).toEqual({
      mode: 'external-dns',
      output: 'service',
      annotationPrefix: 'internal.example.org/',
      ttl: 30,
      namespace: 'dns',
      proxyIp: undefined,
      proxyService: 'ouroboros-proxy',
      annotations: {'a/b': 'c=d', e: ''},
      labels: {instance: 'internal'},
      instance: 'edge',
    })
  })

  test('variables count under the flags, an empty one is none; bool and log level as Go reads them', () => {
    const env = {
      OUROBOROS_CONTROLLER_MODE: 'etc-hosts',
      OUROBOROS_CONTROLLER_ETC_HOSTS: '/a',
      OUROBOROS_CONTROLLER_PROXY_IP: '2001:db8::7',
      OUROBOROS_CONTROLLER_RESYNC: '',
      OUROBOROS_CONTROLLER_GATEWAY_API: 'T',
      OUROBOROS_CONTROLLER_GATEWAY_CLASS: 'edge',
      OUROBOROS_CONTROLLER_LOG_LEVEL: 'Warn+2',
      OUROBOROS_CONTROLLER_KUBECONFIG: '/k',
    }
    expect(read(['--etc-hosts=/b'], env)).toEqual({
      output: {mode: 'etc-hosts', path: '/b', proxyIp: '2001:db8::7'},
      kubeconfig: '/k',
      gatewayApi: true,
      resyncMs: 600_000,
      logLevel: 'warn',
      ingressClass: '',
      gatewayClass: 'edge',
    })
    expect(
      read(['--gateway-api=0', '--compat', 'ouroboros', '--', 'x'], {...env, OUROBOROS_CONTROLLER_GATEWAY_CLASS: ''}),
    ).toMatchObject({
      gatewayApi: false,
    })
  })

  test.each([
    [['--mode=other'], '--mode "other"'],
    [['--mod=coredns'], '"--mod=coredns" is no flag'],
    [['coredns'], '"coredns" is no flag'],
    [['--mode'], '--mode needs a value'],
    [['--resync=soon', '--proxy-fqdn=a.'], '--resync'],
    [['--proxy-fqdn=proxy.edge.svc'], 'does not end in a dot'],
    [[], '--proxy-service-namespace is needed'],
    [['--coredns-key=', '--proxy-fqdn=a.b.'], '--coredns-key is needed'],
    [['--gateway-class=edge', '--proxy-fqdn=a.b.'], '--gateway-class needs --gateway-api'],
    [['--gateway-api=maybe', '--proxy-fqdn=a.b.'], '--gateway-api expects true or false'],
    [['--log-level=loud', '--proxy-fqdn=a.b.'], '--log-level'],
    [['--mode=etc-hosts'], '--proxy-ip "" is no IP address'],
    [['--mode=external-dns'], 'OUROBOROS_INSTANCE is needed'],
    [['--mode=external-dns', '--external-dns-record-ttl=0'], '1 to 86400'],
    [['--mode=external-dns', '--external-dns-output=txt'], 'neither crd nor service'],
    [['--mode=external-dns', '--external-dns-annotation-prefix=x'], 'does not end in /'],
    [['--mode=external-dns', '--external-dns-namespace=A_b'], 'no name of a namespace'],
    [['--external-dns-label=x'], 'is not KEY=VALUE'],
    [['--compat=hairpin-proxy'], 'only ouroboros is known'],
  ])('%j is refused as a usage error that names the flag', (argv, message) => {
    expect(() => read(argv)).toThrow(
      expect.objectContaining({code: 'Usage', message: expect.stringContaining(message)}),
    )
  })

  test('labels and annotations that the controller gives itself are refused', () => {
    const env = {OUROBOROS_INSTANCE: 'edge'}
    for (const pair of [
      'label=ouroboros.lexfrei.tech/instance=x',
      'annotation=external-dns.alpha.kubernetes.io/target=x',
    ])
      expect(() => read(['--mode=external-dns', `--external-dns-${pair}`], env)).toThrow('is kept for the controller')
    const many = Array.from({length: 33}, (_, index) => `--external-dns-label=l${index}=x`)
    expect(() => read(['--mode=external-dns', ...many], env)).toThrow('33 times')
  })
})

test.each([
  ['search demo.svc.kube.example.net svc.kube.example.net kube.example.net example.net\n', 'kube.example.net'],
  ['nameserver 10.0.0.10\n  search\ta.svc.cluster.local. svc.cluster.local. cluster.local.\n', 'cluster.local'],
  ['search example.org\n', 'cluster.local'],
  ['domain kube.example.net\n', 'cluster.local'],
  ['', 'cluster.local'],
])('the cluster domain of %j', (text, domain) => {
  expect(clusterDomainFrom(text)).toBe(domain)
})

test('each mode has guarantees that are off, and proof is among them unless there is a file to look at', () => {
  for (const mode of ['coredns', 'coredns-import', 'external-dns'] as const)
    expect(guaranteesOff(mode).some((line) => line.startsWith('proof:'))).toBe(true)
  expect(guaranteesOff('etc-hosts').some((line) => line.startsWith('proof:'))).toBe(false)
})
