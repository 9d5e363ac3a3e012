import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {afterAll, beforeAll, expect, test} from 'vitest'
import {kubeadmCorefile} from '../bed/cluster-objects.ts'
import {API_SERVER_PARTS, describeWithParts, type KubeObject} from '../bed/index.ts'
import {run} from '../bed/part-build.ts'
import {startLightCluster, type LightCluster} from '../run/light-cluster.ts'
import {firstPodTemplate, HelmHome, objectsIn, valuesFile} from './helm.ts'

interface AuditLine {
  readonly user: {readonly username: string}
  readonly verb: string
  readonly objectRef?: {apiGroup?: string; resource: string; subresource?: string; namespace?: string}
  readonly responseStatus?: {readonly code: number; readonly message?: string}
  readonly requestURI: string
}

interface Rule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
}

const policy = 'apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Metadata}]\n'

await describeWithParts('the rights of the clean-up hook', ['helm', ...API_SERVER_PARTS], (parts) => {
  let cluster: LightCluster
  let folder: string
  let home: HelmHome
  let hook: KubeObject[]
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'srcip-audit-'))
    writeFileSync(join(folder, 'policy.yaml'), policy)
    cluster = await startLightCluster({
      arguments: [`--audit-policy-file=${folder}/policy.yaml`, `--audit-log-path=${folder}/audit.log`],
    })
    home = new HelmHome(parts.helm)
    const settings = ['--set', 'cleanup.verifyTimeout=2s,cleanup.settle=0s']
    const all = objectsIn(await home.template(valuesFile('minimal'), ...settings))
    hook = all.filter((object) => object.metadata.annotations?.['helm.sh/hook'] !== undefined)
    for (const object of hook) if (object.kind !== 'Job') await cluster.admin.create(object)
    for (const object of all) if (object.kind === 'Deployment') await cluster.admin.create(object)
  })
  afterAll(async () => {
    home?.remove()
    await cluster?.stop()
    rmSync(folder, {recursive: true, force: true})
  })

  /** The hook's own arguments, as its own account; its pod's addresses are asked directly, as in a Pod. */
  async function cleanup(): Promise<{code: number; output: string}> {
    const {spec} = firstPodTemplate(hook)
    const [{args}] = spec['containers'] as [{args: string[]}]
    const account = spec['serviceAccountName'] as string
    const {status} = await cluster.admin.request<{status: {token: string}}>(
      'POST',
      `/api/v1/namespaces/srcip/serviceaccounts/${account}/token`,
      {apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {expirationSeconds: 3600}},
    )
    const kubeconfig = cluster.api.kubeconfigFor({token: status.token, name: account}, {namespace: 'srcip'})
    const entry = fileURLToPath(new URL('../../../bin/run.js', import.meta.url))
    return await run(process.execPath, [entry, ...args, '--via=direct'], undefined, {KUBECONFIG: kubeconfig})
  }

  const audit = (): AuditLine[] =>
    readFileSync(join(folder, 'audit.log'), 'utf8')
      .split('\n')
      .flatMap((line) => (line === '' ? [] : [JSON.parse(line) as AuditLine]))
      .filter((line) => line.user.username === 'system:serviceaccount:srcip:srcip-cleanup')

  test('every right is used, nothing is refused', async () => {
    const ours = [
      '    # === BEGIN srcip (managed by kubectl srcip, do not edit) ===',
      '    rewrite name exact shop.example.org srcip-proxy.srcip.svc.cluster.local.',
      '    # === END srcip ===',
    ]
    await cluster.setCorefile(kubeadmCorefile().replace('.:53 {\n', `.:53 {\n${ours.join('\n')}\n`))
    // nobody answers at the addresses of these CoreDNS pods: written, not proved, so the Lease stays
    const first = await cleanup()
    expect(first.code, first.output).toBe(21)
    expect(await cluster.corefile()).toBe(kubeadmCorefile())
    // the text is clean now, and that proves as little as before
    const second = await cleanup()
    expect(second.code, second.output).toBe(21)
    // as if the write was long ago: who wrote when is known from managedFields
    const map = {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'coredns', namespace: 'kube-system'}}
    await cluster.admin.patch(map, {metadata: {managedFields: [{}]}})
    const third = await cleanup()
    expect(third.code, third.output).toBe(0)

    const granted = hook.flatMap((object) =>
      ((object['rules'] ?? []) as Rule[]).flatMap((rule) =>
        rule.resources.flatMap((resource) =>
          rule.verbs.map((verb) => `${verb} ${rule.apiGroups.join()}/${resource} ${object.metadata.namespace}`),
        ),
      ),
    )
    const used = () =>
      new Set(
        audit().flatMap(({verb, objectRef: ref}) => {
          if (ref === undefined) return []
          const resource = ref.subresource === undefined ? ref.resource : `${ref.resource}/${ref.subresource}`
          return [`${verb} ${ref.apiGroup ?? ''}/${resource} ${ref.namespace}`]
        }),
      )
    expect(granted.length).toBeGreaterThan(10)
    await expect.poll(() => granted.filter((right) => !used().has(right)), {timeout: 10_000}).toEqual([])
    const refused = audit().filter((line) => line.responseStatus?.code === 403)
    expect(refused.map((line) => `${line.verb} ${line.requestURI}: ${line.responseStatus?.message ?? ''}`)).toEqual([])
  })
})
