import {mkdtempSync, readFileSync, rmSync, statSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {parse} from 'yaml'
import {afterAll, beforeAll, expect, test} from 'vitest'
import {locateClusterDns} from '../../../src/platforms/dns/locate.ts'
import {projectDnsObjects} from '../../../src/platforms/dns/objects.ts'
import type {DoctorReport} from '../../../src/model/doctor.ts'
import {indexSnapshot, type Snapshot} from '../../../src/model/snapshot.ts'
import {srcip} from '../../support/srcip.ts'
import {apiClient, type ApiClient} from '../bed/api-client.ts'
import {API_SERVER_PARTS, startApiServer, type ApiServer} from '../bed/index.ts'
import {describeWithParts} from '../bed/suite.ts'
import {startGate, type Gate} from '../run/gate.ts'
import type {KubeObject} from '../bed/objects.ts'
import {installCustomKinds, objectsOf, putObjects} from './put-objects.ts'

interface Rule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
}

const cases = new URL('../../cases/doctor/', import.meta.url)
const role = parse(readFileSync(new URL('../../../charts/srcip/files/doctor.yaml', import.meta.url), 'utf8')) as {
  metadata: {name: string}
  rules: Rule[]
}
const secret = 'hunter2-do-not-print'

await describeWithParts('snapshot of a real API server', API_SERVER_PARTS, () => {
  let api: ApiServer
  let admin: ApiClient
  let gate: Gate
  let folder: string

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'srcip-snapshot-'))
    writeFileSync(
      join(folder, 'policy.yaml'),
      'apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata}]\n',
    )
    api = await startApiServer({
      users: [{name: 'doctor'}, {name: 'half'}, {name: 'nobody'}, {name: 'edge'}],
      arguments: [`--audit-policy-file=${folder}/policy.yaml`, `--audit-log-path=${folder}/audit.log`],
    })
    admin = apiClient({port: api.port, ca: api.ca, token: api.adminToken})
    gate = await startGate(api.port)
    await installCustomKinds(admin)
    const parts = ['base', 'parts/kube-proxy', 'parts/ingress-nginx'].map((name) => new URL(`${name}.yaml`, cases))
    await putObjects(admin, [
      ...objectsOf(...parts, new URL('lb-hetzner-proxy/objects.yaml', cases)),
      ...objectsOf(new URL('lb-metallb-l2-cluster/objects-crd.yaml', cases)),
    ])
    await putObjects(admin, [
      slice('ingress-nginx', 'ingress-nginx-controller', '10.244.0.20'),
      slice('demo', 'web', '10.244.0.99'),
    ])
    await admin.request('POST', '/apis/rbac.authorization.k8s.io/v1/clusterroles', role)
    await bind('doctor', role.metadata.name)
  })
  afterAll(async () => {
    await gate?.close()
    admin?.close()
    await api?.stop()
    rmSync(folder, {recursive: true, force: true})
  })

  const bind = async (user: string, clusterRole: string, namespace?: string): Promise<void> => {
    const scope = namespace === undefined ? '' : `/namespaces/${namespace}`
    const kind = namespace === undefined ? 'ClusterRoleBinding' : 'RoleBinding'
    await admin.request('POST', `/apis/rbac.authorization.k8s.io/v1${scope}/${kind.toLowerCase()}s`, {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind,
      metadata: {name: `${user}-${clusterRole}`},
      roleRef: {apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: clusterRole},
      subjects: [{apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user}],
    })
  }
  const take = async (user: string, ...argv: string[]) => {
    const {exitCode, stdout, stderr} = await srcip(['snapshot', '--kubeconfig', api.kubeconfigFor({user}), ...argv])
    return {exitCode, stderr, stdout, snapshot: JSON.parse(stdout === '' ? '{}' : stdout) as Snapshot}
  }
  const requests = (user: string) =>
    readFileSync(join(folder, 'audit.log'), 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Audit)
      .filter((line) => line.user.username === user)

  test('with the rights of ClusterRole srcip-doctor it is whole, and every right is used', async () => {
    const {exitCode, snapshot, stderr} = await take('doctor')
    expect({exitCode, warnings: snapshot.warnings, stderr: stderr.includes('error')}).toEqual({
      exitCode: 0,
      warnings: [],
      stderr: false,
    })
    expect(new Set(snapshot.readings.map(({state}) => state))).toEqual(new Set(['complete']))
    const granted = role.rules.flatMap(({apiGroups, resources, verbs}) =>
      resources.flatMap((resource) => verbs.map((verb) => `${verb} ${apiGroups.join()}/${resource}`)),
    )
    const asked = requests('doctor')
    const used = new Set(
      asked.flatMap(({verb, objectRef: ref}) =>
        ref === undefined ? [] : `${verb} ${ref.apiGroup ?? ''}/${ref.resource}`,
      ),
    )
    expect(granted.filter((right) => !used.has(right))).toEqual([])
    expect(asked.filter(({responseStatus}) => responseStatus?.code === 403).map(({requestURI}) => requestURI)).toEqual(
      [],
    )
    expect(asked.some(({objectRef}) => objectRef?.resource === 'secrets')).toBe(false)
  })

  test("it holds the server's defaults, the pods with their arguments, settings, and the objects of platforms", async () => {
    const index = indexSnapshot((await take('doctor')).snapshot)
    const service = index.get('Service', 'ingress-nginx', 'ingress-nginx-controller')
    expect(service).toMatchObject({
      metadata: {annotations: {'load-balancer.hetzner.cloud/uses-proxyprotocol': 'true'}},
      status: {loadBalancer: {ingress: [{ipMode: 'Proxy'}, {ipMode: 'Proxy'}]}},
    })
    expect(service?.metadata.managedFields?.length).toBeGreaterThan(0)
    expect(index.list('Pod').map(({metadata}) => metadata.name)).toEqual([
      'ingress-nginx-controller-a',
      'ingress-nginx-controller-b',
      'coredns-1',
    ])
    expect(index.list('EndpointSlice').map(({metadata}) => metadata.name)).toEqual(['ingress-nginx-controller-1'])
    expect(index.list('ConfigMap').map(({metadata}) => `${metadata.namespace}/${metadata.name}`)).toEqual([
      'ingress-nginx/ingress-nginx-controller',
      'kube-system/coredns',
      'kube-system/kube-proxy',
    ])
    expect(index.state('ConfigMap', 'kube-system', 'coredns-custom')).toBe('complete')
    expect(index.state('ConfigMap', 'kube-system', 'anything-else')).toBe('unknown')
    expect(index.list('DaemonSet').map(({metadata}) => metadata.name)).toContain('kube-proxy')
    expect(index.get('IPAddressPool', 'metallb-system', 'lan')?.['spec']).toEqual({
      addresses: ['203.0.113.60-203.0.113.69'],
    })
    const dns = locateClusterDns(projectDnsObjects([...index.snapshot.objects]))
    expect(dns.corefile).toMatchObject({configMap: 'coredns', key: 'Corefile'})
    // Nothing was put there for ipMode: the server's own default comes back.
    await putObjects(admin, [
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: {name: 'plain', namespace: 'demo'},
        spec: {type: 'LoadBalancer', ports: [{port: 80}]},
        status: {loadBalancer: {ingress: [{ip: '203.0.113.9'}]}},
      },
    ])
    const plain = indexSnapshot((await take('doctor')).snapshot).get('Service', 'demo', 'plain')
    expect(plain).toMatchObject({status: {loadBalancer: {ingress: [{ip: '203.0.113.9', ipMode: 'VIP'}]}}})
  })

  test('the same cluster gives the same bytes but for the time', async () => {
    const [one, other] = [await take('doctor'), await take('doctor')]
    const timeless = (text: string): string => text.replace(/"createdAt": "[^"]+"/, '')
    expect(timeless(one.stdout)).toBe(timeless(other.stdout))
    expect(one.stdout).toMatch(/"createdAt": "\d{4}-\d\d-\d\dT/)
  })

  test('doctor says the same of the cluster, of its snapshot, and of the anonymised one', async () => {
    const kubeconfig = api.kubeconfigFor({user: 'doctor'})
    const verdicts = async (...argv: string[]): Promise<unknown[]> => {
      const {stdout} = await srcip(['doctor', '-o', 'json', ...argv])
      const report = JSON.parse(stdout) as DoctorReport
      expect(report.kind).toBe('DoctorReport')
      return report.paths
        .map(({port, outside, hairpin, lostAt, platform}) => [port, outside.verdict, hairpin.verdict, lostAt, platform])
        .map((row) => JSON.stringify(row))
        .toSorted()
    }
    const live = await verdicts('--kubeconfig', kubeconfig)
    expect(live.length).toBeGreaterThan(1)
    for (const flags of [[], ['--anonymise']]) {
      const file = join(folder, `doctor${flags.length}.json`)
      await srcip(['snapshot', '--kubeconfig', kubeconfig, '--output-file', file, ...flags])
      expect(await verdicts('-f', file)).toEqual(live)
    }
  })

  test('no secret gets out, wherever it stands', async () => {
    const noted = {annotations: {'kubectl.kubernetes.io/last-applied-configuration': `{"x":"${secret}"}`, note: secret}}
    await admin.request('POST', '/api/v1/namespaces/kube-system/secrets', {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {name: 'leak'},
      stringData: {password: secret},
    })
    await putObjects(admin, [
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: {name: 'ingress-nginx-controller', namespace: 'ingress-nginx', ...noted},
        data: {'http-snippet': `set $key ${secret};`, 'api-token': secret, 'real-ip-header': 'X-Forwarded-For'},
      },
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: {name: 'coredns', namespace: 'kube-system', ...noted},
        data: {Corefile: `.:53 {\n    route53 example.org.:Z1 {\n        aws_access_key AKID ${secret}\n    }\n}\n`},
      },
      {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: {name: 'cloud-controller-manager', namespace: 'kube-system', ...noted},
        spec: {
          selector: {matchLabels: {app: 'ccm'}},
          template: {
            metadata: {labels: {app: 'ccm'}},
            spec: {
              containers: [
                {
                  name: 'ccm',
                  image: 'registry.example.org/cloud-controller-manager:v1',
                  args: ['--cloud-provider=x', `--api-token=${secret}`, '--password', secret],
                  env: [
                    {name: 'HCLOUD_TOKEN', value: secret},
                    {name: 'HCLOUD_LOAD_BALANCERS_USES_PROXYPROTOCOL', value: 'true'},
                  ],
                },
              ],
            },
          },
        },
      },
    ])
    const {stdout, snapshot} = await take('doctor')
    expect(stdout).not.toContain(secret)
    const index = indexSnapshot(snapshot)
    expect(index.get('ConfigMap', 'ingress-nginx', 'ingress-nginx-controller')?.['data']).toMatchObject({
      'real-ip-header': 'X-Forwarded-For',
      'http-snippet': '<masked>',
    })
    expect(JSON.stringify(index.get('Deployment', 'kube-system', 'cloud-controller-manager'))).toContain(
      '{"name":"HCLOUD_LOAD_BALANCERS_USES_PROXYPROTOCOL","value":"true"}',
    )
  })

  test('half of the rights: what is missing is named, the rest is there; granted, it is whole; taken, it is partial again', async () => {
    const half = {...role, metadata: {name: 'half'}, rules: role.rules.slice(0, 3)}
    await admin.request('POST', '/apis/rbac.authorization.k8s.io/v1/clusterroles', half)
    await bind('half', 'half')
    const first = await take('half')
    expect(first.exitCode).toBe(23)
    expect(first.snapshot.warnings).toContain('denied: list deployments.apps')
    expect(first.snapshot.warnings).toContain('denied: list ingresses.networking.k8s.io')
    expect(indexSnapshot(first.snapshot).list('Service').length).toBeGreaterThan(0)
    expect(indexSnapshot(first.snapshot).state('Ingress', 'demo', 'app', 'networking.k8s.io')).toBe('denied')
    expect(first.snapshot.readings.find(({resource}) => resource === 'deployments')?.message).toContain(
      'User "half" cannot list resource "deployments"',
    )
    await bind('half', role.metadata.name)
    await expect.poll(async () => (await take('half')).exitCode, {timeout: 30_000}).toBe(0)
    await admin.request('DELETE', `/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/half-${role.metadata.name}`)
    await expect.poll(async () => (await take('half')).exitCode, {timeout: 30_000}).toBe(23)
  })

  test('rights in one namespace are used there', async () => {
    await bind('edge', role.metadata.name, 'ingress-nginx')
    const {exitCode, snapshot} = await take('edge', '-n', 'ingress-nginx')
    expect(exitCode).toBe(23)
    const index = indexSnapshot(snapshot)
    expect(index.list('Service').map(({metadata}) => metadata.namespace)).toEqual(['ingress-nginx'])
    expect(index.list('Pod').length).toBe(2)
    expect(index.state('Service', 'ingress-nginx')).toBe('complete')
    expect(index.state('Service', 'demo')).toBe('denied')
  })

  test('no right at all is exit 31 and names the first that is missing', async () => {
    const {exitCode, stdout, stderr} = await take('nobody', '-o', 'table')
    expect({exitCode, stdout}).toEqual({exitCode: 31, stdout: ''})
    expect(stderr).toContain('error: nothing of the cluster could be read: denied: ')
    expect(stderr).toContain('srcip-doctor')
  })

  test('a frozen server ends within the limit; a file is for its owner only', async () => {
    const kubeconfig = join(folder, 'gated.kubeconfig')
    writeFileSync(
      kubeconfig,
      readFileSync(api.kubeconfigFor({user: 'doctor'}), 'utf8').replaceAll(`:${api.port}`, `:${gate.port}`),
    )
    gate.set('freeze')
    const frozen = await srcip(['snapshot', '--kubeconfig', kubeconfig, '--request-timeout', '2s'])
    // 124 and not 30, as everywhere: the limit was the caller's own.
    expect({exitCode: frozen.exitCode, kind: JSON.parse(frozen.stdout).kind}).toEqual({exitCode: 124, kind: 'Error'})
    gate.set('pass')
    gate.cut()
    const file = join(folder, 'cluster.json')
    const good = await srcip(['snapshot', '--kubeconfig', kubeconfig, '--output-file', file])
    expect(good).toMatchObject({exitCode: 0, stdout: expect.stringMatching(/^KIND +OBJECTS +READ\nNamespace/)})
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect((JSON.parse(readFileSync(file, 'utf8')) as Snapshot).kind).toBe('Snapshot')
  })
})

function slice(namespace: string, service: string, address: string): KubeObject {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {namespace, name: `${service}-1`, labels: {'kubernetes.io/service-name': service}},
    addressType: 'IPv4',
    endpoints: [{addresses: [address], conditions: {ready: true}}],
    ports: [{name: 'http', port: 80, protocol: 'TCP'}],
  }
}

interface Audit {
  readonly user: {readonly username: string}
  readonly verb: string
  readonly objectRef?: {readonly apiGroup?: string; readonly resource: string}
  readonly responseStatus?: {readonly code: number}
  readonly requestURI: string
}
