import {spawn} from 'node:child_process'
import {readFileSync, writeFileSync} from 'node:fs'
import {fileURLToPath} from 'node:url'
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest'
import {caseObjects, configMap, corednsSpec, deployment, dnsService, kubeadmCorefile} from '../support/dns-objects.ts'
import {srcip} from '../support/srcip.ts'
import {apiClient, type ApiClient} from './bed/api-client.ts'
import {API_SERVER_PARTS, describeWithParts, startApiServer, type ApiServer, type KubeObject} from './bed/index.ts'
import {startGate, type Gate} from './run/gate.ts'

const proxy: KubeObject = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: {namespace: 'srcip', name: 'srcip-proxy'},
  spec: {clusterIP: '10.96.5.5', ports: [{port: 443}]},
}

const custom = (name: string) => ({
  volumes: [
    {name: 'config-volume', configMap: {name: 'coredns', items: [{key: 'Corefile', path: 'Corefile'}]}},
    {name: 'custom', configMap: {name, optional: true}},
  ],
  mounts: [
    {name: 'config-volume', mountPath: '/etc/coredns'},
    {name: 'custom', mountPath: '/etc/coredns/custom'},
  ],
})

/** Objects as an API server takes them: without the identity that unit tests give them. */
function fresh(objects: readonly object[]): KubeObject[] {
  return (objects as KubeObject[]).map((object) => {
    const {uid: _uid, resourceVersion: _version, ...metadata} = object.metadata
    return {...object, metadata}
  })
}

await describeWithParts('coredns against the API alone', [...API_SERVER_PARTS], () => {
  let api: ApiServer
  let admin: ApiClient
  let gate: Gate
  let made: KubeObject[] = []

  beforeAll(async () => {
    api = await startApiServer({users: [{name: 'nobody'}, {name: 'reader'}]})
    admin = apiClient({port: api.port, ca: api.ca, token: api.adminToken})
    gate = await startGate(api.port)
    await admin.create({apiVersion: 'v1', kind: 'Namespace', metadata: {name: 'srcip'}})
    await admin.create(proxy)
  })
  afterAll(async () => {
    admin?.close()
    await gate?.close()
    await api?.stop()
  })
  beforeEach(async () => {
    gate.set('pass')
    for (const object of [...made, customMap]) await admin.delete(object).catch(() => {})
    made = []
  })

  const customMap: KubeObject = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {namespace: 'kube-system', name: 'coredns-custom'},
  }

  async function install(objects: readonly object[]): Promise<void> {
    for (const object of fresh(objects)) {
      await admin.create(object)
      made.push(object)
    }
  }

  const dns = (corefile = kubeadmCorefile, options: Parameters<typeof corednsSpec>[0] = {}) => [
    dnsService(),
    deployment('coredns', corednsSpec(options)),
    configMap('coredns', {Corefile: corefile}),
  ]
  const coredns = (argv: readonly string[], kubeconfig = api.kubeconfig) =>
    srcip(['coredns', ...argv], {env: {KUBECONFIG: kubeconfig}})
  const apply = (...more: string[]) =>
    coredns(['apply', '--host', 'shop.example.org', '--yes', '--verify-timeout', '1s', ...more])
  const mapOf = async (name: string) =>
    await admin.get<KubeObject & {data?: Record<string, string>}>(`/api/v1/namespaces/kube-system/configmaps/${name}`)
  const corefile = async () => (await mapOf('coredns')).data?.['Corefile']

  /** The kubeconfig of admin through the gate. */
  function gated(): string {
    const path = `${api.folder}/gated.kubeconfig`
    writeFileSync(path, readFileSync(api.kubeconfig, 'utf8').replaceAll(`:${api.port}`, `:${gate.port}`), {mode: 0o600})
    return path
  }

  /** One line that names the object and what to do next, the exit code, nothing on stdout. */
  function expectRefusal(
    result: {exitCode: number; stdout: string; stderr: string},
    code: number,
    message: RegExp,
  ): void {
    expect(result.exitCode, result.stderr).toBe(code)
    expect(result.stdout).toBe('')
    expect(result.stderr.split('\n').filter((line) => /^(?:error|refused): /.test(line))).toEqual([
      expect.stringMatching(message),
    ])
  }

  test('no CoreDNS pod proves nothing: written, 21', async () => {
    await install(dns())
    const {exitCode, stdout} = await apply()
    expect(exitCode).toBe(21)
    expect(stdout).toContain('no pod behind the DNS Service is Ready')
    expect(await corefile()).toContain('shop.example.org')
  })

  describe('nothing is written where it is not certain', () => {
    test('two CoreDNS Deployments behind one Service', async () => {
      await install([
        ...dns(),
        deployment('coredns-new', corednsSpec({configMap: 'coredns-new'})),
        configMap('coredns-new', {Corefile: kubeadmCorefile}),
      ])
      expectRefusal(await apply(), 32, /deployment\/kube-system\/coredns .*deployment\/kube-system\/coredns-new/)
      expect(await corefile()).toBe(kubeadmCorefile)
    })

    test('two DNS Services, until one is named', async () => {
      await install([
        ...dns(),
        dnsService('other-dns', {
          spec: {clusterIP: '10.96.0.11', clusterIPs: ['10.96.0.11'], selector: {app: 'other'}},
        }),
        deployment('other', corednsSpec({configMap: 'other'}), {app: 'other'}),
        configMap('other', {Corefile: kubeadmCorefile}),
      ])
      const refused = await apply()
      expectRefusal(refused, 32, /more than one CoreDNS/)
      expect(refused.stderr).toContain('--dns-service kube-system/other-dns')
      expect((await apply('--dns-service', 'kube-system/other-dns', '--dry-run', 'server')).exitCode).toBe(0)
    })

    test('a ConfigMap that is not there', async () => {
      await install([dnsService(), deployment('coredns', corednsSpec())])
      expectRefusal(await apply(), 32, /configmap\/kube-system\/coredns.*does not exist/)
    })

    test('no cluster DNS at all', async () => {
      expectRefusal(await apply(), 32, /no DNS Service was found/)
    })

    test('rights for one ConfigMap alone: enough where the others do not matter, else told by name', async () => {
      const rules = [
        {
          apiGroups: ['', 'apps', 'discovery.k8s.io'],
          resources: ['services', 'pods', 'endpointslices', 'deployments'],
          verbs: ['get', 'list'],
        },
        {apiGroups: [''], resources: ['configmaps'], resourceNames: ['dns'], verbs: ['get']},
      ]
      const rbac = 'rbac.authorization.k8s.io'
      await install([
        ...[
          {apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata: {name: 'reader'}, rules},
          {
            apiVersion: `${rbac}/v1`,
            kind: 'ClusterRoleBinding',
            metadata: {name: 'reader'},
            roleRef: {apiGroup: rbac, kind: 'ClusterRole', name: 'reader'},
            subjects: [{apiGroup: rbac, kind: 'User', name: 'reader'}],
          },
        ],
        dnsService(),
        deployment('coredns', corednsSpec({configMap: 'dns', custom: 'coredns-custom'})),
        configMap('dns', {Corefile: kubeadmCorefile}),
        configMap('coredns', {Corefile: "somebody else's"}),
      ])
      const asReader = ['plan', '--host', 'shop.example.org', '--target', 'srcip/srcip-proxy', '-o', 'json']
      const kubeconfig = api.kubeconfigFor({user: 'reader'})
      const planned = await coredns(asReader, kubeconfig)
      expect(planned.exitCode, planned.stderr).toBe(0)
      const {warnings} = JSON.parse(planned.stdout) as {warnings: string[]}
      for (const name of ['coredns', 'coredns-custom']) {
        expect(warnings).toContainEqual(
          expect.stringContaining(`not allowed to get configmaps/${name} in namespace kube-system`),
        )
      }
      // An import of what must not be read could hold anything.
      const importing = kubeadmCorefile.replace('    reload\n', '    reload\n    import custom/*.override\n')
      await admin.patch(
        {...customMap, metadata: {namespace: 'kube-system', name: 'dns'}},
        {data: {Corefile: importing}},
      )
      const blind = await coredns(asReader, kubeconfig)
      expect(blind.exitCode).toBe(32)
      expect(blind.stdout).toContain('coredns-custom')
      expect(blind.stderr).toContain('[UnreadableImport]')
    })

    test('no rights', async () => {
      await install(dns())
      const result = await coredns(
        ['apply', '--host', 'shop.example.org', '--target', 'srcip/srcip-proxy', '--yes'],
        api.kubeconfigFor({user: 'nobody'}),
      )
      expectRefusal(result, 31, /get|list/)
      expect(await corefile()).toBe(kubeadmCorefile)
    })
  })

  describe('an API server that', () => {
    test('is not there', async () => {
      const path = `${api.folder}/dead.kubeconfig`
      writeFileSync(path, readFileSync(api.kubeconfig, 'utf8').replaceAll(`:${api.port}`, ':1'), {mode: 0o600})
      expectRefusal(await coredns(['plan', '--host', 'a.example.org'], path), 30, /127\.0\.0\.1:1/)
    })

    test('says nothing ends at --request-timeout', async () => {
      gate.set('freeze')
      const {exitCode, stdout, stderr} = await coredns(
        ['plan', '--host', 'a.example.org', '--request-timeout', '1s'],
        gated(),
      )
      expect({exitCode, stdout}, stderr).toEqual({
        exitCode: expect.toSatisfy((code: number) => [30, 124].includes(code)),
        stdout: '',
      })
      expect(stderr).toMatch(/^error: /)
    })

    test('says nothing ends at --timeout with 124', async () => {
      gate.set('freeze')
      expectRefusal(
        await coredns(['apply', '--host', 'a.example.org', '--yes', '--timeout', '1s'], gated()),
        124,
        /--timeout/,
      )
    })

    test('is named by a kubeconfig that does not parse', async () => {
      const path = `${api.folder}/broken.kubeconfig`
      writeFileSync(path, 'clusters: [\n  {{{')
      const {exitCode, stdout, stderr} = await coredns(['plan', '--host', 'a.example.org'], path)
      expect({exitCode, stdout}).toEqual({exitCode: 2, stdout: ''})
      expect(stderr).toContain(path)
    })
  })

  describe('through an import key', () => {
    const [k3s] = caseObjects('B18-platform-puts-the-corefile-back/k3s.yaml')

    test('a missing coredns-custom is created with our key alone, the Corefile is not touched; clean takes the key out', async () => {
      await install([dnsService(), deployment('coredns', corednsSpec(custom('coredns-custom'))), k3s!])
      const before = (await mapOf('coredns')).metadata.resourceVersion
      expect((await apply()).exitCode).toBe(21)
      const created = await mapOf('coredns-custom')
      expect(Object.keys(created.data ?? {})).toEqual(['srcip.override'])
      expect(created.data?.['srcip.override']).toContain(
        'rewrite name exact shop.example.org srcip-proxy.srcip.svc.cluster.local.',
      )
      expect(created.metadata.labels).toBeUndefined()
      expect((await coredns(['clean', '--yes', '--verify-timeout', '1s'])).exitCode).toBe(21)
      expect((await mapOf('coredns-custom')).data).toBeUndefined()
      expect((await mapOf('coredns')).metadata.resourceVersion).toBe(before)
    })

    test('foreign keys stay', async () => {
      await install([
        dnsService(),
        deployment('coredns', corednsSpec(custom('coredns-custom'))),
        k3s!,
        configMap('coredns-custom', {'a.override': 'log\n'}),
      ])
      await apply()
      expect(Object.keys((await mapOf('coredns-custom')).data ?? {})).toEqual(['a.override', 'srcip.override'])
      await coredns(['clean', '--yes', '--verify-timeout', '1s'])
      expect((await mapOf('coredns-custom')).data).toEqual({'a.override': 'log\n'})
    })
  })

  test('a Corefile that the EKS add-on owns: 33 with its manager, --force says how long it lasts', async () => {
    await install([dnsService(), deployment('coredns', corednsSpec())])
    const map = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {namespace: 'kube-system', name: 'coredns'},
      data: {Corefile: kubeadmCorefile},
    }
    await admin.request(
      'PATCH',
      '/api/v1/namespaces/kube-system/configmaps/coredns?fieldManager=eks&force=true',
      map,
      'application/apply-patch+yaml',
    )
    made.push(map)
    const refused = await apply()
    expectRefusal(refused, 33, /manager eks owns data\.Corefile.*until the next update of the EKS add-on/)
    expect(await corefile()).toBe(kubeadmCorefile)
    const forced = await apply('--force')
    expect(forced.exitCode).toBe(21)
    expect(forced.stderr).toContain('the change lasts until the next update of the EKS add-on')
    expect(await corefile()).toContain('shop.example.org')
  })

  test('two writers at once: one set stands whole, the other is refused or comes after', async () => {
    await install(dns())
    const results = await Promise.all(
      ['one.example.org', 'two.example.org'].map((host) =>
        coredns(['apply', '--host', host, '--yes', '--verify-timeout', '1s']),
      ),
    )
    for (const {exitCode} of results) expect([21, 32, 33]).toContain(exitCode)
    expect(results.some(({exitCode}) => exitCode === 21)).toBe(true)
    const names = [...((await corefile()) ?? '').matchAll(/rewrite name exact (\S+) /g)].map((match) => match[1])
    expect([['one.example.org'], ['two.example.org']]).toContainEqual(names)
  })

  test('a kill -9 at any moment leaves the old Corefile or the new one', async () => {
    await install(dns())
    const entry = fileURLToPath(new URL('../../bin/run.js', import.meta.url))
    const started = performance.now()
    await apply('--verify-timeout', '0s')
    const duration = performance.now() - started
    const whole = await corefile()
    const seen = new Set<string>()
    for (let step = 0; step < 10; step++) {
      await admin.patch(
        {apiVersion: 'v1', kind: 'ConfigMap', metadata: {namespace: 'kube-system', name: 'coredns'}},
        {data: {Corefile: kubeadmCorefile}},
      )
      await admin
        .delete({
          apiVersion: 'coordination.k8s.io/v1',
          kind: 'Lease',
          metadata: {namespace: 'kube-system', name: 'srcip-dns'},
        })
        .catch(() => {})
      const child = spawn(
        process.execPath,
        [entry, 'coredns', 'apply', '--host', 'shop.example.org', '--yes', '--verify-timeout', '0s'],
        {
          stdio: 'ignore',
          env: {PATH: process.env['PATH'] ?? '', HOME: api.folder, KUBECONFIG: api.kubeconfig},
        },
      )
      const exited = new Promise((resolve) => child.once('exit', resolve))
      setTimeout(() => child.kill('SIGKILL'), duration * (0.5 + step * 0.05))
      await exited
      seen.add((await corefile()) ?? '')
    }
    for (const found of seen) expect([kubeadmCorefile, whole]).toContain(found)
  })
})
