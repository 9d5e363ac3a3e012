import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterAll, beforeAll, expect, test} from 'vitest'
import {API_SERVER_PARTS, startApiServer} from '../bed/index.ts'
import type {ApiServer} from '../bed/index.ts'
import {apiClient} from '../bed/api-client.ts'
import type {ApiClient} from '../bed/api-client.ts'
import {describeWithParts} from '../bed/suite.ts'
import {kubeadmCorefile} from '../bed/cluster-objects.ts'
import {installGatewayKinds} from './gateway-kinds.ts'
import {clusterObjects, ingress} from './light-cluster.ts'
import {chartArguments, chartNamespace, chartRights} from './ouroboros-chart.ts'
import type {ChartMode} from './ouroboros-chart.ts'
import {RunProcess} from './run-process.ts'

interface AuditLine {
  readonly user: {readonly username: string}
  readonly verb: string
  readonly requestURI: string
  readonly responseStatus?: {readonly code: number; readonly message?: string}
}

const waiting = {timeout: 60_000, interval: 100}
const proxyName = `ouroboros-proxy.${chartNamespace}.svc.cluster.local.`

await describeWithParts('the chart of ouroboros with only the image changed', API_SERVER_PARTS, () => {
  let api: ApiServer
  let admin: ApiClient
  let folder: string
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'srcip-drop-in-'))
    writeFileSync(
      join(folder, 'policy.yaml'),
      'apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata}]\n',
    )
    api = await startApiServer({
      arguments: [`--audit-policy-file=${folder}/policy.yaml`, `--audit-log-path=${folder}/audit.log`],
    })
    admin = apiClient({port: api.port, ca: api.ca, token: api.adminToken})
    for (const object of clusterObjects(kubeadmCorefile())) await admin.create(object)
    await admin.create({apiVersion: 'v1', kind: 'Namespace', metadata: {name: chartNamespace}})
    await admin.create({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {name: 'coredns-custom', namespace: 'kube-system'},
    })
    await admin.create({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {name: 'ouroboros-proxy', namespace: chartNamespace},
      spec: {selector: {app: 'proxy'}, ports: [{port: 80}]},
    })
    await installGatewayKinds(admin)
    await admin.request('POST', '/apis/gateway.networking.k8s.io/v1/namespaces/demo/httproutes', {
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'HTTPRoute',
      metadata: {name: 'wiki', namespace: 'demo'},
      spec: {parentRefs: [{name: 'edge'}], hostnames: ['wiki.example.org']},
    })
    await admin.create(ingress('shop', ['rule.example.org'], {tls: [{hosts: ['shop.example.org', '*.example.org']}]}))
  })
  afterAll(async () => {
    admin?.close()
    await api?.stop()
    rmSync(folder, {recursive: true, force: true})
  })

  /** Rights of one mode, and a kubeconfig of the chart's account. In a Pod the account is found without it. */
  async function account(mode: ChartMode, output?: 'service'): Promise<Record<string, string>> {
    for (const object of chartRights(mode, output)) {
      await admin.create(object).catch((error: Error) => {
        if (!error.message.includes('409')) throw error
      })
    }
    const {status} = await admin.request<{status: {token: string}}>(
      'POST',
      `/api/v1/namespaces/${chartNamespace}/serviceaccounts/ouroboros/token`,
      {apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {expirationSeconds: 3600}},
    )
    const kubeconfig = api.kubeconfigFor({token: status.token, name: `ouroboros-${mode}`}, {namespace: chartNamespace})
    return {OUROBOROS_CONTROLLER_KUBECONFIG: kubeconfig, OUROBOROS_INSTANCE: 'ouroboros'}
  }

  const refused = (): string[] =>
    readFileSync(join(folder, 'audit.log'), 'utf8')
      .split('\n')
      .flatMap((line) => (line === '' ? [] : [JSON.parse(line) as AuditLine]))
      .filter((line) => line.user.username === `system:serviceaccount:${chartNamespace}:ouroboros`)
      .filter((line) => (line.responseStatus?.code ?? 0) >= 400)
      .map((line) => `${line.verb} ${line.requestURI}: ${line.responseStatus?.code}`)

  const dataOf = async (name: string): Promise<Record<string, string>> => {
    const {data = {}} = await admin.get<{data?: Record<string, string>}>(
      `/api/v1/namespaces/kube-system/configmaps/${name}`,
    )
    return data
  }
  const corefile = async (): Promise<string> => (await dataOf('coredns'))['Corefile'] ?? ''
  const namesIn = (text: string): string[] =>
    [...text.matchAll(/rewrite name (?:exact )?(\S+) (\S+)$/gm)].map((match) => `${match[1]} ${match[2]}`).sort()
  const setKey = (name: string, data: Record<string, string | null>): Promise<unknown> =>
    admin.request('PATCH', `/api/v1/namespaces/kube-system/configmaps/${name}`, {data}, 'application/merge-patch+json')

  test(
    'coredns: takes over the section that stands, keeps it, and hands it back byte for byte',
    {timeout: 180_000},
    async () => {
      const section = [
        '    # === BEGIN ouroboros (do not edit by hand) ===',
        `    rewrite name old.example.org ${proxyName}`,
        `    rewrite name shop.example.org ${proxyName}`,
        '    # === END ouroboros ===',
      ]
      const lines = kubeadmCorefile().trimEnd().split('\n')
      const before = [...lines.slice(0, -1), ...section, lines.at(-1), ''].join('\n')
      await setKey('coredns', {Corefile: before})
      const run = new RunProcess(chartArguments('coredns'), await account('coredns'))
      try {
        const wanted = [`shop.example.org ${proxyName}`, `wiki.example.org ${proxyName}`]
        await expect.poll(async () => namesIn(await corefile()), waiting).toEqual(wanted)
        const text = await corefile()
        const outside = text.split('\n').filter((line) => !/ouroboros/.test(line))
        expect(outside).toEqual(kubeadmCorefile().split('\n'))
        expect(text.match(/^ *# === BEGIN ouroboros \(do not edit by hand\) ===$/gm)).toHaveLength(1)
        expect(text.match(/^ *# === END ouroboros ===$/gm)).toHaveLength(1)

        const off = await run.said('these guarantees are off')
        expect(off['off']).toContain(
          'one writer: no Lease, two replicas write by turns (each write is still conditional)',
        )
        expect(run.count(/these guarantees are off/)).toBe(1)

        // Somebody's edit is found by looking, since the ConfigMap must not be watched.
        await setKey('coredns', {Corefile: kubeadmCorefile()})
        await expect.poll(async () => namesIn(await corefile()), waiting).toEqual(wanted)
      } finally {
        expect(await run.stop()).toBe(0)
      }
      expect(refused()).toEqual([])
    },
  )

  test('coredns-import: its key, the others untouched', {timeout: 180_000}, async () => {
    await setKey('coredns-custom', {'other.override': 'log\n'})
    const before = await corefile()
    const run = new RunProcess(chartArguments('coredns-import'), await account('coredns-import'))
    try {
      await run.said('srcip run starts')
      await expect
        .poll(async () => namesIn((await dataOf('coredns-custom'))['ouroboros.override'] ?? ''), waiting)
        .toEqual([`shop.example.org ${proxyName}`, `wiki.example.org ${proxyName}`])
      expect(Object.keys(await dataOf('coredns-custom')).sort()).toEqual(['other.override', 'ouroboros.override'])
      expect((await dataOf('coredns-custom'))['other.override']).toBe('log\n')
      expect(await corefile()).toBe(before)
      // A name that goes away goes, and a new one comes.
      await admin.create(
        ingress('more', [], {
          tls: [{hosts: ['more.example.org']}],
          defaultBackend: {service: {name: 'web', port: {number: 80}}},
        }),
      )
      const key = async (): Promise<string> => (await dataOf('coredns-custom'))['ouroboros.override'] ?? ''
      await expect.poll(async () => namesIn(await key()).length, waiting).toBe(3)
      await admin.request('DELETE', '/apis/networking.k8s.io/v1/namespaces/demo/ingresses/more')
      await expect.poll(async () => namesIn(await key()).length, waiting).toBe(2)
    } finally {
      expect(await run.stop()).toBe(0)
    }
    expect(refused()).toEqual([])
  })

  test('etc-hosts: its block in the file, the rest byte for byte', {timeout: 180_000}, async () => {
    const path = join(folder, 'hosts')
    const own = '# === BEGIN ouroboros (do not edit by hand) ===\n10.96.7.1 old.example.org\n# === END ouroboros ===\n'
    writeFileSync(path, `127.0.0.1 localhost\n${own}192.0.2.7 node-7\n`)
    const argv = chartArguments('etc-hosts', [`--etc-hosts=${path}`, '--proxy-ip=10.96.7.7'])
    const run = new RunProcess(argv, await account('etc-hosts'))
    try {
      await run.said('srcip run starts')
      await expect
        .poll(() => readFileSync(path, 'utf8'), waiting)
        .toBe(
          '127.0.0.1 localhost\n# === BEGIN ouroboros (do not edit by hand) ===\n10.96.7.7 shop.example.org\n10.96.7.7 wiki.example.org\n# === END ouroboros ===\n192.0.2.7 node-7\n',
        )
    } finally {
      expect(await run.stop()).toBe(0)
    }
    expect(refused()).toEqual([])
  })

  test(
    'external-dns: one record a name, records of the release that nobody wants go, others stay',
    {timeout: 180_000},
    async () => {
      const labels = {'app.kubernetes.io/managed-by': 'ouroboros', 'ouroboros.lexfrei.tech/instance': 'ouroboros'}
      const record = (name: string, own: Record<string, string>) => ({
        apiVersion: 'v1',
        kind: 'Service',
        metadata: {
          name,
          namespace: chartNamespace,
          labels: own,
          annotations: {'external-dns.alpha.kubernetes.io/hostname': 'shop.example.org'},
        },
        spec: {clusterIP: 'None', ports: [{port: 1}]},
      })
      await admin.create(record('ouroboros-old-example-org', labels))
      await admin.create(record('ouroboros-shop-example-org', labels))
      await admin.create(record('of-somebody-else', {...labels, 'ouroboros.lexfrei.tech/instance': 'another'}))
      const path = `/api/v1/namespaces/${chartNamespace}/services`
      const argv = chartArguments('external-dns', ['--external-dns-output=service', '--external-dns-label=zone=inside'])
      const run = new RunProcess(argv, await account('external-dns', 'service'))
      interface Live {
        readonly metadata: {
          readonly name: string
          readonly labels?: object
          readonly annotations?: Record<string, string>
        }
        readonly spec: {readonly clusterIP: string}
      }
      const names = async (): Promise<string[]> =>
        (await admin.list<Live>(path)).map(({metadata}) => metadata.name).sort()
      try {
        await expect
          .poll(names, waiting)
          .toEqual(['of-somebody-else', 'ouroboros-proxy', 'ouroboros-shop-example-org', 'ouroboros-wiki-example-org'])
        const proxy = await admin.get<Live>(`${path}/ouroboros-proxy`)
        for (const name of ['shop', 'wiki']) {
          const {metadata} = await admin.get<Live>(`${path}/ouroboros-${name}-example-org`)
          expect(metadata.labels).toEqual({...labels, zone: 'inside'})
          expect(metadata.annotations).toMatchObject({
            'external-dns.alpha.kubernetes.io/hostname': `${name}.example.org`,
            'external-dns.alpha.kubernetes.io/target': proxy.spec.clusterIP,
            'external-dns.alpha.kubernetes.io/ttl': '60',
          })
        }
      } finally {
        expect(await run.stop()).toBe(0)
      }
      expect(refused()).toEqual([])
    },
  )
})
