import {beforeAll, expect, test} from 'vitest'
import {reloadHash} from '../../plugins/coredns/src/index.ts'
import {
  BED_PARTS,
  bedForSuite,
  describeWithParts,
  kubeadmCorefile,
  until,
  type Bed,
  type KubeObject,
} from './bed/index.ts'
import {proxySlice} from './run/light-cluster.ts'

const corednsMap = {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'coredns', namespace: 'kube-system'}}
const proxyAddress = '10.96.5.5'

const proxyService: KubeObject = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: {name: 'srcip-proxy', namespace: 'srcip'},
  spec: {clusterIP: proxyAddress, selector: {app: 'srcip-proxy'}, ports: [{name: 'https', port: 443}]},
}

interface Outcome {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** `kubectl srcip coredns …` on the laptop, through a real kubectl. */
const coredns = (bed: Bed, argv: string[], user = 'admin'): Promise<Outcome> =>
  bed.cli(['kubectl', 'srcip', 'coredns', ...argv], {user})

async function corefileOf(bed: Bed): Promise<string> {
  const {data} = await bed.api.get<KubeObject & {data: {Corefile: string}}>(
    '/api/v1/namespaces/kube-system/configmaps/coredns',
  )
  return data.Corefile
}

async function versionOf(bed: Bed): Promise<string | undefined> {
  return (await bed.api.get('/api/v1/namespaces/kube-system/configmaps/coredns')).metadata.resourceVersion
}

/** What each CoreDNS pod answers for a name. */
async function answers(bed: Bed, name: string): Promise<string[][]> {
  return await Promise.all(
    bed.corednsPods().map(async (pod) => (await bed.resolve(name, {server: pod.address})).addresses.toSorted()),
  )
}

function dnsPodNames(bed: Bed): string[] {
  return [...bed.pods.items.values()]
    .filter((pod) => pod.metadata.labels?.['k8s-app'] === 'kube-dns')
    .map((pod) => pod.metadata.name)
    .toSorted()
}

/** Writes a text past the product and waits until every pod runs it. */
async function settle(bed: Bed, corefile: string): Promise<void> {
  await bed.api.patch(corednsMap, {data: {Corefile: corefile}})
  const {value} = reloadHash(Buffer.from(corefile))
  await until('every CoreDNS runs the text', 30, async () => {
    const logs = await Promise.all(dnsPodNames(bed).map((name) => bed.podLog(`kube-system/${name}`)))
    return logs.every((log) => [...log.matchAll(/SHA512 = (\w+)/g)].at(-1)?.[1] === value)
  })
}

await describeWithParts('coredns apply and clean on a real cluster', BED_PARTS, async () => {
  const current = await bedForSuite({
    users: [
      {name: 'reader', groups: ['dns-readers']},
      {name: 'blind', groups: ['dns-blind']},
    ],
  })
  const readOnly = [
    {apiGroups: [''], resources: ['services', 'pods', 'configmaps'], verbs: ['get', 'list']},
    {apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['get', 'list']},
    {apiGroups: ['apps'], resources: ['deployments', 'replicasets', 'daemonsets'], verbs: ['get', 'list']},
  ]
  const editOnly = [
    ...readOnly,
    {apiGroups: [''], resources: ['configmaps'], verbs: ['patch']},
    {
      apiGroups: ['coordination.k8s.io'],
      resources: ['leases'],
      verbs: ['get', 'list', 'watch', 'create', 'update', 'patch'],
    },
  ]

  beforeAll(async () => {
    const bed = current()
    const bind = (name: string, group: string, rules: object[]): KubeObject[] => [
      {apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: {name}, rules},
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRoleBinding',
        metadata: {name},
        roleRef: {apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name},
        subjects: [{kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: group}],
      },
    ]
    await bed.create(
      {apiVersion: 'v1', kind: 'Namespace', metadata: {name: 'srcip'}},
      proxyService,
      ...bind('dns-readers', 'dns-readers', readOnly),
      ...bind('dns-blind', 'dns-blind', editOnly),
    )
  })

  const original = kubeadmCorefile('2s 1s')

  test('apply is proved on CoreDNS 1.14.7 and 1.11.3, a second one changes nothing, clean gives back every byte', async () => {
    const bed = current()
    const before = await answers(bed, 'shop.example.org')
    const applied = await coredns(bed, ['apply', '--host', 'shop.example.org,www.example.org', '--yes', '-o', 'json'])
    expect(applied.code, applied.stderr).toBe(0)
    const result = JSON.parse(applied.stdout) as {
      outcome: string
      changed: boolean
      pods: {name: string; verdict: string}[]
      plan: {hash: {sha512: string}}
    }
    expect(result).toMatchObject({kind: 'CorednsResult', outcome: 'proved', changed: true})
    expect(result.pods.map((pod) => pod.verdict)).toEqual(['done', 'done'])
    // nothing is awaited here: done means done
    expect(await answers(bed, 'shop.example.org')).toEqual([[proxyAddress], [proxyAddress]])
    for (const pod of result.pods)
      expect(await bed.podLog(`kube-system/${pod.name}`)).toContain(`SHA512 = ${result.plan.hash.sha512}`)

    const version = await versionOf(bed)
    const again = await coredns(bed, [
      'apply',
      '--host',
      'shop.example.org,www.example.org',
      '--yes',
      '-o',
      'json',
      '--detailed-exitcode',
    ])
    expect(again.code).toBe(0)
    expect(JSON.parse(again.stdout)).toMatchObject({
      outcome: 'already-so',
      changed: false,
      pods: [{verdict: 'done'}, {verdict: 'done'}],
    })
    expect(await versionOf(bed)).toBe(version)

    const cleaned = await coredns(bed, ['clean', '--yes'])
    expect({code: cleaned.code, stdout: cleaned.stdout}).toEqual({
      code: 0,
      stdout: expect.stringContaining('written, and every CoreDNS pod answers so'),
    })
    expect(await corefileOf(bed)).toBe(original)
    expect(await answers(bed, 'shop.example.org')).toEqual(before)
  })

  test('the set given is the whole set, and a name that goes is proved gone', async () => {
    const bed = current()
    expect(
      (await coredns(bed, ['apply', '--host', 'one.example.org', '--host', 'two.example.org', '--yes'])).code,
    ).toBe(0)
    expect((await coredns(bed, ['apply', '--host', 'two.example.org', '--yes'])).code).toBe(0)
    expect((await answers(bed, 'one.example.org')).flat()).not.toContain(proxyAddress)
    expect(await answers(bed, 'two.example.org')).toEqual([[proxyAddress], [proxyAddress]])
    await coredns(bed, ['clean', '--yes'])
  })

  test('hosts of the Ingresses without a flag', async () => {
    const bed = current()
    const ingress = (name: string, host: string): KubeObject => ({
      apiVersion: 'networking.k8s.io/v1',
      kind: 'Ingress',
      metadata: {name, namespace: 'srcip'},
      spec: {
        ingressClassName: 'nginx',
        rules: [
          {host, http: {paths: [{path: '/', pathType: 'Prefix', backend: {service: {name: 'x', port: {number: 80}}}}]}},
        ],
      },
    })
    await bed.create(ingress('a', 'from-ingress.example.org'), ingress('w', '*.apps.example.org'))
    const {code, stdout, stderr} = await coredns(bed, ['plan', '-o', 'json'])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      hosts: [{name: 'from-ingress.example.org', block: {keys: ['.:53'], line: 1}}],
      refused: [],
    })
    expect(stdout + stderr).toContain('*.apps.example.org is not covered')
    await bed.api.delete(ingress('a', ''))
    await bed.api.delete(ingress('w', ''))
  })

  test('show and query see the same as the pods', async () => {
    const bed = current()
    await coredns(bed, ['apply', '--host', 'shop.example.org', '--yes'])
    const shown = await coredns(bed, ['show', '-o', 'json'])
    expect(JSON.parse(shown.stdout)).toMatchObject({
      service: 'kube-system/kube-dns',
      sources: [{object: 'configmap/kube-system/coredns', key: 'Corefile'}],
      blocks: [{keys: ['.:53'], rewrites: [{owner: 'srcip', line: 3}]}],
    })
    const asked = await coredns(bed, ['query', 'shop.example.org', '-o', 'json'])
    const query = JSON.parse(asked.stdout) as {
      simulated: {rcode: string; answers: string[]}
      pods: {rcode: string; answers: string[]}[]
    }
    expect(asked.code).toBe(0)
    expect(query.simulated).toMatchObject({
      rcode: 'NOERROR',
      answers: [expect.stringMatching(new RegExp(`^shop.example.org. \\d+ A ${proxyAddress}$`))],
    })
    expect(query.pods).toMatchObject([
      {rcode: 'NOERROR', answers: [expect.stringMatching(new RegExp(`^shop.example.org \\d+ A ${proxyAddress}$`))]},
      {rcode: 'NOERROR', answers: [expect.stringContaining(proxyAddress)]},
    ])
    await coredns(bed, ['clean', '--yes'])
  })

  test('what CoreDNS refuses is put back, byte for byte (B14)', async () => {
    const bed = current()
    // a hand edit that parses everywhere and that only a running CoreDNS can refuse: the file is not there
    const broken = original.replace('forward . /etc/resolv.conf {', 'forward . /etc/coredns/upstream.conf {')
    // No pod stands behind the proxy's Service here; run waits with names until one is ready.
    await bed.create(proxySlice('srcip-proxy'))
    await bed.api.patch(corednsMap, {data: {Corefile: broken}})
    await until('CoreDNS refuses the hand edit', 30, async () =>
      (await bed.podLog(`kube-system/${dnsPodNames(bed)[0]}`)).includes('reload failed'),
    )
    const {code, stdout, stderr} = await coredns(bed, ['apply', '--host', 'shop.example.org', '--yes', '-o', 'json'])
    expect({code, stderr}).toMatchObject({
      code: 22,
      stderr: expect.stringMatching(/its log says: .*reload|coredns_reload_failed_total rose/i),
    })
    expect(JSON.parse(stdout)).toMatchObject({outcome: 'undone', changed: false, exitCode: 22})
    expect(await corefileOf(bed)).toBe(broken)
    await settle(bed, original)
  })

  test('run puts back what CoreDNS refuses as well, byte for byte, and says why', async () => {
    const bed = current()
    const broken = original.replace('forward . /etc/resolv.conf {', 'forward . /etc/coredns/upstream.conf {')
    await bed.api.patch(corednsMap, {data: {Corefile: broken}})
    await until('CoreDNS refuses the hand edit', 30, async () =>
      (await bed.podLog(`kube-system/${dnsPodNames(bed)[0]}`)).includes('reload failed'),
    )
    const argv = ['run', '--once', '--target', 'srcip/srcip-proxy', '--host', 'shop.example.org', '--via', 'api']
    const {code, stderr} = await bed.cli(['kubectl', 'srcip', ...argv, '--health-address', '127.0.0.1:0'])
    const left = await corefileOf(bed)
    // Before anything is expected: the tests that follow need a CoreDNS that takes its text.
    await settle(bed, original)
    const lines = stderr
      .split('\n')
      .flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as {msg: string}] : []))
    expect(lines.map((line) => line.msg)).toContainEqual(expect.stringMatching(/the previous text is back/))
    expect(stderr).toMatch(/its log says: .*reload|coredns_reload_failed_total rose/i)
    expect(code).toBe(22)
    expect(left).toBe(broken)
  })

  test('a pod that answers DNS but never the new answer is evidence: put back, 22', async () => {
    const bed = current()
    const stuck = dnsPodNames(bed)[0] ?? ''
    bed.kubelet.setDelay(`kube-system/${stuck}`, 20_000)
    try {
      const {code, stdout} = await coredns(bed, [
        'apply',
        '--host',
        'shop.example.org',
        '--yes',
        '-o',
        'json',
        '--verify-timeout',
        '8s',
      ])
      expect(code).toBe(22)
      const {pods, outcome} = JSON.parse(stdout) as {
        outcome: string
        pods: {name: string; verdict: string; reason?: string}[]
      }
      expect(outcome).toBe('undone')
      expect(pods.find((pod) => pod.name === stuck)).toMatchObject({
        verdict: 'failed',
        reason: expect.stringContaining('shop.example.org'),
      })
      expect(await corefileOf(bed)).toBe(original)
    } finally {
      bed.kubelet.setDelay(`kube-system/${stuck}`, 300)
    }
  })

  test('without the right to ask the pods a write is unconfirmed, never done: 21, and it stays', async () => {
    const bed = current()
    const {code, stdout} = await coredns(
      bed,
      [
        'apply',
        '--host',
        'shop.example.org',
        '--target',
        'srcip/srcip-proxy',
        '--yes',
        '-o',
        'json',
        '--verify-timeout',
        '6s',
      ],
      'blind',
    )
    expect(code).toBe(21)
    expect(JSON.parse(stdout)).toMatchObject({
      outcome: 'unproved',
      changed: true,
      pods: [{verdict: 'unconfirmed'}, {verdict: 'unconfirmed'}],
    })
    expect(await corefileOf(bed)).toContain('shop.example.org')
    expect((await coredns(bed, ['clean', '--yes'])).code).toBe(0)
    expect(await corefileOf(bed)).toBe(original)
  })

  test('no right to write: 31 names verb, resource and namespace, nothing is written', async () => {
    const bed = current()
    const version = await versionOf(bed)
    const {code, stdout, stderr} = await coredns(
      bed,
      ['apply', '--host', 'shop.example.org', '--target', 'srcip/srcip-proxy', '--yes'],
      'reader',
    )
    expect({code, stdout}).toEqual({code: 31, stdout: ''})
    expect(stderr).toMatch(/error: not allowed to patch configmaps in namespace kube-system/)
    expect(await versionOf(bed)).toBe(version)
  })

  test('a target that is not there: 32, and the Service is named', async () => {
    const bed = current()
    const {code, stdout, stderr} = await coredns(bed, [
      'apply',
      '--host',
      'shop.example.org',
      '--target',
      'srcip/other',
      '--yes',
    ])
    expect({code, stdout}).toEqual({code: 32, stdout: ''})
    expect(stderr).toContain('service/srcip/other does not exist')
    expect(await corefileOf(bed)).toBe(original)
  })

  test('no terminal and no --yes: usage error, nothing is written', async () => {
    const bed = current()
    const {code, stderr} = await coredns(bed, ['apply', '--host', 'shop.example.org'])
    expect(code).toBe(2)
    expect(stderr).toContain('--yes')
    expect(await corefileOf(bed)).toBe(original)
  })

  test('--dry-run=server is checked by the API server and stored nowhere', async () => {
    const bed = current()
    const {code, stdout} = await coredns(bed, ['apply', '--host', 'shop.example.org', '--dry-run=server', '-o', 'json'])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({outcome: 'planned', dryRun: 'server', plan: {changed: true}})
    expect(await corefileOf(bed)).toBe(original)
  })

  test('while somebody else holds the Lease, clean and apply are refused and name them', async () => {
    const bed = current()
    await coredns(bed, ['apply', '--host', 'shop.example.org', '--yes'])
    const lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: {name: 'srcip-dns', namespace: 'kube-system'},
    }
    const renew = () =>
      bed.api.patch(lease, {
        spec: {
          holderIdentity: 'srcip-controller_7',
          leaseDurationSeconds: 15,
          acquireTime: '2026-01-01T00:00:00.000000Z',
          renewTime: new Date().toISOString().replace('Z', '000Z'),
          leaseTransitions: 3,
        },
      })
    await renew()
    const renewing = setInterval(() => void renew().catch(() => {}), 1000)
    try {
      const {code, stdout, stderr} = await coredns(bed, ['clean', '--yes'])
      expect({code, stdout}).toEqual({code: 33, stdout: ''})
      expect(stderr).toContain('srcip-controller_7')
      expect(await corefileOf(bed)).toContain('shop.example.org')
    } finally {
      clearInterval(renewing)
    }
    await bed.api.patch(lease, {spec: {holderIdentity: ''}})
    expect((await coredns(bed, ['clean', '--yes'])).code).toBe(0)
    expect(await corefileOf(bed)).toBe(original)
  })
})
