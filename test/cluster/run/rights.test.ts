import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterAll, beforeAll, expect, test} from 'vitest'
import type {ApiClient} from '../bed/api-client.ts'
import {API_SERVER_PARTS} from '../bed/index.ts'
import type {KubeObject} from '../bed/objects.ts'
import {describeWithParts} from '../bed/suite.ts'
import {rightsObjects} from '../../support/rights.ts'
import {installGatewayKinds, installTrafficPolicyKind} from './gateway-kinds.ts'
import {kubeadmCorefile} from '../bed/cluster-objects.ts'
import {ingress, proxyService, rightsNames, startLightCluster} from './light-cluster.ts'
import type {LightCluster} from './light-cluster.ts'
import {RunProcess, runOptions} from './run-process.ts'

interface AuditLine {
  readonly user: {readonly username: string}
  readonly verb: string
  readonly objectRef?: {
    readonly apiGroup?: string
    readonly resource: string
    readonly subresource?: string
    readonly namespace?: string
  }
  readonly responseStatus?: {readonly code: number; readonly message?: string}
  readonly requestURI: string
}

interface Rule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
}

const allNames = {...rightsNames, feeds: {namespace: 'edge', names: ['ingress']}}

/** An ingress Service with one port more than the proxy that names it, and the right to read it. */
async function standForIngress(admin: ApiClient): Promise<void> {
  await admin.create({apiVersion: 'v1', kind: 'Namespace', metadata: {name: 'edge'}})
  const ports = [80, 443, 8443].map((port) => ({name: `port-${port}`, port, protocol: 'TCP'}))
  await admin.create({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {namespace: 'edge', name: 'ingress'},
    spec: {selector: {app: 'ingress'}, ports},
  })
  for (const object of rightsObjects(allNames)) {
    if (object.metadata.namespace === 'edge') await admin.create(object as KubeObject)
  }
  await admin.apply(proxyService('srcip-proxy', {'srcip.dev/feeds': 'edge/ingress'}))
}

await describeWithParts('the rights of srcip run', API_SERVER_PARTS, () => {
  let cluster: LightCluster
  let folder: string
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'srcip-audit-'))
    writeFileSync(
      join(folder, 'policy.yaml'),
      'apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata}]\n',
    )
    cluster = await startLightCluster({
      arguments: [`--audit-policy-file=${folder}/policy.yaml`, `--audit-log-path=${folder}/audit.log`],
    })
  })
  afterAll(async () => {
    await cluster?.stop()
    rmSync(folder, {recursive: true, force: true})
  })
  const audit = (): AuditLine[] =>
    readFileSync(join(folder, 'audit.log'), 'utf8')
      .split('\n')
      .flatMap((line) => (line === '' ? [] : [JSON.parse(line) as AuditLine]))
      .filter((line) => line.user.username === 'system:serviceaccount:srcip:srcip')

  /** `verb group/resource namespace`, as often as rules and requests can name it. */
  const granted = (): string[] =>
    rightsObjects(allNames).flatMap((object) =>
      ((object['rules'] ?? []) as Rule[]).flatMap((rule) =>
        rule.resources.flatMap((resource) =>
          rule.verbs.map((verb) => `${verb} ${rule.apiGroups.join()}/${resource} ${object.metadata.namespace ?? '*'}`),
        ),
      ),
    )

  test('every right that the file grants is used, and nothing is refused', {timeout: 240_000}, async () => {
    await installGatewayKinds(cluster.admin)
    await installTrafficPolicyKind(cluster.admin)
    await standForIngress(cluster.admin)
    await cluster.admin.create(ingress('shop', ['shop.example.org']))
    // Short periods bring everything about that happens in a day: relists, a Lease that is renewed, an event that repeats.
    const run = new RunProcess(
      runOptions({kube: {kubeconfig: cluster.kubeconfig}, relistMs: 3000, verifyTimeoutMs: 2000}),
      {POD_NAME: 'srcip-0'},
    )
    try {
      await expect.poll(() => cluster.names(), {timeout: 60_000}).toEqual(['shop.example.org'])
      await cluster.setCorefile(kubeadmCorefile())
      await expect.poll(() => cluster.names(), {timeout: 60_000}).toEqual(['shop.example.org'])
      await run.said('the write stays, but is not confirmed', 60_000)
      const note = 'proxy Service srcip/srcip-proxy: lacks port 8443 of service/edge/ingress'
      expect(await run.said(note)).toMatchObject({level: 'warn', reason: 'PortsMissing'})
      for (let outage = 0; outage < 2; outage++) {
        const said = run.lines.length
        cluster.gate.set('refuse')
        await run.said('source ingresses is stale', 60_000, said)
        cluster.gate.set('pass')
        await run.said('source ingresses is synced again', 60_000, said)
      }
      const used = () =>
        new Set(
          audit().flatMap(({verb, objectRef: ref}) => {
            if (ref === undefined) return []
            const resource = ref.subresource === undefined ? ref.resource : `${ref.resource}/${ref.subresource}`
            const name = `${verb} ${ref.apiGroup ?? ''}/${resource}`
            return [`${name} ${ref.namespace ?? '*'}`, `${name} *`]
          }),
        )
      await expect.poll(() => granted().filter((right) => !used().has(right)), {timeout: 120_000}).toEqual([])
      const refused = audit().filter((line) => line.responseStatus?.code === 403)
      expect(refused.map((line) => `${line.verb} ${line.requestURI}: ${line.responseStatus?.message ?? ''}`)).toEqual(
        [],
      )
    } finally {
      await run.stop()
    }
  })

  test('what it does not need it may not do', async () => {
    const questions: [string, string, string, string | undefined, string | undefined][] = [
      ['get', '', 'secrets', 'srcip', undefined],
      ['list', '', 'secrets', undefined, undefined],
      ['patch', '', 'configmaps', 'kube-system', 'kube-proxy'],
      ['list', '', 'configmaps', 'kube-system', undefined],
      ['delete', '', 'configmaps', 'kube-system', 'coredns'],
      ['create', '', 'configmaps', 'kube-system', undefined],
      ['update', 'coordination.k8s.io', 'leases', 'kube-system', 'other'],
      ['get', '', 'services', 'edge', 'other'],
      ['list', '', 'services', 'edge', undefined],
      ['list', '', 'pods', undefined, undefined],
      ['create', '', 'pods', 'srcip', undefined],
      ['patch', 'networking.k8s.io', 'ingresses', 'demo', undefined],
    ]
    for (const [verb, group, resource, namespace, name] of questions) {
      const {status} = await cluster.admin.request<{status: {allowed: boolean}}>(
        'POST',
        '/apis/authorization.k8s.io/v1/subjectaccessreviews',
        {
          apiVersion: 'authorization.k8s.io/v1',
          kind: 'SubjectAccessReview',
          spec: {
            user: 'system:serviceaccount:srcip:srcip',
            groups: ['system:serviceaccounts', 'system:serviceaccounts:srcip', 'system:authenticated'],
            resourceAttributes: {verb, group, resource, namespace, name},
          },
        },
      )
      expect(status.allowed, `${verb} ${resource} ${name ?? ''}`).toBe(false)
    }
  })

  test('the proxy has a name, no token, and not one right', () => {
    const objects = rightsObjects(allNames)
    const account = objects.find((object) => object.kind === 'ServiceAccount' && object.metadata.name === 'srcip-proxy')
    expect(account?.['automountServiceAccountToken']).toBe(false)
    const bound = objects.flatMap((object) => (object['subjects'] ?? []) as {name: string}[])
    expect([...new Set(bound.map((subject) => subject.name))]).toEqual(['srcip'])
  })
})
