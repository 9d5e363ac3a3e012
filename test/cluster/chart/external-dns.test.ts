import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {afterAll, beforeAll, expect, test} from 'vitest'
import {API_SERVER_PARTS, describeWithParts, type KubeObject} from '../bed/index.ts'
import {run} from '../bed/part-build.ts'
import {ingress, startLightCluster, type LightCluster} from '../run/light-cluster.ts'
import {RunProcess} from '../run/run-process.ts'
import {HelmHome, objectsIn, podTemplates, valuesFile} from './helm.ts'

interface AuditLine {
  readonly user: {readonly username: string}
  readonly verb: string
  readonly objectRef?: {readonly apiGroup?: string; readonly resource: string; readonly name?: string}
  readonly responseStatus?: {readonly code: number; readonly message?: string}
  readonly requestURI: string
}

/** DNSEndpoint as ExternalDNS ships it, as far as the API server has to know. */
const endpointKind = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: {
    name: 'dnsendpoints.externaldns.k8s.io',
    annotations: {'api-approved.kubernetes.io': 'https://github.com/kubernetes-sigs/external-dns/pull/2007'},
  },
  spec: {
    group: 'externaldns.k8s.io',
    scope: 'Namespaced',
    names: {plural: 'dnsendpoints', singular: 'dnsendpoint', kind: 'DNSEndpoint', listKind: 'DNSEndpointList'},
    versions: [
      {
        name: 'v1alpha1',
        served: true,
        storage: true,
        subresources: {status: {}},
        schema: {openAPIV3Schema: {type: 'object', 'x-kubernetes-preserve-unknown-fields': true}},
      },
    ],
  },
}

const paths = {
  endpoint: '/apis/externaldns.k8s.io/v1alpha1/namespaces/srcip/dnsendpoints',
  service: '/api/v1/namespaces/srcip/services',
} as const

await describeWithParts('the chart with ExternalDNS', ['helm', ...API_SERVER_PARTS], (parts) => {
  let cluster: LightCluster
  let folder: string
  let home: HelmHome
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'srcip-audit-'))
    const policy =
      'apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata}]\n'
    writeFileSync(join(folder, 'policy.yaml'), policy)
    cluster = await startLightCluster({
      arguments: [`--audit-policy-file=${folder}/policy.yaml`, `--audit-log-path=${folder}/audit.log`],
    })
    home = new HelmHome(parts.helm)
    await cluster.admin.create(endpointKind)
  })
  afterAll(async () => {
    home?.remove()
    await cluster?.stop()
    rmSync(folder, {recursive: true, force: true})
  })

  const audit = (account: string): AuditLine[] =>
    readFileSync(join(folder, 'audit.log'), 'utf8')
      .split('\n')
      .flatMap((line) => (line === '' ? [] : [JSON.parse(line) as AuditLine]))
      .filter((line) => line.user.username === `system:serviceaccount:srcip:${account}`)
  const refused = (account: string) =>
    audit(account)
      .filter((line) => line.responseStatus?.code === 403)
      .map((line) => `${line.verb} ${line.requestURI}: ${line.responseStatus?.message ?? ''}`)

  test.each(['endpoint', 'service'] as const)(
    '%s: every right is used and none is missing, and the uninstall hook takes the object away',
    {timeout: 240_000},
    async (as) => {
      const settings = `controller.externalDns.enabled=true,controller.externalDns.as=${as},cleanup.verifyTimeout=2s,cleanup.settle=0s`
      const all = objectsIn(await home.template(valuesFile('minimal'), '--set', settings))
      const roles = all.filter(({metadata}) => metadata.name === 'srcip-external-dns')
      expect(roles.map(({kind}) => kind)).toEqual(['Role', 'RoleBinding'])
      for (const role of roles) await cluster.admin.create(role)
      const isHook = ({metadata}: KubeObject) => metadata.annotations?.['helm.sh/hook'] !== undefined
      for (const object of all.filter(isHook)) if (object.kind !== 'Job') await cluster.admin.apply(object)
      const names = async (): Promise<string[]> => {
        const objects = await cluster.admin.list<KubeObject & {spec: {endpoints?: {dnsName: string}[]}}>(paths[as])
        const object = objects.find(({metadata}) => metadata.name === 'srcip-external-dns')
        const listed = object?.metadata.annotations?.['external-dns.alpha.kubernetes.io/hostname']?.split(',')
        return listed ?? object?.spec.endpoints?.map(({dnsName}) => dnsName) ?? []
      }
      const argsOf = (of: string) => {
        const template = podTemplates(all).find((each) => each.of === of)
        if (template === undefined) throw new Error(`${of} was not rendered`)
        const [{args}] = template.spec['containers'] as [{args: string[]}]
        return args
      }

      const shop = ingress('shop', ['shop.example.org'])
      await cluster.admin.create(shop)
      const controller = new RunProcess(
        [...argsOf('Deployment/srcip'), '--health-address=127.0.0.1:0', '--verify-timeout=1s', '--via=direct'],
        {KUBECONFIG: cluster.kubeconfig, POD_NAME: 'srcip-0', POD_NAMESPACE: 'srcip'},
      )
      try {
        await expect.poll(names, {timeout: 60_000}).toEqual(['shop.example.org'])
        await cluster.admin.delete(shop)
        await expect.poll(names, {timeout: 60_000}).toEqual([])
        await cluster.admin.create(shop)
        await expect.poll(names, {timeout: 60_000}).toEqual(['shop.example.org'])
        const used = () =>
          new Set(
            audit('srcip')
              .filter(({objectRef: ref}) => ref?.resource === (as === 'endpoint' ? 'dnsendpoints' : 'services'))
              .filter(({objectRef: ref}) => ref?.name === 'srcip-external-dns')
              .map(({verb}) => verb),
          )
        // the create of a server-side apply is no request of its own: without that right the first write is refused
        await expect.poll(() => [...used()].toSorted(), {timeout: 30_000}).toEqual(['delete', 'get', 'patch'])
        expect(refused('srcip')).toEqual([])
      } finally {
        await controller.stop()
      }

      const {status} = await cluster.admin.request<{status: {token: string}}>(
        'POST',
        '/api/v1/namespaces/srcip/serviceaccounts/srcip-cleanup/token',
        {apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {expirationSeconds: 3600}},
      )
      const kubeconfig = cluster.api.kubeconfigFor({token: status.token, name: 'srcip-cleanup'}, {namespace: 'srcip'})
      const entry = fileURLToPath(new URL('../../../bin/run.js', import.meta.url))
      const cleanup = () =>
        run(process.execPath, [entry, ...argsOf('Job/srcip-or-run-kubectl-srcip-cleanup'), '--via=direct'], undefined, {
          KUBECONFIG: kubeconfig,
        })
      // nobody answers for these CoreDNS pods, so nothing is deleted while lines of ours may still be served
      const early = await cleanup()
      expect(early.code, early.output).toBe(21)
      expect(await names()).toEqual(['shop.example.org'])
      const map = {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'coredns', namespace: 'kube-system'}}
      await cluster.admin.patch(map, {metadata: {managedFields: [{}]}})
      const late = await cleanup()
      expect(late.code, late.output).toBe(0)
      expect(await names()).toEqual([])
      expect(refused('srcip-cleanup')).toEqual([])
      for (const object of [...roles, shop]) await cluster.admin.delete(object)
    },
  )
})
